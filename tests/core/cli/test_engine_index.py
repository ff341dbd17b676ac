"""`structrag index --store lancedb:FOLDER` and a search in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_running import run
from doubles import HashTokens

from structrag import EvidenceRetriever, read_file
from structrag.cli.engine_index import EngineIndex, fill, search
from structrag.errors import InvalidParameter


def test_an_engine_needs_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"lancedb:{tmp_path}"
    monkeypatch.setattr("structrag.cli.engine_index.has_minilm", lambda: False)
    with pytest.raises(InvalidParameter, match="--embedder must name a model"):
        fill(address, [tmp_path])
    with pytest.raises(InvalidParameter, match="--embedder must name a model"):
        search(address, "pump", 1)


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


def test_what_an_engine_holds_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("lancedb", reason="the extra 'lancedb' is not installed")
    pytest.importorskip("mcp", reason="the extra 'mcp' is not installed")
    from structrag.cli.mcp_server import Library

    monkeypatch.setattr(
        "structrag.cli.engine_index.embedder_of", lambda _: HashTokens()
    )
    file, address = tmp_path / "pump.md", f"lancedb:{tmp_path / 'corpus'}"
    file.write_text("# The pump\n\nThe pump is cleaned weekly.\n", encoding="utf-8")
    retriever = EvidenceRetriever(HashTokens(), store=address)
    retriever.add([read_file(file)])
    library = Library(EngineIndex(address, embedder="minilm"), [])
    (passage,) = library.find("Is the pump cleaned?", 1, None)
    assert (passage["document"], passage["path"]) == ("pump.md", ["The pump"])
    assert library.contents()["total"] == 1
    assert "cleaned weekly" in library.read("pump.md", 1, 100)["text"]
    with pytest.raises(
        InvalidParameter, match="document must be the name of a document"
    ):
        library.read("other.md", 0, 100)
