"""Plain text cleaned: line ends, running heads, broken words."""

from __future__ import annotations

import re
from collections import Counter
from itertools import takewhile

from structrag.reading.drafts import Draft
from structrag.reading.pdf.hyphens import Hyphens
from structrag.reading.pdf.running_heads import (
    SHARE,
    HeadKey,
    head_keys,
    is_page_number,
)

MARGIN = 3  # lines at the top and at the bottom of a page that can be running heads
MIN_PAGES = 3

_LETTERS = re.compile(r"[^\W\d_]+")
_SENTENCE_ENDS = tuple(".!?:;。！？：；")
_CLOSING = "\"'”’)]"
_BROKEN = re.compile(
    r"(?<![^\W_])(?<!-)([^\W_]+(?:-[^\W_]+)*)([-‐\u00ad])[ \t]*\n[ \t]*(?=([^\W\d_]+))"
)
_HYPHEN_AT_END = re.compile(r"[-‐\u00ad][ \t]*\n")
_NO_SPACE, _LINE_REST = re.compile(r"\S*"), re.compile(r"[ \t]*\n?")
_COLUMNS = re.compile(r"\S(?:[ \t]{3,}|\t)\S|\|")


def unified(text: str) -> str:
    """The text with `\\n` at line ends and no byte order mark."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def cleaned_text(text: str) -> Draft:
    """A plain text in one piece, without pages.

    Running heads go. Paragraphs that run over a page break and hyphenated words are rejoined.

    Pages end at form feeds. A running head, page numbers aside, is on at least 60 % of three or
    more pages. It is among the first or last three lines, with nothing but running heads outside
    it. Its first occurrence stays, so that its words do, and page numbers go. Letters and digits
    of what stays keep their order.
    """
    joined, removed, numbers = _without_running_heads(unified(text))
    rejoined, unsure = _without_hyphens(joined)
    notes = []
    if removed:
        # Running heads first: a page number says little as an example.
        heads = sorted(dict.fromkeys(removed), key=numbers.__contains__)
        notes.append(
            "Lines left out as repeated running heads or page numbers: "
            f"{len(removed)}, such as {_first_five(heads)}."
        )
    if unsure:
        notes.append(
            f"Words hyphenated at line ends and rejoined by guess: {len(unsure)}, such as "
            f"{_first_five(unsure)}."
        )
    return Draft(rejoined, tuple(notes), tuple(removed))


def _first_five(texts: list[str]) -> str:
    return ", ".join(repr(text) for text in texts[:5])


def _without_running_heads(text: str) -> tuple[str, list[str], set[str]]:
    """The text, the lines left out, and the page numbers among these."""
    if "\f" not in text:
        return text, [], set()
    pages = [page.split("\n") for page in text.split("\f")]
    margins = [_margin(page) for page in pages]
    heads = _repeated_heads(pages, margins)
    seen: set[HeadKey] = set()
    removed: list[str] = []
    numbers: set[str] = set()
    bodies = []
    for number, (page, margin) in enumerate(zip(pages, margins, strict=True)):
        outer = _outermost(page, margin, heads, number)
        body: list[str] = []
        for i, line in enumerate(page):
            keys = heads.intersection(head_keys(line, number)) if i in outer else set()
            if not keys:
                body.append(line)
            elif any(map(is_page_number, keys)):
                removed.append(line.strip())
                numbers.add(line.strip())
            elif keys & seen:
                removed.append(line.strip())
            else:  # the first of its kind stays, as a paragraph of its own
                body += ["", line, ""]
            seen |= keys
        bodies.append(body)
    return _joined_pages(bodies), removed, numbers


def _repeated_heads(pages: list[list[str]], margins: list[set[int]]) -> set[HeadKey]:
    """Return the lines in the margins of enough pages."""
    filled = sum(bool(margin) for margin in margins)
    if filled < MIN_PAGES:
        return set()
    on_pages: Counter[HeadKey] = Counter()
    for number, (page, margin) in enumerate(zip(pages, margins, strict=True)):
        on_pages.update({key for i in margin for key in head_keys(page[i], number)})
    return {key for key, count in on_pages.items() if count >= SHARE * filled}


def _margin(page: list[str]) -> set[int]:
    """Numbers of the first and last lines with text."""
    filled = [i for i, line in enumerate(page) if line.strip()]
    return {*filled[:MARGIN], *filled[-MARGIN:]}


def _outermost(
    page: list[str], margin: set[int], heads: set[HeadKey], number: int
) -> set[int]:
    """Lines that are heads with only heads outside them."""
    outer: set[int] = set()
    for lines in (sorted(margin), sorted(margin, reverse=True)):
        outer.update(
            takewhile(lambda i: heads.intersection(head_keys(page[i], number)), lines)
        )
    return outer


def _joined_pages(pages: list[list[str]]) -> str:
    """Pages in one text, unbroken where a paragraph plainly goes on."""
    parts: list[str] = []
    above = ""  # the page before, as it stands in `parts`
    for page in pages:
        body = "\n".join(page)
        if not body.strip():
            continue
        if above:
            parts.append("\n" if _goes_on(above, body) else "\n\n")
        parts.append(body.strip("\n"))
        above = body
    return "".join(parts)


def _goes_on(above: str, below: str) -> bool:
    """Return True if a page's last paragraph continues at the next page's top."""
    last, first = above.rstrip(), below.lstrip()
    if not first[0].islower() or last.rstrip(_CLOSING).endswith(_SENTENCE_ENDS):
        return False
    behind, before = above[len(last) :], below.removesuffix(first)
    return behind.count("\n") < 2 and before.count("\n") < 2


def _without_hyphens(text: str) -> tuple[str, list[str]]:
    """The text with words broken at line ends rejoined, and the guesses."""
    if not _HYPHEN_AT_END.search(text):
        return text, []
    hyphens = Hyphens.of(text.split("\n"))
    parts: list[str] = []
    position = 0
    for broken in _BROKEN.finditer(text):
        if broken.start() < position or not _may_rejoin(text, broken):
            continue
        first, hyphen, second = broken[1], broken[2], broken[3]
        soft = hyphen == "\u00ad"  # only ever stands for a break
        if not soft and hyphens.is_suspended(first, second):
            continue
        keeps = not soft and hyphens.keep(first, second)
        end = broken.end() + len(second)
        tail = _NO_SPACE.match(text, end)
        end = tail.end() if tail else end
        parts += [
            text[position : broken.start(2)],
            "-" if keeps else "",
            text[broken.end() : end],
        ]
        # The line ends behind the rejoined word instead.
        rest = _LINE_REST.match(text, end)
        position = rest.end() if rest else end
        if end < len(text):
            parts.append("\n")
    parts.append(text[position:])
    return "".join(parts), hyphens.guessed


def _may_rejoin(text: str, broken: re.Match[str]) -> bool:
    """Return True if the two sides of a hyphen may be one word."""
    if not broken[3][0].islower() or not _LETTERS.search(broken[1]):
        return False
    line = text[text.rfind("\n", 0, broken.start()) + 1 : broken.end(2)]
    return not _COLUMNS.search(line)  # else the next line goes on with another cell
