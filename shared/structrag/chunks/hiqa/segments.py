"""A section's own body as text, tables and images, in reading order (HiQA, section 3.2)."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from structrag.chunks.divisions import Division, division_blocks
from structrag.chunks.hiqa.inline_text import (
    Image,
    References,
    html_figure,
    html_tables,
    link_definitions,
    lone_images,
    markdown_images,
    may_have_images,
)
from structrag.chunks.hiqa.surroundings import PROSE
from structrag.chunks.hiqa.table_text import Table, html_table, pipe_table
from structrag.reading.outline import Outline
from structrag.records import Block, PlacedImage

_TABLE_TAG = re.compile(r"<(/?)table(?=[\s>/])", re.IGNORECASE)
_TAGS_ONLY = re.compile(r"(?:\s*<[^<>!]{1,200}>){0,20}\s*")


@dataclass(frozen=True, slots=True)
class Part:
    """A block, or a piece of an HTML block, and what it is. A heading in front of it belongs to
    `block` (see `header_start`)."""

    kind: str  # "text", "table" or "image"
    block: Block
    own_end: (
        int  # behind its own words; in a division's last part headings without a body may follow
    )
    table: Table | None = None
    images: tuple[Image, ...] = ()
    caption: str = ""  # that the markup itself gives
    quiet: bool = False  # nothing but tags


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of text blocks, or one table or image with the blocks of prose beside it. The segments
    of a division tile it."""

    kind: str
    parts: tuple[Part, ...]  # several only of text
    before: Block | None = None
    after: Block | None = None

    @property
    def start(self) -> int:
        """Where the first block begins."""
        return self.parts[0].block.start

    @property
    def end(self) -> int:
        """Behind the last block."""
        return self.parts[-1].block.end

    @property
    def blocks(self) -> list[Block]:
        """The blocks of its parts."""
        return [part.block for part in self.parts]

    @property
    def tail(self) -> int | None:
        """Where headings without a body begin in the last block; None: there are none."""
        last = self.parts[-1]
        return last.own_end if last.own_end < last.block.end else None


