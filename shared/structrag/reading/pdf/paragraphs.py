"""Rows of pages to paragraphs and list items: which row goes on with the one before it, over
columns and pages too."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from structrag.reading.pdf.heading_styles import has_leaders
from structrag.reading.pdf.rows import Row

_BULLET = re.compile(r"([•‣◦▪▫●○■□❖➢➤✓✔★◆◇►▶⁃∙·\uf0b7\uf0a7\uf0d8\uf076\uf0fc–—*-])\s+(?=\S)")
_LABEL = re.compile(r"(\(?(?:\d{1,3}|[A-Za-z]|[ivx]{1,5})[.)])\s+(?=\S)")
_END = re.compile(r"""[.!?:;。！？：；…।؟۔]["'”’»)\]]*$""")
_HYPHEN = re.compile(r"[^\W\d_][-\u2010\u00ad]$")
_DASHES = frozenset("–—*-·")  # may also begin a row that is no item
_ROMAN = {"i": 1, "v": 5, "x": 10}
_NEAR_ROWS = 12  # of a paragraph that tell where its text stands
_NEAR = 60  # rows in which the item before or behind must stand
_SAME_PLACE, _OTHER_PAGE = 6.0, 36.0  # points by which their left edges may differ


class Mark(NamedTuple):
    """The sign or number that an item of a list begins with."""

    shown: str  # "•", "3.", "(a)"
    end: int  # where the item's text begins in the row's


@dataclass
class Paragraph:
    """Rows that belong together; in `breaks` the indices of rows that begin a line of their own on
    purpose."""

    rows: list[Row]
    mark: Mark | None = None
    breaks: set[int] = field(default_factory=set)

    @property
    def left(self) -> float:
        """Where its text stands: of an item, and of a paragraph with an indented first line, that
        of the second row."""
        last = self.rows[-1]
        same = [
            row for row in self.rows[-_NEAR_ROWS:] if row.page == last.page and row.top <= last.top
        ]
        return min(row.left for row in same[1:]) if len(same) > 1 else same[-1].left


class Spacing(NamedTuple):
    """Usual distances from one row to the next."""

    pitches: dict[float, float]  # by size of the type
    body: float  # that of the size with most rows, as a multiple of it

    def of(self, size: float) -> float:
        """The distance for this size; larger type is hardly set wider than the body."""
        return min(self.pitches.get(round(size), self.body * size), 1.1 * self.body * size)


def spacing_of(rows: Sequence[Row]) -> Spacing:
    """The median distance of successive rows for each size of type, of those between 0.8 and 2.2
    times the size."""
    found: dict[float, list[float]] = defaultdict(list)
    for above, below in pairwise(rows):
        distance = below.top - above.top
        if (
            above.page == below.page
            and _same_size(above, below)
            and 0.8 * above.size <= distance <= 2.2 * above.size
        ):
            found[round(above.size)].append(distance)
    pitches = {size: median(distances) for size, distances in found.items()}
    most = max(pitches, key=lambda size: (len(found[size]), -size), default=0.0)
    return Spacing(pitches, pitches[most] / max(most, 1.0) if pitches else 1.2)


def paragraphs_of(rows: Sequence[Row], spacing: Spacing) -> list[Paragraph]:
    """All rows, in order, in paragraphs."""
    edges = [_right_edge(rows, i) for i in range(len(rows))]
    paragraphs: list[Paragraph] = []
    for i, row in enumerate(rows):
        current = paragraphs[-1] if paragraphs else None
        link = _link(current, rows, i, edges[i - 1], spacing) if current else "new"
        mark = _mark(rows, i, current, link)
        if current is None or link == "new" or mark:
            paragraphs.append(Paragraph([row], mark))
            continue
        if link == "line":
            current.breaks.add(len(current.rows))
        current.rows.append(row)
    return paragraphs


def _same_size(a: Row, b: Row) -> bool:
    return abs(a.size - b.size) <= 0.08 * max(a.size, b.size)


def _right_edge(rows: Sequence[Row], i: int) -> float:
    """How far to the right the rows around reach: three before, three behind, in the same column
    and type."""
    row = rows[i]
    edge = row.right
    for step in (-1, 1):
        for j in range(i + step, i + 4 * step, step):
            if (
                not 0 <= j < len(rows)
                or rows[j].page != row.page
                or (rows[j].top - row.top) * step <= 0
            ):
                break
            if _same_size(rows[j], row) and abs(rows[j].left - row.left) <= 4 * row.size:
                edge = max(edge, rows[j].right)
    return edge


def _link(current: Paragraph, rows: Sequence[Row], i: int, edge: float, spacing: Spacing) -> str:
    """How row i goes on from the row before: "join", "line" (the line was ended on purpose) or
    "new"."""
    above, row = rows[i - 1], rows[i]
    if not (above.upright and row.upright):
        return "new"
    ended = _ends_early(above, row, edge)
    if (
        above.page != row.page
        or row.top <= above.top
        or row.left >= above.right
        or row.right <= above.left
    ):
        return (
            "join" if not ended and _same_size(above, row) and _goes_on(current, rows, i) else "new"
        )
    if row.top - above.top > 1.35 * spacing.of(max(above.size, row.size)):
        return "new"
    if not _same_size(above, row) and (ended or not _lies_inside(current, rows, i)):
        return "new"
    if ended and (above.bold != row.bold or _END.search(above.text)):
        return "new"
    centred = abs(row.left + row.right - above.left - above.right) <= 4
    if not centred and _is_indented(current, row, ended):
        return "new"
    return "line" if ended or has_leaders(above.text) else "join"


