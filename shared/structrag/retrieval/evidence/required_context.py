"""The context that parts of tables and lists cannot be read without: header, caption, and the
sentence before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from structrag.reading.outline import Outline
from structrag.reading.settings import ReadOptions
from structrag.records import Block
from structrag.retrieval.evidence.atoms import inner_cuts
from structrag.text.sentences import sentence_spans

LONGEST = 400  # characters: a longer sentence or caption is not repeated
WIDEST = 4_000  # characters of header rows; those above LONGEST name the filled columns alone
# "Table 3", "Tab. 3", "Tabelle IV", "Tabla B.2" and their like
_NUMBERED = re.compile(
    r"\W*(?:tab[a-z]{0,5}\.?|таблица|表)\s*(?:[a-z]?\.?\d|[ivx]+\b)", re.IGNORECASE
)
_SENTENCE_ENDS = (".", "!", "?", "。", "！", "？")


class RequiredContext(NamedTuple):
    """Text for a passage that begins within a block; all are characters.

    Example:
        >>> lead = RequiredContext(first=40, stop=90, start=20, end=40)
        >>> lead.shown(50, 60), lead.shown(30, 60), lead.shown(95, 99)
        ((20, 40), None, None)
    """

    first: int  # passages that begin in [first, stop) need it
    stop: int
    start: int  # the text
    end: int

    @property
    def is_inside(self) -> bool:
        """Whether it is a part of the block: the header rows of a table."""
        return self.end > self.first

    def shown(self, start: int, end: int) -> tuple[int, int] | None:
        """The text outside of the passage `[start, end)`, if that needs it."""
        if not self.first <= start < self.stop:
            return None
        if self.start < start:
            return self.start, min(self.end, start)
        return (self.start, self.end) if end <= self.start else None


def find_required_context(
    outline: Outline, read_options: ReadOptions
) -> list[RequiredContext]:
    """The leads of a document's tables and lists, in reading order.

    For a table, its caption and header rows. A caption is the paragraph before or behind the table
    that begins like "Table 3", else one before it that is no sentence. For a list, the last
    sentence of the paragraph before it; inside an item also the item's first line, if that ends
    with a colon. Nothing above 400 characters but header rows, which may have 4,000.
    """
    required: list[RequiredContext] = []
    for section in outline.sections:
        blocks = outline.blocks(section)
        for number, block in enumerate(blocks):
            before = blocks[number - 1] if number > 0 else None
            after = blocks[number + 1] if number + 1 < len(blocks) else None
            if block.kind == "table":
                required += _of_table(outline.document.text, block, before, after)
            elif block.kind == "list":
                required += _of_list(outline.document.text, block, before, read_options)
    return [
        lead
        for lead in required
        if 0 < lead.end - lead.start <= (WIDEST if lead.is_inside else LONGEST)
    ]


def named_columns(header: str, rows: str) -> str:
    """Header rows without the names of columns that no row fills; these stay as empty cells.

    Example:
        >>> named_columns("| A | B | C |\\n|---|---|---|", "| 1 | | 3 |\\n| 4 | | |")
        '| A || C |\\n|---|---|---|'
    """
    filled = {
        i
        for row in rows.splitlines()
        for i, cell in enumerate(row.split("|"))
        if cell.strip()
    }
    lines = []
    for line in header.splitlines():
        cells = line.split("|")
        is_rule = not line.strip("|-: \t")
        lines.append(
            "|".join(
                cell if i in filled or is_rule else cell[:0]
                for i, cell in enumerate(cells)
            )
        )
    return "\n".join(lines)


def _of_table(
    text: str, block: Block, before: Block | None, after: Block | None
) -> Iterator[RequiredContext]:
    caption = _paragraph(text, before)
    if caption is not None and not _is_caption(text[slice(*caption)], before=True):
        caption = None
    if caption is None:
        caption = _paragraph(text, after)
        if caption is not None and not _is_caption(text[slice(*caption)], before=False):
            caption = None
    if caption is not None:
        yield RequiredContext(block.start, block.end, *caption)
    yield RequiredContext(block.start, block.end, block.text_start, block.header_end)


def _is_caption(text: str, *, before: bool) -> bool:
    if _NUMBERED.match(text):
        return True
    return before and "\n" not in text and not text.endswith(_SENTENCE_ENDS)


def _of_list(
    text: str, block: Block, before: Block | None, read_options: ReadOptions
) -> Iterator[RequiredContext]:
    paragraph = _paragraph(text, before)
    if paragraph is not None:
        start, end = paragraph
        # a sentence that begins further before is not repeated
        *_, (start, _) = sentence_spans(
            text,
            max(start, end - 2 * LONGEST),
            end,
            language=read_options.language,
            splitter=read_options.sentence_splitter,
        )
        yield RequiredContext(block.start, block.end, start, end)
    for start, end in pairwise([block.text_start, *inner_cuts(block), block.end]):
        line_end = text.find("\n", start, end)
        if line_end > 0 and text[start:line_end].rstrip().endswith((":", "：")):
            yield RequiredContext(line_end, end, start, line_end)


def _paragraph(text: str, block: Block | None) -> tuple[int, int] | None:
    """The span of a paragraph without outer blanks, else None."""
    if block is None or block.kind != "paragraph":
        return None
    words = text[block.start : block.end]
    start = block.start + len(words) - len(words.lstrip())
    end = block.start + len(words.rstrip())
    return (start, end) if start < end else None
