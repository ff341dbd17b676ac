"""The section tree: nesting, tiling, and the formats' switch."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from structrag.reading.outline import Outline, build_outline
from structrag.records import Document, Heading

levels = st.lists(st.integers(1, 6), max_size=12)


def outline_of(levels: list[int]) -> Outline:
    text = "".join(f"{'#' * level} h\nbody\n" for level in levels)
    headings, start = [], 0
    for number, level in enumerate(levels):
        headings.append(Heading(level, f"t{number}", start, start + level + 3))
        start += level + 8
    return build_outline(Document(text), headings, lambda start, end: [])


@given(levels)
def test_headings_and_own_bodies_tile_the_document(levels: list[int]) -> None:
    outline = outline_of(levels)
    position = 0
    for section in outline.sections:
        assert section.start == position
        assert section.start <= section.body_start <= section.body_end <= section.end
        position = section.body_end
    assert position == len(outline.document.text)


@given(levels)
def test_parent_is_the_nearest_earlier_section_of_a_smaller_level(
    levels: list[int],
) -> None:
    sections = outline_of(levels).sections
    assert (sections[0].parent, sections[0].path, sections[0].level) == (None, (), 0)
    for section in sections[1:]:
        above = [
            other
            for other in sections[: section.ordinal]
            if other.level < section.level
        ]
        assert section.parent == above[-1].ordinal
        assert section.path == (*above[-1].path, section.title)
        assert section.ordinal in above[-1].children
        later = [
            other.start
            for other in sections[section.ordinal + 1 :]
            if other.level <= section.level
        ]
        assert section.end == (later[0] if later else sections[0].end)
