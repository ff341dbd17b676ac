"""The smallest titled divisions of a document, and their blocks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from structrag.reading.outline import Outline
from structrag.records import Block, Section
from structrag.text.cutting import lines_block

# The place of a generated table of contents, in reStructuredText and in Markdown: it says nothing
# itself.
_CONTENTS = re.compile(
    r"\.\.[ ]contents::[^\n]*(?:\n[ \t]+:[^\n]*)*|\[\[?_?TOC_?\]?\]|\{:toc\}|\{\{<[ ]*toc[ ]*>\}\}",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Division:
    """A span that makes one chunk if it fits. It is a section's heading and own body, with headings
    without a body beside it."""

    start: int
    end: int
    section: Section  # whose body it is
    first: Section  # whose heading the text starts with
    is_inside: bool = False  # behind that heading: it starts with none


def divide(outline: Outline, exclude_titles: Sequence[str] = ()) -> list[Division]:
    """The smallest divisions of a document, in order. They tile it, except for excluded subtrees.
    Blank text has none."""
    text = outline.document.text
    filled = _filled(outline)
    excluded = excluded_sections(outline, exclude_titles)
    divisions: list[Division] = []
    # The first of the headings that wait for a body below them.
    waiting: Section | None = None
    for section in outline.sections:
        if section.ordinal in excluded:
            _close(divisions, waiting, section.start, text)
            waiting = None
            continue
        if _has_body(section, text):
            first = waiting or section
            divisions.append(Division(first.start, section.body_end, section, first))
            waiting = None
        elif waiting is None:
            adjoins = bool(divisions) and divisions[-1].end == section.start
            if adjoins and not filled[section.ordinal]:
                # No body follows below it either, so it goes with the text before it.
                divisions[-1] = replace(divisions[-1], end=section.body_end)
            else:
                waiting = section
    _close(divisions, waiting, len(text), text)
    return divisions


def grouped(divisions: Sequence[Division], *, apart: bool) -> list[list[Division]]:
    """The divisions in groups without a gap between them. Excluded sections leave gaps. With
    `apart` each division is a group."""
    groups: list[list[Division]] = []
    for division in divisions:
        if not apart and groups and groups[-1][-1].end == division.start:
            groups[-1].append(division)
        else:
            groups.append([division])
    return groups


def leading_path(outline: Outline, division: Division) -> tuple[str, ...]:
    """The path of the heading a division's text starts with. Front matter and blank lines before it
    do not count."""
    starts_blank = division.first.ordinal == 0 and division.section.ordinal != 0
    return outline.sections[1].path if starts_blank else division.first.path


def _close(
    divisions: list[Division], waiting: Section | None, end: int, text: str
) -> None:
    """Give headings without a body to the division before. Else they are one themselves."""
    if waiting is None or waiting.start == end:
        return
    if divisions and divisions[-1].end == waiting.start:
        divisions[-1] = replace(divisions[-1], end=end)
    elif text[waiting.start : end].strip():
        divisions.append(Division(waiting.start, end, waiting, waiting))


def _has_body(section: Section, text: str) -> bool:
    """Whether words stand between a heading and the next. A mark for a table of contents does not
    count as text."""
    body = text[section.body_start : section.body_end].strip()
    return bool(body) and not _CONTENTS.fullmatch(body)


def _filled(outline: Outline) -> list[bool]:
    """For every section, whether it or one below it has a body."""
    text = outline.document.text
    filled = [_has_body(section, text) for section in outline.sections]
    for section in reversed(outline.sections):
        if section.parent is not None and filled[section.ordinal]:
            filled[section.parent] = True
    return filled


def excluded_sections(outline: Outline, titles: Sequence[str]) -> set[int]:
    """The ordinals of sections with these titles, and of those below."""
    unwanted = {" ".join(title.split()).casefold() for title in titles}
    excluded: set[int] = set()
    if not unwanted:
        return excluded
    for section in outline.sections[1:]:
        if (
            section.parent in excluded
            or " ".join(section.title.split()).casefold() in unwanted
        ):
            excluded.add(section.ordinal)
    return excluded


def division_blocks(
    outline: Outline, division: Division
) -> tuple[list[Block], int | None]:
    """Blocks that tile a division, and where headings without a body begin.

    These headings are at the end of the last block; None: there are none. Any other heading belongs
    to the block behind it, whose `header_start` tells where that block's own text begins.
    """
    text = outline.document.text
    blocks: list[Block] = []
    start = division.start
    for ordinal in range(division.first.ordinal, len(outline.sections)):
        section = outline.sections[ordinal]
        if section.start >= division.end:
            break
        # Front matter stands before the body of section 0.
        if section.ordinal == 0 and section.body_start > 0 and start == 0:
            blocks.append(lines_block(text, 0, section.body_start))
            start = section.body_start
        for block in outline.blocks(section):
            if text[block.start : block.end].strip():
                # `replace` would take several times as long.
                lead = block.text_start
                blocks.append(
                    Block(
                        block.kind, start, block.end, block.cuts, block.header_end, lead
                    )
                )
                start = block.end
    if not blocks:
        return [lines_block(text, start, division.end)], None
    if start == division.end:
        return blocks, None
    blocks[-1] = replace(blocks[-1], end=division.end)
    return blocks, start