def _lies_inside(current: Paragraph, rows: Sequence[Row], i: int) -> bool:
    """Whether row i in other type lies inside the paragraph: a file name in small type fills a row,
    and text goes on."""
    above, row = current.rows[-1], rows[i]
    if (
        _END.search(above.text)
        or above.bold != row.bold
        or not 0.75 <= row.size / above.size <= 1.34
    ):
        return False
    if any(_same_size(row, other) for other in current.rows[-_NEAR_ROWS:]):
        return True
    below = rows[i + 1] if i + 1 < len(rows) and rows[i + 1].page == row.page else None
    return (
        below is not None
        and _same_size(below, above)
        and 0 < below.top - row.top <= 1.6 * above.size
    )


def _ends_early(above: Row, below: Row, edge: float) -> bool:
    """Whether the next row's first word would have fitted behind the row: its line was ended on
    purpose."""
    if _HYPHEN.search(above.text) and below.text[0].islower():
        return False
    width = (above.right - above.left) / max(1, len(above.text))
    first = below.text.split(maxsplit=1)[0]
    return edge - above.right > (min(len(first), 30) + 1) * width + above.size


def _goes_on(current: Paragraph, rows: Sequence[Row], i: int) -> bool:
    """Whether a paragraph goes on at the top of a column or page."""
    above, row = rows[i - 1], rows[i]
    if _END.search(above.text) or above.bold != row.bold or has_leaders(above.text):
        return False
    following = rows[i + 1] if i + 1 < len(rows) and rows[i + 1].page == row.page else None
    if (
        following
        and 0 < following.top - row.top <= 2 * row.size
        and row.left - following.left > 0.8 * row.size
    ):
        return False
    first = next((character for character in row.text if character.isalnum()), "")
    return first.islower() or (
        len(current.rows) > 1 and not (first.isdigit() or _BULLET.match(row.text))
    )


def _is_indented(current: Paragraph, row: Row, ended: bool) -> bool:
    """Whether the row stands further right or left than its paragraph's text; a first line may be
    indented, an item's hang."""
    step = row.left - current.left
    if len(current.rows) > 1 or (ended and not current.mark):
        return abs(step) > 0.8 * row.size
    if current.mark:
        return step < -1 or step > 6 * row.size
    return step > 0.8 * row.size or step < -5 * row.size


def _mark(rows: Sequence[Row], i: int, current: Paragraph | None, link: str) -> Mark | None:
    """The mark of a row that begins an item of a list. A number, and a dash, needs its neighbour
    above or below."""
    row = rows[i]
    around = (range(i - 1, max(-1, i - 1 - _NEAR), -1), range(i + 1, min(len(rows), i + 1 + _NEAR)))
    if found := _BULLET.match(row.text):
        mark = Mark(found[1], found.end())
        if found[1] not in _DASHES:
            return mark
        free = link != "join" or (current is not None and current.mark is not None)
        return (
            mark
            if free and any(_stands_near(rows, row, places, (found[1], 0)) for places in around)
            else None
        )
    found = _LABEL.match(row.text)
    if not found or (
        link == "join"
        and current is not None
        and not (current.mark or _END.search(rows[i - 1].text))
    ):
        return None
    above, below = around
    for kind, value in _readings(found[1]):
        if _stands_near(rows, row, above, (kind, value - 1)) or _stands_near(
            rows, row, below, (kind, value + 1)
        ):
            return Mark(found[1], found.end())
    return None


def _readings(label: str) -> list[tuple[str, int]]:
    """Kind and value of a label, as "(1" and 3 for "(3)"; two of them where it is a Roman number
    and a letter."""
    bare = label.strip("().")
    kind = label.replace(bare, "")
    if bare.isdigit():
        return [(f"{kind}1", int(bare))]
    readings = []
    if set(bare) <= set(_ROMAN):
        values = [_ROMAN[letter] for letter in bare]
        readings.append(
            (f"{kind}i", sum(-v if v < max(values[k:]) else v for k, v in enumerate(values)))
        )
    if len(bare) == 1:
        readings.append((f"{kind}a" if bare.islower() else f"{kind}A", ord(bare.lower()) - 96))
    return readings


def _stands_near(rows: Sequence[Row], row: Row, places: range, reading: tuple[str, int]) -> bool:
    """Whether a row there begins with such a label or sign, at the same distance from the left
    edge; on another page roughly."""
    for j in places:
        drift = _SAME_PLACE if rows[j].page == row.page else _OTHER_PAGE
        if abs(rows[j].left - row.left) <= drift:
            sign, label = _BULLET.match(rows[j].text), _LABEL.match(rows[j].text)
            if (sign and reading == (sign[1], 0)) or (label and reading in _readings(label[1])):
                return True
    return False
