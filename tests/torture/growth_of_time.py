"""Nasty shapes of up to two megabytes: time grows with the length, not with its square."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from random import Random

from growth import LINEAR, Shape, growth, shapes
from pattern_shapes import Pattern, application, own_shapes, uses
from reader_functions import READERS

import structrag
from torture.promise import Promise, random_of

SHORT, LONG = 60_000, 2_000_000  # characters of the longest text
# Patterns that are applied to a bounded part of a text only.
BOUNDED = {
    ("structrag.reading.plain", "_SENTENCE"),
    ("structrag.reading.plain_titles", "_TITLE_END"),
}


@cache
def _patterns() -> list[tuple[str, Pattern, set[str]]]:
    """Every pattern of the package, with the methods by which it is used."""
    return [
        (f"{module}.{name}", pattern, methods or {"finditer"})
        for (module, name), (pattern, methods) in sorted(uses(structrag).items())
        if (module, name) not in BOUNDED
    ]


@cache
def _shapes() -> list[Shape]:
    return list(shapes())


def _pattern_and_shape(rng: Random) -> tuple[str, Callable[[str], object], Shape]:
    name, pattern, methods = rng.choice(_patterns())
    method = rng.choice(sorted(methods))
    own = list(own_shapes(pattern))
    shape = rng.choice(own if own and rng.random() < 0.5 else _shapes())
    return f"{name}.{method}", application(pattern, method), shape


def case(number: int) -> None:
    """One shape through one reader, or through one pattern."""
    rng = random_of("growth", number)
    if number % 3 == 0:
        name = rng.choice(sorted(READERS))
        function, shape = READERS[name], rng.choice(_shapes())
    else:
        name, function, shape = _pattern_and_shape(rng)
    power = growth(function, shape, SHORT if number < PROMISE.short else LONG)
    assert power < LINEAR, f"{name}: {shape} takes time to the power of {power:.2f}"


PROMISE = Promise(
    "growth",
    "nasty shapes of up to 2 MB through patterns, readers, splitters: time grows with length",
    case,
    cases=1_000,
    short=12,
    share=14,
    seconds=300.0,
    prepare=_patterns,
)
