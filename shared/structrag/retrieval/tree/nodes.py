"""From the chunks of a document to the tree above them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from structrag.reading.outline import Outline
from structrag.records import Chunk, Section


@dataclass(frozen=True, slots=True)
class Node:
    """A section of several chunks, or a run of its children.

    `[start, end)` are the characters from its first chunk to its last.
    """

    section: Section
    children: tuple[Node | Chunk, ...]  # in reading order, at least two
    start: int
    end: int
    height: int  # 1 above chunks alone

    @property
    def id(self) -> str:
        return f"{self.section.doc_id}:{self.start}-{self.end}"

    def is_whole(self, text: str) -> bool:
        """Whether the document's text has nothing between the children."""
        gaps = (
            text[before.end : child.start] for before, child in pairwise(self.children)
        )
        return not any(map(str.strip, gaps))


def build_tree(outline: Outline, chunks: Sequence[Chunk], fan_out: int) -> Node | None:
    """The tree above the chunks of a document.

    None where there are not two chunks. A section is a node whose children are its subsections and
    the chunks of its own text. A section with a single child is left out, and the child takes its
    place. More than `fan_out` children, at least 2, are put into runs of about equal length, which
    become nodes of their own. A chunk that lies inside another is below no node.

    Example:
        >>> from structrag import ContentAwareSplitter, read_text
        >>> document = read_text("# Pump\\n\\nRound.\\n\\n## Filter\\n\\nFine.\\n")
        >>> outline = ContentAwareSplitter().outline(document)
        >>> node = build_tree(outline, ContentAwareSplitter().split(document), 10)
        >>> node.section.title, len(node.children), node.height
        ('Pump', 2, 1)
    """
    below: list[list[Node | Chunk]] = [[] for _ in outline.sections]
    starts = [section.start for section in outline.sections]
    for chunk in _outermost(chunks):
        below[_section_of(outline.sections, starts, chunk).ordinal].append(chunk)
    # A section stands behind its parent, so its children are complete when it is reached.
    for section in reversed(outline.sections):
        children = sorted(
            below[section.ordinal], key=lambda child: (child.start, child.end)
        )
        top = _joined(section, children, fan_out)
        if section.parent is not None:
            below[section.parent] += top
    return top[0] if top and isinstance(top[0], Node) else None


def walk_tree(top: Node) -> Iterator[Node]:
    """The nodes, parents before children, in reading order."""
    waiting = [top]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [
            child for child in reversed(node.children) if isinstance(child, Node)
        ]


def _outermost(chunks: Sequence[Chunk]) -> Iterator[Chunk]:
    """The chunks that lie in no other, in reading order."""
    end = -1
    for chunk in sorted(chunks, key=lambda chunk: (chunk.start, -chunk.end)):
        if chunk.end > end:
            end = chunk.end
            yield chunk


def _section_of(
    sections: Sequence[Section], starts: Sequence[int], chunk: Chunk
) -> Section:
    """The smallest section that holds the chunk.

    The headings it begins with do not count.
    """
    section = sections[bisect_right(starts, chunk.body_start) - 1]
    while section.parent is not None and section.end < chunk.end:
        section = sections[section.parent]
    return section


def _joined(
    section: Section, children: Sequence[Node | Chunk], fan_out: int
) -> list[Node | Chunk]:
    """One node above the children; one child or none as it is."""
    while len(children) > fan_out:
        n_runs = ceil(len(children) / fan_out)
        places = [len(children) * i // n_runs for i in range(n_runs + 1)]
        runs = [children[first:last] for first, last in pairwise(places)]
        children = [run[0] if len(run) == 1 else _node(section, run) for run in runs]
    return [_node(section, children)] if len(children) > 1 else list(children)


def _node(section: Section, children: Sequence[Node | Chunk]) -> Node:
    heights = [child.height for child in children if isinstance(child, Node)]
    end = max(child.end for child in children)
    return Node(
        section, tuple(children), children[0].start, end, max(heights, default=0) + 1
    )
