"""Packing paragraphs into calls: next-fit in reading order, and what happens to paragraphs above
the budget."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from structrag.retrieval.d3.scoring import cut_pieces, pack_calls
from structrag.text.tokens import count_tokens


def words(text: str) -> int:
    return len(text.split())


def of_words(n: int) -> str:
    return "word " * n


WORKED = [400, 300, 500, 200, 900, 100]


SENTENCE = st.integers(1, 9).map(lambda n: " ".join(["Word"] * n) + ". ")
PARAGRAPHS = st.lists(
    st.lists(SENTENCE, min_size=1, max_size=6).map("".join), max_size=10
)


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
