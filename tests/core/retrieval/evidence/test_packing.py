"""Passages: whole blocks, budgets that hold, and prefixes of larger budgets."""

from __future__ import annotations

import numpy as np
import pytest
from evidence_making import pool
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag import read_text
from structrag.retrieval.evidence.packing import Passage, pack, units

# 360 words, one block.
LONG = " ".join(f"Sentence {i} has some words more." for i in range(60))
DOCUMENT = read_text(f"# A\n\nOne two. Three four.\n\nFive six.\n\n{LONG}\n", id="a")
POOL = pool([DOCUMENT, read_text("Seven. Eight.", id="b")])


def size(first: int, stop: int) -> int:
    return int(POOL.tokens[first:stop].sum())


def spans(passages: list[Passage]) -> list[tuple[int, int]]:
    return [(passage.first, passage.stop) for passage in passages]


def test_an_atom_brings_its_block_once() -> None:
    assert list(units(POOL, [2, 1, 0])) == [(2, (1, 3)), (0, (0, 1))]


def test_of_a_long_block_it_brings_what_is_around_it() -> None:
    atom = 30
    ((_, (first, stop)),) = units(POOL, [atom])
    around = POOL.windows[60]
    assert (first, stop) == (around.firsts[atom], around.stops[atom])
    assert 54 <= size(first, stop) <= 66
    (_, (_, run)) = units(POOL, [atom, atom + 6])
    assert run == (stop, int(around.stops[atom + 6]))


def test_between_two_windows_it_brings_the_gap() -> None:
    (_, before), (_, behind), (_, gap) = units(POOL, [20, 32, 26])
    assert before[1] <= 26 < behind[0]
    assert gap == (before[1], behind[0])


def test_a_block_of_exactly_the_limit_comes_whole() -> None:
    block = int(POOL.blocks[30])
    tokens = int(POOL.block_tokens[block])
    ((_, whole),) = units(POOL, [30], tokens)
    assert whole == (4, 64)  # behind a heading and three sentences
    ((_, part),) = units(POOL, [30], tokens - 1)
    assert 4 < part[0] <= 30 < part[1] < 64


@examples
def test_by_default_a_block_of_160_tokens_comes_whole(
    last: int, stop: int | None
) -> None:
    sentences = ["One two three four five."] * 31 + ["Word " * (last - 1) + "end."]
    block = pool([read_text(" ".join(sentences))])
    ((_, run),) = units(block, [16])
    assert run == (0, 32) if stop else run[0] > 0 and run[1] < 32


def test_runs_that_touch_are_one_passage_with_the_better_rank() -> None:
    passages = pack(POOL, [3, 1, 0], size)
    assert (
        spans(passages) == [(0, 4)] and passages[0].best == 3 and passages[0].rank == 1
    )
    apart = pack(POOL, [3, 0], size)
    assert spans(apart) == [(3, 4), (0, 1)]
    split = pack(POOL, [3, 1, 0], size, joins=lambda atom: atom != 1)
    assert spans(split) == [(1, 4), (0, 1)]


def test_what_does_not_fit_is_taken_in_part_and_then_it_ends() -> None:
    assert spans(pack(POOL, [3, 2, 0], size, max_tokens=5)) == [(2, 4)]
    # the block of 1 and 2 has four words: only the best sentence fits, and the heading is not tried
    assert spans(pack(POOL, [2, 0], size, max_tokens=3)) == [(2, 3)]
    assert pack(POOL, [2, 0], size, max_tokens=1) == []
    # all of both blocks, exactly
    assert spans(pack(POOL, [3, 2, 0], size, max_tokens=6)) == [(1, 4)]


@examples
def test_a_part_grows_behind_the_atom_and_before_it_by_turns(
    budget: int, expected: tuple[int, int]
) -> None:
    assert size(30, 31) == 6
    assert spans(pack(POOL, [30], size, max_tokens=budget)) == [expected]


def test_a_part_at_the_end_of_its_block_grows_to_the_other_side() -> None:
    assert spans(pack(POOL, [4], size, max_tokens=18)) == [(4, 7)]
    assert spans(pack(POOL, [63], size, max_tokens=18)) == [(61, 64)]


def test_k_passages() -> None:
    ranking = [0, 3, 20, 2]
    assert spans(pack(POOL, ranking, size, k=1)) == [(0, 1)]
    assert len(pack(POOL, ranking, size, k=2)) == 2
    assert spans(pack(POOL, [0, 2, 3], size, k=1)) == [(0, 4)]


RANKINGS = st.permutations(range(len(POOL)))
BUDGETS = st.integers(1, 420)


@given(RANKINGS, BUDGETS, BUDGETS)
def test_a_budget_holds_and_a_larger_one_has_all_of_it(
    ranking: list[int], one: int, other: int
) -> None:
    taken = []
    for budget in sorted((one, other)):
        passages = pack(POOL, ranking, size, max_tokens=budget)
        assert sum(size(*span) for span in spans(passages)) <= budget
        atoms = [atom for span in spans(passages) for atom in range(*span)]
        assert len(atoms) == len(set(atoms))
        taken.append(set(atoms))
    assert taken[0] <= taken[1]


