"""Rows of pages to paragraphs and list items. Which row goes on with the one before it is told over
columns and pages too."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from statistics import median
from typing import NamedTuple

from structrag.reading.numbering import roman_value
from structrag.reading.pdf.bidi import is_rtl
from structrag.reading.pdf.heading_styles import has_leaders
from structrag.reading.pdf.rows import SENTENCE_END, Row, are_small_capitals

_BULLET = re.compile(
    r"([•‣◦▪▫●○■□❖➢➤✓✔★◆◇►▶⁃∙·\uf0b7\uf0a7\uf0d8\uf076\uf0fc–—*-])\s+(?=\S)"
)
_LABEL = re.compile(r"(\(?(?:\d{1,3}|[A-Za-z]|[ivx]{1,5})[.)])\s+(?=\S)")
_NUMBER = re.compile(
    r"(?:(?:[^\W\d_a-z]\w{0,9}\.?|§{1,2})\s+)?(?:\d{1,5}(?:\.\d{1,2})*|[A-Z]|[IVX]{1,5})[.:)]?\s+(?=\S)"
)
_HYPHEN = re.compile(r"[^\W_][-\u2010\u00ad]$")
_FIELD = re.compile(r"\w[:：]")
_DASHES = frozenset("–—*-·")  # may also begin a row that is no item
_NEAR_ROWS = 12  # of a paragraph that tell where its text stands
_NEAR = 60  # rows in which the item before or behind must stand
_SAME_PLACE, _OTHER_PAGE = 6.0, 36.0  # points by which their left edges may differ


class Mark(NamedTuple):
    """The sign or number that an item of a list begins with."""

    shown: str  # "•", "3.", "(a)"
    end: int  # where the item's text begins in the row's


@dataclass
class Paragraph:
    """Rows that belong together."""

    rows: list[Row]
    mark: Mark | None = None
    # Indices of rows that are lines of their own.
    breaks: set[int] = field(default_factory=set)

    @property
    def left(self) -> float:
        """Where its text stands. Of an item, and of a paragraph with an indented first line, that
        is where the second row does."""
        last = self.rows[-1]
        near = self.rows[-_NEAR_ROWS:]
        same = [row for row in near if row.page == last.page and row.top <= last.top]
        return min(row.left for row in same[1:] or same)


class Spacing(NamedTuple):
    """Usual distances from one row to the next."""

    pitches: dict[float, float]  # by size of the type
    body: float  # that of the size with most rows, as a multiple of it

    def of(self, size: float) -> float:
        """The distance for this size. Larger type is hardly set wider than the body."""
        return min(
            self.pitches.get(round(size), self.body * size), 1.1 * self.body * size
        )


def spacing_of(rows: Sequence[Row]) -> Spacing:
    """The median distance of successive rows for each size of type. Only distances between 0.8 and
    2.2 times the size count."""
    distances: dict[float, list[float]] = defaultdict(list)
    for above, below in pairwise(rows):
        if above.page != below.page or not _same_size(above, below):
            continue
        distance = below.top - above.top
        if 0.8 * above.size <= distance <= 2.2 * above.size:
            distances[round(above.size)].append(distance)
    pitches = {size: median(values) for size, values in distances.items()}
    if not pitches:
        return Spacing({}, 1.2)
    most = max(pitches, key=lambda size: (len(distances[size]), -size))
    return Spacing(pitches, pitches[most] / max(most, 1.0))


def paragraphs_of(rows: Sequence[Row], spacing: Spacing) -> list[Paragraph]:
    """All rows, in order, in paragraphs. Text from right to left is judged in a mirror."""
    unturned = iter(rows)
    if is_rtl("".join(row.text for row in rows)):
        rows = [replace(row, left=-row.right, right=-row.left) for row in rows]
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
    for paragraph in paragraphs:
        paragraph.rows = list(islice(unturned, len(paragraph.rows)))
    return paragraphs


def _same_size(a: Row, b: Row) -> bool:
    return abs(a.size - b.size) <= 0.08 * max(a.size, b.size)


def _right_edge(rows: Sequence[Row], i: int) -> float:
    """How far to the right the rows around reach. They are three rows before and three behind, in
    the same column and type."""
    edge = rows[i].right
    for step in (-1, 1):
        for j in range(i + step, i + 4 * step, step):
            if not 0 <= j < len(rows) or not _in_column(rows[i], rows[j], step):
                break
            near = abs(rows[j].left - rows[i].left) <= 4 * rows[i].size
            if near and _same_size(rows[j], rows[i]):
                edge = max(edge, rows[j].right)
    return edge


def _in_column(row: Row, other: Row, step: int) -> bool:
    """Whether another row stands above (step -1) or below (step 1)."""
    return other.page == row.page and (other.top - row.top) * step > 0


def _link(
    current: Paragraph, rows: Sequence[Row], i: int, edge: float, spacing: Spacing
) -> str:
    """How row i goes on from the last: "join", "line" or "new". With "line" the line before was
    ended on purpose."""
    above, row = rows[i - 1], rows[i]
    if not (above.upright and row.upright):
        return "new"
    ended = _ends_early(above, row, edge)
    if not _stands_below(row, above):  # at the top of a column or page
        joins = not ended and _same_size(above, row) and _goes_on(current, rows, i)
        return "join" if joins else "new"
    if _is_apart(current, rows, i, ended, edge, spacing):
        return "new"
    fields = sum(_FIELD.search(cell.text) is not None for cell in above.cells)
    return "line" if ended or fields > 1 or has_leaders(above.text) else "join"


def _stands_below(row: Row, above: Row) -> bool:
    if row.page != above.page or row.top <= above.top:
        return False
    overlaps = row.left < above.right and row.right > above.left
    step = (row.top - above.top) / max(above.size, row.size)
    return overlaps or 0.5 < step < 2  # below a title amid the width


def _is_apart(
    current: Paragraph,
    rows: Sequence[Row],
    i: int,
    ended: bool,
    edge: float,
    spacing: Spacing,
) -> bool:
    """Whether row i, below the row before, begins a paragraph."""
    above, row = rows[i - 1], rows[i]
    if row.top - above.top > 1.35 * spacing.of(max(above.size, row.size)):
        return True
    if _are_capitals_of_one_title(above, row):
        return False
    if not _same_size(above, row) and (ended or not _lies_inside(current, rows, i)):
        return True
    if ended and (_look(above) != _look(row) or SENTENCE_END.search(above.text)):
        return True
    if _is_bold_title(rows, i, edge):
        return True
    in_capitals = 1 < len(current.rows) < 4 and all(
        part.text.isupper() for part in current.rows
    )
    if in_capitals and _is_centred_title(above, row):
        return True
    if len(current.rows) == 1:
        stands_apart = ended and _stands_apart(rows, i - 1, spacing)
        if (
            stands_apart
            or _is_centred_title(above, row)
            or _is_numbered_title(above, row)
        ):
            return True
    if _hangs(current, row) and not ended:
        return False
    centred = abs(row.left + row.right - above.left - above.right) <= 4
    return not centred and _is_indented(current, row, ended)


def _is_bold_title(rows: Sequence[Row], i: int, edge: float) -> bool:
    """Whether row i is short and bold, between a sentence's end and a row that are not."""
    above, row, below = rows[i - 1], rows[i], _row_below(rows, i)
    if below is None or above.bold or not row.bold or below.bold:
        return False
    return bool(SENTENCE_END.search(above.text)) and _ends_early(row, below, edge)


