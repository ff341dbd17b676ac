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
from structrag.text.cutting import PIECE, Atom, Cutter, Piece, _cheapest, lines_block
from structrag.text.tokens import count_tokens

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


@settings(max_examples=200, deadline=None)
@given(sizes, st.integers(3, 20))
def test_cuts_are_the_cheapest_of_all(
    parts: list[tuple[int, float, int]], budget: int
) -> None:
    atoms = [
        Atom(i, i + 1, tokens, price) for i, (tokens, price, _) in enumerate(parts)
    ]
    repeated = [tokens for _, _, tokens in parts]
    found = cost(atoms, _cheapest(atoms, budget, repeated), budget, repeated)
    every = []
    for n in range(len(atoms)):
        for cuts in combinations(range(1, len(atoms)), n):
            edges = [0, *cuts, len(atoms)]
            every.append(cost(atoms, list(pairwise(edges)), budget, repeated))
    assert found is not None
    assert abs(found - min(price for price in every if price is not None)) < 1e-6


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), costs, headers), min_size=1, max_size=120),
    st.integers(1, 90),
)
def test_many_candidates_are_compared_as_few_are(
    parts: list[tuple[int, float, int]], budget: int
) -> None:
    atoms = [
        Atom(i, i + 1, tokens, price) for i, (tokens, price, _) in enumerate(parts)
    ]
    repeated = [tokens for _, _, tokens in parts]
    found = []
    for window in (0, 10**9):  # by an array, and by a loop
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cutting, "ARRAY_WINDOW", window)
            found.append(_cheapest(atoms, budget, repeated))
    assert found[0] == found[1]


def test_blank_text_at_the_start_joins_what_follows() -> None:
    text = "\n\n\n\n\nabc"
    blocks = [Block("other", 0, 2), Block("other", 2, 5), Block("paragraph", 5, 8)]
    found = Cutter(len).cut(text, blocks, 3)
    assert "".join(text[piece.start : piece.end] for piece in found) == text
    assert all(text[piece.start : piece.end].strip() for piece in found)
    assert found[0].start == 0


def pieces(text: str, blocks: list[Block], budget: int) -> list[str]:
    return [
        text[p.start : p.end] for p in Cutter(count_tokens).cut(text, blocks, budget)
    ]


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


def test_a_heading_takes_the_first_words_of_a_long_sentence_along() -> None:
    heading = "# What is it? Really?\n\n"
    text = heading + "word " * 40
    found = pieces(
        text, [Block("paragraph", 0, len(text), header_start=len(heading))], 20
    )
    assert "".join(found) == text
    assert found[0].startswith(heading + "word")
    assert all(count_tokens(piece) <= 20 for piece in found)


def test_headings_behind_stay_with_the_last_words() -> None:
    body = "First sentence is here. " * 8
    text = body + "\n\n# Empty?\n\n# Also empty\n"
    found = [
        text[p.start : p.end]
        for p in Cutter(count_tokens).cut(
            text, [Block("paragraph", 0, len(text))], 20, tail=len(body) + 2
        )
    ]
    assert "".join(found) == text
    assert "sentence" in found[-1]
    assert found[-1].endswith("# Empty?\n\n# Also empty\n")


def test_a_piece_that_does_not_fit_leaves_the_others_alone() -> None:
    text = "aaaa bbbb cccc dddd eeee ffff"

    def fits(piece: Piece) -> bool:
        return (
            "cccc" not in text[piece.start : piece.end] or piece.end - piece.start <= 6
        )

    found = [
        text[p.start : p.end]
        for p in Cutter(len).cut(
            text, [Block("paragraph", 0, len(text))], 12, fits=fits
        )
    ]
    assert "".join(found) == text
    assert "aaaa bbbb " in found
    assert any(piece.startswith("cccc") for piece in found)


def test_one_word_is_cut_between_characters_as_readers_see_them() -> None:
    text = "🇩🇪🇫🇷👩‍👩‍👧‍👦e\u0301e\u0301"
    # As long as the family.
    spans = Cutter(len).cut(text, [Block("paragraph", 0, len(text))], 7)
    found = [text[piece.start : piece.end] for piece in spans]
    assert "".join(found) == text
    assert max(map(len, found)) == 7
    assert not any(piece.startswith(("\u200d", "\u0301")) for piece in found)


def test_long_word_needs_time_in_proportion_to_its_length() -> None:
    counted = []
    for length in (50_000, 100_000):
        seen = 0

        def counter(text: str) -> int:
            nonlocal seen
            seen += len(text)
            return len(text)

        Cutter(counter).cut("x" * length, [Block("paragraph", 0, length)], 500)
        counted.append(seen)
    assert counted[1] < 2.5 * counted[0]


