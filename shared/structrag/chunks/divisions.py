"""The smallest titled divisions of a document, and their blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

from structrag.reading.markup.code import SUFFIXES, Definition
from structrag.reading.markup.code import reader as reader_of_code
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
        if has_body(section, text):
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


def leading_section(outline: Outline, division: Division) -> Section:
    """The section whose heading a division's text starts with. Front matter and blank lines before
    it do not count."""
    starts_blank = division.first.ordinal == 0 and division.section.ordinal != 0
    return outline.sections[1] if starts_blank else division.first


def leading_path(outline: Outline, division: Division) -> tuple[str, ...]:
    """The path of the heading a division's text starts with."""
    return leading_section(outline, division).path


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


def has_body(section: Section, text: str) -> bool:
    """Return True if there are words between a heading and the next. A mark for a table of contents
    is no text."""
    body = text[section.body_start : section.body_end].strip()
    return bool(body) and not _CONTENTS.fullmatch(body)


def _filled(outline: Outline) -> list[bool]:
    """For every section, whether it or one below it has a body."""
    text = outline.document.text
    filled = [has_body(section, text) for section in outline.sections]
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
        # Front matter precedes the body of section 0.
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


# -- source code


_CLOSES = re.compile(r"(?:[^\w#]|\b(?:end|fi|done|esac|endif)\b)*")
_COMMENT = re.compile(
    r"(?:[ \t]*(?:(?:#(?!\[)|//|/\*|\*)[^\r\n]*)?(?:\r\n|\r|\n))*", re.ASCII
)
_BLANK = re.compile(r"(?:[ \t]*(?:\r\n|\r|\n))*")


@dataclass(frozen=True, slots=True)
class Code:
    """A source and its definitions by start. Empty for any other document."""

    outline: Outline
    definitions: dict[int, Definition]

    @classmethod
    def of(cls, outline: Outline) -> Code:
        """Read the definitions of an outline's document."""
        document = outline.document
        is_code = document.format in SUFFIXES
        reader = reader_of_code(document.format) if is_code else None
        definitions = reader.definitions(document.text) if reader else ()
        return cls(outline, {one.start: one for one in definitions})

    def __bool__(self) -> bool:
        return bool(self.definitions)

    def divisions(
        self, divisions: Sequence[Division], fits: Callable[[Division], bool]
    ) -> list[Division]:
        """Divisions cut where definitions end, and joined where a function as a whole `fits`."""
        cut = [part for division in divisions for part in self._cut(division)]
        joined: list[Division] = []
        for place, division in enumerate(cut):
            if not joined or division.start >= joined[-1].end:
                joined.append(self._whole_function(cut, place, fits) or division)
        text = self.outline.document.text
        for i, (division, below) in enumerate(pairwise(joined)):
            end = division.start + len(text[division.start : division.end].rstrip())
            shorter = replace(joined[i], end=end)
            if below.start == division.end and not fits(joined[i]) and fits(shorter):
                joined[i : i + 2] = [shorter, replace(below, start=end)]
        return [part for one in joined for part in self._without_lead(one, fits)]

    def _whole_function(
        self, cut: Sequence[Division], place: int, fits: Callable[[Division], bool]
    ) -> Division | None:
        """The outermost function that begins in a division, joined from it and those below, where
        that `fits`."""
        division = cut[place]
        for section in [] if division.is_inside else self._functions(division):
            end = division.end
            for number in range(place + 1, len(cut)):  # a copy of the rest takes long
                below = cut[number]
                if below.start != end or end >= self._end(section):
                    break
                end = below.end
            both = replace(division, end=end, section=section)
            if end > division.end and fits(both):
                return both
        return None

    def _without_lead(
        self, division: Division, fits: Callable[[Division], bool]
    ) -> list[Division]:
        """Split off what precedes a function (a comment, the line of a class) if the function alone
        fits."""
        functions = [] if division.is_inside else self._functions(division)
        if not functions or fits(division):
            return [division]
        begin = functions[0].start
        comment = _COMMENT.match(self.outline.document.text, begin)
        for end in (begin, comment.end() if comment else begin):
            alone = replace(division, start=end, first=functions[0])
            if division.start < end < division.end and fits(alone):
                is_comment = division.start == begin
                lead = replace(division, end=end, section=division.first)
                return [replace(lead, is_inside=is_comment), alone]
        return [division]

    def _functions(self, division: Division) -> list[Section]:
        """The functions that begin in a division, the outermost first."""
        around = takewhile(
            lambda section: section.start >= division.start,
            self._around(division.section),
        )
        outwards = [(self._definition(section), section) for section in around]
        return [
            section
            for definition, section in outwards[::-1]
            if definition and definition.is_function
        ]

    def _cut(self, division: Division) -> list[Division]:
        """The parts of a division: of its own definition, then of those around it."""
        text = self.outline.document.text
        parts = []
        part = division
        for section in self._around(division.section):
            end = self._end(section)
            if end <= part.start < part.end:
                continue
            if part.start > division.start:
                part = replace(part, section=section, first=section, is_inside=True)
            if end >= part.end or _CLOSES.fullmatch(text, end, part.end):
                break
            parts.append(replace(part, end=end))
            part = replace(part, start=end)
        for i in range(len(parts), 0, -1):  # brackets that close what is around
            if i < len(parts) and _CLOSES.fullmatch(text, parts[i].start, parts[i].end):
                parts[i - 1] = replace(parts[i - 1], end=parts[i].end)
                del parts[i]
        return [*parts, part]

    def signatures(self, section: Section) -> Iterator[str]:
        """The signatures of the definitions around a section, its own first."""
        text = self.outline.document.text
        for around in self._around(section):
            if definition := self._definition(around):
                yield text[definition.signature : definition.body_start].rstrip()

    def blocks(self, division: Division) -> list[Block]:
        """The blocks that tile a division."""
        document = self.outline.document
        reader = reader_of_code(document.format)
        return reader.blocks(document.text, division.start, division.end)

    def _around(self, section: Section) -> Iterator[Section]:
        """A section and those that it is in, the root last."""
        yield section
        while section.parent is not None:
            section = self.outline.sections[section.parent]
            yield section

    def _end(self, section: Section) -> int:
        """Return the place after a definition and the blank lines below it; the root ends with the
        text."""
        found = self._definition(section)
        text = self.outline.document.text
        blank = _BLANK.match(text, found.end) if found else None
        return blank.end() if blank else len(text)

    def _definition(self, section: Section) -> Definition | None:
        return self.definitions.get(section.start) if section.ordinal else None