def _stands_apart(rows: Sequence[Row], i: int, spacing: Spacing) -> bool:
    """Whether row i, below a wider space, may be the numbered title of the text below it."""
    row = rows[i]
    number = _NUMBER.match(row.text)
    if not number or not row.text[number.end()].isupper() or row.text[-1] in ".,;:":
        return False
    above = rows[i - 1] if i and rows[i - 1].page == row.page else None
    step = row.top - above.top if above else 0.0
    return not 0 < step < 1.2 * spacing.of(row.size)


def _are_capitals_of_one_title(above: Row, row: Row) -> bool:
    """Whether two rows of capitals stand under one middle, or the second behind the number of the
    first: the large ones are the first letters of words, and the second row may have none."""
    centred = abs(row.left + row.right - above.left - above.right) <= 4
    hangs = above.left < above.text_left and abs(row.left - above.text_left) <= 2
    return (centred or hangs) and are_small_capitals(above, row)


def _is_centred_title(above: Row, row: Row) -> bool:
    """Whether a row of capitals stands amid the text's width, and text in small letters follows; or
    one in bold, and other type follows."""
    differs = above.text.isupper() > row.text.isupper() or above.bold > row.bold
    if not differs or _HYPHEN.search(above.text):
        return False
    inset = above.left - row.left
    amid = inset > above.size and above.right + above.size < row.right
    return amid or inset > 3 * above.size


def _is_numbered_title(above: Row, row: Row) -> bool:
    """Whether a row in bold or slanted type begins with a number, and other type follows."""
    stands_out = not above.lead and (above.bold > row.bold or above.italic > row.italic)
    ends = above.text[-1] not in ",;" and not _HYPHEN.search(above.text)
    return stands_out and ends and _NUMBER.match(above.text) is not None


def _hangs(current: Paragraph, row: Row) -> bool:
    """Whether a row is the second of a numbered title in bold or slanted type."""
    above = current.rows[-1]
    if _look(above) != _look(row) or not (row.bold or row.italic):
        return False
    number = _NUMBER.match(above.text)
    return number is not None and 0 < row.left - above.left <= 8 * row.size


def _look(row: Row) -> tuple[bool, bool, bool]:
    return row.bold, row.italic, row.text.isupper()


def _lies_inside(current: Paragraph, rows: Sequence[Row], i: int) -> bool:
    """Whether row i in other type lies inside the paragraph. A file name in small type fills a row,
    and text goes on."""
    above, row = current.rows[-1], rows[i]
    if SENTENCE_END.search(above.text) or above.bold != row.bold:
        return False
    if not 0.75 <= row.size / above.size <= 1.34:
        return False
    if any(_same_size(row, other) for other in current.rows[-_NEAR_ROWS:]):
        return True
    below = _row_below(rows, i)
    if below is None or not _same_size(below, above):
        return False
    return 0 < below.top - row.top <= 1.6 * above.size