def test_lines_are_cut_behind_every_kind_of_line_end() -> None:
    assert lines_block("a\r\nb\rc\nd\n", 0, 9).cuts == (3, 5, 7)
    assert lines_block("a\nb\nc", 2, 5).cuts == (4,)


def test_the_line_end_of_the_last_line_is_no_cut() -> None:
    for line in ("a", "a\n", "a\r", "a\r\n"):
        assert lines_block(line, 0, len(line)).cuts == ()


def test_blank_text_that_joins_a_full_piece_does_not_take_it_over_the_limit() -> None:
    text = "abcdefgh \n\n\n"
    pieces = Cutter(len).cut(text, [Block("paragraph", 0, len(text))], 9)
    assert [text[piece.start : piece.end] for piece in pieces] == [
        "abcd",
        "efgh \n\n\n",
    ]
    assert all(len(text[piece.start : piece.end]) <= 9 for piece in pieces)


@pytest.mark.parametrize(
    "character", ["e" + "\u0301" * 4000, "\U0001f469\u200d" * 2000 + "\U0001f469"]
)
def test_one_character_as_readers_see_it_above_the_budget_is_cut_between_code_points(
    character: str,
) -> None:
    text = f"ab {character} cd"
    for budget in (1, 7):
        pieces = Cutter(len).cut(text, [Block("paragraph", 0, len(text))], budget)
        assert "".join(text[piece.start : piece.end] for piece in pieces) == text
        assert all(piece.end - piece.start <= max(budget, 2) for piece in pieces)
    short = "ab e\u0301\u0301\u0301 cd"  # it fits, and stays whole
    pieces = Cutter(len).cut(short, [Block("paragraph", 0, len(short))], 5)
    assert "e\u0301\u0301\u0301" in "|".join(
        short[piece.start : piece.end] for piece in pieces
    )


def word_count(text: str) -> int:
    return len(text.split())


def cut_paragraph(text: str, budget: int, cutter: Cutter, **options: Any) -> list[str]:
    blocks = [Block("paragraph", 0, len(text))]
    spans = cutter.cut(text, blocks, budget, **options)
    return [text[piece.start : piece.end] for piece in spans]


def test_a_row_has_the_room_that_its_header_leaves() -> None:
    text = "HHHHaaaaaxyyzzz"
    block = Block("table", 0, 15, (9, 10, 12), header_end=4)
    header = (0, 4)
    assert Cutter(len).cut(text, [block], 9) == [
        Piece(0, 9),
        Piece(9, 12, header),
        Piece(12, 15, header),
    ]
    text = "HHHHaaaaaxxxxxxx"
    block = Block("table", 0, 16, (9,), header_end=4)
    assert Cutter(len).cut(text, [block], 9) == [
        Piece(0, 9),
        Piece(9, 14, header),
        Piece(14, 16, header),
    ]


def test_a_row_that_does_not_fit_beside_its_header_stands_alone() -> None:
    text = "|h|\n|-|\n|a|\n|b|\n|c|\n|d|\n"
    block = Block("table", 0, 24, (12, 16, 20), header_end=8)

    def counter(part: str) -> int:  # header and last row together count more
        return len(part) + ("h" in part and "d" in part)

    assert Cutter(len).cut(text, [block], 16) == [Piece(0, 16), Piece(16, 24, (0, 8))]
    assert Cutter(counter).cut(text, [block], 16) == [
        Piece(0, 16),
        Piece(16, 20, (0, 8)),
        Piece(20, 24, (0, 8)),
    ]


def test_sentences_without_a_header_have_the_whole_limit() -> None:
    text = "One. Two three four five. Six."
    cutter = Cutter(word_count)
    blocks = [Block("paragraph", 0, len(text))]
    assert cutter.cut(text, blocks, 4) == [Piece(0, 5), Piece(5, 26), Piece(26, 30)]


def test_pieces_are_of_even_size() -> None:
    text = "aabbbccc"
    blocks = [Block("paragraph", *edges) for edges in ((0, 2), (2, 5), (5, 8))]
    assert Cutter(len).cut(text, blocks, 7) == [Piece(0, 5), Piece(5, 8)]


def test_an_item_of_exactly_the_limit_is_not_cut() -> None:
    text = "- Aa.\n- Bb. Cc. Dd.\n- Ee.\n"
    block = Block("list", 0, len(text), (6, 20))
    pieces = Cutter(word_count).cut(text, [block], 4)
    assert pieces == [Piece(0, 6), Piece(6, 20), Piece(20, 26)]


