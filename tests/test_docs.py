"""The code in README and docs runs as it stands, in order, from the project's root; and the docs
name every public name."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest
from rooms import ROOMS

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(
    r"^(?:\$ )?(structrag (?:outline|split|search|view|compare|eval) .*)$", re.MULTILINE
)
SHOWN = re.compile(
    r"^\$ cat (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL
)  # a file, and what is in it


def langchain_names() -> dict[str, object]:
    """What a LangChain application has before it reaches our lines."""
    from langchain_core.documents import Document
    from langchain_core.embeddings import DeterministicFakeEmbedding

    documents = [
        Document(
            (ROOT / "docs/guide.md").read_text(encoding="utf-8"),
            metadata={"source": "docs/guide.md"},
        )
    ]
    return {"documents": documents, "embeddings": DeterministicFakeEmbedding(size=32)}


def llama_index_names() -> dict[str, object]:
    """What a LlamaIndex application has before it reaches our lines."""
    from llama_index.core import Document, MockEmbedding
    from llama_index.core.llms import MockLLM
    from llama_index.core.query_engine import RetrieverQueryEngine

    documents = [
        Document(
            text=(ROOT / "docs/guide.md").read_text(encoding="utf-8"),
            metadata={"file_path": "docs/guide.md"},
        )
    ]
    return {
        "documents": documents,
        "embed_model": MockEmbedding(embed_dim=8),
        "llm": MockLLM(),
        "RetrieverQueryEngine": RetrieverQueryEngine,
    }


def in_a_copy(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work where the project's pages are, but nothing that is written stays in the project."""
    (folder / "docs").symlink_to(ROOT / "docs")
    (folder / "README.md").symlink_to(ROOT / "README.md")
    monkeypatch.chdir(folder)


@pytest.mark.filterwarnings(
    "ignore:At least half of the language model's answers"
)  # MockLLM's
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_blocks_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_a_copy(tmp_path, monkeypatch)
    names: dict[str, object] = {}
    for code in BLOCK.findall(page.read_text(encoding="utf-8")):
        if "langchain" in code:
            names.update(langchain_names())
        elif "llama_index" in code:
            names.update(llama_index_names())
        exec(compile(code, f"{page.name}: {code[:40]!r}", "exec"), names)


def test_the_guide_shows_the_outline_it_claims() -> None:
    from structrag import parse, read_text

    outline = parse(read_text("Intro.\n\n# A\n\nBody A.\n\n### A.x\n\nDeep.\n"))
    shown = str(
        [(section.path, section.start, section.end) for section in outline.sections]
    )
    assert f"# {shown}" in (ROOT / "docs/guide.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("page", "command"),
    [
        (page, command)
        for page in ("README.md", "docs/tools.md")
        for command in COMMAND.findall((ROOT / page).read_text(encoding="utf-8"))
    ],
)
def test_shown_commands_run(
    page: str,
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    import shlex

    from structrag.cli import main

    in_a_copy(tmp_path, monkeypatch)
    for name, content in SHOWN.findall((ROOT / page).read_text(encoding="utf-8")):
        Path(name).write_text(content, encoding="utf-8")
    with pytest.raises(SystemExit) as stop:
        main(shlex.split(command)[1:])
    assert stop.value.code == 0
    assert capsys.readouterr().out.strip()


PACKAGES = ["structrag", "langchain_structrag", "llama_index_structrag"] + [
    f"structrag.{room}"
    for room in ROOMS
    if room != "evaluation"  # shown as one module
]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_in_the_docs(package: str) -> None:
    pages = sorted((ROOT / "docs/api").glob("*.md"))
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    shown = set(re.findall(r"^### (\w+)$", text, re.M))
    names = getattr(importlib.import_module(package), "__all__", [])
    classes = [name for name in names if callable(named(package, name))]
    assert [name for name in classes if name not in shown] == []


def named(package: str, name: str) -> object:
    return getattr(importlib.import_module(package), name)


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="pages are made with 3.11")
def test_the_pages_of_classes_are_those_of_the_docstrings() -> None:
    import reference

    for title, modules in reference.PAGES.items():
        text = (ROOT / f"docs/api/{title}.md").read_text(encoding="utf-8")
        assert reference.page(title, modules) == text, (
            "python scripts/reference.py --write"
        )


def test_the_architecture_names_the_rooms_in_order_and_real_functions() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = page.partition("| room |")[2].partition("\n\n")[0]
    rooms = [
        re.findall(r"`(\w+)`", row.split("|")[1]) for row in table.splitlines()[2:]
    ]
    assert [room for row in rooms for room in row] == ROOMS
    steps = re.findall(r"^\| `([\w/]+\.py)` \| `(\w+)` \|", page, re.MULTILINE)
    assert len(steps) > 20
    for file, name in steps:
        code = (ROOT / "shared/structrag" / file).read_text(encoding="utf-8")
        assert re.search(rf"^ *(?:def|class) {name}\b", code, re.MULTILINE), (
            f"{file}: {name}"
        )


def test_the_architecture_shows_what_its_steps_give(
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    (code,) = BLOCK.findall(page)
    exec(compile(code, "ARCHITECTURE.md", "exec"), {})
    assert f"# {capsys.readouterr().out.strip()}" in code


def test_the_table_of_the_readme_is_that_of_the_results() -> None:
    from benchmarks.evaluation import ROWS, row
    from benchmarks.pictures import BUDGETS

    text = (ROOT / "README.md").read_text(encoding="utf-8").replace("**", "")
    for name in ("llama_index", "recursive", "fixed", "evidence"):
        cells = row(*ROWS[name])
        assert cells and all(cells[within] in text for within in BUDGETS)
        assert f"({cells.n} questions)" in text


def test_the_readme_is_read_in_three_minutes() -> None:
    from words import prose, words

    assert len(words(prose((ROOT / "README.md").read_text(encoding="utf-8")))) <= 700


def test_the_readme_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    code = BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))[0]
    exec(compile(code, "README.md", "exec"), langchain_names())
    assert f"# {capsys.readouterr().out.strip()}\n" in code
