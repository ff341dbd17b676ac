"""Several levels in an engine give what a store of several levels gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_making import ENGINES, address_in

from structrag.errors import InvalidAnswer, InvalidParameter, UnknownDocument
from structrag.index.engine_levels import EngineLevels, open_levels
from structrag.index.engine_reader import EngineReader
from structrag.index.entries import Entry, Level, Vectors
from structrag.index.store import Store
from structrag.records import Chunk, Document

LEVELS = {"paragraphs": ("raw",), "parts": ("raw",), "outline": ("raw",)}
WORDS = ("pump", "valve", "seal", "brass", "water")


@pytest.fixture(params=ENGINES)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with address_in(request.param, tmp_path) as place:
        yield place


def chunk(doc_id: str, start: int, end: int, text: str) -> Chunk:
    """The same id at every level for the same span: levels do not know each other."""
    return Chunk(f"{doc_id}/{start}-{end}", doc_id, f"{doc_id}#0", start, end, text)


def vector(text: str) -> list[float]:
    return [text.split().count(word) + 0.1 for word in WORDS]


def level(chunks: Sequence[Chunk], *, vectors: bool = True) -> Level:
    texts = tuple(chunk.text for chunk in chunks)
    if not vectors:
        return Level(tuple(chunks), {"raw": texts}, {})
    matrix = np.array([vector(text) for text in texts]).reshape(-1, len(WORDS))
    return Level(
        tuple(chunks), {"raw": texts}, {"raw": Vectors(matrix, np.arange(len(texts)))}
    )


def entry(
    doc_id: str, paragraphs: Sequence[str], *, fingerprint: str = "1", **meta: Any
) -> Entry:
    """Paragraphs, parts of two of them, and an outline without vectors."""
    ends = [10 * (i + 1) for i in range(len(paragraphs))]
    spans = list(zip([0, *ends], ends, strict=False))
    units = [
        chunk(doc_id, *span, text) for span, text in zip(spans, paragraphs, strict=True)
    ]
    parts = [
        chunk(
            doc_id,
            units[i].start,
            units[min(i + 1, len(units) - 1)].end,
            " ".join(of_part),
        )
        for i in range(0, len(units), 2)
        for of_part in [paragraphs[i : i + 2]]
    ]
    first = level(units)
    return Entry(
        Document("", id=doc_id, title=doc_id.upper(), meta=meta),
        fingerprint,
        first.chunks,
        first.views,
        first.vectors,
        levels={"parts": level(parts), "outline": level(units[:1], vectors=False)},
    )


ENTRIES = [
    entry("a", ["the pump moves water", "the valve", "a seal of brass"], year=2020),
    entry("empty", [], year=2021),
    entry("b", ["brass pump", "water water pump"], year=2021),
]


def both(
    address: str, entries: Sequence[Entry] = ENTRIES
) -> tuple[Store, EngineLevels]:
    """A store in memory and one in an engine, of the same documents."""
    near = Store(LEVELS)
    far = open_levels(address, near.settings)
    assert isinstance(far, EngineLevels)
    for store in (near, far):
        store.put_all(entries)
    return near, far


def records(reader: Any) -> list[tuple[str, Any, range]]:
    """What conditions see of each document."""
    return [(record["id"], record["meta"], rows) for record, rows in reader.records()]


def check_same(near: Store, far: EngineLevels) -> None:
    """All levels hold the same, and every search finds the same."""
    far.save(far.store.uri)  # an engine's statistics are those of then
    assert far.document_ids == near.document_ids and len(far) == len(near)
    assert far.chunks() == near.chunks()
    ours, theirs = near.snapshot(), far.snapshot()
    for name in LEVELS:
        mine, other = ours.reader(name), theirs.reader(name)
        assert len(other) == len(mine) and other.chunks() == mine.chunks()
        assert other.document_ids == mine.document_ids
        assert other.fingerprints() == mine.fingerprints()
        assert records(other) == records(mine)
        rows = list(range(len(mine)))
        assert other.view_texts_at(rows, "raw") == mine.view_texts_at(rows, "raw")
        assert [other.row_of(chunk.id) for chunk in other.chunks()] == rows
        for doc_id in mine.document_ids:
            assert other.rows_of(doc_id) == mine.rows_of(doc_id)
            assert other.chunks(doc_id) == mine.chunks(doc_id)
            assert other.document(doc_id) == mine.document(doc_id)
        assert list(other.with_chunks(mine.document_ids)) == list(
            mine.with_chunks(mine.document_ids)
        )
        for where in (
            None,
            {"year": 2021},
            lambda meta: meta["doc_id"] != "b",
            slice(1, 2),
        ):
            if isinstance(where, slice) and len(mine) < 2:
                continue
            for query in ("pump", "water brass", "none"):
                expected = mine.search_lexical("raw", query, 9, where)
                found = other.search_lexical("raw", query, 9, where)
                assert [row for row, _ in found] == [row for row, _ in expected]
                # Milvus may weigh terms by a mean length that is 2 % off.
                scores = [score for _, score in expected]
                assert [score for _, score in found] == pytest.approx(scores, rel=0.03)
            expected = mine.search_dense("raw", vector("water pump"), 2, where)
            found = other.search_dense("raw", vector("water pump"), 2, where)
            assert [row for row, _ in found] == [row for row, _ in expected]
            scores = [score for _, score in expected]
            assert [score for _, score in found] == pytest.approx(scores, abs=1e-5)


def test_an_engine_gives_what_memory_gives(address: str) -> None:
    near, far = both(address)
    check_same(near, far)
    opened = open_levels(address)
    assert isinstance(opened, EngineLevels) and opened.levels == tuple(LEVELS)
    assert opened.settings.to_json() == near.settings.to_json()
    check_same(near, opened)


def test_no_level_is_searched_with_the_words_of_another(address: str) -> None:
    _, far = both(address)
    assert [
        row for row, _ in far.reader("outline").search_lexical("raw", "brass", 9)
    ] == [1]
    assert [row for row, _ in far.reader("parts").search_lexical("raw", "seal", 9)] == [
        1
    ]
    assert far.reader("outline").search_dense("raw", vector("pump"), 9) == []


def test_documents_change_at_all_levels_at_once(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    near, far = both(address)
    before = far.snapshot()
    read: list[str] = []
    with_chunks = EngineReader.with_chunks

    def counted(self: Any, doc_ids: Sequence[str]) -> Any:
        read.extend(doc_ids)
        return with_chunks(self, doc_ids)

    monkeypatch.setattr(EngineReader, "with_chunks", counted)
    changed = entry("a", ["a valve of brass"], fingerprint="2", year=2020)
    for store in (near, far):
        store.put_all([changed, entry("c", ["the water is cold"], year=2021)])
    check_same(near, far)
    assert sorted(read) == ["a", "c"]  # the others are known
    assert far.snapshot() is far.snapshot() and far.changes == far.snapshot().changes
    assert (
        len(before.reader()) == 5
        and before.reader().chunk(0).text == "the pump moves water"
    )
    read.clear()
    for store in (near, far):
        assert store.delete("b") and not store.delete("b")
        # Put again it stands behind the others, at other rows of the engine.
        store.put(ENTRIES[2])
    check_same(near, far)
    assert read == ["b"] and far.document_ids == ["a", "empty", "c", "b"]


def test_a_document_on_which_a_model_failed_is_read_again(address: str) -> None:
    failed = replace(ENTRIES[0], degraded=1)
    near, far = both(address, [failed])
    assert far.fingerprints(["a"]) == {} and far.reader().fingerprints() == {"a": None}
    mended = entry("a", ["the pump moves oil"], year=2020)  # of the same fingerprint
    for store in (near, far):
        store.put(mended)
    check_same(near, far)
    assert far.fingerprints(["a", "none"]) == {"a": "1"}


def test_what_is_held_is_known(address: str) -> None:
    _, far = both(address)
    assert far.held(ENTRIES) == {"a", "empty", "b"}
    other = replace(ENTRIES[0], levels={**ENTRIES[0].levels, "parts": level([])})
    assert far.held([other, entry("new", [])]) == set()
    assert far.known(["a", "none"]) == {"a"} and "a" in far and "none" not in far
    assert far.document("a").title == "A"


def test_rows_and_selections(address: str) -> None:
    _, far = both(address)
    reader = far.reader("paragraphs")
    assert reader.select(None) is None and reader.row_numbers is None
    assert reader.first_rows(reader.select({"doc_id": "b"}), 1) == [3]
    assert reader.first_rows(None, 2) == [0, 1]
    assert reader.among(np.array([1, 3])).tolist() == [False, True, False, True, False]
    assert [chunk.text for chunk in reader.chunks_at([4, 1])] == [
        "water water pump",
        "the valve",
    ]
    assert "a" in reader and "none" not in reader and reader.row_of("none") is None
    nothing = np.zeros(len(reader), dtype=bool)
    assert reader.search_lexical("raw", "pump", 9, nothing) == []
    assert reader.search_dense("raw", vector("pump"), 9, nothing) == []
    with pytest.raises(UnknownDocument, match="doc_id must be the id of a document"):
        reader.rows_of("none")
    with pytest.raises(
        InvalidParameter, match="where must use keys of the documents' metadata"
    ):
        reader.select({"colour": 1})
    for search in (
        lambda: reader.search_dense("other", vector("pump"), 1),
        lambda: reader.search_lexical("other", "pump", 1),
        lambda: reader.view_texts_at([0], "other"),
    ):
        with pytest.raises(InvalidParameter, match="view must be one of 'raw'"):
            search()
    with pytest.raises(InvalidParameter, match="level must be one of"):
        far.reader("none")
    with pytest.raises(InvalidAnswer, match="must have shape"):
        reader.search_dense("raw", [1.0, 2.0], 1)


def test_a_document_that_cannot_be_kept_leaves_all_as_it_was(address: str) -> None:
    near, far = both(address)
    broken = entry("c", ["pump"])
    vectors = {"raw": Vectors(np.array([[1.0, 2.0]]), np.array([0]))}
    with pytest.raises(InvalidAnswer):
        far.put_all([entry("d", ["water"]), replace(broken, vectors=vectors)])
    check_same(near, far)


def test_a_folder_keeps_levels_itself(tmp_path: Path) -> None:
    settings = Store(LEVELS).settings
    store = open_levels(tmp_path / "index", settings, {"kind": "levels"})
    assert isinstance(store, Store) and store.settings.to_json() == settings.to_json()
    store.put_all(ENTRIES)
    store.save(tmp_path / "index")
    again = open_levels(tmp_path / "index", verify=True)
    assert isinstance(again, Store) and again.config == {"kind": "levels"}
    assert again.document_ids == ["a", "empty", "b"]


def test_the_configuration_is_kept(address: str) -> None:
    _, far = both(address)
    far.save(address, config={"of": "levels"})
    assert far.config == {"of": "levels"}
    assert open_levels(address).config == {"of": "levels"}
    with pytest.raises(InvalidParameter, match="must be those that the store"):
        open_levels(address, Store({"paragraphs": ("raw",)}).settings)
