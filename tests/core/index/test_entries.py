"""A document's chunks, vectors and texts before they are stored."""

from __future__ import annotations

import enum
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder, HostStore, ScriptedModel
from index_making import document
from store_making import VIEWS, answers, entry, small_store

from structrag import (
    ContentAwareSplitter,
    FixedSplitter,
    Index,
    read_text,
)
from structrag.errors import InvalidAnswer, InvalidParameter
from structrag.index import Prompts
from structrag.index.entries import (
    Entry,
    LevelEntry,
    Vectors,
    plain_json,
)
from structrag.index.store import Store


def test_chunks_come_in_any_order_with_their_vectors_and_texts() -> None:
    tidy = entry("a", ["apple", "banana plum", "cherry"], windows=True)
    order = [2, 0, 1]
    matrix, owner = (
        np.array(tidy.vectors["raw"].matrix),
        np.array(tidy.vectors["raw"].owner),
    )
    mixed = replace(
        tidy,
        chunks=tuple(tidy.chunks[i] for i in order),
        views={
            view: tuple(texts[i] for i in order) for view, texts in tidy.views.items()
        },
        vectors={
            "raw": Vectors(
                np.concatenate([matrix[owner == i] for i in order]), [0, 0, 1, 1, 2, 2]
            )
        },
    )
    stores = [Store(VIEWS), Store(VIEWS)]
    for store, given_entry in zip(stores, (tidy, mixed), strict=True):
        store.put(given_entry)
    assert answers(stores[0]) == answers(stores[1])


def bad_entries() -> dict[str, tuple[Entry, type[Exception], str]]:
    good = entry("a", ["apple", "plum"])
    first, second = good.chunks
    raw = {"raw": good.views["raw"]}
    document = good.document
    return {
        "same id": (
            replace(good, chunks=(first, first)),
            InvalidParameter,
            "'a:0-5' twice",
        ),
        "other document": (
            replace(good, chunks=(first, replace(second, doc_id="z"))),
            InvalidParameter,
            "belongs to document 'z'",
        ),
        "view missing": (
            replace(good, views=raw),
            InvalidParameter,
            "views must be 'raw', 'keywords'",
        ),
        "unknown vectors": (
            replace(good, vectors={"x": Vectors([], [])}),
            InvalidParameter,
            "vectors for \\['x'\\]",
        ),
        "short view": (
            replace(good, views={**good.views, "raw": ("x",)}),
            InvalidParameter,
            "2 chunks and 1 text",
        ),
        "meta": (
            replace(good, document=replace(document, meta={"day": {1, 2}})),
            InvalidParameter,
            r"meta of document 'a'\['day'\] must be .* of type set",
        ),
        "meta key": (
            replace(good, document=replace(document, meta={1: "x"})),
            InvalidParameter,
            "got the key 1",
        ),
        "extras": (
            replace(good, chunks=(first, replace(second, extras={"x": math.nan}))),
            InvalidParameter,
            "chunk 'a:5-9'.*finite",
        ),
        "nan": (
            replace(
                good, vectors={"raw": Vectors([[1.0, 2, 3], [math.nan, 1, 2]], [0, 1])}
            ),
            InvalidAnswer,
            "view 'raw, document a' contain NaN or infinity, first at position 1",
        ),
        "owner": (
            replace(good, vectors={"raw": Vectors([[1.0, 2, 3]], [2])}),
            InvalidAnswer,
            "from 0 to 1",
        ),
        "no owner": (
            replace(good, vectors={"raw": Vectors([[1.0, 2, 3]], [])}),
            InvalidAnswer,
            "1 expected",
        ),
        "no vector": (
            replace(good, vectors={"raw": Vectors([], [0])}),
            InvalidAnswer,
            "must be a matrix",
        ),
        "no values": (
            replace(good, vectors={"raw": Vectors([[], []], [0, 1])}),
            InvalidAnswer,
            "vectors of view 'raw' are empty",
        ),
        "another level": (
            replace(good, levels={"parts": LevelEntry((), {}, {})}),
            InvalidParameter,
            r"document 'a' has \['parts'\] besides the first",
        ),
        "dimension": (
            replace(good, vectors={"raw": Vectors([[1.0, 2.0]], [0])}),
            InvalidAnswer,
            "must have 3 dimensions, as in the store; document 'a' has 2",
        ),
    }


@pytest.mark.parametrize("case", bad_entries())
def test_a_bad_entry_is_refused_before_anything_changes(case: str) -> None:
    store = small_store()
    before = answers(store)
    bad, error, sentence = bad_entries()[case]
    with pytest.raises(error, match=sentence):
        store.put(bad)
    assert answers(store) == before


def test_chunk_ids_of_another_form_are_found() -> None:
    odd = entry("a", ["apple", "plum"])
    store = small_store()
    store.put(
        replace(
            odd,
            chunks=(
                replace(odd.chunks[0], id="one"),
                replace(odd.chunks[1], id="b:zzz"),
            ),
        )
    )
    assert [
        store.reader().row_of(name) for name in ("one", "b:zzz", "b:0-4", "none")
    ] == [
        0,
        1,
        2,
        None,
    ]


KEYWORDS = '["pump", "valve"]'


