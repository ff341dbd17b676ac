"""A section's own body as text, tables and images (HiQA, section 3.2)."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import TypeGuard

from structrag._locks import cached_property
from structrag.chunks.divisions import Division, division_blocks
from structrag.chunks.hiqa.table_text import (
    Image,
    References,
    TextTable,
    html_figure,
    html_table,
    link_definitions,
    lone_images,
    markdown_images,
    may_have_images,
    pipe_table,
)
from structrag.reading.html.blocks import TABLE_TAG, TAGS_ONLY
from structrag.reading.outline import Outline
from structrag.records import Block, PlacedImage
from structrag.text.cutting import Cutter


@dataclass(frozen=True, slots=True)
class TypedBlock:
    """A block, or a piece of an HTML block, and its kind.

    A heading in front of it belongs to `block` (see `header_start`).

    Example:
        >>> TypedBlock("text", Block("paragraph", 0, 12), own_end=12).quiet
        False
    """

    kind: str  # "text", "table" or "image"
    block: Block
    # Behind its own words: in a division's last part headings without a body may follow.
    own_end: int
    table: TextTable | None = None
    images: tuple[Image, ...] = ()
    caption: str = ""  # that the markup itself gives
    quiet: bool = False  # nothing but tags


@dataclass(frozen=True, slots=True)
class BlockRun:
    """A run of text blocks, or one table or image.

    The segments of a division tile it. `before` and `after` are the blocks of prose beside a table
    or image.

    Example:
        >>> BlockRun("text", (TypedBlock("text", Block("paragraph", 3, 12), own_end=12),)).start
        3
    """

    kind: str
    parts: tuple[TypedBlock, ...]  # several only of text
    before: Block | None = None
    after: Block | None = None

    @property
    def start(self) -> int:
        return self.parts[0].block.start

    @property
    def end(self) -> int:
        return self.parts[-1].block.end

    @property
    def blocks(self) -> list[Block]:
        """The blocks of its parts."""
        return [part.block for part in self.parts]

    @property
    def tail(self) -> int | None:
        """The start of headings without a body at the end of the last block, if any."""
        last = self.parts[-1]
        return last.own_end if last.own_end < last.block.end else None


@dataclass(frozen=True)
class Segmenter:
    """Cuts the divisions of one document into segments.

    Example:
        >>> from structrag.chunks.divisions import divide
        >>> from structrag.reading.sections import parse
        >>> from structrag.records import Document
        >>> text = "A phone.\\n\\n| Nova |\\n| --- |\\n| 19 h |\\n"
        >>> outline = parse(Document(text, format="markdown"))
        >>> [segment.kind for segment in Segmenter(outline).segments(divide(outline)[0])]
        ['text', 'table']
    """

    outline: Outline

    @property
    def text(self) -> str:
        """The document's text."""
        return self.outline.document.text

    @property
    def is_markdown(self) -> bool:
        """Return True if images and links are written as in Markdown."""
        return self.outline.document.format == "markdown"

    @cached_property
    def references(self) -> References:
        """The link definitions that images may refer to."""
        return (
            link_definitions(self.text)
            if self.is_markdown and "![" in self.text
            else {}
        )

    def segments(self, division: Division) -> list[BlockRun]:
        """The segments of a division in reading order, at least one."""
        parts = _join_quiet(self._parts(division))
        segments: list[BlockRun] = []
        run: list[TypedBlock] = []
        for i, part in enumerate(parts):
            if part.kind == "text":
                run.append(part)
                continue
            if run:
                segments.append(BlockRun("text", tuple(run)))
                run = []
            before = _prose(parts[i - 1]) if i else None
            after = _prose(parts[i + 1]) if i + 1 < len(parts) else None
            segments.append(BlockRun(part.kind, (part,), before, after))
        if run:
            segments.append(BlockRun("text", tuple(run)))
        return segments

    def images(self, segment: BlockRun, start: int, end: int) -> list[Image]:
        """The images that `[start, end)` of a text segment refers to. Those in code of Markdown are
        left out."""
        if self.placed:
            return self._placed_between(start, end)
        if not self.is_markdown or not may_have_images(self.text[start:end]):
            return []
        images: list[Image] = []
        for block in segment.blocks:
            if block.kind != "code" and block.start < end and start < block.end:
                inside = self.text[max(start, block.start) : min(end, block.end)]
                images += markdown_images(inside, self.references)
        return images

    @cached_property
    def placed(self) -> tuple[PlacedImage, ...]:
        """The images of a page, by offset."""
        layout = self.outline.document.layout
        return tuple(sorted(layout.images, key=_offset)) if layout else ()

    def _placed_between(self, start: int, end: int) -> list[Image]:
        first = bisect_left(self.placed, start, key=_offset)
        last = bisect_left(self.placed, end, key=_offset)
        return [
            Image(image.file, image.alt, image.title)
            for image in self.placed[first:last]
        ]

    def _parts(self, division: Division) -> list[TypedBlock]:
        """The blocks of a division as parts."""
        blocks, tail = division_blocks(self.outline, division)
        ends = [block.end for block in blocks]
        if blocks and tail is not None:
            ends[-1] = tail
        parts = []
        for block, own_end in zip(blocks, ends, strict=True):
            is_html = block.kind == "html" and self.is_markdown
            part = self._html_part if is_html else self._part
            parts.append(part(block, own_end))
        return parts

    def _part(self, block: Block, own_end: int) -> TypedBlock:
        """Classify a block: a table, an image alone, or text."""
        start = block.text_start
        if block.kind == "table":
            table = pipe_table(
                self.text,
                start,
                own_end,
                block.cuts,
                block.header_end,
                markdown=self.is_markdown,
            )
            if table is not None:
                return TypedBlock("table", block, own_end, table=table)
        elif block.kind in {"image", "paragraph"}:
            images, caption = self._lone_images(
                block.kind, self.text[start:own_end], start
            )
            if images:
                return TypedBlock(
                    "image", block, own_end, images=tuple(images), caption=caption
                )
        return TypedBlock("text", block, own_end)

    def _lone_images(
        self, kind: str, markup: str, start: int
    ) -> tuple[list[Image], str]:
        """Return the images and the caption of a block of nothing else."""
        if not self.is_markdown:
            if kind != "image":
                return [], ""
            placed = self._placed_between(start, start + len(markup))
            return placed or [Image("", " ".join(markup.split()))], ""
        if markup[0] in "![":
            return lone_images(markup, self.references), ""
        figure = (
            html_figure(markup) if kind == "paragraph" and markup[0] == "<" else None
        )
        return figure or ([], "")

    def _html_part(self, block: Block, own_end: int) -> TypedBlock:
        start = block.text_start
        markup = self.text[start:own_end]
        table = html_table(markup, start)
        if table is not None:
            return TypedBlock(
                "table", block, own_end, table=table, caption=table.caption
            )
        figure = None if TABLE_TAG.search(markup) else html_figure(markup)
        if figure is not None:
            return TypedBlock(
                "image", block, own_end, images=tuple(figure[0]), caption=figure[1]
            )
        return TypedBlock(
            "text", block, own_end, quiet=TAGS_ONLY.fullmatch(markup) is not None
        )


