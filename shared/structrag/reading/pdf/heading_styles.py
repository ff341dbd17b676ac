"""Which paragraphs of a laid-out page are headings, and their levels."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from structrag.reading.numbering import MARK, read_number
from structrag.reading.pdf.rows import Row
from structrag.reading.plain_titles import is_clean

_LARGER = 1.15  # times the size of the body's type, and a point more
_MOST_WORDS, _MOST_ROWS = 25, 8  # of a heading in larger type
_BOLD_WORDS, _BOLD_ROWS = 15, 2  # of one in bold type
_SAME_SIZE = 1.05  # sizes nearer than this are one
_LEADERS = re.compile(r"\.{4}|(?:\.\s){4}|…{2}")


class Style(NamedTuple):
    """What headings of one level share."""

    size: float
    bold: bool
    depth: int  # components of its number: 2 for 3.2; 0 without a number


class Body(NamedTuple):
    """The type of most of the text."""

    size: float
    bold: bool


def body_of(rows: Iterable[Row]) -> Body:
    """The size and weight that most characters have.

    The size is rounded to half a point. Without text: 0 and not bold.
    """
    sizes: Counter[float] = Counter()
    weights: Counter[bool] = Counter()
    for row in rows:
        sizes[_half(row.size)] += len(row.text)
        weights[row.bold] += len(row.text)
    size = max(sizes, key=lambda size: (sizes[size], -size), default=0.0)
    return Body(size, weights[True] > weights[False])


def _half(size: float) -> float:
    return round(2 * size) / 2


def heading_style(
    rows: Sequence[Row], text: str, body: Body, *, before_text: bool
) -> Style | None:
    """The style of a paragraph that is a heading, else None.

    It is one if its type is at least 15 % and a point larger than the body's and it has at most 25
    words and 8 rows; if it is all bold where the body is not, at most 15 words and 2 rows, without
    a sentence's end; or if it is one row in the body's type with a number of two components or more
    or a label (Chapter, Article) and a clean title, or a clean title in capitals, and
    `before_text`: a paragraph follows.
    """
    if not _may_be_heading(rows[0], text):
        return None
    style = _style_of(rows, text)
    if is_large(style.size, body):
        is_heading = _fits_large_type(rows, text)
    elif style.size < 0.9 * body.size or len(text) > 150:
        is_heading = False
    elif style.bold and not body.bold and _fits_bold_type(rows, text):
        is_heading = True
    else:
        is_heading = before_text and _is_title_in_body_type(rows, text)
    return style if is_heading else None


def _may_be_heading(first: Row, text: str) -> bool:
    if not first.upright or sum(map(str.isalpha, text)) < 2:
        return False
    return not _has_columns(first) and not has_leaders(text)


def _style_of(rows: Sequence[Row], text: str) -> Style:
    size = max(row.size for row in rows)
    return Style(_half(size), all(row.bold for row in rows), _depth(text))


def _fits_large_type(rows: Sequence[Row], text: str) -> bool:
    words = len(text.split())
    # A short heading may end with a full stop.
    ends = text[-1] in ",;:" or (text[-1] == "." and words > 12)
    return words <= _MOST_WORDS and len(rows) <= _MOST_ROWS and not ends


def _fits_bold_type(rows: Sequence[Row], text: str) -> bool:
    words = len(text.split())
    return words <= _BOLD_WORDS and len(rows) <= _BOLD_ROWS and text[-1] not in ".,;:"


def _is_title_in_body_type(rows: Sequence[Row], text: str) -> bool:
    return len(rows) == 1 and (_is_numbered_title(text) or _is_in_capitals(text))


def has_leaders(text: str) -> bool:
    """Whether dots lead to a number, as in tables of contents."""
    return bool(_LEADERS.search(text))


def is_large(size: float, body: Body) -> bool:
    """Whether type of this size stands out from the body's."""
    return size >= _LARGER * body.size and size >= body.size + 1


def _has_columns(row: Row) -> bool:
    """Cells side by side. A number in the first does not count."""
    cells = row.cells[1:] if MARK.fullmatch(row.cells[0].text.strip()) else row.cells
    gaps = [b.left - a.right for a, b in pairwise(cells)]
    return bool(gaps) and max(gaps) > 2 * row.size


def _depth(text: str) -> int:
    """Components of the number a title begins with; 0 without one."""
    mark = MARK.match(text)
    if not mark or mark.end() == len(text):
        return 0
    kind, _, value = read_number(mark)
    return max(1, len(value)) if kind not in ("", "letter") else 0


def _is_numbered_title(text: str) -> bool:
    """A label, or a number of several components, before a clean title."""
    mark = MARK.match(text)
    if not mark or not (mark["label"] or _depth(text) > 1):
        return False
    return is_clean(text[mark.end() :].rstrip("."))


def _is_in_capitals(text: str) -> bool:
    """A clean title in capitals.

    A single word of fewer than six letters may be a key word or an abbreviation.
    """
    return text.isupper() and is_clean(text) and (" " in text or len(text) >= 6)


def levels_of(styles: Sequence[Style]) -> list[int]:
    """Levels from 1 to 6, for each heading in order.

    Larger type comes first, then bold, then fewer components of the number. Headings of one type
    without a number have the level of the least deep numbered ones of that type.
    """
    sizes = _representatives([style.size for style in styles])
    shallowest: dict[tuple[float, bool], int] = defaultdict(int)
    for style in styles:
        if style.depth:
            kind = (sizes[style.size], style.bold)
            shallowest[kind] = min(shallowest[kind] or style.depth, style.depth)
    keys = []
    for style in styles:
        size = sizes[style.size]
        depth = style.depth or shallowest[size, style.bold]
        keys.append((-size, not style.bold, depth))
    ranks = {key: min(rank, 6) for rank, key in enumerate(sorted(set(keys)), start=1)}
    return [ranks[key] for key in keys]


def _representatives(sizes: Iterable[float]) -> dict[float, float]:
    """For each size the largest one that counts as the same."""
    largest: dict[float, float] = {}
    for size in sorted(set(sizes), reverse=True):
        near = (larger for larger in largest.values() if larger / size < _SAME_SIZE)
        largest[size] = next(near, size)
    return largest
