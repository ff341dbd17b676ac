"""How text is read: one record, and its settings by their own names in every splitter."""

from __future__ import annotations

import pickle
from dataclasses import fields, replace
from inspect import signature
from typing import Any

import pytest

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.enriching.enricher import IDMSEnricher
from structrag.chunks.fixed import FixedSplitter
from structrag.chunks.hiqa.splitter import HiQASplitter, HiQASplitterSettings
from structrag.chunks.idms.splitter import IDMSSettings, IDMSSplitter
from structrag.chunks.pic.splitter import PICSettings, PICSplitter
from structrag.errors import InvalidParameter, UnknownArgument
from structrag.reading.settings import ReadOptions
from structrag.retrieval.d3.condensing import (
    ParagraphSplitter,
    PartSplitter,
    SectionSplitter,
)
from structrag.retrieval.d3.outlines import Routing
from structrag.retrieval.d3.selection import Selection

SPLITTERS: list[Any] = [
    *(ContentAwareSplitter, PICSplitter, IDMSSplitter, HiQASplitter),
    *(SectionSplitter, ParagraphSplitter, PartSplitter),
]


def lines(text: str) -> list[tuple[int, int]]:
    """Every line a sentence."""
    starts = [0, *(i + 1 for i, character in enumerate(text[:-1]) if character == "\n")]
    return list(zip(starts, [*starts[1:], len(text)], strict=True))


READING = ReadOptions(
    exclude_titles=["b"], plain_headings=False, counter=len, language="german",
    sentence_splitter=lines,
)  # fmt: skip


@pytest.mark.parametrize("splitter", [*SPLITTERS, FixedSplitter])
def test_every_splitter_is_read_by_the_same_settings(splitter: Any) -> None:
    sections = {"within_sections": True} if splitter is FixedSplitter else {}
    chosen = splitter(**READING.options(), **sections)
    assert (
        isinstance(chosen, ReadOptions) and ReadOptions(**chosen.options()) == READING
    )
    assert chosen.options() == READING.options() and chosen.exclude_titles == ("b",)
    assert replace(chosen, language="english").options() == {
        **READING.options(),
        "language": "english",
    }
    assert pickle.loads(pickle.dumps(chosen)) == chosen


@pytest.mark.parametrize("splitter", [*SPLITTERS, FixedSplitter, ReadOptions])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"exclude_titles": "Notes"},
            "exclude_titles must be a sequence of titles; got 'Notes'",
        ),
        (
            {"exclude_titles": [1]},
            r"exclude_titles must be a sequence of titles; got \[1\]",
        ),
        (
            {"counter": 3},
            "counter must be a function from a string to its number of tokens; got 3",
        ),
        (
            {"counter": str.split},
            "of 'two words' it returned .'two', 'words'.. If it returns",
        ),
        ({"sentence_splitter": "."}, "sentence_splitter must be a function"),
    ],
)
def test_wrong_settings_are_named_by_all(
    splitter: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidParameter, match=message):
        splitter(**options)


@pytest.mark.parametrize(
    ("record", "options"),
    [
        (PICSplitter, PICSettings),
        (IDMSSplitter, IDMSSettings),
        (HiQASplitter, HiQASplitterSettings),
    ],
)
def test_all_settings_can_be_changed_by_name_and_no_others(
    record: Any, options: Any
) -> None:
    names = {*options.__annotations__, *signature(record.paper).parameters} - {
        "changes"
    }
    assert {field.name for field in fields(record)} == names
    with pytest.raises(
        UnknownArgument, match=f"{record.__name__} has no argument 'languages'"
    ):
        record.paper(languages="german")
    assert record.paper(language="german").language == "german"


@pytest.mark.parametrize("make", [Routing, Selection, SectionSplitter, IDMSEnricher])
def test_presets_name_the_nearest_setting(make: Any) -> None:
    name = fields(make)[0].name
    with pytest.raises(UnknownArgument, match=f"Did you mean '{name}'"):
        make.paper(**{f"{name}s": 1})
