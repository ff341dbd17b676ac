"""Numbers with their nouns."""

from __future__ import annotations

from structrag.text.numbers import pluralise


def test_one_thing_alone_is_singular() -> None:
    named = [pluralise(number, "cache hit") for number in (0, 1, 2, 12_345)]
    assert named == ["0 cache hits", "1 cache hit", "2 cache hits", "12,345 cache hits"]
