"""Nasty shapes of many sizes: time grows with the length, not with its square."""

from __future__ import annotations

from functools import cache
from random import Random

from file_shapes import SHAPES, of_file, read_and_split
from growth import LINEAR, growth, power, shapes
from pattern_shapes import BOUNDED, application, own_shapes, uses
from reader_functions import READERS

from torture.promise import Promise, random_of

SHORT, LONG = 16_000, 2_000_000  # characters of the text that time is measured from


@cache
def _patterns() -> list[str]:
    return sorted(set(uses()) - set(BOUNDED))


def _of_pattern(rng: Random, size: int) -> tuple[str, float]:
    name = rng.choice(_patterns())
    pattern, methods = uses()[name]
    method = rng.choice(sorted(methods or {"finditer"}))
    own = list(own_shapes(pattern))
    shape = rng.choice(own if own and rng.random() < 0.5 else list(shapes()))
    return f"{name}.{method}: {shape}", growth(
        application(pattern, method), shape, size
    )


def _of_text(rng: Random, size: int) -> tuple[str, float]:
    name, shape = rng.choice(sorted(READERS)), rng.choice(list(shapes()))
    return f"{name}: {shape}", growth(READERS[name], shape, size)


def _of_file(rng: Random, size: int) -> tuple[str, float]:
    suffix = rng.choice(sorted(SHAPES))
    shape = rng.choice(SHAPES[suffix])
    result = power(
        lambda data: read_and_split(suffix, data),
        lambda characters: of_file(suffix, shape, characters),
        size,
    )
    return f"{suffix}: {shape}", result


def case(number: int) -> None:
    """One shape through one pattern, or one reader of texts or files."""
    rng = random_of("growth", number)
    measure = (_of_text, _of_pattern, _of_file)[number % 3]
    what, result = measure(rng, SHORT if number < PROMISE.short else LONG)
    assert result < LINEAR, f"{what} takes time to the power of {result:.2f}"


PROMISE = Promise(
    "growth",
    "nasty shapes through patterns, readers, splitters: time grows with length",
    case,
    cases=1_000,
    short=12,
    share=14,
    seconds=300.0,
    prepare=uses,
)
