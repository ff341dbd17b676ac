"""Units: sentences and whole blocks that tile a division, each known by its own words; windows and
mean vectors of long ones."""

from __future__ import annotations

from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.chunks.divisions import divide
from structrag.chunks.units import Unit, units_of
from structrag.reading.files import read_text
from structrag.reading.sections import parse
from structrag.text.cutting import Cutter
from structrag.text.tokens import count_tokens


def units(
    text: str, max_tokens: int | None = None, format: str = "markdown"
) -> list[Unit]:
    outline = parse(read_text(text, format=format, id="d"))
    cutter = Cutter(count_tokens)
    return [
        unit
        for division in divide(outline)
        for unit in units_of(outline, division, cutter, max_tokens)
    ]


@settings(deadline=None, max_examples=60)
@given(
    st.text(alphabet="aB. \n#-|`中。é", max_size=200), st.sampled_from([None, 1, 5, 30])
)
def test_units_tile_any_text_and_keep_the_limit(text: str, most: int | None) -> None:
    found = units(text, most)
    assert "".join(text[unit.start : unit.end] for unit in found) == (
        text if text.strip() else ""
    )
    for unit in found:
        assert unit.start <= unit.text_start < unit.end
        assert unit.tokens == count_tokens(text[unit.start : unit.end])
        assert (
            most is None
            or unit.tokens <= most
            or unit.end - unit.start <= 2
            or most == 1
        )


def count_words(text: str) -> int:
    return len(text.split())


def spans(text: str, most: int | None = None) -> list[tuple[str, str, int]]:
    """Of each unit its text, its own words and its tokens."""
    outline = parse(read_text(text, format="markdown", id="d"))
    cutter = Cutter(count_words)
    found = []
    for division in divide(outline):
        for each in units_of(outline, division, cutter, most):
            words = text[each.text_start : each.end]
            found.append((text[each.start : each.end], words, each.tokens))
    return found


@examples
def test_a_unit_of_exactly_the_limit_is_whole(most: int, texts: list[str]) -> None:
    found = spans("One two three four. Five.", most)
    assert [text for text, _, _ in found] == texts
    assert [tokens for _, _, tokens in found] == list(map(count_words, texts))