SETTINGS: dict[str, dict[str, Any]] = {
    "embedder": {"embedder": HashEmbedder(name="other")},
    "llm": {"llm": ScriptedModel(KEYWORDS)},
    "llm name": {"llm": ScriptedModel(KEYWORDS, name="better")},
    "views": {"views": ("raw", "keywords")},
    "view order": {"views": ("keywords", "raw", "summary")},
    "preset": {"preset": "paper"},
    "language": {"language": "german"},
    "window_tokens": {"window_tokens": 64},
    "prompt": {"prompts": Prompts(keywords="Keywords of {text}?")},
    "splitter": {"splitter": FixedSplitter()},
    "splitter size": {"splitter": ContentAwareSplitter(max_tokens=50)},
    "splitter titles": {"splitter": ContentAwareSplitter(exclude_titles=("Notes",))},
    "splitter counter": {"splitter": ContentAwareSplitter(counter=len)},
    "splitter lambda": {
        "splitter": ContentAwareSplitter(counter=lambda text: 2 * len(text))
    },
    "splitter other lambda": {
        "splitter": ContentAwareSplitter(counter=lambda text: 3 * len(text))
    },
    "no own vectors": {"dense_store": HostStore(wants_vectors=False)},
}


SAME: list[dict[str, Any]] = [
    {
        "batch_size": 3,
        "max_concurrency": 1,
        "max_calls": 9,
        "progress": print,
        "cache": ":memory:",
    },
    {"dtype": "float16"},
    {"lexical": "okapi"},
    {"splitter": ContentAwareSplitter()},
    {
        "prompts": Prompts(),
        "preset": "default",
        "views": ["raw", "summary", "keywords"],
    },
    {"dense_store": HostStore(wants_vectors=True)},
]


def test_every_setting_and_model_name_decides_the_fingerprint() -> None:
    prints = {
        name: Index(**{"embedder": HashEmbedder(), **options}).fingerprint(document(1))
        for name, options in SETTINGS.items()
    }
    prints["default"] = Index(embedder=HashEmbedder()).fingerprint(document(1))
    assert len(set(prints.values())) == len(prints)


@pytest.mark.parametrize("options", SAME)
def test_nothing_else_decides_the_fingerprint(options: dict[str, Any]) -> None:
    expected = Index(embedder=HashEmbedder()).fingerprint(document(1))
    assert (
        Index(**{"embedder": HashEmbedder(), **options}).fingerprint(document(1))
        == expected
    )


def test_changed_headings_of_equal_visible_text_are_noticed(
    embedder: HashEmbedder,
) -> None:
    index = Index(embedder=embedder)
    index.add(
        [
            read_text(
                "<h1>A</h1><p>one</p><h1>B</h1><p>two</p>", format="html", id="page"
            )
        ]
    )
    report = index.add(
        [read_text("<h1>A</h1><p>one</p><p>B</p><p>two</p>", format="html", id="page")]
    )
    assert report.replaced == 1 and len(index) == 1


def test_a_setting_without_a_name_is_the_same_in_this_process_alone(
    tmp_path: Path,
) -> None:
    def counter(text: str) -> int:
        return len(text.split())

    def index_with(count: Any) -> Index:
        return Index(
            embedder=HashEmbedder(), splitter=ContentAwareSplitter(counter=count)
        )

    index = index_with(counter)
    index.add([document(1)])
    assert index.add([document(1)]).unchanged == 1
    assert index_with(counter).fingerprint(document(1)) == index.fingerprint(
        document(1)
    )
    other = index_with(lambda text: len(text.split()))
    assert other.fingerprint(document(1)) != index.fingerprint(document(1))
    with pytest.warns(UserWarning, match="without a name"):
        index.save(tmp_path / "index")
    again = Index.load(
        tmp_path / "index", embedder=HashEmbedder(), splitter=other.splitter
    )
    assert again.search("word", 1) == index.search("word", 1)
    assert again.add([document(1)]).unchanged == 0


class Colour(enum.IntEnum):
    RED = 3


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (None, None),
        (True, True),
        (0, 0),
        (0.5, 0.5),
        (((1, "a"), [None, (2.5,)]), [[1, "a"], [None, [2.5]]]),
        ({"a": ({"b": (1,)},)}, {"a": [{"b": [1]}]}),
        (np.str_("pump"), "pump"),
        (np.float64(0.5), 0.5),
        ([Colour.RED, {"c": Colour.RED}], [3, {"c": 3}]),
        ({np.str_("key"): np.str_("pump")}, {"key": "pump"}),
    ],
)
def test_what_json_keeps_has_plain_types(value: object, plain: object) -> None:
    copy = plain_json(value, "meta")
    assert copy == plain and repr(copy) == repr(plain)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (math.inf, "meta"),
        ([1, (2, math.nan)], "meta[1][1]"),
        ({"a": [{"b": {1}}]}, "meta['a'][0]['b']"),
        ({"a": {"b": b"x"}}, "meta['a']['b']"),
        ({"a": [{2: 1}]}, "meta['a'][0]"),
        (np.int64(3), "meta"),
    ],
)
def test_what_json_cannot_keep_is_named_by_its_place(value: object, place: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        plain_json(value, "meta")
    assert str(caught.value).startswith(f"{place} must ")
