"""What the indexes have in common: two writers of one folder, and places as they were opened."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from doubles import HashEmbedder

from structrag.errors import SaveFailed
from structrag.index.index import Index
from structrag.reading.files import read_text
from structrag.records import Document
from structrag.retrieval.d3.index import D3Index
from structrag.retrieval.evidence.retriever import EvidenceRetriever

KINDS = ("Index at a folder", "D3Index at a folder", "Index", "D3Index", "Evidence")


def document(number: int) -> Document:
    return read_text(f"# Item {number}\n\nPump number {number}.", id=f"d{number}")


def opened(kind: str, path: Path | str) -> Any:
    """An index of a kind with what is at a folder."""
    model = HashEmbedder(16)
    made: Any = {"Index": Index, "D3Index": D3Index}.get(kind.split()[0])
    if kind.endswith("folder"):
        return made(embedder=model, store=path)
    if kind == "Evidence":
        if Path(path).exists():
            return EvidenceRetriever.load(path, model)
        return EvidenceRetriever(model)
    return (
        made.load(path, embedder=model) if Path(path).exists() else made(embedder=model)
    )


def change(kind: str, index: Any, path: Path | str, *, delete: str = "") -> None:
    """Delete a document or add the next, and save."""
    if delete:
        index.delete(delete)
    else:
        index.add([document(len(index.document_ids) + 10)])
    if not kind.endswith("folder"):
        index.save(path)


@pytest.mark.parametrize("delete", ["", "d0"])
@pytest.mark.parametrize("kind", KINDS)
def test_two_writers_of_one_folder_lose_nothing_unsaid(
    kind: str, delete: str, tmp_path: Path
) -> None:
    path = tmp_path / "index"
    first = opened(kind, path)
    early = opened(kind, path)  # when nothing was there
    first.add([document(0), document(1)])
    first.save(path)
    second, third = opened(kind, path), opened(kind, path)
    change(kind, second, path)
    there = opened(kind, path).document_ids
    assert there == ["d0", "d1", "d12"]
    for outdated in (early, first, third):
        for _ in range(2):  # nor does a second try
            with pytest.raises(
                SaveFailed, match=r"changed by another.*Open the index again"
            ):
                change(kind, outdated, path, delete=delete)
    assert opened(kind, path).document_ids == there
    change(kind, second, path)  # the one that is up to date goes on
    assert opened(kind, path).document_ids == ["d0", "d1", "d12", "d13"]
    third.save(tmp_path / "elsewhere")
    shutil.rmtree(path)
    if not kind.endswith("folder"):
        third.save(path)  # nothing is there any more


def test_an_index_made_anew_replaces_an_older_one(tmp_path: Path) -> None:
    path = tmp_path / "index"
    old = EvidenceRetriever.from_documents([document(0)], HashEmbedder(16))
    old.save(path)
    late = EvidenceRetriever.from_documents([document(2)], HashEmbedder(16))
    new = EvidenceRetriever.from_documents([document(1)], HashEmbedder(16))
    new.save(path)
    with pytest.raises(SaveFailed, match="changed by another"):
        late.save(path)  # made before the other saved
    path.rename(tmp_path / "moved")
    new.save(tmp_path / "moved")
    assert opened("Evidence", tmp_path / "moved").document_ids == ["d1"]


@pytest.mark.parametrize("kind", KINDS[:2])
def test_a_relative_folder_stays_where_it_was(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    index = opened(kind, "corpus")
    index.add([document(0)])
    loaded = type(index).load("corpus", embedder=HashEmbedder(16))
    monkeypatch.chdir("other")
    index.add([document(1)])
    assert not list(Path().iterdir())
    assert opened(kind, "../corpus").document_ids == ["d0", "d1"]
    loaded.save("copy")  # its files are found
    assert opened(kind, "copy").document_ids == ["d0"]
