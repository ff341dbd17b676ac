"""No pattern and no reader takes more than about linear time, or memory, whatever a text repeats.

Patterns are found by themselves: a new one is timed from its first day on. One that is applied to
short texts only may be listed in BOUNDED, with the reason. `make test-long` takes a sample of small
sizes; STRUCTRAG_GROWTH=all tries every pattern and reader at large ones, which takes an hour.
"""

from __future__ import annotations

import os
import re
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from math import log
from random import Random
from typing import TypeVar

import pytest
import regex
from file_shapes import SHAPES, of_file, read_and_split
from growth import COMMON, LINEAR, PIECES, Shape, growth, power, shapes
from pattern_shapes import BOUNDED, application, own_shapes, uses
from reader_functions import READERS

pytestmark = [pytest.mark.slow, pytest.mark.long]
T = TypeVar("T")
ALL = os.environ.get("STRUCTRAG_GROWTH") == "all"
# Of texts that have little to cut at.
LONG = (
    *(Shape("x"), Shape(" "), Shape("\n"), Shape("."), Shape("1"), Shape("漢")),
    *(Shape("word "), Shape("a\n"), Shape("# a\n\n"), Shape("a\n\n")),
)


def test_patterns_are_found() -> None:
    names = set(uses())
    assert len(names) > 400
    patterns = [pattern for pattern, _ in uses().values()]
    assert any(isinstance(pattern, regex.Pattern) for pattern in patterns)
    assert any(isinstance(pattern.pattern, bytes) for pattern in patterns)
    assert any(name.endswith("(0)") for name in names)  # in a function
    assert any(name.endswith("[1]") for name in names)  # in a table
    assert set(BOUNDED) <= names


def test_no_pattern_takes_more_than_linear_time() -> None:
    slow = {}
    for name in sorted(set(uses()) - set(BOUNDED)):
        pattern, methods = uses()[name]
        texts = list(own_shapes(pattern))
        # What one of `regex` repeats is known about only.
        if ALL or isinstance(pattern, regex.Pattern):
            texts += shapes() if ALL else map(Shape, PIECES)
        for method in sorted(methods or {"finditer"}):
            function, size = application(pattern, method), 2_000_000 if ALL else 16_000
            if powers := too_slow(function, sample(texts, 12), size):
                slow[f"{name}.{method}"] = powers
    assert slow == {}


@pytest.mark.parametrize("name", READERS)
def test_a_reader_of_text_is_linear(name: str) -> None:
    texts = [Shape(piece) for piece in (PIECES if ALL else COMMON)]
    assert too_slow(READERS[name], sample(texts, 8), 1_000_000 if ALL else 4_000) == []


@pytest.mark.parametrize("suffix", SHAPES)
def test_a_reader_of_files_is_linear(suffix: str) -> None:
    slow = [
        (shape, result)
        for shape in sample(SHAPES[suffix], 4)
        if (result := file_power(suffix, shape, 1_000_000 if ALL else 8_000)) > LINEAR
    ]
    assert slow == []


@pytest.mark.skipif(not ALL, reason="set STRUCTRAG_GROWTH=all to weigh every reader")
@pytest.mark.parametrize("suffix", SHAPES)
def test_the_memory_of_a_reader_is_linear(suffix: str) -> None:
    slow = []
    for shape in SHAPES[suffix]:
        small, large = (
            peak(suffix, of_file(suffix, shape, n)) for n in (20_000, 320_000)
        )
        if log(large / small, 16) > LINEAR:
            slow.append((shape, small, large))
    assert slow == []


@pytest.mark.skipif(not ALL, reason="set STRUCTRAG_GROWTH=all to split long texts")
@pytest.mark.parametrize("name", [name for name in READERS if "(" in name])
def test_long_texts_without_what_splitters_cut_at_are_linear(name: str) -> None:
    assert too_slow(READERS[name], LONG, 5_000_000) == []


def test_quadratic_and_exponential_time_is_noticed() -> None:
    quadratic, exponential = re.compile(r"a+b"), re.compile(r"(?:a|a)+b")
    assert growth(quadratic.search, Shape("a"), 16_000) > LINEAR
    assert growth(exponential.match, Shape("a"), 8_000) > LINEAR
    assert growth(re.compile("a").findall, Shape("a"), 1_000_000) < LINEAR
    for pattern in (quadratic, re.compile(rb"a+b"), regex.compile(r"a+b")):
        search = application(pattern, "search")
        assert any(
            growth(search, each, 16_000) > LINEAR for each in own_shapes(pattern)
        )


def too_slow(
    function: Callable[[str], object], texts: Iterable[Shape], size: int
) -> list[tuple[Shape, float]]:
    """The shapes that take more than linear time, each with the power."""
    powers = ((shape, growth(function, shape, size)) for shape in texts)
    return [(shape, result) for shape, result in powers if result > LINEAR]


def file_power(suffix: str, shape: Shape, size: int) -> float:
    return power(
        lambda data: read_and_split(suffix, data),
        lambda characters: of_file(suffix, shape, characters),
        size,
    )


def peak(suffix: str, data: bytes) -> int:
    """The most bytes in use while a file is read and split."""
    tracemalloc.start()
    try:
        read_and_split(suffix, data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def sample(items: Sequence[T], number: int) -> Sequence[T]:
    """All, or some of them where not every shape is tried."""
    return items if ALL else Random(1).sample(items, min(number, len(items)))