def _row_below(rows: Sequence[Row], i: int) -> Row | None:
    """The row behind row i, if it is on the same page."""
    if i + 1 == len(rows) or rows[i + 1].page != rows[i].page:
        return None
    return rows[i + 1]


def _ends_early(above: Row, below: Row, edge: float) -> bool:
    """Whether the next row's first word would have fitted behind the row. If so, its line was ended
    on purpose."""
    if _HYPHEN.search(above.text) and below.text[0].isalnum():
        return False
    width = (above.right - above.left) / len(above.text)
    first = below.text.partition(" ")[0]
    return edge - above.right > (min(len(first), 30) + 1) * width + above.size


def _goes_on(current: Paragraph, rows: Sequence[Row], i: int) -> bool:
    """Whether a paragraph goes on atop a column or page."""
    above, row = rows[i - 1], rows[i]
    if (
        SENTENCE_END.search(above.text)
        or above.bold != row.bold
        or has_leaders(above.text)
    ):
        return False
    if _is_first_line(rows, i) or row.text.isupper() > above.text.isupper():
        return False
    first = next((character for character in row.text if character.isalnum()), "")
    if first.islower():
        return True
    return len(current.rows) > 1 and not first.isdigit() and not _BULLET.match(row.text)


def _is_first_line(rows: Sequence[Row], i: int) -> bool:
    """Whether row i is indented like the first line of a paragraph."""
    row, below = rows[i], _row_below(rows, i)
    if below is None or not 0 < below.top - row.top <= 2 * row.size:
        return False
    return row.left - below.left > 0.8 * row.size


def _is_indented(current: Paragraph, row: Row, ended: bool) -> bool:
    """Whether the row stands further right or left than its paragraph's text. A first line may be
    indented, an item's may hang."""
    step = row.left - current.left
    first = current.rows[0]
    if first.left < first.text_left and abs(row.left - first.text_left) <= 2:
        return False  # only the number of its first row stands further left
    if len(current.rows) > 1 or (ended and not current.mark):
        return abs(step) > 0.8 * row.size
    if current.mark:
        return step < -1 or step > 6 * row.size
    return step > 0.8 * row.size or step < -5 * row.size


def _mark(
    rows: Sequence[Row], i: int, current: Paragraph | None, link: str
) -> Mark | None:
    """The mark of a row that begins an item of a list. A number, and a dash, needs its neighbour
    above or below."""
    in_list = current is not None and current.mark is not None
    amid_text = link == "join" and not in_list
    bullet = _BULLET.match(rows[i].text)
    if bullet is None:
        return _number_mark(rows, i, amid_text)
    sign = (bullet[1], 0)
    if bullet[1] in _DASHES and (amid_text or not _has_neighbour(rows, i, sign, sign)):
        return None
    return Mark(bullet[1], bullet.end())


def _number_mark(rows: Sequence[Row], i: int, amid_text: bool) -> Mark | None:
    """The number or letter of the list item that row i begins."""
    label = _LABEL.match(rows[i].text)
    if not label or (amid_text and not SENTENCE_END.search(rows[i - 1].text)):
        return None
    for kind, value in _readings(label[1]):
        if _has_neighbour(rows, i, (kind, value - 1), (kind, value + 1)):
            return Mark(label[1], label.end())
    return None


def _has_neighbour(
    rows: Sequence[Row], i: int, before: tuple[str, int], after: tuple[str, int]
) -> bool:
    """Whether the item before stands above, or the one after below."""
    above = range(i - 1, max(-1, i - 1 - _NEAR), -1)
    below = range(i + 1, min(len(rows), i + 1 + _NEAR))
    return _stands_near(rows, i, above, before) or _stands_near(rows, i, below, after)


def _readings(label: str) -> list[tuple[str, int]]:
    """Kind and value of a label, as "(1" and 3 for "(3)". There are two of them where it is a Roman
    number and a letter."""
    bare = label.strip("().")
    kind = label.replace(bare, "")
    if bare.isdigit():
        return [(f"{kind}1", int(bare))]
    readings = []
    if set(bare) <= set("ivx"):
        readings.append((f"{kind}i", roman_value(bare)))
    if len(bare) == 1:
        case = "a" if bare.islower() else "A"
        readings.append((f"{kind}{case}", ord(bare.lower())))
    return readings


def _stands_near(
    rows: Sequence[Row], i: int, places: range, reading: tuple[str, int]
) -> bool:
    """Whether a row there begins with such a label or sign. It must stand at the distance of row i
    from the left edge; on another page roughly."""
    for j in places:
        drift = _SAME_PLACE if rows[j].page == rows[i].page else _OTHER_PAGE
        if abs(rows[j].left - rows[i].left) > drift:
            continue
        sign, label = _BULLET.match(rows[j].text), _LABEL.match(rows[j].text)
        if sign and reading == (sign[1], 0):
            return True
        if label and reading in _readings(label[1]):
            return True
    return False
