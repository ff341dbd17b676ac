"""Segments: equal in memory and in a file, alone and merged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_making import VIEWS, WORDS, chunk, entry

from structrag.errors import IndexDamaged
from structrag.index.blocks import Column
from structrag.index.entries import Entry, Vectors, prepare
from structrag.index.lexical import count_terms
from structrag.index.segments import (
    ChunkIds,
    Lines,
    Merge,
    PendingDocument,
    Segment,
    StoredDocument,
    hash_of,
    lines_of,
    open_segment,
    row_runs,
    runs_of,
    segment_of,
    segment_path,
)
from structrag.text.terms import Tokenizer

LEVELS = {"chunks": VIEWS}


def segment(entries: dict[int, Entry]) -> Segment:
    """A segment of entries by their keys."""
    vocabulary: dict[str, int] = {}
    documents = []
    for key, of_document in entries.items():
        prepared = prepare(of_document, LEVELS, "float32")
        rows = prepared.levels["chunks"].rows
        terms = {
            view: count_terms(
                [row.texts[view] for row in rows], Tokenizer(), vocabulary
            )
            for view in VIEWS
        }
        stored = StoredDocument(
            prepared.record, of_document.fingerprint, of_document.degraded
        )
        documents.append(
            PendingDocument(
                key, stored, prepared.levels, {"chunks": terms}, prepared.arrays
            )
        )
    return segment_of(documents, LEVELS, vocabulary, "float32")


def _listed(array: np.ndarray | None) -> object:
    return None if array is None else array.tolist()


def content(of: Segment) -> list[object]:
    """Everything a segment holds, without the numbers of its terms."""
    table = of.levels["chunks"]
    numbers = dict(of.vocabulary.items())
    terms = {}
    for view, postings in table.postings.items():
        for term in WORDS:
            number = numbers.get(term)
            if number is not None and number < postings.n_terms:
                first, last = postings.indptr.part(number, number + 2).tolist()
                rows, counts = (
                    postings.rows.part(first, last),
                    postings.counts.part(first, last),
                )
                if len(rows):
                    terms[view, term] = rows.tolist(), counts.tolist()
                assert of.vocabulary.get(term) == number
    return [
        of.keys.tolist(),
        [of.document(i) for i in range(len(of))],
        [table.row(row) for row in range(table.n_rows)],
        table.bounds.tolist(),
        terms,
        {
            view: postings.lengths.all().tolist()
            for view, postings in table.postings.items()
        },
        {
            view: vectors.matrix.all().tolist()
            for view, vectors in table.vectors.items()
        },
        {view: vectors.owner.all().tolist() for view, vectors in table.vectors.items()},
        {
            name: [_listed(of.array(name, i)) for i in range(len(of))]
            for name in of.arrays
        },
        table.ids.of_rows().tolist(),
    ]


TEXTS = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join), max_size=3
)
GROUPS = st.lists(
    st.dictionaries(st.integers(0, 30), TEXTS, min_size=1, max_size=4),
    min_size=1,
    max_size=4,
)


def with_array(name: str, texts: list[str]) -> Entry:
    """An entry with an array besides; every other one has none."""
    made = entry(name, texts)
    if len(texts) % 2:
        return made
    return replace(made, arrays={"numbers": np.arange(2 * len(texts), dtype=np.int16)})


@settings(deadline=None, max_examples=60)
@given(groups=GROUPS, data=st.data())
def test_merged_is_as_made_at_once(
    groups: list[dict[int, list[str]]], data: st.DataObject, tmp_path_factory
) -> None:  # type: ignore[no-untyped-def]
    folder = tmp_path_factory.mktemp("segments")
    segments, live, alive, keys = [], [], {}, set()
    for number, group in enumerate(groups):
        entries = {
            key: with_array(f"{number} {key}", texts)
            for key, texts in group.items()
            if key not in keys
        }
        keys |= entries.keys()
        if not entries:
            continue
        segments.append(segment(entries))
        lives = {key: data.draw(st.booleans()) for key in entries}
        live.append(np.array([lives[key] for key in sorted(entries)]))
        alive |= {key: made for key, made in entries.items() if lives[key]}
    if not alive:
        return
    expected = content(segment(alive))
    merge = Merge(segments, live)
    assert content(merge.in_memory()) == expected
    written = merge.write(folder)
    assert content(written) == expected
    assert written.path == segment_path(folder, written.name or "")
    assert list(folder.iterdir()) == [written.path]
    again = Merge([written], [None])
    assert again.write(folder).name == written.name  # equal content, equal file
    opened = open_segment(
        segment_path(folder, written.name or ""), written.name or "", verify=True
    )
    assert content(opened) == expected and opened.size == written.size
    assert [
        opened.number_of[made.document.id] for _, made in sorted(alive.items())
    ] == list(range(len(alive)))


def test_runs_follow_the_keys() -> None:
    first = segment(
        {0: entry("a", ["fig"]), 1: entry("b", []), 5: entry("c", ["fig", "plum"])}
    )
    second = segment({3: entry("d", ["pear"]), 7: entry("e", ["pear"])})
    runs = runs_of([first, second], [None, np.array([True, False])])
    assert runs.tolist() == [[0, 0, 2], [1, 0, 1], [0, 2, 3]]


def test_ids_with_one_hash_are_all_candidates() -> None:
    hashes = np.array([hash_of("a"), hash_of("b"), hash_of("a")], dtype=np.uint64)
    ids = ChunkIds.of(hashes)
    assert ids.candidates("a") == [0, 2] and ids.candidates("b") == [1]
    assert ids.candidates("c") == []
    assert ids.of_rows().tolist() == hashes.tolist()


def test_terms_of_a_file_are_found_by_halving(tmp_path: Path) -> None:
    words = ["ähre", "\U0001f600", "zebra", "apfel", "\ud800x", "a"]
    text = " ".join(words)
    made = Entry(
        entry("d", []).document,
        "print",
        (chunk("d", 0, text),),
        {"raw": (text,), "keywords": (None,)},
        {},
    )
    written = Merge([segment({0: made})], [None]).write(tmp_path)
    tokenizer = Tokenizer()
    terms = sorted(set(tokenizer(text)))
    assert [written.vocabulary.get(term) for term in terms] == list(range(len(terms)))
    assert written.vocabulary.get("zzz") is None and written.vocabulary.get("") is None
    assert dict(written.vocabulary.items()) == {term: i for i, term in enumerate(terms)}
    assert [written.vocabulary.get(term) for term in terms] == list(range(len(terms)))


def lines(*content: bytes) -> Lines:
    text, lengths = lines_of(content)
    return Lines(Column(text), Column(np.cumsum([0, *lengths.tolist()])))


def test_lines_are_read_one_by_one_or_as_a_run() -> None:
    three = lines(b"a", b"", b"pump")
    assert len(three) == 3
    assert [three.line(at) for at in range(3)] == [b"a", b"", b"pump"]
    text, lengths = three.part(1, 3)
    assert text.tobytes() == b"pump" and lengths.tolist() == [0, 4]
    text, lengths = three.part(2, 2)
    assert text.tobytes() == b"" and lengths.tolist() == []


def test_a_line_is_looked_up_among_lines_that_ascend() -> None:
    four = lines(b"ab", b"b", b"ba", b"c")
    assert [four.find(line) for line in (b"ab", b"b", b"ba", b"c")] == [0, 1, 2, 3]
    for missing in (b"", b"a", b"abc", b"bb", b"d"):
        assert four.find(missing) is None
    assert lines().find(b"a") is None


def waiting(text: str, **fields: object) -> PendingDocument:
    """A document of one chunk that waits."""
    made = replace(entry("a", [text]), **fields)  # type: ignore[arg-type]
    prepared = prepare(made, LEVELS, "float32")
    stored = StoredDocument(prepared.record, "", 0)
    return PendingDocument(0, stored, prepared.levels, {}, prepared.arrays)


def test_the_memory_of_a_document_is_that_of_its_rows_vectors_and_arrays() -> None:
    plain = waiting("x" * 7, vectors={}).n_bytes
    assert plain == 2014  # of a row, and two of each character
    vectors = {"raw": Vectors([[1.0, 2.0, 3.0]], [0])}
    assert waiting("x" * 7, vectors=vectors).n_bytes == plain + 3 * 4
    arrays = {"facts": np.zeros((2, 5), dtype=np.int16)}
    assert waiting("x" * 7, vectors={}, arrays=arrays).n_bytes == plain + 20


def test_rows_documents_and_vectors_of_a_segment() -> None:
    texts = {"a": ["fig", "plum"], "b": [], "c": ["pear"], "d": ["apple"]}
    entries = {3 * i: entry(name, of) for i, (name, of) in enumerate(texts.items())}
    entries[6] = replace(entries[6], vectors={})
    of_four = segment(entries)
    table = of_four.levels["chunks"]
    assert (len(of_four), of_four.n_rows) == (4, 4)
    assert of_four.number_of == {"a": 0, "b": 1, "c": 2, "d": 3}
    assert [table.rows_of(number) for number in range(4)] == [
        range(2),
        range(2, 2),
        range(2, 3),
        range(3, 4),
    ]
    has_vectors = [of_four.has_vectors("chunks", "raw", number) for number in range(4)]
    assert has_vectors == [True, False, False, True]
    assert not of_four.has_vectors("chunks", "keywords", 0)
    both = replace(of_four, levels={"chunks": table, "parts": table})
    assert both.n_rows == 8


def test_an_array_of_a_document_that_has_none_is_none() -> None:
    facts = np.array([[1, 2], [3, 4]])
    entries = {
        0: entry("a", ["fig"]),
        1: replace(entry("b", ["fig"]), arrays={"facts": facts, "more": facts[:0]}),
        2: replace(entry("c", ["fig"]), arrays={"facts": facts[:1]}),
    }
    of_three = segment(entries)
    assert [_listed(of_three.array("facts", number)) for number in range(3)] == [
        None,
        [[1, 2], [3, 4]],
        [[1, 2]],
    ]
    assert of_three.array("unknown", 1) is None
    assert of_three.arrays.keys() == {"facts"}  # nobody has any of the other


def test_runs_of_documents_as_runs_of_rows() -> None:
    runs = np.array([[0, 0, 2], [1, 0, 1], [0, 2, 3]])
    bounds = [np.array([0, 1, 1, 3]), np.array([0, 4])]
    assert row_runs(runs, bounds).tolist() == [[0, 0, 1], [1, 0, 4], [0, 1, 3]]
    assert runs.tolist() == [[0, 0, 2], [1, 0, 1], [0, 2, 3]]  # as they were


def test_runs_without_documents_and_of_one() -> None:
    one = segment({4: entry("a", ["fig"])})
    assert runs_of([], []).tolist() == []
    assert runs_of([one], [np.array([False])]).tolist() == []
    assert runs_of([one], [None]).tolist() == [[0, 0, 1]]
    # A gap in the keys is none in the run, a deleted document is.
    gap = segment({key: entry(f"d{key}", ["fig"]) for key in (1, 5, 7)})
    assert runs_of([gap], [None]).tolist() == [[0, 0, 3]]
    middle = np.array([True, False, True])
    assert runs_of([gap], [middle]).tolist() == [[0, 0, 1], [0, 2, 3]]


def test_merged_documents_may_get_new_keys(tmp_path: Path) -> None:
    parts = [
        segment({2: entry("a", ["fig"]), 9: entry("b", ["plum"])}),
        segment({5: entry("c", ["pear fig"])}),
    ]
    live = [None, None]
    assert Merge(parts, live).in_memory().keys.tolist() == [2, 5, 9]
    merge = Merge(parts, live, keys=np.array([0, 1, 2]))
    for merged in (merge.in_memory(), merge.write(tmp_path)):
        assert merged.keys.tolist() == [0, 1, 2]
        assert list(merged.number_of) == ["a", "c", "b"]


def test_terms_of_deleted_documents_alone_are_not_merged() -> None:
    both = segment({0: entry("a", ["fig plum"]), 1: entry("b", ["plum pear"])})
    merged = Merge([both], [np.array([False, True])]).in_memory()
    assert dict(merged.vocabulary.items()) == {"pear": 0, "plum": 1}
    rows = merged.levels["chunks"].postings["raw"].rows.all()
    assert rows.tolist() == [0, 0]


def test_a_file_is_copied_as_it_is_and_what_is_in_memory_has_none(
    tmp_path: Path,
) -> None:
    in_memory = segment({0: entry("a", ["fig"])})
    in_memory.copy_file(tmp_path / "none")
    assert not (tmp_path / "none").exists() and in_memory.size == 0
    written = Merge([in_memory], [None]).write(tmp_path)
    written.copy_file(tmp_path / "copy")
    content = segment_path(tmp_path, written.name or "").read_bytes()
    assert (tmp_path / "copy").read_bytes() == content
    assert written.size == len(content)


def test_a_damaged_block_is_noticed_when_it_is_read_or_all_are_verified(
    tmp_path: Path,
) -> None:
    written = Merge([segment({0: entry("a", ["fig"])})], [None]).write(tmp_path)
    name = written.name or ""
    path = segment_path(tmp_path, name)
    content = bytearray(path.read_bytes())
    content[0] ^= 1
    path.unlink()
    path.write_bytes(content)
    with pytest.raises(IndexDamaged):
        open_segment(path, name, verify=True)
    with pytest.raises(IndexDamaged):
        open_segment(path, name).document(0)


@pytest.mark.parametrize("live", [[True, True], [False, False]])
def test_vectors_of_no_rows_have_no_dimension(live: list[bool], tmp_path: Path) -> None:
    hollow = segment({0: entry("a", []), 1: entry("b", [])})
    merge = Merge([hollow], [np.array(live)])
    for merged in (merge.in_memory(), merge.write(tmp_path)):
        table = merged.levels["chunks"]
        assert len(merged) == sum(live) and merged.n_rows == 0
        for view in VIEWS:
            assert len(table.vectors[view]) == table.vectors[view].dimension == 0
    vectors = hollow.levels["chunks"].vectors["raw"]
    assert len(vectors) == vectors.dimension == 0
