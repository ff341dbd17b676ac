"""No pattern and no reader takes more than about linear time, whatever the text repeats.

Patterns are found by themselves: a new one is timed from its first day on. One that is applied to
short texts only may be listed in BOUNDED, with the reason. It takes minutes: STRUCTRAG_GROWTH=1
runs it, as `.ci/run` does; STRUCTRAG_GROWTH=all tries every shape.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable

import pytest
import regex
from growth import COMMON, LINEAR, PIECES, Shape, growth, shapes
from pattern_shapes import application, own_shapes, uses
from reader_functions import READERS

import structrag

if not os.environ.get("STRUCTRAG_GROWTH"):
    pytest.skip("set STRUCTRAG_GROWTH=1 to time patterns", allow_module_level=True)
# Patterns of texts whose length something else bounds, and what bounds it.
BOUNDED = {
    "structrag.reading.plain._SENTENCE": "is searched in 400 characters of a line",
    "structrag.reading.markup.code._FUNCTION": "is matched with the names of a grammar",
    "structrag.reading.markup.code._NESTING": "is matched with the names of a grammar",
    "structrag.text.sentences._ENDING": "is searched in 32 characters",
    "structrag.reading.plain_titles._TITLE_END": "is searched in the 200 characters of a title",
}
# Every pattern and reader over every shape takes long; `make torture` tries them at random.
all_shapes = pytest.mark.skipif(
    os.environ.get("STRUCTRAG_GROWTH") != "all",
    reason="set STRUCTRAG_GROWTH=all to try all shapes",
)
PATTERNS = {f"{module}.{name}": use for (module, name), use in uses(structrag).items()}


def test_patterns_are_found() -> None:
    assert len(PATTERNS) > 150
    assert PATTERNS["structrag.reading.files._MARKDOWN_SIGN"][1] == {"search"}
    assert isinstance(PATTERNS["structrag.text.extractive._QUANTITY"][0], regex.Pattern)
    assert set(BOUNDED) <= set(PATTERNS)


@pytest.mark.parametrize("name", sorted(set(PATTERNS) - set(BOUNDED)))
def test_a_pattern_is_linear_in_what_it_repeats_itself(name: str) -> None:
    # What one of `regex` repeats is known about only.
    of_regex = isinstance(PATTERNS[name][0], regex.Pattern)
    check_pattern(name, 2_000, map(Shape, PIECES) if of_regex else [])


@all_shapes
@pytest.mark.parametrize("name", sorted(set(PATTERNS) - set(BOUNDED)))
def test_a_pattern_is_linear_in_anything(name: str) -> None:
    check_pattern(name, 20_000, shapes())


@pytest.mark.parametrize("name", READERS)
def test_a_reader_is_linear(name: str) -> None:
    assert too_slow(READERS[name], map(Shape, COMMON), 1_500) == []


@all_shapes
@pytest.mark.parametrize("name", READERS)
def test_a_reader_is_linear_in_any_shape(name: str) -> None:
    assert too_slow(READERS[name], map(Shape, PIECES), 8_000) == []


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("keywords", Shape("1,")),
        ("formatter (string)", Shape("---\n")),
        ("formatter (string)", Shape("a\n===\n")),
        ("pic (markdown)", Shape("w ", "# ")),
        ("pic (markdown)", Shape("{ #", "# a ")),
        ("pic (markdown)", Shape("a\n", "", "===\n")),
        ("content_aware, small (markdown)", Shape("a ", f"# {'w ' * 1000}\n\n")),
    ],
)
def test_a_reader_is_linear_in_long_texts(name: str, shape: Shape) -> None:
    assert growth(READERS[name], shape, 100_000) < LINEAR


def test_quadratic_and_exponential_time_is_noticed() -> None:
    quadratic, exponential = re.compile(r"a+b"), re.compile(r"(?:a|a)+b")
    assert growth(quadratic.search, Shape("a"), 16_000) > LINEAR
    assert growth(exponential.match, Shape("a"), 8_000) > LINEAR
    assert growth(re.compile("a").findall, Shape("a"), 400_000) < LINEAR
    assert any(
        growth(quadratic.search, shape, 16_000) > LINEAR
        for shape in own_shapes(quadratic)
    )


def check_pattern(name: str, size: int, more: Iterable[Shape]) -> None:
    pattern, methods = PATTERNS[name]
    for method in sorted(methods or {"finditer"}):
        function = application(pattern, method)
        assert too_slow(function, [*own_shapes(pattern), *more], size) == [], method


def too_slow(
    function: Callable[[str], object], texts: Iterable[Shape], size: int
) -> list[tuple[Shape, float]]:
    """The shapes that take more than linear time, each with the power."""
    powers = ((shape, growth(function, shape, size)) for shape in texts)
    return [(shape, power) for shape, power in powers if power >= LINEAR]
