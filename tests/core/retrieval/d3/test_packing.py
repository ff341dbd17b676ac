"""Packing paragraphs into calls: next-fit in reading order, and what happens to paragraphs above
the budget."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from structrag.errors import InvalidParameter
from structrag.retrieval.d3.packing import ShownParagraph, cut_pieces, pack_calls
from structrag.text.tokens import count_tokens


def words(text: str) -> int:
    return len(text.split())


def of_words(n: int) -> str:
    return "word " * n


def sizes(calls: Sequence[Sequence[ShownParagraph]]) -> list[tuple[int, ...]]:
    return [tuple(part.tokens for part in call) for call in calls]


WORKED = [400, 300, 500, 200, 900, 100]


def test_the_worked_numbers() -> None:
    texts = [of_words(n) for n in WORKED]
    assert sizes(pack_calls(texts, 1000, words)) == [(400, 300), (500, 200), (900, 100)]
    assert sizes(pack_calls(texts, 1500, words)) == [(400, 300, 500, 200), (900, 100)]
    assert sizes(pack_calls(texts, 1001, words, label_tokens=1)) == [
        (401, 301),
        (501, 201),
        (901,),
        (101,),
    ]
    assert pack_calls([], 10) == []


def test_a_paragraph_above_the_budget_starts_a_call_and_is_cut_by_sentences() -> None:
    long = "One two three. Four five six. Seven eight nine. Ten. "
    calls = pack_calls(["a b", long, "c d e", "f"], 6, words)
    assert [[(part.position, part.tokens) for part in call] for call in calls] == [
        [(0, 2)],
        [(1, 6)],
        [(1, 4)],
        [(2, 3), (3, 1)],
    ]
    pieces = [
        long[part.start : part.end]
        for call in calls
        for part in call
        if part.position == 1
    ]
    assert pieces == ["One two three. Four five six. ", "Seven eight nine. Ten. "]


def test_what_follows_may_share_the_call_of_the_last_piece() -> None:
    calls = pack_calls([of_words(7), "a b"], 5, words)
    assert [[(part.position, part.tokens) for part in call] for call in calls] == [
        [(0, 5)],
        [(0, 2), (1, 2)],
    ]


def test_words_and_characters_where_a_sentence_or_a_word_is_too_long() -> None:
    assert [b - a for a, b in cut_pieces("abcdefghij" * 3, 7, len)] == [7, 7, 7, 7, 2]
    assert cut_pieces("", 5) == []
    assert cut_pieces("  ", 5) == [(0, 2)]
    text = "e\u0301" * 4  # letters with a combining mark, which stay together
    assert [text[a:b] for a, b in cut_pieces(text, 3, len)] == ["e\u0301"] * 4
    # The limit is hard: a character that does not fit is cut between its code points.
    assert [text[a:b] for a, b in cut_pieces(text, 1, len)] == list(text)


def test_a_very_long_paragraph_is_cut_in_time() -> None:
    text = "A sentence of six words here. " * 33_000  # 198,000 words
    pieces = cut_pieces(text, 3500)
    assert all(count_tokens(text[a:b]) <= 3500 for a, b in pieces)
    assert len(pieces) <= 78  # 257,400 tokens
    assert len(cut_pieces("x" * 1_000_000, 3500)) < 60


def test_the_budget_must_leave_room_behind_a_label() -> None:
    with pytest.raises(
        InvalidParameter, match="budget must be a number of at least 3; got 2"
    ):
        pack_calls(["a"], 2, label_tokens=2)


SENTENCE = st.integers(1, 9).map(lambda n: " ".join(["Word"] * n) + ". ")
PARAGRAPHS = st.lists(
    st.lists(SENTENCE, min_size=1, max_size=6).map("".join), max_size=10
)


@settings(max_examples=300)
@given(texts=PARAGRAPHS, budget=st.integers(1, 40), label=st.integers(0, 3))
def test_every_paragraph_is_in_one_call_or_contiguous_pieces(
    texts: list[str], budget: int, label: int
) -> None:
    budget += label
    calls = pack_calls(texts, budget, words, label_tokens=label)
    parts = [part for call in calls for part in call]
    assert [part.position for part in parts] == sorted(part.position for part in parts)
    assert all(sum(part.tokens for part in call) <= budget for call in calls)
    assert all(calls)
    for position, text in enumerate(texts):
        own = [part for part in parts if part.position == position]
        assert "".join(text[part.start : part.end] for part in own) == text
        assert all(a.end == b.start for a, b in pairwise(own))
        if words(text) + label <= budget:
            assert len(own) == 1
        else:
            # Its first piece starts a call.
            assert any(call[0] == own[0] for call in calls)
    for call, after in pairwise(calls):
        if (
            after[0].start == 0 and words(texts[after[0].position]) + label <= budget
        ):  # next-fit: it had no room before
            assert sum(part.tokens for part in call) + after[0].tokens > budget


@settings(max_examples=300)
@example(texts=[of_words(n) for n in WORKED], budget=999, more=501)
@example(texts=["Word. ", "Word. Word Word. Word. "], budget=3, more=1)
@given(texts=PARAGRAPHS, budget=st.integers(1, 30), more=st.integers(0, 30))
def test_a_larger_budget_never_gives_more_calls(
    texts: list[str], budget: int, more: int
) -> None:
    assert len(pack_calls(texts, budget + more, words)) <= len(
        pack_calls(texts, budget, words)
    )


@given(text=st.text(alphabet="ab .\n日e\u0301", max_size=80), budget=st.integers(1, 12))
def test_pieces_tile_any_text_and_fit(text: str, budget: int) -> None:
    pieces = cut_pieces(text, budget)
    assert "".join(text[a:b] for a, b in pieces) == text
    assert all(
        count_tokens(text[a:b]) <= max(budget, 3) for a, b in pieces
    )  # as a single character may


def test_one_character_as_readers_see_it_above_the_budget_is_cut_between_code_points() -> (
    None
):
    text = "a e" + "\u0301" * 4000 + " b"
    assert all(end - start <= 7 for start, end in cut_pieces(text, 7, len))


def test_pieces_end_at_sentences_where_these_fit() -> None:
    text = "One two three. Four five six. Seven eight nine."
    spans = cut_pieces(text, 4, lambda part: len(part.split()))
    assert [text[start:end].strip() for start, end in spans] == [
        "One two three.",
        "Four five six.",
        "Seven eight nine.",
    ]


def test_the_piece_with_the_end_of_a_long_sentence_goes_on_with_the_next() -> None:
    text = "Alpha beta gamma delta epsilon. Zeta. Eta theta iota."
    assert [text[start:end] for start, end in cut_pieces(text, 3, words)] == [
        "Alpha beta gamma ",
        "delta epsilon. Zeta. ",
        "Eta theta iota.",
    ]
    # A word above the limit is cut by characters, and its end goes on with the next.
    text = "abcdefg hi jk"
    assert [text[start:end] for start, end in cut_pieces(text, 6, len)] == [
        "abcdef",
        "g hi ",
        "jk",
    ]


def test_parts_know_their_places_and_tokens() -> None:
    calls = pack_calls(["one two", "three"], 3, words)
    assert calls == [[ShownParagraph(0, 0, 7, 2), ShownParagraph(1, 0, 5, 1)]]
    calls = pack_calls(["one two", "three"], 4, words, label_tokens=1)
    assert calls == [[ShownParagraph(0, 0, 7, 3)], [ShownParagraph(1, 0, 5, 2)]]
    calls = pack_calls(["one two", "three"], 5, words, label_tokens=1)
    assert calls == [[ShownParagraph(0, 0, 7, 3), ShownParagraph(1, 0, 5, 2)]]
    assert pack_calls(["one"], 1, words) == [[ShownParagraph(0, 0, 3, 1)]]
    assert pack_calls(["", "one"], 1, words) == [
        [ShownParagraph(0, 0, 0, 0), ShownParagraph(1, 0, 3, 1)]
    ]
