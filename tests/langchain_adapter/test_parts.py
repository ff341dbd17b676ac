"""Documents of one source that come one by one, in batches, and in several processes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from doubles import HashEmbedder
from langchain_core.documents import Document

from langchain_structrag import EvidenceRetriever, MultiViewRetriever


class Reopened:
    """A retriever over a folder, opened again for every call, as by a program that runs daily."""

    def __init__(self, path: Path, engine: str = "") -> None:
        self.place = f"{engine}{path / 'index'}"

    def add(self, documents: Iterable[Document]) -> list[str]:
        model = HashEmbedder()
        self.retriever = EvidenceRetriever.from_documents([], model, store=self.place)
        self.retriever.add_documents(documents)
        ids: list[str] = self.retriever.index.document_ids
        return ids


class Kept:
    """One retriever for all calls."""

    def __init__(self, path: Path) -> None:
        self.retriever = MultiViewRetriever.from_documents([], "lsa")

    def add(self, documents: Iterable[Document]) -> list[str]:
        self.retriever.add_documents(documents)
        ids: list[str] = self.retriever.index.document_ids
        return ids


def rows(*texts: str, **facts: Any) -> list[Document]:
    return [Document(text, metadata={"source": "a.csv", **facts}) for text in texts]


@pytest.mark.parametrize("kind", [Kept, Reopened])
def test_parts_without_a_place_have_digests_and_equal_ones_count_once(
    kind: Any, tmp_path: Path
) -> None:
    index = kind(tmp_path)
    other = Document("b", metadata={"source": "b"})
    ids = index.add([*rows("one", "two", "one", "three"), other])
    assert len(ids) == 4 and ids[-1] == "b"
    assert all(name.startswith("a.csv#") for name in ids[:3])
    # Whatever else comes with them, in this call or another.
    assert index.add(rows("one")) == ids
    assert index.add(rows("two", "three")) == ids
    assert index.add(rows("four"))[:4] == ids
    assert len(index.add(rows("five"))) == 6
    assert len(index.add(rows("four"))) == 6
    index.retriever.delete("b")
    (*_, last) = index.add([other])
    assert last == "b"


@pytest.mark.parametrize("kind", [Kept, Reopened])
@pytest.mark.parametrize(
    "facts",
    [
        {"sku": "A{i}"},
        {"uuid": "{i}"},
        {"loc": {"lines": ["{i}"]}},
        {"product_id": "{i}"},
        {"account_id": "{i}"},
        {"country": "{i}"},
        {"candidate": "{i}", "updated_at": "{i}"},
        {"statementId": "{i}"},
    ],
)
def test_parts_that_come_one_by_one_have_ids_of_their_own(
    facts: Any, kind: Any, tmp_path: Path
) -> None:
    index = kind(tmp_path)

    def add(i: int) -> Any:
        told = json.loads(json.dumps(facts).replace("{i}", str(i)))
        return index.add(rows(f"Text {i}.", **told))

    assert add(1) == ["a.csv"]
    with pytest.warns(
        UserWarning, match=r"'a.csv' has a different text .*give documents an id"
    ):
        first, second = add(2)
    assert first == "a.csv" and second.startswith("a.csv#")
    ids = add(3)
    assert ids[:2] == [first, second] and len(ids) == 3
    for i in (1, 2, 3):
        assert add(i) == ids
    assert len(index.add(rows("Four."))) == 4


def test_a_source_that_has_parts_loses_none_whatever_they_share(tmp_path: Path) -> None:
    index = Kept(tmp_path)
    index.add(rows("One.", category="Title"))
    with pytest.warns(UserWarning, match="different category"):
        index.add(rows("Two.", category="Text"))
    index.add(rows("Three.", category="Title"))
    assert len(index.add(rows("One.", category="Table"))) == 4
    assert len(index.add(rows("One.", category="Title"))) == 4


@pytest.mark.parametrize("engine", ["", "lancedb:"])
def test_a_document_that_changed_keeps_its_id(engine: str, tmp_path: Path) -> None:
    index = Reopened(tmp_path, engine)
    for text, facts in (  # two of them in an engine, which is slower
        ("One.", {"version": 1, "reviewer": "Ann", "title": "A"}),
        ("Two.", {"version": 2, "reviewer": "Ann", "title": "B"}),
        ("Two.", {"version": 2, "reviewer": "Ben", "modified_at": "2024"}),
        ("Three.", {"version": 3, "reviewer": "Ben", "size": 7, "lastUpdated": 8}),
        ("Four.", {"moddate": "2025", "reviewer": "Ben", "total_pages": 2}),
    )[2 if engine else 0 : 4 if engine else None]:
        assert index.add(rows(text, **facts)) == ["a.csv"]
        (passage,) = index.retriever.invoke(text)
        assert passage.page_content == text
        assert passage.metadata.items() >= facts.items()


def test_a_source_whose_parts_are_deleted_has_its_name_again() -> None:
    retriever = MultiViewRetriever.from_documents(rows("one", "two"), "lsa")
    retriever.add_documents(rows("three"))
    parts = retriever.index.document_ids
    assert len(parts) == 3 and retriever.delete(parts)
    for text in ("four", "five"):
        retriever.add_documents(rows(text))
        assert retriever.index.document_ids == ["a.csv"]
