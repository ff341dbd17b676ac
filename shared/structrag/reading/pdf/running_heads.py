"""Running heads, footers and page numbers: what the margins of most pages repeat."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median
from typing import NamedTuple

from structrag.reading.pdf.pages import Page
from structrag.reading.plain_titles import MARK

SHARE = 0.6  # of the pages
_MARGIN = 0.15  # of the page's height, at the top and at the bottom
_ROWS = 3  # outermost rows that can be heads
_DRIFT = 4.0  # points by which the place may differ from page to page
_SIDE_PAGES = 3  # left or right pages that are enough to look at one side, or one part, alone
_NUMBER = re.compile(r"(?<![\w.,])\d{1,4}(?![\w]|[.,]\d)")
_ROMAN = re.compile(r"(?i)[\W_]*([ivxlc]{1,8})[\W_]*")
_ROMAN_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}

_PAGE_WORDS = frozenset(
    ["page", "pages", "p", "pp", "of", "seite", "von", "pagina", "página", "de", "di", "sur"]
)
_LETTERS = re.compile(r"[^\W\d_]+")

HeadKey = tuple[
    str, int | None
]  # a line's text, or its text without one number and that number's lead over the page's
_Place = tuple[int, int]  # page, line; both from 0


class Heads(NamedTuple):
    """Running heads, footers and page numbers of a document."""

    removed: tuple[frozenset[int], ...]  # for each page the numbers of its lines that are heads
    notes: tuple[str, ...]  # one sentence for each head


def find_running_heads(pages: Sequence[Page]) -> Heads:
    """The lines in the margins that at least 60 % of the pages with text repeat, of two pages both.

    Repeated means the same text at the same height (within 4 points), or the same but for one
    number that counts with the pages, from whatever start: "Page 7 of 90", "- 7 -", "vii"; not
    "Chapter 7", and on three pages at least if there are other words than "page" and the like. With
    three left and three right pages or more, 60 % of one side are enough. The title of a chapter is
    a head too: the same text on three pages or more and on 60 % of those from its first to its
    last, or on two pages or more and always beside a page number that was found. Only the outermost
    three rows within 15 % of the page's height count, outside ruled tables, and turned text
    anywhere. When nothing would be left of the document, nothing is a head.
    """
    filled = [i for i, page in enumerate(pages) if page.lines]
    places: dict[HeadKey, list[_Place]] = defaultdict(list)
    for i in filled:
        for j in _margin_lines(pages[i]):
            for key in head_keys(pages[i].lines[j].text, i):
                places[key].append((i, j))
    counted = [
        (key, _at_one_height(pages, found)) for key, found in [*places.items(), *_restarted(places)]
    ]
    heads = [(key, found) for key, found in counted if _is_head(key, found, filled)]
    numbers = {place for (_, lead), found in heads if lead is not None for place in found}
    heads += [
        (key, found)
        for key, found in counted
        if key[1] is None and _stand_beside(pages, found, numbers)
    ]
    removed: dict[int, set[int]] = defaultdict(set)
    notes: dict[str, None] = {}
    for (text, lead), found in heads:
        if any(j not in removed[i] for i, j in found):
            i, j = found[0]
            notes[
                _note(pages[i].lines[j].text, text, lead, len({i for i, _ in found}), len(filled))
            ] = None
        for i, j in found:
            removed[i].add(j)
    if all(len(removed[i]) == len(pages[i].lines) for i in filled):
        return Heads((frozenset(),) * len(pages), ())
    return Heads(tuple(frozenset(removed[i]) for i in range(len(pages))), tuple(notes))


def _is_head(key: HeadKey, found: list[_Place], filled: list[int]) -> bool:
    on_pages = {i for i, _ in found}
    return len(on_pages) >= _least_pages(key) and _is_enough(on_pages, filled, key[1] is None)


def _stand_beside(pages: Sequence[Page], found: list[_Place], numbers: set[_Place]) -> bool:
    """Whether a text on two pages or more always shares its row with a page number."""
    return len({i for i, _ in found}) > 1 and all(
        _is_beside(pages, place, numbers) for place in found
    )


def _is_beside(pages: Sequence[Page], place: _Place, numbers: set[_Place]) -> bool:
    i, j = place
    lines = pages[i].lines
    return any(
        (i, k) in numbers and abs(lines[k].bottom - lines[j].bottom) <= 2 for k in range(len(lines))
    )


def _margin_lines(page: Page) -> Iterator[int]:
    upright = [(line.top + line.bottom) / 2 for line in page.lines if line.upright]
    for j, line in enumerate(page.lines):
        middle = (line.top + line.bottom) / 2
        if not line.upright:
            yield j
        elif any(grid.cell(line) for grid in page.grids):
            continue
        elif middle <= _MARGIN * page.height:
            if len({round(other / 4) for other in upright if other < middle - 4}) < _ROWS:
                yield j
        elif (
            middle >= (1 - _MARGIN) * page.height
            and len({round(other / 4) for other in upright if other > middle + 4}) < _ROWS
        ):
            yield j


def head_keys(line: str, page: int) -> Iterator[HeadKey]:
    """Under which a line on a page, numbered from 0, is counted: its text, and its text without one
    number, with that number's lead.

    The title of a numbered part, such as "Chapter 3", is counted as it stands only. A blank line
    has no key.
    """
    text = " ".join(line.casefold().split())
    if not text:
        return
    yield text, None
    mark = MARK.match(" ".join(line.split()))
    for number in _NUMBER.finditer(text) if not (mark and mark["label"]) else ():
        yield f"{text[: number.start()]}\0{text[number.end() :]}", int(number[0]) - page
    if roman := _ROMAN.fullmatch(text):
        values = [_ROMAN_VALUES[letter] for letter in roman[1]]
        value = sum(-v if v < max(values[k:]) else v for k, v in enumerate(values))
        yield f"{text[: roman.start(1)]}\0{text[roman.end(1) :]}", value - page


def is_page_number(key: HeadKey) -> bool:
    """Whether a key is that of a number that counts with the pages, and of no words but "page" and
    the like."""
    text, lead = key
    return lead is not None and _PAGE_WORDS.issuperset(_LETTERS.findall(text))


def _restarted(
    places: dict[HeadKey, list[_Place]],
) -> Iterator[tuple[HeadKey, list[_Place]]]:
    """Page numbers that start anew, after a preface in Roman ones for example, taken together."""
    together: dict[str, list[_Place]] = defaultdict(list)
    for (text, lead), found in places.items():
        if lead is not None and len(found) > 1:
            together[text] += found
    for text, found in together.items():
        yield (text, 0), sorted(set(found))


def _at_one_height(pages: Sequence[Page], found: list[_Place]) -> list[_Place]:
    tops = {(i, j): pages[i].lines[j].top for i, j in found}
    usual = median(tops.values())
    return [place for place in found if abs(tops[place] - usual) <= _DRIFT]


def _least_pages(key: HeadKey) -> int:
    return 2 if key[1] is None or is_page_number(key) else 3


def _is_enough(on_pages: set[int], filled: list[int], same_text: bool) -> bool:
    if len(on_pages) >= SHARE * len(filled) or (
        same_text and _is_enough_of_a_part(on_pages, filled)
    ):
        return True
    side = {i % 2 for i in on_pages}
    of_side = [i for i in filled if i % 2 in side]
    return len(side) == 1 and len(of_side) >= _SIDE_PAGES and len(on_pages) >= SHARE * len(of_side)


def _is_enough_of_a_part(on_pages: set[int], filled: list[int]) -> bool:
    """At least 60 % of the pages from the first to the last, or of the left or right ones among
    them."""
    first, last = min(on_pages), max(on_pages)
    part = [
        i
        for i in filled
        if first <= i <= last and (len({j % 2 for j in on_pages}) > 1 or i % 2 == first % 2)
    ]
    return len(on_pages) >= _SIDE_PAGES and len(on_pages) >= SHARE * len(part)


def _note(shown: str, text: str, lead: int | None, count: int, pages: int) -> str:
    shown = " ".join(shown.split())
    if lead is None:
        return f"The running head {shown!r} was left out on {count} of {pages} pages."
    bare = not any(character.isalpha() for character in text)
    kind = "Page numbers" if bare else "Running heads with the page's number"
    return f"{kind} such as {shown!r} were left out on {count} of {pages} pages."
