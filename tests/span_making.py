"""Texts, measures and spans for the tests of evaluation."""

from __future__ import annotations

import re

from hypothesis import strategies as st

from structrag.evaluation import (
    SpanMeasure,
)

CHAR = SpanMeasure(unit="char")


TEXTS = {"a": "one two\n\n three  four five six ", "b": " seven eight\t"}


MEASURES = {
    "char": SpanMeasure(TEXTS, "char"),
    "nonspace": SpanMeasure(TEXTS),
    "token": SpanMeasure(
        TEXTS,
        "token",
        token_spans=lambda text: [m.span() for m in re.finditer(r"\s*\S{1,3}", text)],
    ),
}


def spans(min_size: int = 0) -> st.SearchStrategy[list[tuple[str, int, int]]]:
    def of(doc_id: str) -> st.SearchStrategy[tuple[str, int, int]]:
        offsets = st.integers(0, len(TEXTS[doc_id]))
        return st.tuples(offsets, offsets).map(
            lambda pair: (doc_id, min(pair), max(pair))
        )

    return st.lists(
        st.sampled_from(sorted(TEXTS)).flatmap(of), min_size=min_size, max_size=6
    )
