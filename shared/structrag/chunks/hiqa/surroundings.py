"""The caption of a table or an image, and the nearest sentences."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeGuard

from structrag.records import Block
from structrag.text.cutting import Cutter

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
    """Where the last line that is not blank begins."""
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
