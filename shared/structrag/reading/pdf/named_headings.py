"""Headings that a PDF names itself: its bookmarks, or the tags of its structure tree."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import Any
from unicodedata import normalize

from structrag.reading.pdf.bidi import has_rtl
from structrag.reading.pdf.pages import NamedHeading
from structrag.reading.pdf.pieces import string_of, text_objects
from structrag.reading.pdf.rows import Row, are_small_capitals

_FEWEST = 3  # bookmarks that are an outline; fewer lead to a cover or a contents page
_HEADING_TAG = re.compile(r"H([1-6]?)")
_MOST_ROWS = 5  # of one heading
_CUT = 25  # letters of a bookmark from which on its end may be cut off
_NEAR = 30.0  # points from the height a bookmark names, where a title may go on behind its words
# The signs behind a title that text follows in its row.
_RUN_IN_END = re.compile(r"[.:\u2013\u2014-]+\s*")
# The number or label that stands before a title on the page, or in the bookmark alone.
_NUMBER = re.compile(
    r"(?:chapter|section|part|appendix|annex|article|kapitel|abschnitt|teil|anhang|chapitre|partie"
    r"|annexe|cap[ií]tulo|capitolo|sezione|parte|anexo)?(?:\d{1,8}[a-z]?|[ivxlc]{1,6}|[a-z])|"
)


def bookmarks(pdf: Any) -> list[list[NamedHeading]] | None:
    """The bookmarks of each page, `top` still in PDF coordinates; None where there are too few."""
    pages: list[list[NamedHeading]] = [[] for _ in range(len(pdf))]
    for bookmark in pdf.get_toc():
        title = " ".join(bookmark.get_title().replace("\0", "").split())
        target = bookmark.get_dest()
        number = None if target is None else target.get_index()
        if not title or number is None or not 0 <= number < len(pages):
            continue
        mode, place = target.get_view()
        # XYZ says left, top, zoom; FitH and FitBH say the top alone.
        at = {1: 1, 3: 0, 7: 0}.get(mode)
        top = place[at] if at is not None and len(place) > at else None
        pages[number].append(NamedHeading(bookmark.level + 1, title, top))
    return pages if sum(map(len, pages)) >= _FEWEST else None


def tagged_headings(raw: Any, page: Any, textpage: Any) -> list[NamedHeading]:
    """The headings that the tags of a page name, in the order of its structure."""
    with structure_of(raw, page.raw) as roots:
        tagged = [
            (int(tag[1] or 1), marks_of(raw, element))
            for element in elements_below(raw, roots)
            if (tag := _HEADING_TAG.fullmatch(type_of(raw, element)))
        ]
    if not tagged:
        return []
    texts = _marked_texts(raw, page.raw, textpage)
    titles = [
        (level, " ".join("".join(texts.get(mark, "") for mark in marks).split()))
        for level, marks in tagged
    ]
    return [NamedHeading(level, title) for level, title in titles if title]


def _marked_texts(raw: Any, page: Any, textpage: Any) -> dict[int, str]:
    """The text of each marked content of a page."""
    texts: defaultdict[int, str] = defaultdict(str)
    for item, _ in text_objects(raw, page):
        mark = raw.FPDFPageObj_GetMarkedContentID(item)
        if mark >= 0:
            texts[mark] += string_of(partial(raw.FPDFTextObj_GetText, item, textpage))
    return texts


def rows_named(
    rows: Sequence[Row], headings: Sequence[NamedHeading]
) -> dict[int, tuple[int, int]]:
    """Which rows of a page are its named headings: first row -> the row after the last, and level.

    The words decide, with or without the number before them; of several such places the nearest to
    the height that the bookmark names, else the first after the heading before. A heading whose
    words stand in no rows of their own is left out.
    """
    letters = [_letters(row.text) for row in rows]
    kinds = [(row.size, row.bold) for row in rows]
    usual = Counter(kinds).most_common(1)
    named: dict[int, tuple[int, int]] = {}
    free = [True] * len(rows)
    after = 0  # the heading before
    for heading in headings:
        wanted, top = _letters(heading.title), heading.top
        places = []
        for i, row in enumerate(rows):
            near = top is not None and abs(row.top - top) < _NEAR
            end, is_cut = _end_of(letters, i, wanted, near)
            # Text goes on behind a title in the body's type; a bookmark that is cut off has none.
            if end and all(free[i:end]) and not (is_cut and kinds[i] == usual[0][0]):
                places.append((i, end, is_cut))
        if not places:
            continue
        distances = [
            (i < after, i) if top is None else (False, abs(rows[i].top - top))
            for i, _, _ in places
        ]
        first, end, is_cut = places[distances.index(min(distances))]
        while (
            is_cut
            and end < min(len(rows), first + _MOST_ROWS)
            and (
                kinds[end] == kinds[first] or are_small_capitals(rows[first], rows[end])
            )
            and 0 < rows[end].top - rows[end - 1].top < 2 * rows[end].size
        ):
            end += 1
        named[first] = (end, heading.level)
        free[first:end] = [False] * (end - first)
        after = end
    return named


def run_in_titles(
    rows: Sequence[Row], headings: Sequence[NamedHeading]
) -> dict[Row, tuple[Row, Row]]:
    """Rows that begin with a named title and go on with its text, in two: the title with the sign
    behind it, and the text. The title stands at the height that the bookmark names, and in no row
    of its own there."""
    split: dict[Row, tuple[Row, Row]] = {}
    for heading in headings:
        wanted, top = _letters(heading.title), heading.top
        if top is None or not wanted:
            continue
        near = [row for row in rows if abs(row.top - top) < _NEAR]
        if any(_letters(row.text).endswith(wanted) for row in near):
            continue
        for row in near:
            end = _end_of_run_in(row.text, wanted)
            if end and row not in split:
                title = replace(row, text=row.text[:end].rstrip())
                split[row] = title, replace(row, text=row.text[end:])
                break
    return split


def _end_of_run_in(text: str, wanted: str) -> int:
    """Where the text behind a title and its sign begins; 0 where the title is not there."""
    longest = len(wanted) + 30
    for sign in _RUN_IN_END.finditer(text, 0, 4 * longest):
        title = _letters(text[: sign.start()])
        if len(title) > longest or not text[sign.end() :].strip():
            return 0
        number = title.removesuffix(wanted)
        if title.endswith(wanted) and _NUMBER.fullmatch(number):
            return sign.end()
    return 0


def _letters(text: str) -> str:
    letters = filter(str.isalnum, normalize("NFKC", text).casefold())
    # PDFium gives those from right to left in any order.
    return "".join(sorted(letters) if has_rtl(text) else letters)


def _end_of(
    letters: Sequence[str], first: int, wanted: str, near: bool
) -> tuple[int, bool]:
    """The row after the last of those from `first` on that hold a title, 0 if they do not. And
    whether they hold more than the title, which is then cut off. A short one may be so only where
    it is `near` the height that the bookmark names."""
    if not letters[first] or not wanted:
        return 0, False
    joined = accumulate(letters[first : first + _MOST_ROWS])
    for end, text in enumerate(joined, start=first + 1):
        if text.endswith(wanted) and _NUMBER.fullmatch(text.removesuffix(wanted)):
            return end, False
        if wanted.endswith(text) and _NUMBER.fullmatch(wanted.removesuffix(text)):
            return (end if len(text) > 2 else 0), False
        at = text.find(wanted) if len(wanted) >= _CUT else -1
        if at >= 0 and len(text) < 4 * len(wanted) and _NUMBER.fullmatch(text[:at]):
            return end, True
        if near and len(wanted) > 2 and text.startswith(wanted):
            return end, True
    return 0, False


_MOST = 20_000  # of a page's elements that are looked at


@contextmanager
def structure_of(raw: Any, page: Any) -> Iterator[list[Any]]:
    """The topmost elements of a page's structure; none where the file has no tags."""
    tree = raw.FPDF_StructTree_GetForPage(page)
    if not tree:
        yield []
        return
    try:
        yield [
            raw.FPDF_StructTree_GetChildAtIndex(tree, i)
            for i in range(raw.FPDF_StructTree_CountChildren(tree))
        ]
    finally:
        raw.FPDF_StructTree_Close(tree)


