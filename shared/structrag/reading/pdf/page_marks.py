"""What stands on a page and is no part of its text: watermarks, and the numbers of its lines."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from structrag.reading.pdf.pages import Line, Page
from structrag.reading.pdf.running_heads import Heads, body_size

_LARGE = 1.4  # times the size of the text's type
_SAME_PLACE = 4.0  # points
_LEAST_NUMBERS = 5  # on a page, of its lines
_STEPS = (1, 5, 10)  # from one numbered line to the next
_MANY = 20  # numbers on a page that may stand beside two columns
_MOST_BESIDE = 30  # lines that are looked at beside a number
_WATERMARK = re.compile(
    r"confidential|draft|copy|sample|specimen|void|internal(?: use only)?|preliminary|top secret"
    r"|(?:strictly|company) confidential|not for distribution|do not (?:copy|distribute)"
    r"|entwurf|vertraulich|muster|kopie|confidentiel|brouillon|copie|projet|confidencial|borrador"
    r"|copia|rascunho|bozza|riservato|concept|vertrouwelijk|черновик|копия|草稿|机密|样本|社外秘|見本",
    re.IGNORECASE,
)
_CENTRE = (
    0.12  # of the page's sides: a light word so near the middle needs no second page
)


def find_page_marks(pages: Sequence[Page]) -> Heads:
    """The watermarks and line numbers of pages, as numbers of their lines, and a note for each.

    A watermark is large type: light or see-through, where other text runs across it, it stands in
    the middle of the page, is what watermarks say, or two pages have it at the same place; in any
    colour where two of these are so.
    Line numbers are digits at one margin that count the rows beside them, by 1, 5 or 10, most of
    which are running text.
    """
    watermarks = list(_watermarks(pages))
    numbers = [(i, set(_line_numbers(page))) for i, page in enumerate(pages)]
    removed: list[set[int]] = [found for _, found in numbers]
    for i, j in watermarks:
        removed[i].add(j)
    notes = [
        f"The watermark {text!r} was left out on {count} of {len(pages)} pages."
        for text, count in Counter(
            " ".join(pages[i].lines[j].text.split()) for i, j in watermarks
        ).items()
    ]
    if numbered := sum(1 for _, found in numbers if found):
        notes.append(
            f"The numbers of lines were left out on {numbered} of {len(pages)} pages."
        )
    return Heads(tuple(map(frozenset, removed)), tuple(notes))


def _bottom(line: Line) -> float:
    return line.bottom


def _watermarks(pages: Sequence[Page]) -> Iterator[tuple[int, int]]:
    """Page and line of each watermark."""
    least = _LARGE * body_size(pages)
    large: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for i, page in enumerate(pages):
        for j, line in enumerate(page.lines):
            if line.size >= least:
                large[" ".join(line.text.split())].append((i, j))
    for places in large.values():
        lines = [pages[i].lines[j] for i, j in places]
        repeated = len({i for i, _ in places}) > 1 and all(
            abs(line.left - lines[0].left) + abs(line.top - lines[0].top) < _SAME_PLACE
            for line in lines
        )
        for (i, j), line in zip(places, lines, strict=True):
            crossed = any(_run_across(line, other) for other in pages[i].lines)
            named = bool(_WATERMARK.fullmatch(line.text.strip(" *-!")))
            signs = crossed + repeated + line.faint + named
            if signs > 1 or (line.faint and _is_amid(line, pages[i])):
                yield i, j


def _is_amid(line: Line, page: Page) -> bool:
    across = abs((line.left + line.right) / 2 - page.width / 2)
    down = abs(line.middle - page.height / 2)
    return across < _CENTRE * page.width and down < _CENTRE * page.height


def _run_across(mark: Line, other: Line) -> bool:
    """Whether another line's text lies over a mark."""
    if other is mark or other.size >= mark.size:
        return False
    beside = min(mark.right, other.right) - max(mark.left, other.left)
    level = min(mark.bottom, other.bottom) - max(mark.top, other.top)
    return beside > other.size and level > 0.3 * other.size


def _line_numbers(page: Page) -> Iterator[int]:
    """The lines of a page that are the numbers of its lines."""
    numbers = [
        j
        for j, line in enumerate(page.lines)
        if line.upright
        and line.text.strip().isdecimal()
        and len(line.text.strip()) <= 4
    ]
    others = [
        line
        for line in page.lines
        if line.upright and not line.text.strip().isdecimal()
    ]
    if len(numbers) < _LEAST_NUMBERS or not others:
        return
    left, right = min(line.left for line in others), max(line.right for line in others)
    for at_left in (True, False):
        column = [
            j
            for j in numbers
            if (
                page.lines[j].right <= left + 1
                if at_left
                else page.lines[j].left >= right - 1
            )
        ]
        column.sort(key=lambda j: page.lines[j].top)
        if _counts_rows([page.lines[j] for j in column], others, right - left):
            yield from column


def _counts_rows(column: Sequence[Line], others: Sequence[Line], width: float) -> bool:
    """Whether a column of digits numbers the rows of a running text, not those of a table."""
    if len(column) < _LEAST_NUMBERS:
        return False
    values = [int(line.text) for line in column]
    steps = {b - a for a, b in pairwise(values)}
    if len(steps) != 1 or not steps <= set(_STEPS):
        return False
    by_steps = max(steps) > 1 or len(column) >= _MANY  # not those of a table's rows
    ordered = sorted(others, key=_bottom)
    running = 0
    for line in column:
        near = bisect_left(ordered, line.bottom - line.size, key=_bottom)
        row = [
            other
            for other in ordered[near : near + _MOST_BESIDE]
            if abs(other.bottom - line.bottom) < 0.5 * other.size
        ]
        widths = [other.right - other.left for other in row]
        running += len(row) == 1 and widths[0] > 0.5 * width
        running += len(row) == 2 and by_steps and min(widths) > 0.35 * width
    first, last = column[0].top - column[0].size, column[-1].bottom + column[-1].size
    rows = {round(other.bottom / 3) for other in others if first < other.bottom < last}
    counted = values[-1] - values[0] + 1
    return 2 * running >= len(column) and 0.8 * counted <= len(rows) <= 1.3 * counted