def _offset(image: PlacedImage) -> int:
    return image.offset


def _prose(neighbour: TypedBlock) -> Block | None:
    """The neighbour's block, if sentences can be taken from it. Headings beside it are left out."""
    if neighbour.kind != "text" or neighbour.block.kind not in PROSE:
        return None
    return replace(neighbour.block, end=neighbour.own_end)


def _takes_tags(part: TypedBlock) -> bool:
    """Return True if a table or image may take in the tags that follow it."""
    return part.kind != "text" and part.own_end == part.block.end


def _join_quiet(parts: list[TypedBlock]) -> list[TypedBlock]:
    """Join parts of tags alone to a table or image beside them. The one before comes first. So no
    chunk is tags alone."""
    joined: list[TypedBlock] = []
    only_quiet = True  # so far nothing but tags
    for part in parts:
        if part.quiet and joined and _takes_tags(joined[-1]):
            block = replace(joined[-1].block, end=part.block.end)
            joined[-1] = replace(joined[-1], block=block, own_end=part.own_end)
            continue
        if part.kind != "text" and joined and only_quiet:
            first = joined[0].block
            block = replace(
                part.block, start=first.start, header_start=first.text_start
            )
            part = replace(part, block=block)
            joined = []
        only_quiet = only_quiet and part.quiet
        joined.append(part)
    return joined


