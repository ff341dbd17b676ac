"""A host's settings as those of the core's splitters."""

from __future__ import annotations

import pytest
from fixture_cases import examples

from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.chunks.pic.splitter import PICSplitter
from structrag.errors import InvalidParameter
from structrag.integrations.splitters import (
    changes_of,
    defaults_of,
    idms_margin,
    idms_target,
    overlap_within,
    shows_path,
    take_settings,
)


@pytest.mark.parametrize("splitter", [HiQASplitter, IDMSSplitter, PICSplitter])
def test_defaults_make_the_default_splitter(splitter: type) -> None:
    assert splitter(**defaults_of(splitter)) == splitter()
    assert changes_of(splitter()) == {}


def test_settings_of_the_splitter_are_taken_out() -> None:
    settings = {"threshold": 0.5, "cache": None, "language": "german"}
    assert take_settings(PICSplitter, settings) == {
        "threshold": 0.5,
        "language": "german",
    }
    assert settings == {"cache": None}


def test_a_preset_is_what_it_changes() -> None:
    paper = PICSplitter.paper()
    changes = changes_of(paper, "context")
    assert changes["bounds"] == "none" and not {"max_tokens", "context"} & {*changes}
    assert PICSplitter(**changes, max_tokens=None, context=False) == paper


def test_idms_fills_up_to_two_thirds_unless_told_otherwise() -> None:
    assert [idms_target(None, size) for size in (300, 1200, 10, 1)] == [200, 800, 6, 1]
    assert idms_target(7, 300) == 7


def test_overlap_is_at_most_the_size_and_half_of_it_counts() -> None:
    assert [overlap_within(overlap, 10) for overlap in (0, 4, 5, 6, 10)] == [
        0,
        4,
        5,
        5,
        5,
    ]
    assert overlap_within(0, 1) == overlap_within(1, 1) == 0
    with pytest.raises(InvalidParameter, match=r"chunk_size \(10\); got 11"):
        overlap_within(11, 10)


@examples
def test_titles_stand_before_chunks_that_lie_in_one_section(
    enrich: str, settings: dict[str, bool], shows: bool
) -> None:
    assert shows_path(enrich, settings) is shows


def test_words_are_the_margin_only_where_nothing_else_was_said() -> None:
    assert idms_margin("model", None, None) == "model"
    assert idms_margin("auto", "embedder", "llm") == "auto"
