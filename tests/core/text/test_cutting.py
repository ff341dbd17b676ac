"""Cuts: optimal against brute force, and the size limit."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import pytest
from fixture_cases import Case, cases, examples
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.chunks.divisions import divide, division_blocks
from structrag.reading.files import read_text
from structrag.reading.sections import parse
from structrag.records import Block, BlockKind
from structrag.text import cutting
from structrag.text.cutting import PIECE, Atom, Cutter, _cheapest

costs = st.sampled_from([0.0, 0.2, 0.4, 1.0, 2.0])
headers = st.integers(0, 2)  # tokens of the rows that a piece repeats
sizes = st.lists(st.tuples(st.integers(1, 9), costs, headers), min_size=1, max_size=9)


def cost(
    atoms: list[Atom], runs: list[tuple[int, int]], budget: int, repeated: list[int]
) -> float | None:
    """What the cuts cost; None where a run of more than one atom is above the budget."""
    total = 0.0
    for first, last in runs:
        size = repeated[first] + sum(atom.tokens for atom in atoms[first:last])
        if size > budget and last - first > 1:
            return None
        total += (
            PIECE
            + (atoms[first].cost if first else 0.0)
            + 0.5 * (1 - size / budget) ** 2
        )
    return total


@settings(max_examples=100, deadline=None)
@given(sizes, st.integers(3, 20))
def test_cuts_are_the_cheapest_of_all(
    parts: list[tuple[int, float, int]], budget: int
) -> None:
    atoms = [
        Atom(i, i + 1, tokens, price) for i, (tokens, price, _) in enumerate(parts)
    ]
    repeated = [tokens for _, _, tokens in parts]
    every = []
    for n in range(len(atoms)):
        for cuts in combinations(range(1, len(atoms)), n):
            edges = [0, *cuts, len(atoms)]
            every.append(cost(atoms, list(pairwise(edges)), budget, repeated))
    for window in (0, 10**9):  # by an array, and by a loop
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cutting, "ARRAY_WINDOW", window)
            runs = _cheapest(atoms, budget, repeated)
        price = cost(atoms, runs, budget, repeated)
        assert price is not None
        assert abs(price - min(each for each in every if each is not None)) < 1e-6


@pytest.mark.parametrize("case", cases("cuts"))
def test_cuts_by_example(case: Case) -> None:
    outline = parse(read_text(case.text, format="markdown"))
    cutter = Cutter(lambda text: len(text.split()))
    shown = []
    for division in divide(outline, ()):
        blocks, tail = division_blocks(outline, division)
        for piece in cutter.cut(case.text, blocks, case.options["limit"], tail=tail):
            repeated = case.text[piece.header[0] : piece.header[1]]
            shown.append(f"«{repeated}»" if repeated else "")
            shown[-1] += case.text[piece.start : piece.end]
    assert "✂".join(shown) == case.expected


def word_count(text: str) -> int:
    return len(text.split())


def cut_paragraph(text: str, budget: int, cutter: Cutter, **options: Any) -> list[str]:
    blocks = [Block("paragraph", 0, len(text))]
    spans = cutter.cut(text, blocks, budget, **options)
    return [text[piece.start : piece.end] for piece in spans]


@examples
def test_lines_of_text_are_cut_at_sentences_and_others_at_words(
    kind: BlockKind, expected: list[str]
) -> None:
    text = "x y.\nOne two. Three four.\n"
    assert pieces_of(text, [Block(kind, 0, len(text), (5,))], 3) == expected


def pieces_of(
    text: str, blocks: list[Block], budget: int, tail: int | None = None
) -> list[str]:
    spans = Cutter(word_count).cut(text, blocks, budget, tail=tail)
    return [text[piece.start : piece.end] for piece in spans]


@examples
def test_a_piece_that_blank_text_took_over_the_limit_is_halved(
    text: str, budget: int, expected: list[str]
) -> None:
    assert cut_paragraph(text, budget, Cutter(len)) == expected


def test_headings_that_just_fill_the_limit_leave_the_last_ones_to_the_text() -> None:
    text = "# A\nBb. Cc dd.\n# E\n"
    block = Block("paragraph", 0, len(text), header_start=4)
    expected = ["# A\nBb. ", "Cc dd.\n# E\n"]
    assert pieces_of(text, [block], 4, tail=15) == expected