# -- caption and sentences beside a table or an image


PROSE = {"paragraph", "list", "quote"}  # kinds of blocks that sentences are taken from
REACH = 2000  # characters of a neighbouring block that are looked at
_TABLE = r"table|tab|tabelle|tableau|tabla|tabela|tabella"
_FIGURE = r"figure|fig|abbildung|abb|figura|image|chart|diagram|plate"
_CAPTIONS = {
    "table": re.compile(
        rf"[*_]{{0,3}}(?:(?:{_TABLE})\b\.?\s*(?:\d|[ivx]+\b|:)|表\s*\d|:\s*\S)",
        re.IGNORECASE,
    ),
    "image": re.compile(
        rf"[*_]{{0,3}}(?:(?:{_FIGURE})\b\.?\s*(?:\d|[ivx]+\b|:)|[图圖図]\s*\d)",
        re.IGNORECASE,
    ),
}
_ITALIC_LINE = re.compile(r"([*_]{1,3})[^*_\n]+\1")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The caption and the nearest sentences, white space collapsed.

    Example:
        >>> Surroundings(caption="Table 1: phones").before
        ()
    """

    caption: str = ""
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


def surroundings(
    text: str, kind: str, before: Block | None, after: Block | None, cutter: Cutter
) -> Surroundings:
    """The caption and sentences of the neighbouring blocks.

    A caption is a neighbouring block that begins like one ("Table 3", "Fig. 2:", "表 1"). Next to
    an image one line in italics is a caption too.

    - Table: the sentences that the line before it belongs to, at most the last 2, and the first
      one behind it. Without a line before, the first 2 behind.
    - Image: 2 before and 2 behind.
    """
    caption = ""
    if _is_caption(before, text, kind):
        caption, before = _flat(text, before.text_start, before.end), None
    elif _is_caption(after, text, kind):
        caption, after = _flat(text, after.text_start, after.end), None
    last = _sentences_before(text, before, cutter) if before is not None else []
    first = _sentences_after(text, after, cutter) if after is not None else []
    if kind == "table" and before is not None:
        line = _last_line(text, before.text_start, before.end)
        last = [span for span in last if span[1] > line]
        first = first[:1]
    return Surroundings(
        caption,
        tuple(_flat(text, *span) for span in last[-2:]),
        tuple(_flat(text, *span) for span in first[:2]),
    )


def _flat(text: str, start: int, end: int) -> str:
    return " ".join(text[start : min(end, start + REACH)].split())


def _last_line(text: str, start: int, end: int) -> int:
    """Return the start of the last line that is not blank."""
    return text.rfind("\n", start, start + len(text[start:end].rstrip())) + 1


def _is_caption(block: Block | None, text: str, kind: str) -> TypeGuard[Block]:
    if block is None or block.kind != "paragraph":
        return False
    start, end = block.text_start, block.end
    if end - start > REACH:
        return False
    words = text[start:end].strip()
    if kind == "image" and _ITALIC_LINE.fullmatch(words):
        return True
    return bool(_CAPTIONS[kind].match(words))


def _sentences_before(text: str, block: Block, cutter: Cutter) -> list[tuple[int, int]]:
    """The last sentences of a block. One whose beginning is out of reach is left out unless it is
    the only one."""
    start, end = block.text_start, block.end
    near = max(start, end - REACH)
    spans = cutter.sentences(text, near, end)
    return spans[1:] if near > start and len(spans) > 1 else spans


def _sentences_after(text: str, block: Block, cutter: Cutter) -> list[tuple[int, int]]:
    start, end = block.text_start, block.end
    near = min(end, start + REACH)
    spans = cutter.sentences(text, start, near)
    return spans[:-1] if near < end and len(spans) > 1 else spans
