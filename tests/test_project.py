"""The files around the code: workflows, issue forms, hooks and the citation say what is so."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from fixture_cases import FOLDER

import structrag

yaml = pytest.importorskip("yaml")
if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def script(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_may_do_little_and_pin_what_they_use(path: Path) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 60 and "latest" not in job["runs-on"]
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            if "uses" in step:
                assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"])


def test_every_python_and_every_extra_is_tried(project: dict[str, Any]) -> None:
    jobs = read(ROOT / ".github/workflows/ci.yml")["jobs"]
    pythons = [
        line.rpartition(" ")[2]
        for line in project["project"]["classifiers"]
        if line.startswith("Programming Language :: Python :: 3.")
    ]
    assert jobs["tests"]["strategy"]["matrix"]["python"] == pythons
    # Not made for users one by one.
    together = {"all", "demo", "dev", "peers", "docs", "stores"}
    extras = set(project["project"]["optional-dependencies"]) - together
    assert set(jobs["extras"]["strategy"]["matrix"]["extra"]) == extras | {""}
    assert set(script(ROOT / ".ci/extra_check.py").CHECKS) == extras


def test_only_the_publishing_job_may_ask_for_an_identity() -> None:
    jobs = read(ROOT / ".github/workflows/release.yml")["jobs"]
    assert [name for name, job in jobs.items() if "permissions" in job] == ["publish"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert (
        jobs["publish"]["needs"] == "build"
        and jobs["publish"]["environment"]["name"] == "pypi"
    )


def test_the_citation_is_of_this_version_and_names_the_five_papers() -> None:
    citation = read(ROOT / "CITATION.cff")
    assert citation["version"] == structrag.__version__
    assert len(citation["references"]) == 5
    assert all(paper["title"] and paper["authors"] for paper in citation["references"])


def test_files_of_the_source_archive_exist(project: dict[str, Any]) -> None:
    hatch = project["tool"]["hatch"]
    for name in hatch["build"]["targets"]["sdist"]["include"]:
        assert (ROOT / name.lstrip("/")).exists(), name
    assert (ROOT / hatch["metadata"]["hooks"]["custom"]["path"]).exists()


def test_data_of_others_carries_its_licence(project: dict[str, Any]) -> None:
    package = ROOT / "shared" / "structrag"
    data = {file for end in ("*.gz", "*.json") for file in package.rglob(end)}
    licences = {
        file.with_name(f"{file.name.partition('.')[0]}_LICENSE.txt") for file in data
    }
    assert len(data) == 3 and all(licence.exists() for licence in licences)
    names = {licence.relative_to(ROOT).as_posix() for licence in licences}
    assert {"LICENSE", *names} == set(project["project"]["license-files"])


def test_a_package_index_shows_the_readme_with_its_links_and_pictures() -> None:
    from index_readme import FILES, LINK, PAGES, with_addresses

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for is_picture, _, target in LINK.findall(readme):
        assert (ROOT / target.partition("#")[0]).exists(), target
        assert f"({FILES if is_picture else PAGES}{target})" in with_addresses(readme)
    assert not LINK.search(with_addresses(readme))
    address = "https://raw.githubusercontent.com/structrag/structrag/main/a.png"
    assert with_addresses("![a](a.png)") == f"![a]({address})"
    address = "https://github.com/structrag/structrag/blob/main/docs/guide.md#terms"
    assert with_addresses("[a](docs/guide.md#terms)") == f"[a]({address})"


@pytest.mark.parametrize(
    "extra",
    [
        "langchain",
        "llama-index",
        "gguf",
        "static",
        "cli",
        "mcp",
        "pdf",
    ],
)
def test_the_checks_of_the_extras_pass_where_everything_is(
    extra: str, tmp_path: Path
) -> None:
    assert script(ROOT / ".ci/extra_check.py").CHECKS[extra](tmp_path)


PATH = re.compile(r"`([\w./-]+\.(?:py|md|txt|toml|yml|json))`")
# What a reader puts in, and a file that lies in no folder of ours.
EXAMPLES = ("FORMAT", "NAME", "ROOM", "multiprocessing.py")
FOLDERS = (
    ".github",
    "shared",
    "langchain_structrag",
    "llama_index_structrag",
    "tests",
    "docs",
    "scripts",
    ".github",
)


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "ARCHITECTURE.md"])
def test_the_files_that_a_page_names_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    paths = [
        path for path in PATH.findall(text) if not any(e in path for e in EXAMPLES)
    ]
    assert len(paths) > 15
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*.*")]
    ends = [f"/{file.relative_to(ROOT).as_posix()}" for file in files]
    # A page may leave out the folders that its section is about.
    assert [
        path
        for path in paths
        if not (ROOT / path).exists()
        and not any(end.endswith(f"/{path}") for end in ends)
    ] == []


def test_every_example_has_its_test() -> None:
    for path in (FOLDER / "examples").rglob("*.txt"):
        file = FOLDER.parent / path.relative_to(FOLDER / "examples").with_suffix(".py")
        named = re.findall(r"(?m)^\[(test_\w+):", path.read_text(encoding="utf-8"))
        tree = ast.parse(file.read_text(encoding="utf-8"))
        there = {getattr(node, "name", "") for node in tree.body}
        assert sorted(set(named) - there) == [], path