@dataclass(frozen=True)
class Segmenter:
    """Tells the segments of one document."""

    outline: Outline

    @property
    def text(self) -> str:
        """The document's text."""
        return self.outline.document.text

    @property
    def is_markdown(self) -> bool:
        """Whether images and links are written as in Markdown."""
        return self.outline.document.format == "markdown"

    @cached_property
    def references(self) -> References:
        """The link definitions that images may refer to."""
        return link_definitions(self.text) if self.is_markdown and "![" in self.text else {}

    def segments(self, division: Division) -> list[Segment]:
        """The segments of a division, in reading order; at least one."""
        parts = _join_quiet(self._parts(division))
        segments: list[Segment] = []
        run: list[Part] = []
        for i, part in enumerate(parts):
            if part.kind == "text":
                run.append(part)
                continue
            if run:
                segments.append(Segment("text", tuple(run)))
                run = []
            segments.append(
                Segment(part.kind, (part,), _prose(parts[i - 1 : i]), _prose(parts[i + 1 : i + 2]))
            )
        return [*segments, Segment("text", tuple(run))] if run else segments

    def images(self, segment: Segment, start: int, end: int) -> list[Image]:
        """The images that `[start, end)` of a text segment refers to, those in code of Markdown
        left out."""
        found: list[Image] = []
        if self.placed:
            return self._placed_between(start, end)
        if not self.is_markdown or not may_have_images(self.text[start:end]):
            return found
        for block in segment.blocks:
            if block.kind != "code" and block.start < end and start < block.end:
                found += markdown_images(
                    self.text[max(start, block.start) : min(end, block.end)], self.references
                )
        return found

    @cached_property
    def placed(self) -> tuple[PlacedImage, ...]:
        """The images of a page, by offset."""
        layout = self.outline.document.layout
        return tuple(sorted(layout.images, key=_offset)) if layout else ()

    def _placed_between(self, start: int, end: int) -> list[Image]:
        first, last = (bisect_left(self.placed, edge, key=_offset) for edge in (start, end))
        return [Image(image.file, image.alt, image.title) for image in self.placed[first:last]]

    def _parts(self, division: Division) -> list[Part]:
        blocks, tail = division_blocks(self.outline, division)
        parts: list[Part] = []
        closed = True  # no table is left open that reaches behind the section
        i = 0
        while i < len(blocks):
            block = blocks[i]
            i += 1
            own_end = tail if i == len(blocks) and tail is not None else block.end
            if block.kind == "html" and self.is_markdown:
                _, depth = html_tables(self.text[_own(block) : own_end])
                reach = self._table_reach(blocks, i, depth) if depth and closed else i
                closed = closed and (not depth or reach > i)
                if reach > i:
                    own_end = (
                        tail if reach == len(blocks) and tail is not None else blocks[reach - 1].end
                    )
                    block = Block("html", block.start, blocks[reach - 1].end, (), 0, _own(block))
                    i = reach
                parts += self._html_parts(block, own_end)
            else:
                parts.append(self._part(block, own_end))
        return parts

    def _table_reach(self, blocks: Sequence[Block], i: int, depth: int) -> int:
        """Behind which block the `depth` tables that are open behind block `i - 1` are closed; `i`
        if none closes them."""
        for j in range(i, len(blocks)):
            if blocks[j].kind == "code":
                continue
            for match in _TABLE_TAG.finditer(self.text, _own(blocks[j]), blocks[j].end):
                depth += -1 if match[1] else 1
            if depth <= 0:
                return j + 1
        return i

    def _part(self, block: Block, own_end: int) -> Part:
        own = _own(block)
        if block.kind == "table":
            table = pipe_table(
                self.text, own, own_end, block.cuts, block.header_end, markdown=self.is_markdown
            )
            if table is not None:
                return Part("table", block, own_end, table=table)
        elif block.kind == "image" and not self.is_markdown:
            placed = self._placed_between(own, own_end) or [
                Image("", " ".join(self.text[own:own_end].split()))
            ]
            return Part("image", block, own_end, images=tuple(placed))
        elif block.kind in {"image", "paragraph"} and self.is_markdown and self.text[own] in "![":
            images = lone_images(self.text[own:own_end], self.references)
            if images:
                return Part("image", block, own_end, images=tuple(images))
        elif block.kind == "paragraph" and self.is_markdown and self.text[own] == "<":
            figure = html_figure(self.text[own:own_end])
            if figure is not None:
                return Part("image", block, own_end, images=tuple(figure[0]), caption=figure[1])
        return Part("text", block, own_end)

    def _html_parts(self, block: Block, own_end: int) -> list[Part]:
        """A block of HTML, cut where tables begin and end."""
        own = _own(block)
        spans, _ = html_tables(self.text[own:own_end])
        edges = sorted({own, own_end, *(own + edge for span in spans for edge in span)})
        tables = {own + start for start, _ in spans}
        parts = []
        for start, end in pairwise(edges):
            cuts = tuple(cut for cut in block.cuts if start < cut < end)
            first = block.start if start == own else start
            last = block.end if end == own_end else end
            piece = Block("html", first, last, cuts, 0, start)
            parts.append(self._html_part(piece, end, is_table=start in tables))
        return parts

    def _html_part(self, block: Block, own_end: int, *, is_table: bool) -> Part:
        own = _own(block)
        markup = self.text[own:own_end]
        table = html_table(markup, own) if is_table else None
        if table is not None:
            return Part("table", block, own_end, table=table, caption=table.caption)
        figure = None if is_table else html_figure(markup)
        if figure is not None:
            return Part("image", block, own_end, images=tuple(figure[0]), caption=figure[1])
        return Part("text", block, own_end, quiet=_TAGS_ONLY.fullmatch(markup) is not None)


def _offset(image: PlacedImage) -> int:
    return image.offset


def _own(block: Block) -> int:
    return block.start if block.header_start is None else block.header_start


def _prose(neighbour: Sequence[Part]) -> Block | None:
    """The neighbour's block, without headings beside it, if sentences can be taken from it."""
    if not neighbour or neighbour[0].kind != "text" or neighbour[0].block.kind not in PROSE:
        return None
    return replace(neighbour[0].block, end=neighbour[0].own_end)


def _join_quiet(parts: list[Part]) -> list[Part]:
    """Closing and opening tags join the table or image that they stand beside, the one before
    first; no chunk is tags alone."""
    joined: list[Part] = []
    only_quiet = True
    for part in parts:
        last = joined[-1] if joined else None
        if (
            part.quiet
            and last is not None
            and last.kind != "text"
            and last.own_end == last.block.end
        ):
            joined[-1] = replace(
                last, block=replace(last.block, end=part.block.end), own_end=part.own_end
            )
            continue
        if part.kind != "text" and joined and only_quiet:
            first = joined[0].block
            part = replace(
                part, block=replace(part.block, start=first.start, header_start=_own(first))
            )
            joined = []
        only_quiet = only_quiet and part.quiet
        joined.append(part)
    return joined
