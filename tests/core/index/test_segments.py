"""Segments: equal in memory and in a file, alone and merged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from store_making import VIEWS, WORDS, entry

from structrag.index.entries import Entry, prepare
from structrag.index.lexical import count_terms
from structrag.index.segments import (
    Merge,
    PendingDocument,
    Segment,
    open_segment,
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
        documents.append(PendingDocument(key, prepared, {"chunks": terms}))
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
            name: [lines.line(row) for row in range(table.n_rows)]
            for name, lines in table.blobs.items()
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


def with_blobs(name: str, texts: list[str]) -> Entry:
    """An entry with bytes besides; every other one has none."""
    made = entry(name, texts)
    if len(texts) % 2 or not texts:
        return made
    return replace(made, blobs={"bytes": tuple(text.encode() for text in texts)})


@settings(deadline=None, max_examples=60)
@given(groups=GROUPS, data=st.data())
def test_merged_is_as_made_at_once(
    groups: list[dict[int, list[str]]], data: st.DataObject, tmp_path_factory
) -> None:  # type: ignore[no-untyped-def]
    folder = tmp_path_factory.mktemp("segments")
    segments, live, alive, keys = [], [], {}, set()
    for number, group in enumerate(groups):
        entries = {
            key: with_blobs(f"{number} {key}", texts)
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
    assert written.file and written.file.path == segment_path(
        folder, written.name or ""
    )
    assert list(folder.iterdir()) == [written.file.path]
    again = Merge([written], [None])
    assert again.write(folder).name == written.name  # equal content, equal file
    opened = open_segment(
        segment_path(folder, written.name or ""), written.name or "", verify=True
    )
    assert content(opened) == expected and opened.name == written.name
    assert [
        opened.number_of[made.document.id] for _, made in sorted(alive.items())
    ] == list(range(len(alive)))