@given(RANKINGS)
def test_without_a_limit_all_comes(ranking: list[int]) -> None:
    passages = pack(POOL, ranking, size, joins=lambda atom: POOL.place(atom)[1] > 0)
    last = len(POOL) - 2
    assert sorted(spans(passages)) == [(0, last), (last, len(POOL))]
    assert [passage.rank for passage in passages] == sorted(p.rank for p in passages)
    runs = [run for _, run in units(POOL, ranking)]
    assert sum(stop - first for first, stop in runs) == len(POOL)


def test_a_passage_ends_with_its_document() -> None:
    last = len(POOL) - 2
    ranking = [last - 1, last]
    joined = spans(
        pack(POOL, ranking, size, joins=lambda atom: POOL.place(atom)[1] > 0)
    )
    assert all(not first < last < stop for first, stop in joined)


def test_what_counts_less_together_still_keeps_the_budget() -> None:
    def subadditive(first: int, stop: int) -> int:
        return int(np.ceil(size(first, stop) ** 0.9))

    for budget in (3, 10, 50):
        passages = pack(POOL, range(len(POOL)), subadditive, max_tokens=budget)
        assert sum(subadditive(*span) for span in spans(passages)) <= budget


@pytest.mark.parametrize("budget", [1, 10, 100])
def test_an_empty_ranking_has_no_passages(budget: int) -> None:
    assert pack(POOL, [], size, max_tokens=budget) == []


def test_passages_that_are_not_joined_still_hold_what_fits_of_a_unit() -> None:
    def never(atom: int) -> bool:
        return False

    assert spans(pack(POOL, [30], size, max_tokens=20, k=3, joins=never)) == [(29, 32)]
    assert len(pack(POOL, [0, 3, 1], size, k=2, joins=never)) == 2


TEXT = "\n\n".join(f"Paragraph {i} {'has so many words ' * 12}here." for i in range(12))
PARAGRAPHS = pool([read_text(TEXT, id="a"), read_text(TEXT, id="b")])  # 51 tokens each


def length(first: int, stop: int) -> int:
    return int(PARAGRAPHS.tokens[first:stop].sum())


def within(ranking: list[int], max_tokens: int, k: int) -> list[tuple[int, int]]:
    starts = PARAGRAPHS.firsts.tolist()
    return spans(
        pack(
            PARAGRAPHS,
            ranking,
            length,
            max_tokens=max_tokens,
            k=k,
            joins=lambda atom: atom not in starts,
        )
    )


def test_within_tokens_the_nearest_of_too_many_passages_become_one() -> None:
    assert within([0, 1, 6], 1000, 3) == [(0, 1), (1, 2), (6, 7)]
    assert within([0, 1, 6, 8], 1000, 3) == [(0, 2), (6, 7), (8, 9)]
    # With 7 between.
    assert within([0, 1, 6, 8, 11], 1000, 3) == [(0, 2), (6, 9), (11, 12)]
    # 7 is there.
    assert within([0, 1, 6, 8, 11, 7], 1000, 3) == [(0, 2), (6, 9), (11, 12)]


def test_a_passage_too_many_that_is_near_none_is_left_out() -> None:
    assert within([0, 6, 11, 1], 1000, 2) == [(0, 2), (6, 7)]
    assert within([0, 3, 7], 1000, 1) == [(0, 4)]  # two paragraphs between
    assert within([0, 4, 1], 1000, 1) == [(0, 2)]  # three
    assert within([0, 2, 3], 1000, 1) == [(0, 4)]  # one between, then none
    assert within([11, 12, 10], 1000, 1) == [(10, 12)]  # not over the end of a document


@examples
def test_passages_of_exactly_120_tokens_between_are_near(
    words_between: int, expected: list[tuple[int, int]]
) -> None:
    between = " ".join(["word"] * words_between)
    three = pool([read_text(f"One two.\n\n{between}\n\nThree four.")])

    def tokens(first: int, stop: int) -> int:
        return int(three.tokens[first:stop].sum())

    passages = pack(three, [0, 2], tokens, max_tokens=124 + 1, k=1)
    assert spans(passages) == expected


@given(st.permutations(range(len(PARAGRAPHS))), st.integers(1, 4), st.integers(20, 800))
def test_with_both_limits_both_hold_and_less_is_within_more(
    ranking: list[int], k: int, budget: int
) -> None:
    few, more = within(ranking, budget, k), within(ranking, budget + 100, k)
    assert len(few) <= k and sum(length(*span) for span in few) <= budget
    taken = [atom for first, stop in few for atom in range(first, stop)]
    assert len(taken) == len(set(taken))
    assert set(taken) <= {atom for first, stop in more for atom in range(first, stop)}
