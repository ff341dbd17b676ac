"""What decides that a document must be indexed again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from doubles import HashEmbedder, HostStore, ScriptedModel

from structrag import (
    ContentAwareSplitter,
    Document,
    FixedSplitter,
    Index,
    read_text,
)
from structrag.index import Prompts
from structrag.records import Block, Heading, Layout, SourceMap

KEYWORDS = '["pump", "valve"]'


def document(number: int, extra: str = "", **fields: Any) -> Document:
    text = (
        f"Preface of document {number}.\n\n# Pump {number}\n\nThe pump of document {number} holds "
        f"pressure. {extra}\n\n"
        f"## Valve\n\nA valve lets water {number} pass.\n\n# Gearbox\n\nThe gearbox number "
        f"{number} needs oil.\n"
    )
    return Document(text, id=f"doc{number}", title=f"Manual {number}", format="markdown", **fields)


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
    "splitter lambda": {"splitter": ContentAwareSplitter(counter=lambda text: 2 * len(text))},
    "splitter other lambda": {"splitter": ContentAwareSplitter(counter=lambda text: 3 * len(text))},
    "no own vectors": {"dense_store": HostStore(wants_vectors=False)},
}


SAME: list[dict[str, Any]] = [
    {"batch_size": 3, "max_concurrency": 1, "max_calls": 9, "progress": print, "cache": ":memory:"},
    {"dtype": "float16"},
    {"lexical": "okapi"},
    {"splitter": ContentAwareSplitter()},
    {"prompts": Prompts(), "preset": "default", "views": ["raw", "summary", "keywords"]},
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
    assert Index(**{"embedder": HashEmbedder(), **options}).fingerprint(document(1)) == expected


def test_the_fingerprint_sees_text_title_format_metadata_and_markup() -> None:
    layouts = [
        Layout(
            (Heading(level, "A", 0, 1),),
            (Block("paragraph", 1, 3),),
            SourceMap((0,), (source,), (True,)),
        )
        for level, source in ((1, 0), (2, 0), (1, 7))
    ]
    base = {
        "text": "A b",
        "id": "x",
        "title": "T",
        "format": "text",
        "meta": {"a": 1, "b": [1, {"c": None}]},
    }
    variants: list[dict[str, Any]] = [
        {},
        {"text": "A c"},
        {"id": "y"},
        {"title": "U"},
        {"format": "markdown"},
        {"meta": {}},
        {"meta": {"a": 1, "b": [1, {"c": 0}]}},
        {"layout": layouts[0]},
        {"layout": layouts[1]},
    ]
    index = Index(embedder=HashEmbedder())
    prints = [index.fingerprint(Document(**{**base, **variant})) for variant in variants]
    assert len(set(prints)) == len(prints)
    reordered = Document(**{**base, "meta": {"b": (1, {"c": None}), "a": 1}})
    assert index.fingerprint(reordered) == prints[0], (
        "the order of keys, and tuples for lists, do not count"
    )
    moved = Document(**{**base, "layout": layouts[2]})
    assert index.fingerprint(moved) == prints[7], "where the text stood in the file does not count"


def test_changed_headings_of_equal_visible_text_are_noticed(embedder: HashEmbedder) -> None:
    index = Index(embedder=embedder)
    index.add([read_text("<h1>A</h1><p>one</p><h1>B</h1><p>two</p>", format="html", id="page")])
    report = index.add(
        [read_text("<h1>A</h1><p>one</p><p>B</p><p>two</p>", format="html", id="page")]
    )
    assert report.replaced == 1 and len(index) == 1


def test_a_splitter_without_fields_is_told_apart_by_its_attributes() -> None:
    class Halves:
        def __init__(self, where: float) -> None:
            self.where = where
            self.helper = object()  # holds an address, which must not count

        def split(self, document: Document) -> list[Any]:
            return ContentAwareSplitter().split(document)

    def fingerprint(where: float) -> str:
        return Index(embedder=HashEmbedder(), splitter=Halves(where)).fingerprint(document(1))

    assert fingerprint(0.5) == fingerprint(0.5) != fingerprint(0.6)


def test_a_setting_without_a_name_is_the_same_in_this_process_alone(tmp_path: Path) -> None:
    def counter(text: str) -> int:
        return len(text.split())

    def index_with(count: Any) -> Index:
        return Index(embedder=HashEmbedder(), splitter=ContentAwareSplitter(counter=count))

    index = index_with(counter)
    index.add([document(1)])
    assert index.add([document(1)]).unchanged == 1
    assert index_with(counter).fingerprint(document(1)) == index.fingerprint(document(1))
    other = index_with(lambda text: len(text.split()))
    assert other.fingerprint(document(1)) != index.fingerprint(document(1))
    with pytest.warns(UserWarning, match="has no name"):
        index.save(tmp_path / "index")
    again = Index.load(tmp_path / "index", embedder=HashEmbedder(), splitter=other.splitter)
    assert again.search("word", 1) == index.search("word", 1)
    assert again.add([document(1)]).unchanged == 0