def elements_below(raw: Any, roots: Sequence[Any]) -> Iterator[Any]:
    """The elements of a structure in order, at most so many; those below a heading too."""
    waiting = list(reversed([root for root in roots if root]))
    seen = 0
    while waiting and seen < _MOST:
        element = waiting.pop()
        seen += 1
        yield element
        count = raw.FPDF_StructElement_CountChildren(element)
        children = (
            raw.FPDF_StructElement_GetChildAtIndex(element, i) for i in range(count)
        )
        waiting += reversed([child for child in children if child])


def marks_of(raw: Any, element: Any) -> list[int]:
    """The marked contents of an element, in order."""
    marks = []
    for part in elements_below(raw, [element]):
        for i in range(raw.FPDF_StructElement_CountChildren(part)):
            mark = raw.FPDF_StructElement_GetChildMarkedContentID(part, i)
            if mark >= 0:
                marks.append(mark)
    return marks


def type_of(raw: Any, element: Any) -> str:
    """What an element is: "H1", "P", "Figure"."""
    return string_of(partial(raw.FPDF_StructElement_GetType, element))


def alternative_texts(raw: Any, page: Any) -> dict[int, str]:
    """What the file says its figures show, by their marked contents."""
    texts: dict[int, str] = {}
    with structure_of(raw, page) as roots:
        for element in elements_below(raw, roots):
            if type_of(raw, element) != "Figure":
                continue
            alt = string_of(partial(raw.FPDF_StructElement_GetAltText, element))
            alt = " ".join(alt.split())
            if alt:
                texts |= dict.fromkeys(marks_of(raw, element), alt)
    return texts
