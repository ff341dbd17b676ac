"""Every notebook runs from its first cell to its last, is stored with outputs, and imports public
names only."""

from __future__ import annotations

import ast
import base64
import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "cookbooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
OURS = ("structrag", "langchain_structrag", "llama_index_structrag")
MOST_BYTES = 80_000  # of a picture
# Those whose output is the same in each run: what is stored must be what comes.
REPEATED = ("02_llama_index_query_engine", "04_lookalike_manuals_hiqa")

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells(path: Path, kind: str = "code") -> list[dict[str, Any]]:
    """The cells of a notebook that are of a kind."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


def outputs(path: Path) -> list[dict[str, Any]]:
    """All stored outputs of a notebook."""
    return [output for cell in cells(path) for output in cell["outputs"]]


def public_names(module: str) -> set[str]:
    """What may be imported from a module of ours: `__all__` where it has one, else what it defines
    without an underscore."""
    found = import_module(module)
    names = getattr(found, "__all__", None) or [
        name for name in vars(found) if not name.startswith("_")
    ]
    return set(names)


def test_the_notebooks_are_listed() -> None:
    listed = re.findall(
        r"\]\((\S+\.ipynb)\)", (FOLDER / "README.md").read_text(encoding="utf-8")
    )
    assert listed == [path.name for path in NOTEBOOKS]
    assert len(NOTEBOOKS) >= 6


@pytest.mark.slow
@pytest.mark.long
@each_notebook
def test_runs(path: Path, minilm: Any) -> None:
    nbformat = pytest.importorskip(
        "nbformat", reason="the extra 'dev' is not installed"
    )
    nbclient = pytest.importorskip(
        "nbclient", reason="the extra 'dev' is not installed"
    )
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    client = nbclient.NotebookClient(
        notebook,
        timeout=280,
        kernel_name="python3",
        resources={"metadata": {"path": str(FOLDER)}},
    )
    client.execute()  # raises CellExecutionError with the cell and its traceback
    assert all(
        cell.execution_count for cell in notebook.cells if cell.cell_type == "code"
    )
    if path.stem in REPEATED:
        ran = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
        stored = [cell["outputs"] for cell in cells(path)]
        assert [*map(printed, ran)] == [*map(printed, stored)]


def printed(parts: list[Any]) -> str:
    """What a cell printed on standard output."""
    return "".join(
        text
        for output in parts
        if output.get("name") == "stdout"
        for text in output["text"]
    )


@pytest.mark.parametrize("stem", REPEATED)
def test_percentages_and_counts_in_the_prose_are_those_of_the_outputs(
    stem: str,
) -> None:
    path = FOLDER / f"{stem}.ipynb"
    shown = "".join(printed(cell["outputs"]) for cell in cells(path))
    prose = "".join("".join(cell["source"]) for cell in cells(path, "markdown"))
    said = re.findall(r"\b\d+%|\b\d+ of \d+\b", prose)
    assert said and [figure for figure in said if figure not in shown] == []


@each_notebook
def test_is_stored_with_outputs(path: Path) -> None:
    counts = [cell["execution_count"] for cell in cells(path)]
    assert counts == list(range(1, len(counts) + 1))
    stored = outputs(path)
    assert not [
        output
        for output in stored
        if output["output_type"] == "error" or output.get("name") == "stderr"
    ]
    assert "".join(text for output in stored for text in output.get("text", ())).strip()


@each_notebook
def test_pictures_are_small(path: Path) -> None:
    pictures = [
        output["data"]["image/png"]
        for output in outputs(path)
        if "image/png" in output.get("data", {})
    ]
    for picture in pictures:
        content = base64.b64decode("".join(picture))
        assert content.startswith(b"\x89PNG")
        assert len(content) < MOST_BYTES


def test_most_notebooks_have_a_picture() -> None:
    shown = [
        path
        for path in NOTEBOOKS
        if any("image/png" in output.get("data", {}) for output in outputs(path))
    ]
    assert len(shown) >= 5


@each_notebook
def test_nothing_of_a_machine_is_stored(path: Path) -> None:
    text = re.sub(r'"image/png": "[^"]*"', "", path.read_text(encoding="utf-8"))
    assert not re.findall(r"/(?:home|root|Users|tmp|work)/\S*", text)
    assert not re.findall(r"site-packages|[A-Z]:\\\\Users", text)


@each_notebook
def test_is_short(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert 8 <= len(notebook["cells"]) <= 20
    assert len(cells(path)) <= 12
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    assert cells(path, "markdown")[0]["source"][0].startswith("# ")


@each_notebook
def test_imports_public_names_only(path: Path) -> None:
    for cell in cells(path):
        for node in ast.walk(ast.parse("".join(cell["source"]))):
            if (
                isinstance(node, ast.ImportFrom)
                and node.module
                and node.module.split(".")[0] in OURS
            ):
                assert not any(part.startswith("_") for part in node.module.split("."))
                allowed = public_names(node.module)
                assert {alias.name for alias in node.names} <= allowed, node.module
            elif isinstance(node, ast.Attribute):
                own = isinstance(node.value, ast.Name) and node.value.id == "self"
                assert own or not node.attr.startswith("_"), node.attr


@each_notebook
def test_links_lead_to_files(path: Path) -> None:
    text = "".join("".join(cell["source"]) for cell in cells(path, "markdown"))
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (FOLDER / target).exists(), target