def test_a_header_above_half_the_limit_leaves_the_whole_limit() -> None:
    text = "HHHHHaaaa" + "x" * 9
    block = Block("table", 0, 18, (9,), header_end=5)
    assert Cutter(len).cut(text, [block], 9) == [Piece(0, 9), Piece(9, 18)]


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


def test_a_heading_leaves_the_first_words_less_room() -> None:
    text = "# H\nOne two three four five. Six."
    block = Block("paragraph", 0, len(text), header_start=4)
    expected = ["# H\nOne two ", "three four five. Six."]
    assert pieces_of(text, [block], 4) == expected


def test_headings_behind_the_last_block_are_not_left_alone() -> None:
    first, body, tail = "Nine ten. Eleven twelve. Ten.\n", "A b. C d e.\n", "# F\n"
    text = first + body + tail
    blocks = [
        Block("paragraph", 0, len(first)),
        Block("paragraph", len(first), len(text)),
    ]
    alone = pieces_of(body + tail, [Block("paragraph", 0, 16)], 4)
    # Nobody said where it begins.
    assert alone == ["A b. ", "C d e.\n# ", "F\n"]
    alone = pieces_of(body + tail, [Block("paragraph", 0, 16)], 4, tail=12)
    assert alone == ["A b. C d ", "e.\n# F\n"]
    expected = ["Nine ten. ", "Eleven twelve. Ten.\n", *alone]
    assert pieces_of(text, blocks, 4, tail=len(first + body)) == expected


def test_headings_that_just_fill_the_limit_leave_the_last_ones_to_the_text() -> None:
    text = "# A\nBb. Cc dd.\n# E\n"
    block = Block("paragraph", 0, len(text), header_start=4)
    expected = ["# A\nBb. ", "Cc dd.\n# E\n"]
    assert pieces_of(text, [block], 4, tail=15) == expected


@examples
def test_a_sentence_that_does_not_fit_is_cut_an_eighth_shorter(
    words: int, second: int
) -> None:
    text = "a " * words

    def fits(piece: Piece) -> bool:
        return piece.end - piece.start <= 40

    pieces = cut_paragraph(text, words, Cutter(word_count), fits=fits)
    assert list(map(word_count, pieces)) == [20, second]


def test_one_character_is_a_piece_even_if_it_does_not_fit() -> None:
    assert cut_paragraph("a", 1, Cutter(len), fits=lambda piece: False) == ["a"]

    def double(text: str) -> int:
        return 2 * len(text)

    assert cut_paragraph("ab c", 1, Cutter(double)) == ["a", "b ", "c"]
    assert cut_paragraph("ab c", 1, Cutter(len)) == ["a", "b ", "c"]


def test_a_long_word_is_not_cut_inside_a_character_at_the_end_of_a_window(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cutting, "WINDOW", 3)
    character = "e\u0301"
    pieces = cut_paragraph(character * 5, 4, Cutter(len))
    assert pieces == [character, character * 2, character * 2]


@pytest.mark.parametrize(
    ("text", "budget", "expected"),
    [
        # Between visible characters, in the middle of what is not blank.
        ("ae" + "\u0301" * 4 + "bc \n\n\n", 9, ["ae" + "\u0301" * 4, "bc \n\n\n"]),
        # Inside one, where it is the only one.
        ("e" + "\u0301" * 3 + " \n\n\n", 6, ["e\u0301", "\u0301" * 2 + " \n\n\n"]),
        # A single character stays with its blanks.
        ("a\n\n\n", 2, ["a\n\n\n"]),
    ],
)
def test_a_piece_that_blank_text_took_over_the_limit_is_halved(
    text: str, budget: int, expected: list[str]
) -> None:
    assert cut_paragraph(text, budget, Cutter(len)) == expected


def test_blank_text_joins_the_piece_before() -> None:
    text = "abcdef\n\n\n"

    def fits(piece: Piece) -> bool:
        return len(text[piece.start : piece.end].strip()) <= 3

    edges = ((0, 3), (3, 6), (6, 9))
    blocks = [Block("paragraph", start, end) for start, end in edges]
    assert Cutter(len).cut(text, blocks, 3, fits=fits) == [Piece(0, 3), Piece(3, 9)]
    table = Block("table", 0, 9, (3, 6), header_end=1)
    assert Cutter(len).cut(text, [table], 3, fits=fits) == [
        Piece(0, 3),
        Piece(3, 5, (0, 1)),
        Piece(5, 9, (0, 1)),
    ]
