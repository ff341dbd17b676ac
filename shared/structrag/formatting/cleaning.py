"""Plain text before it is read: line ends, pages, running heads, words hyphenated at line ends."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from structrag.formatting.drafts import Draft
from structrag.sections.plain_titles import MARK

MARGIN = 3  # lines at the top and at the bottom of a page that can be running heads
MIN_PAGES = 3
SHARE = 0.6  # of the pages that a running head is on

_PAGE_WORDS = frozenset(["page", "pages", "p", "pp", "of", "seite", "von", "pagina", "página", "de", "di", "sur"])
_LETTERS = re.compile(r"[^\W\d_]+")
_SENTENCE_END = re.compile(r"""[.!?:;。！？：；]["'”’)\]]*$""")
_BROKEN = re.compile(r"(?<![^\W_])(?<!-)([^\W_]+(?:-[^\W_]+)*)([-‐\u00ad])[ \t]*\n[ \t]*(?=([^\W\d_]+))")
_COMPOUND = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_COLUMNS = re.compile(r"\S(?:[ \t]{3,}|\t)\S|\|")
_PREFIXES = frozenset(["self", "well", "non", "cross", "ex", "all", "semi", "multi"])


def unified(text: str) -> str:
    """The text with `\\n` at the ends of all its lines and no byte order mark."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def cleaned_text(text: str) -> Draft:
    """The text in one piece, still plain: running heads out, paragraphs that run over a page break and hyphenated words rejoined.

    A running head is one of the first or last three lines of a page, and on at least 60 % of three or more pages, numbers
    aside; pages end at form feeds. Its first occurrence stays, so that its words do; page numbers go. Letters and digits
    of what stays keep their order.
    """
    joined, removed = _without_running_heads(unified(text))
    rejoined, unsure = _without_hyphens(joined)
    notes = []
    heads = list(dict.fromkeys(line for line in removed if not _is_page_number(line)))
    if heads:
        shown = ", ".join(repr(head) for head in heads[:5])
        notes.append(f"{len(removed)} lines were left out as running heads and page numbers, such as {shown}.")
    if unsure:
        shown = ", ".join(repr(word) for word in unsure[:5])
        notes.append(f"{len(unsure)} words broken at line ends were rejoined by guess, such as {shown}.")
    return Draft(rejoined, tuple(notes), tuple(removed))


def _without_running_heads(text: str) -> tuple[str, list[str]]:
    if "\f" not in text:
        return text, []
    pages = [page.split("\n") for page in text.split("\f")]
    margins = [_margin(page) for page in pages]
    filled = sum(bool(margin) for margin in margins)
    on_pages: dict[str, int] = defaultdict(int)
    for page, margin in zip(pages, margins, strict=True):
        for key in {_head_key(page[i]) for i in margin}:
            on_pages[key] += 1
    heads = {key for key, count in on_pages.items() if filled >= MIN_PAGES and count >= SHARE * filled}
    seen: set[str] = set()
    removed: list[str] = []
    kept_pages = []
    for page, margin in zip(pages, margins, strict=True):
        kept: list[str] = []
        for i, line in enumerate(page):
            key = _head_key(line) if i in margin else ""
            if key not in heads:
                kept.append(line)
            elif key in seen or _is_page_number(line):
                removed.append(line.strip())
            else:
                seen.add(key)
                kept += ["", line, ""]
        kept_pages.append(kept)
    return _joined_pages(kept_pages), removed


def _margin(page: list[str]) -> set[int]:
    """Numbers of the first and last lines with text."""
    filled = [i for i, line in enumerate(page) if line.strip()]
    return {*filled[:MARGIN], *filled[-MARGIN:]}


def _head_key(line: str) -> str:
    """What two running heads have in common: their words. A numbered part's title is no running head unless it is the same."""
    words = " ".join(line.casefold().split())
    mark = MARK.match(line.strip())
    return words if mark and mark["label"] else re.sub(r"\d+", "0", words)


def _is_page_number(line: str) -> bool:
    return any(map(str.isdigit, line)) and _PAGE_WORDS.issuperset(_LETTERS.findall(line.casefold()))


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
            whole = above[len(last) :].count("\n") < 2 and body[: body.index(text[0])].count("\n") < 2
            goes_on = whole and text[0].islower() and not _SENTENCE_END.search(last[last.rfind("\n") + 1 :])
            parts.append("\n" if goes_on else "\n\n")
        parts.append(body.strip("\n"))
        above = body
    return "".join(parts)


def _without_hyphens(text: str) -> tuple[str, list[str]]:
    """The text with words broken at line ends in one piece, and the words where only a guess told how."""
    if not _BROKEN.search(text):
        return text, []
    known = Counter(word.casefold() for word in _COMPOUND.findall(text))
    unsure: list[str] = []
    parts: list[str] = []
    position = 0
    for found in _BROKEN.finditer(text):
        first, hyphen, second = found[1], found[2], found[3]
        line = text[text.rfind("\n", 0, found.start()) + 1 : found.end(2)]
        if found.start() < position or not second[0].islower() or _COLUMNS.search(line) or not _LETTERS.search(first):
            continue
        keeps = hyphen != "\u00ad" and _keeps_hyphen(first, second, known, unsure)
        end = found.end() + len(second)
        tail = re.match(r"[^\s]*", text[end:])
        end += tail.end() if tail else 0
        parts += [text[position : found.start(2)], "-" if keeps else "", text[found.end() : end]]
        position = end
        rest = re.match(r"[ \t]*\n?", text[position:])
        if rest and position < len(text):
            parts.append("\n")
            position += rest.end()
    parts.append(text[position:])
    return "".join(parts), unsure


def _keeps_hyphen(first: str, second: str, known: Counter[str], unsure: list[str]) -> bool:
    """Whether the hyphen belongs to the word: what the rest of the text writes decides, else the parts do."""
    a, b = first.casefold(), second.casefold()
    if "-" in a or any(map(str.isdigit, a)) or a in _PREFIXES:
        return True
    whole, compound = known[a + b], known[f"{a}-{b}"]
    if (whole > 0) != (compound > 0):
        return compound > 0
    unsure.append(f"{first}-{second}")
    return known[a] > 1 and known[b] > 1
