"""`structrag index --store lancedb:FOLDER` and a search in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_running import run
from doubles import HashTokens

from structrag import EvidenceRetriever, parse, read_text
from structrag.cli.engine_index import EngineIndex, fill
from structrag.errors import InvalidParameter
from structrag.records import Document


def test_an_engine_needs_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"lancedb:{tmp_path}"
    monkeypatch.setattr("structrag.cli.engine_index.has_minilm", lambda: False)
    with pytest.raises(InvalidParameter, match="--embedder must name a model"):
        fill(address, [tmp_path])
    with pytest.raises(InvalidParameter, match="--embedder must name a model"):
        EngineIndex(address)


@pytest.mark.slow
def test_files_are_indexed_and_searched(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, minilm: object
) -> None:
    pytest.importorskip("lancedb", reason="the extra 'lancedb' is not installed")
    for name in ("pump", "valve"):
        (tmp_path / f"{name}.md").write_text(
            f"# The {name}\n\nThe {name} is cleaned weekly.\n"
        )
    store = f"lancedb:{tmp_path / 'corpus'}"
    options = ("--method", "multiview", "--embedder", "minilm")
    code, out, err = run(
        capsys, "index", tmp_path / "pump.md", tmp_path / "valve.md", "--store", store,
        "--workers", 1, *options,
    )  # fmt: skip
    assert (code, out) == (0, "") and "2 documents added" in err
    question = ("--index", store, "-q", "the valve", "-k", 1, "--json", *options)
    code, out, _ = run(capsys, "search", *question)
    assert (code, json.loads(out)["document"]) == (0, str(tmp_path / "valve.md"))
    code, _, err = run(capsys, "search", tmp_path, *question)
    assert (code, "Name no files" in err) == (2, True)


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    pytest.importorskip("lancedb", reason="the extra 'lancedb' is not installed")
    pytest.importorskip("mcp", reason="the extra 'mcp' is not installed")
    monkeypatch.setattr(
        "structrag.cli.engine_index.embedder_of", lambda _: HashTokens()
    )
    return f"lancedb:{tmp_path / 'corpus'}"


def served(address: str, *documents: Document) -> Any:
    """A library over a store with these documents."""
    from structrag.cli.mcp_server import Library

    EvidenceRetriever(HashTokens(), store=address).add(documents)
    return Library(EngineIndex(address, embedder="minilm"), [])


@pytest.mark.parametrize("is_absolute", [True, False])
def test_no_id_of_a_store_is_opened_as_a_path(
    tmp_path: Path, address: str, is_absolute: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.md").write_text("# Secret\n\nNobody reads this.\n")
    name = str(tmp_path / "secret.md") if is_absolute else "secret.md"
    text = "# Pump\n\nThe pump is cleaned weekly.\n"
    library = served(
        address,
        read_text(text, id=name, meta={"source": str(tmp_path / "secret.md")}),
        read_text(text, id="https://example.org/pump?id=1", title="The page"),
        read_text(text, id=str(tmp_path / "none.md")),
    )
    listed = library.contents()["entries"]
    ids = [entry["document"] for entry in listed]
    assert ids == ["secret.md", "https://example.org/pump?id=1", "none.md"]
    assert listed[1]["title"] == "The page"
    for shown in (*ids, name):
        assert library.read(shown, 0, 99)["text"] == text
        (section,) = library.contents(shown)["entries"]
        assert section["path"] == ["Pump"]
    passages = library.find("Is the pump cleaned?", 9, None)
    assert {passage["document"] for passage in passages} == set(ids)
    assert "Nobody" not in str(passages)


PAGES = {
    "markdown": (
        "---\ntitle: All\n---\nBefore.\n\n# Pump\n\n" + "It is cleaned. " * 150 + "\n\n"
        "### Deep\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n    code stays\n\n"
        "## Empty\n\n# Last\n\nEnd.\n"
    ),
    "html": (
        "<title>All</title><p>Before.<h1>Pump</h1><p>"
        + "It is <b>cleaned</b>. " * 150
        + "<h3>Deep</h3><table><tr><td>a<td>b</table><h2><img src=x></h2>"
        + "<h2>Empty</h2><h1>Last</h1>End."
    ),
    "text": "Just lines.\n" * 400,
    "rst": "Pump\n====\n\nIt is cleaned.\n\nDeep\n----\n\nDeeper.\n",
}


@pytest.mark.parametrize("format", PAGES)
def test_a_store_gives_the_sections_of_its_documents(address: str, format: str) -> None:
    document = read_text(PAGES[format], format=format, id="a")
    sections = parse(document).sections
    library = served(address, document)
    entries = library.contents("a")["entries"]
    assert [(one["path"], one["section"]) for one in entries] == [
        (list(section.path), section.ordinal) for section in sections[1:]
    ]
    text, end, more = "", 0, True
    while more:
        part = library.read("a", 0, 900, end)
        text, end, more = text + part["text"], part["end"], part["more"]
    shown = document.text.rstrip()
    if format == "markdown":
        shown = "\n" * shown.index("Before") + shown[shown.index("Before") :]
    assert text.rstrip() == shown
    for entry, section in zip(entries, sections[1:], strict=True):
        assert (
            text[entry["start"] :].startswith(section.title)
            or text[entry["start"]] in "#\n"
        )
        assert abs(entry["start"] - section.start) <= 2
    for passage in library.find("the pump is cleaned, deeper", 9, None):
        section = library.read("a", passage["section"], 99_999)
        assert section["path"] == passage["path"]
        assert text[passage["start"] : passage["end"]] == passage["text"]


def test_a_document_without_text_is_listed(address: str) -> None:
    library = served(address, read_text("", id="empty", title="Nothing"))
    (entry,) = library.contents()["entries"]
    assert (entry["title"], entry["end"], entry["tokens"]) == ("Nothing", 0, 0)
    assert library.read("empty", 0, 9)["text"] == ""
    assert library.find("pump", 1, None) == []
