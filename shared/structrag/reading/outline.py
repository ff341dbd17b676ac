"""Headings become a document's section tree, which is remembered, and its title."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from weakref import ref

from structrag._locks import Lock
from structrag.records import Block, Document, Heading, Section

BlockFinder = Callable[[int, int], list[Block]]  # the blocks that tile text[start:end]
_MOST_DEPTH = 20  # of sections inside each other
MOST = 256  # documents; an index prepares as many together at most
Key = tuple[int, bool]  # the document's identity, and whether headings are guessed


@dataclass(frozen=True, slots=True)
class Outline:
    """A document with its section tree.

    Example:
        >>> from structrag.reading import parse, read_text
        >>> outline = parse(read_text("# Pumps\\n\\nThey move water.\\n\\n## Parts\\n\\nA rotor."))
        >>> [section.title for section in outline.sections]
        ['', 'Pumps', 'Parts']
        >>> [block.kind for block in outline.blocks(outline.sections[1])]
        ['paragraph']

    Sections are in reading order; section 0 is the root.
    """

    document: Document
    sections: tuple[Section, ...]
    find_blocks: BlockFinder
    # By the section's ordinal.
    found_blocks: dict[int, tuple[Block, ...]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def blocks(self, section: Section) -> list[Block]:
        """The blocks that tile the section's own body `[body_start, body_end)`. They are found
        once, when they are first asked for."""
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
    """Nest headings by level.

    Each is a child of the nearest earlier one with a smaller level; skipped levels are allowed.
    What is more than 20 sections deep stands beside the section before it, since the path of a
    section holds the titles of all those around it.
    `body_start` is where the root's body begins (the end of the front matter).
    """
    # The root opens like a heading.
    openings = [Heading(0, "", 0, body_start), *headings]
    count = len(openings)
    parents: list[int | None] = [None] * count
    ends = [len(document.text)] * count
    paths: list[tuple[str, ...]] = [()] * count
    children: list[list[int]] = [[] for _ in range(count)]
    open_sections = [0]
    for ordinal, heading in enumerate(headings, start=1):
        while (
            openings[open_sections[-1]].level >= heading.level
            or len(open_sections) > _MOST_DEPTH
        ):
            ends[open_sections.pop()] = heading.start
        parent = open_sections[-1]
        parents[ordinal] = parent
        children[parent].append(ordinal)
        paths[ordinal] = (*paths[parent], heading.title)
        open_sections.append(ordinal)
    sections = tuple(
        Section(
            doc_id=document.id,
            ordinal=i,
            level=opening.level,
            title=opening.title,
            path=paths[i],
            start=opening.start,
            body_start=opening.end,
            body_end=openings[children[i][0]].start if children[i] else ends[i],
            end=ends[i],
            parent=parents[i],
            children=tuple(children[i]),
        )
        for i, opening in enumerate(openings)
    )
    return Outline(document, sections, find_blocks)


def title_of_headings(headings: Sequence[Heading]) -> str:
    """The only heading of level 1 if it comes first, else ""."""
    top = [heading for heading in headings if heading.level == 1]
    return top[0].title if len(top) == 1 and headings[0] is top[0] else ""


class _RememberedOutline(NamedTuple):
    """An outline without its document, which it would keep alive."""

    document: ref[Document]
    sections: tuple[Section, ...]
    find_blocks: BlockFinder
    blocks: dict[int, tuple[Block, ...]]


class OutlineMemory:
    """Remembers outlines by the identity of their documents.

    An outline goes with its document, or when too many others came. Documents never change, so an
    outline stays right. Safe to use from several threads.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._entries: OrderedDict[Key, _RememberedOutline] = OrderedDict()
        self._lock = Lock()  # reentrant: a document may be collected amid a call

    def find(self, document: Document, plain_headings: bool) -> Outline | None:
        """The outline of this very document, or None."""
        with self._lock:
            entry = self._entries.get((id(document), plain_headings))
            if entry is None or entry.document() is not document:
                return None
            self._entries.move_to_end((id(document), plain_headings))
        return Outline(document, entry.sections, entry.find_blocks, entry.blocks)

    def keep(self, outline: Outline, plain_headings: bool) -> None:
        """Remember an outline; the one not asked for longest may go."""
        key = (id(outline.document), plain_headings)

        def forget(gone: ref[Document]) -> None:
            with self._lock:
                entry = self._entries.get(key)
                if entry is not None and entry.document is gone:
                    del self._entries[key]

        document = ref(outline.document, forget)
        with self._lock:
            self._entries[key] = _RememberedOutline(
                document, outline.sections, outline.find_blocks, outline.found_blocks
            )
            self._entries.move_to_end(key)
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)

    def __len__(self) -> int:
        return len(self._entries)


_PROGRAM_TITLE = re.compile(
    r"untitled.*|\(anonymous\)|.*\.(?:docx?|dvi|indd|odt|pdf|pptx?|qxd|rtf|tex|xlsx?)|microsoft "
    r"(?:word|powerpoint|excel)\b.*|(?:document|presentation|book|slide)\s?\d*",
    re.IGNORECASE,
)


def own_title(title: str) -> str:
    """The title with single blanks.

    "" for one that a program made up.

    Example:
        >>> own_title(" Pump  manual "), own_title("(anonymous)"), own_title("Microsoft Word - a")
        ('Pump manual', '', '')
    """
    title = " ".join(title.split())
    return "" if _PROGRAM_TITLE.fullmatch(title) else title
