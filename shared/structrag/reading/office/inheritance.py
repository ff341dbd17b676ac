"""Styles that are based on others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from structrag.reading.limits import check_depth

K = TypeVar("K")
S = TypeVar("S")


def inherited(
    style: K,
    base_of: Callable[[K], K | None],
    known: dict[K, S],
    plain: S,
    make: Callable[[K, S], S],
) -> S:
    """What a style is, by what it says itself and what the one it is based on is.

    Each is worked out once and kept in `known`; a circle of styles is cut open, and begins with
    `plain`. Raises InvalidDocument where too many are based on each other.

    Example:
        >>> bases = {"Clause": "Heading"}
        >>> known = {"Heading": 1}
        >>> inherited("Clause", bases.get, known, 0, lambda style, base: base)
        1
    """
    chain: dict[K, None] = {}
    nearest: K | None = style
    while nearest is not None and nearest not in known and nearest not in chain:
        chain[nearest] = None
        nearest = base_of(nearest)
    check_depth(len(chain), "styles")
    result = plain if nearest is None else known.get(nearest, plain)
    for each in reversed(chain):
        result = known[each] = make(each, result)
    return result
