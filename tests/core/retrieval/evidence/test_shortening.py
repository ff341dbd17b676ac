"""Texts shortened to their evidence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.errors import InvalidParameter
from structrag.retrieval.evidence.shortening import Shortener
from structrag.text.tokens import count_tokens

SENTENCES = [
    "Cats sleep.",
    "The pump leaks.",
    "Rain fell on the hills.",
    "\n\n",
    "# Title\n\n",
]
TEXTS = st.lists(
    st.lists(st.sampled_from(SENTENCES), max_size=6).map(" ".join), max_size=4
)


@settings(deadline=None, max_examples=40)
@given(TEXTS, st.integers(1, 30))
def test_slices_are_of_the_texts_and_fit(texts: list[str], limit: int) -> None:
    slices = Shortener(max_tokens=limit).shorten(texts, "Which pump leaks?")
    given_texts = [texts[piece.text][piece.start : piece.end] for piece in slices]
    assert all(text.strip() for text in given_texts)
    assert sum(map(count_tokens, given_texts)) <= limit
    assert sorted(piece.rank for piece in slices) == list(range(1, len(slices) + 1))


def test_bad_input() -> None:
    shortener = Shortener()
    assert shortener.shorten([], "pump") == [] == shortener.shorten(["The pump."], " ")
    for texts in ("The pump.", [1]):
        with pytest.raises(InvalidParameter, match="texts must be a list of strings"):
            shortener.shorten(texts, "pump")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="query must be a string"):
        shortener.shorten(["The pump."], None)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="order must be one of"):
        Shortener(order="best")


def test_a_row_is_read_with_its_header() -> None:
    rows = "".join(f"| part {i} | {i * 7} pieces |\n" for i in range(60))
    texts = ["Cats sleep.", f"| part | stock |\n|---|---|\n{rows}"]
    for context, shown in (("lead", "| part | stock |\n|---|---|"), ("none", "")):
        shortener = Shortener(max_tokens=30, context=context)
        best = min(
            shortener.shorten(texts, "Which part has 287?"), key=lambda one: one.rank
        )
        assert "| part 41 | 287 pieces |" in texts[1][best.start : best.end]
        assert best.context == shown
