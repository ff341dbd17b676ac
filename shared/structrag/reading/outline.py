"""From a flat list of headings to the section tree of a document."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from structrag.records import Block, Document, Heading, Section

BlockFinder = Callable[[int, int], list[Block]]  # the blocks that tile text[start:end]


@dataclass(frozen=True, slots=True)
class Outline:
    """A document with its section tree. Sections are in reading order; section 0 is the root."""

    document: Document
    sections: tuple[Section, ...]
    find_blocks: BlockFinder
    found_blocks: dict[int, tuple[Block, ...]] = field(
        default_factory=dict, repr=False, compare=False
    )  # by the section's ordinal

    def blocks(self, section: Section) -> list[Block]:
        """The blocks that tile the section's own body `[body_start, body_end)`; found once, when
        they are first asked for."""
        if section.body_start == section.body_end:
            return []
        blocks = self.found_blocks.get(section.ordinal)
        if blocks is None:
            blocks = tuple(self.find_blocks(section.body_start, section.body_end))
            self.found_blocks[section.ordinal] = blocks
        return list(blocks)


def build_outline(
    document: Document,
    headings: Sequence[Heading],
    find_blocks: BlockFinder,
    *,
    body_start: int = 0,
) -> Outline:
    """Nest headings by level: each is a child of the nearest earlier one with a smaller level.

    Skipped levels are allowed. `body_start` is where the root's body begins (the end of the front
    matter).
    """
    count = len(headings) + 1
    parents: list[int] = [0] * count
    ends = [len(document.text)] * count
    paths: list[tuple[str, ...]] = [()] * count
    children: list[list[int]] = [[] for _ in range(count)]
    open_sections = [0]
    levels = [0, *(heading.level for heading in headings)]
    for ordinal, heading in enumerate(headings, start=1):
        while levels[open_sections[-1]] >= heading.level:
            ends[open_sections.pop()] = heading.start
        parent = open_sections[-1]
        parents[ordinal] = parent
        children[parent].append(ordinal)
        paths[ordinal] = (*paths[parent], heading.title)
        open_sections.append(ordinal)
    starts = [0, *(heading.start for heading in headings)]
    body_starts = [body_start, *(heading.end for heading in headings)]
    titles = ["", *(heading.title for heading in headings)]
    sections = tuple(
        Section(
            doc_id=document.id,
            ordinal=i,
            level=levels[i],
            title=titles[i],
            path=paths[i],
            start=starts[i],
            body_start=body_starts[i],
            body_end=starts[children[i][0]] if children[i] else ends[i],
            end=ends[i],
            parent=None if i == 0 else parents[i],
            children=tuple(children[i]),
        )
        for i in range(count)
    )
    return Outline(document, sections, find_blocks)
