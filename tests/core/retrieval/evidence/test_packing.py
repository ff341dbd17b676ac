"""Passages: whole blocks, budgets that hold, and prefixes of larger budgets."""

from __future__ import annotations

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
    return int(POOL.atoms.tokens[first:stop].sum())


def spans(passages: list[Passage]) -> list[tuple[int, int]]:
    return [(passage.first, passage.stop) for passage in passages]


@examples
def test_by_default_a_block_of_160_tokens_comes_whole(
    last: int, stop: int | None
) -> None:
    sentences = ["One two three four five."] * 31 + ["Word " * (last - 1) + "end."]
    block = pool([read_text(" ".join(sentences))])
    ((_, run),) = units(block, [16])
    assert run == (0, 32) if stop else run[0] > 0 and run[1] < 32


@examples
def test_a_part_grows_behind_the_atom_and_before_it_by_turns(
    budget: int, expected: tuple[int, int]
) -> None:
    assert size(30, 31) == 6
    assert spans(pack(POOL, [30], size, max_tokens=budget)) == [expected]


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
    passages = pack(POOL, ranking, size, joins=lambda atom: atom not in POOL.firsts)
    last = len(POOL) - 2
    assert sorted(spans(passages)) == [(0, last), (last, len(POOL))]
    assert [passage.rank for passage in passages] == sorted(p.rank for p in passages)
    runs = [run for _, run in units(POOL, ranking)]
    assert sum(stop - first for first, stop in runs) == len(POOL)


@pytest.mark.parametrize("budget", [1, 10, 100])
def test_an_empty_ranking_has_no_passages(budget: int) -> None:
    assert pack(POOL, [], size, max_tokens=budget) == []


TEXT = "\n\n".join(f"Paragraph {i} {'has so many words ' * 12}here." for i in range(12))
PARAGRAPHS = pool([read_text(TEXT, id="a"), read_text(TEXT, id="b")])  # 51 tokens each


def length(first: int, stop: int) -> int:
    return int(PARAGRAPHS.atoms.tokens[first:stop].sum())


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
    sentence = "One two three four five six seven eight nine ten eleven twelve."
    three = pool([read_text(f"{sentence}\n\n{between}\n\n{sentence}")])

    def tokens(first: int, stop: int) -> int:
        return int(three.atoms.tokens[first:stop].sum())

    budget = int(three.atoms.tokens.sum()) + 1
    passages = pack(three, [0, 2], tokens, max_tokens=budget, k=1)
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
