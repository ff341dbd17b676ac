"""Margins by vectors, by likelihoods and by both, on one small text."""

from __future__ import annotations

from benchmarks import boundaries_information as boundaries
from benchmarks.unheaded import unheaded
from structrag import read_text
from tests.doubles import HashEmbedder

PAIRS = [("cats purr", "cats sleep"), ("cats purr", "pumps leak")]


def test_equal_sides_have_the_larger_margin() -> None:
    vectors = boundaries.by_vectors(HashEmbedder())
    close, far = vectors(PAIRS)
    assert close is not None and far is not None and 1 >= close > far
    asked: list[object] = []

    def information(pairs: boundaries.Pairs) -> list[float | None]:
        asked.append(pairs)
        return [0.5, None]

    kept = boundaries.once(information)
    both = boundaries.together(vectors, kept)
    first, second = both(PAIRS)
    assert first is not None and second is not None and first > 0 > second
    assert both(PAIRS) == [first, second] and len(asked) == 1


def test_borders_are_measured() -> None:
    body = "One thing is said. Another thing is said. A third thing is said.\n\n"
    text = "".join(f"# Part {number}\n\n{body}" for number in range(5))
    document = unheaded(read_text(text, id="d", format="markdown"))
    assert document is not None
    vectors = boundaries.by_vectors(HashEmbedder())
    values = boundaries.measured([document, document], vectors)
    assert all(len(found) == 2 for found in values.values())
    assert all(0 <= value <= 1 for name in ("Pk", "F1") for value in values[name])
    table = boundaries.table({boundaries.VECTORS: values, boundaries.BOTH: values})
    assert "+0.0 [+0.0, +0.0]" in table
