"""Divisions of source code: what stands behind a definition is its parent's, and a function that
fits is whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

from structrag.chunks.divisions import Division
from structrag.reading.markup.code import SUFFIXES, Definition
from structrag.reading.markup.code import reader as reader_of_code
from structrag.reading.outline import Outline
from structrag.records import Block, Section

_CLOSES = re.compile(r"(?:[^\w#]|\b(?:end|fi|done|esac|endif)\b)*")
_COMMENT = re.compile(
    r"(?:[ \t]*(?:(?:#(?!\[)|//|/\*|\*)[^\r\n]*)?(?:\r\n|\r|\n))*", re.ASCII
)
_BLANK = re.compile(r"(?:[ \t]*(?:\r\n|\r|\n))*")


@dataclass(frozen=True, slots=True)
class Code:
    """A source and its definitions, by where they begin; empty for any other document."""

    outline: Outline
    definitions: dict[int, Definition]

    @classmethod
    def of(cls, outline: Outline) -> Code:
        """That of an outline."""
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
        """A division, or what stands above its function and the function, where that alone fits: a
        comment, the line of a class."""
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
        """Behind a definition and the blank lines below it; the root ends with the text."""
        found = self._definition(section)
        text = self.outline.document.text
        blank = _BLANK.match(text, found.end) if found else None
        return blank.end() if blank else len(text)

    def _definition(self, section: Section) -> Definition | None:
        return self.definitions.get(section.start) if section.ordinal else None
