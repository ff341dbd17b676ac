"""Plain text before it is read: line ends, pages, running heads, words hyphenated at line ends."""

from __future__ import annotations

import re
from collections import Counter
from itertools import takewhile

from structrag.reading.drafts import Draft
from structrag.reading.pdf.hyphens import Hyphens
from structrag.reading.pdf.running_heads import SHARE, HeadKey, head_keys, is_page_number

MARGIN = 3  # lines at the top and at the bottom of a page that can be running heads
MIN_PAGES = 3

_LETTERS = re.compile(r"[^\W\d_]+")
_SENTENCE_END = re.compile(r"""[.!?:;。！？：；]["'”’)\]]*$""")
_BROKEN = re.compile(
    r"(?<![^\W_])(?<!-)([^\W_]+(?:-[^\W_]+)*)([-‐\u00ad])[ \t]*\n[ \t]*(?=([^\W\d_]+))"
)
_HYPHEN_AT_END = re.compile(r"[-‐\u00ad][ \t]*\n")
_NO_SPACE, _LINE_REST = re.compile(r"\S*"), re.compile(r"[ \t]*\n?")
_COLUMNS = re.compile(r"\S(?:[ \t]{3,}|\t)\S|\|")


def unified(text: str) -> str:
    """The text with `\\n` at the ends of all its lines and no byte order mark."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def cleaned_text(text: str) -> Draft:
    """The text in one piece, still plain: running heads out, paragraphs that run over a page break
    and hyphenated words rejoined.

    A running head is on at least 60 % of three or more pages, page numbers aside, among the first
    or last three lines with nothing but running heads outside it; pages end at form feeds. Its
    first occurrence stays, so that its words do; page numbers go. Letters and digits of what stays
    keep their order.
    """
    joined, removed, numbers = _without_running_heads(unified(text))
    rejoined, unsure = _without_hyphens(joined)
    notes = []
    if removed:
        heads = sorted(dict.fromkeys(removed), key=numbers.__contains__)
        shown = ", ".join(repr(head) for head in heads[:5])
        notes.append(
            f"Lines left out as repeated running heads or page numbers: {len(removed)}, such as "
            f"{shown}."
        )
    if unsure:
        shown = ", ".join(repr(word) for word in unsure[:5])
        notes.append(
            f"Words broken at line ends and rejoined by guess: {len(unsure)}, such as {shown}."
        )
    return Draft(rejoined, tuple(notes), tuple(removed))


def _without_running_heads(text: str) -> tuple[str, list[str], set[str]]:
    """The text, the lines left out, and which of these are page numbers."""
    if "\f" not in text:
        return text, [], set()
    pages = [page.split("\n") for page in text.split("\f")]
    margins = [_margin(page) for page in pages]
    filled = sum(bool(margin) for margin in margins)
    on_pages: Counter[HeadKey] = Counter()
    for number, (page, margin) in enumerate(zip(pages, margins, strict=True)):
        on_pages.update({key for i in margin for key in head_keys(page[i], number)})
    heads = {
        key for key, count in on_pages.items() if filled >= MIN_PAGES and count >= SHARE * filled
    }
    seen: set[HeadKey] = set()
    removed: list[str] = []
    numbers: set[str] = set()
    kept_pages = []
    for number, (page, margin) in enumerate(zip(pages, margins, strict=True)):
        outer = _outermost(page, margin, heads, number)
        kept: list[str] = []
        for i, line in enumerate(page):
            keys = heads.intersection(head_keys(line, number)) if i in outer else set()
            if not keys:
                kept.append(line)
            elif keys & seen or any(map(is_page_number, keys)):
                removed.append(line.strip())
                numbers |= {line.strip()} if any(map(is_page_number, keys)) else set()
            else:
                kept += ["", line, ""]
            seen |= keys
        kept_pages.append(kept)
    return _joined_pages(kept_pages), removed, numbers


def _margin(page: list[str]) -> set[int]:
    """Numbers of the first and last lines with text."""
    filled = [i for i, line in enumerate(page) if line.strip()]
    return {*filled[:MARGIN], *filled[-MARGIN:]}


def _outermost(page: list[str], margin: set[int], heads: set[HeadKey], number: int) -> set[int]:
    """Numbers of the lines that are heads with nothing but heads between them and the page's edge."""
    found: set[int] = set()
    for lines in (sorted(margin), sorted(margin, reverse=True)):
        found.update(takewhile(lambda i: heads.intersection(head_keys(page[i], number)), lines))
    return found


def _joined_pages(pages: list[list[str]]) -> str:
    """Pages in one text; a paragraph that plainly goes on is not broken."""
    parts: list[str] = []
    above = ""  # the page before, as it stands in `parts`
    for page in pages:
        body = "\n".join(page)
        text = body.strip()
        if not text:
            continue
        if above:
            last = above.rstrip()
            whole = (
                above[len(last) :].count("\n") < 2 and body[: body.index(text[0])].count("\n") < 2
            )
            goes_on = (
                whole
                and text[0].islower()
                and not _SENTENCE_END.search(last[last.rfind("\n") + 1 :])
            )
            parts.append("\n" if goes_on else "\n\n")
        parts.append(body.strip("\n"))
        above = body
    return "".join(parts)


def _without_hyphens(text: str) -> tuple[str, list[str]]:
    """The text with words broken at line ends in one piece, and the words where only a guess told
    how."""
    if not _HYPHEN_AT_END.search(text):
        return text, []
    hyphens = Hyphens.of(text.split("\n"))
    parts: list[str] = []
    position = 0
    for found in _BROKEN.finditer(text):
        first, hyphen, second = found[1], found[2], found[3]
        line = text[text.rfind("\n", 0, found.start()) + 1 : found.end(2)]
        if (
            found.start() < position
            or not second[0].islower()
            or _COLUMNS.search(line)
            or not _LETTERS.search(first)
        ):
            continue
        if hyphen != "\u00ad" and hyphens.is_suspended(first, second):
            continue
        keeps = hyphen != "\u00ad" and hyphens.keep(first, second)
        end = found.end() + len(second)
        tail = _NO_SPACE.match(text, end)
        end = tail.end() if tail else end
        parts += [text[position : found.start(2)], "-" if keeps else "", text[found.end() : end]]
        rest = _LINE_REST.match(text, end)
        position = rest.end() if rest else end
        if end < len(text):
            parts.append("\n")
    parts.append(text[position:])
    return "".join(parts), hyphens.guessed
