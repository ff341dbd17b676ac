"""Merging upward: sections in the place of their chunks, within limits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrag.errors import InvalidParameter
from structrag.retrieval.tree.merging import Found, Merging
from structrag.retrieval.tree.shape import Place

# Two sections of three chunks with 10 tokens each, and a top above both.
TOP = Place(0, 60, 2, True)
FIRST, SECOND = Place(1, 30, 3, True), Place(2, 30, 3, True)
CHUNKS = [Found(10, [FIRST, TOP])] * 3 + [Found(10, [SECOND, TOP])] * 3


def merged(
    rows: list[int], merging: Merging | None = None, **limits: int
) -> list[object]:
    taken = (merging or Merging()).merged([CHUNKS[row] for row in rows], **limits)
    return [(one.node.row if one.node else None, list(one.found)) for one in taken]


def test_more_than_the_share_must_be_found() -> None:
    assert merged([0, 3]) == [(None, [0]), (None, [1])]
    assert merged([0, 3, 1]) == [(1, [0, 2]), (None, [1])]
    assert merged([0, 3, 1], Merging(0.7)) == [(None, [0]), (None, [1]), (None, [2])]
    assert merged([0, 1, 2], Merging(0.7)) == [(1, [0, 1, 2])]
    assert merged([0, 1, 2], Merging(None)) == [(None, [0]), (None, [1]), (None, [2])]


def test_exactly_the_share_is_not_enough() -> None:
    half = Place(0, 40, 4, True)
    two, three = [Found(10, [half])] * 2, [Found(10, [half])] * 3
    assert [one.node for one in Merging(0.5).merged(two)] == [None, None]
    assert [one.node for one in Merging(0.5).merged(three)] == [half]


def test_a_share_of_0_merges_at_the_first_chunk_and_one_of_1_never() -> None:
    assert merged([2], Merging(0)) == [(0, [0])]
    assert merged([0, 1, 2], Merging(1)) == [(None, [0]), (None, [1]), (None, [2])]


@pytest.mark.parametrize(
    ("merge_tokens", "taken"),
    [
        (29, [(None, [0]), (None, [1]), (None, [2]), (None, [3])]),
        (30, [(1, [0, 1]), (2, [2, 3])]),
        (60, [(0, [0, 1, 2, 3])]),
    ],
)
def test_a_node_of_exactly_the_tokens_is_merged(
    merge_tokens: int, taken: list[object]
) -> None:
    assert merged([0, 1, 3, 4], Merging(merge_tokens=merge_tokens)) == taken


@pytest.mark.parametrize(("tokens", "is_merged"), [(1000, True), (1001, False)])
def test_by_default_a_node_of_a_thousand_tokens_is_merged(
    tokens: int, is_merged: bool
) -> None:
    taken = Merging().merged([Found(10, [Place(0, tokens, 3, True)])] * 2)
    assert len(taken) == (1 if is_merged else 2)


def test_the_top_counts_sections_that_have_taken_the_place_of_their_chunks() -> None:
    top = Place(0, 60, 3, True)
    sections = [Place(row, 20, 2, True) for row in (1, 2, 3)]
    chunks = [Found(10, [section, top]) for section in sections for _ in range(2)]
    # Of each section one chunk, then all of two sections.
    assert [one.node for one in Merging().merged(chunks[::2])] == [None] * 3
    assert [one.node for one in Merging().merged(chunks[:4])] == [top]
    assert [one.node for one in Merging().merged(chunks[:3])] == [sections[0], None]


def test_sections_that_stand_for_their_chunks_are_merged_in_turn() -> None:
    assert merged([0, 1, 3, 4]) == [(0, [0, 1, 2, 3])]
    assert merged([0, 1, 3, 4], Merging(merge_tokens=59)) == [(1, [0, 1]), (2, [2, 3])]


def test_later_chunks_of_a_section_are_not_taken_twice() -> None:
    assert merged([0, 1, 2, 3]) == [(1, [0, 1, 2]), (None, [3])]


def test_k_counts_chunks() -> None:
    assert merged([0, 1, 3], k=2) == [(1, [0, 1])]
    assert merged([0, 3, 4], k=2) == [(None, [0]), (None, [1])]


def test_tokens_are_a_limit_of_all_but_the_first() -> None:
    assert merged([0, 1, 3], max_tokens=30) == [(1, [0, 1])]
    assert merged([0, 1, 3], max_tokens=29) == [(None, [0]), (None, [1])]
    assert merged([0, 1], max_tokens=1) == [(None, [0])]
    assert merged([0, 3], max_tokens=20) == [(None, [0]), (None, [1])]
    assert merged([0, 3], max_tokens=19) == [(None, [0])]
    # The top of 60 tokens takes the place of 60; beside another document's 10 it does not fit.
    beside = Found(10, [])
    for limit, row in ((70, 0), (69, None)):
        ranking = [beside, CHUNKS[0], CHUNKS[1], CHUNKS[3], CHUNKS[4]]
        taken = Merging(merge_tokens=60).merged(ranking, max_tokens=limit)
        rows = [one.node.row if one.node else None for one in taken]
        assert (row in rows[1:]) and rows[0] is None, limit


def test_what_does_not_fit_ends_it() -> None:
    large, small = Found(10, []), Found(1, [])
    taken = Merging().merged([small, large, small], max_tokens=10)
    assert [one.found for one in taken] == [(0,)]


def test_a_node_with_gaps_takes_no_place() -> None:
    gaps = Place(1, 30, 3, False)
    taken = Merging().merged([Found(10, [gaps])] * 3)
    assert [one.node for one in taken] == [None] * 3
    # Nor does it count for the node above.
    ranking = [Found(10, [gaps, TOP])] * 2 + CHUNKS[3:5]
    taken = Merging().merged(ranking)
    assert [one.node for one in taken] == [None, None, SECOND]


def test_settings_are_checked() -> None:
    with pytest.raises(InvalidParameter, match="merge_share"):
        Merging(1.5)
    with pytest.raises(InvalidParameter, match="merge_tokens"):
        Merging(merge_tokens=0)
    with pytest.raises(InvalidParameter, match="merge_share"):
        Merging(-0.5)
    assert (Merging(0, 1).merge_share, Merging(1, 1).merge_share) == (0, 1)


@given(
    order=st.permutations(range(6)),
    share=st.sampled_from([0.0, 0.5, 0.7, 1.0]),
    k=st.integers(1, 6),
    limit=st.integers(10, 70),
)
def test_nothing_is_given_twice_and_limits_hold(
    order: list[int], share: float, k: int, limit: int
) -> None:
    ranking = [CHUNKS[row] for row in order]
    taken = Merging(share).merged(ranking, k=k, max_tokens=limit)
    assert 1 <= len(taken) <= k and sum(one.tokens for one in taken) <= limit
    covered: list[int] = []
    for one in taken:
        node = one.node
        rows = [
            row
            for row in range(6)
            if node and node.row in {n.row for n in CHUNKS[row].above}
        ]
        covered += rows or [order[one.found[0]]]
    assert len(set(covered)) == len(covered)
    assert [one.found[0] for one in taken] == sorted(one.found[0] for one in taken)
