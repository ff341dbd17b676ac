"""A host's settings as those of the core's splitters."""

from __future__ import annotations

import pytest
from fixture_cases import examples

from structrag.errors import InvalidParameter
from structrag.integrations.enriching import idms_margin, idms_target, shows_path
from structrag.integrations.splitters import overlap_within


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
