"""Where the pictures of pages stand in their text, and their Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote

from structrag.reading.pdf.pages import Page, Picture
from structrag.reading.pdf.rows import Row

_FIGURE = re.compile(
    r"(?:(?:figure|fig|abbildung|abb|figura|illustration|image|chart|diagram|scheme|plate|photo)\b"
    r"\.?\s*(?:[a-z]?[-.]?\d+(?:[-.]\w+)*|[ivx]+\b)|[图圖図]\s*\d+)",
    re.IGNORECASE,
)
_REACH = 60.0  # points between a picture and its caption
_OVER = 6.0  # points by which a caption may reach into its picture
_MARKUP = re.compile(r"[\\`<]")
_BRACKETS = str.maketrans("[]", "()")  # they would end the text of an image


class _Caption(NamedTuple):
    group: int
    label: str  # "Figure 3"
    rows: Sequence[Row]


def picture_places(
    pages: Sequence[Page], groups: Sequence[Sequence[Row]]
) -> dict[int, list[tuple[int, str]]]:
    """The pictures before each group of rows, as page and Markdown; those at the end before
    `len(groups)`. A group without rows is a table.

    A picture stands before its caption, else behind the text above it. One that has neither an
    alternative text nor a caption nor a file says nothing and is left out, as is one without a file
    that says the same as another of its page.
    """
    places: dict[int, list[tuple[int, str]]] = {}
    for number, page in enumerate(pages, start=1):
        said: set[str] = set()
        captions = _captions(number, page.pictures, groups) if page.pictures else {}
        for i, picture in enumerate(page.pictures):
            caption = captions.get(i)
            if not (picture.alt or picture.file or caption):
                continue
            markdown = _image(picture, caption.label if caption else "")
            if markdown in said:  # files differ
                continue
            said.add(markdown)
            place = caption.group if caption else _place(number, picture, groups)
            places.setdefault(place, []).append((number, markdown))
    return places


def _image(picture: Picture, label: str) -> str:
    text = _MARKUP.sub(r"\\\g<0>", (picture.alt or label).translate(_BRACKETS))
    return f"![{text}]({quote(picture.file.replace(chr(92), '/'), safe='/:')})"


def _captions(
    page: int, pictures: Sequence[Picture], groups: Sequence[Sequence[Row]]
) -> dict[int, _Caption]:
    """The caption of each picture that has one: the nearest above or below; pictures side by side
    may share one."""
    captions = [
        _Caption(k, label[0], rows)
        for k, rows in enumerate(groups)
        if rows and rows[0].page == page and (label := _FIGURE.match(rows[0].text))
    ]
    pairs = sorted(
        (gap, i, caption.group, caption)
        for i, picture in enumerate(pictures)
        for caption in captions
        if (gap := _gap(picture, caption.rows)) is not None
    )
    found: dict[int, _Caption] = {}
    for _, i, _, caption in pairs:
        beside = [
            pictures[k]
            for k, other in found.items()
            if other.group == caption.group and k != i
        ]
        if i not in found and all(_level(pictures[i], other) for other in beside):
            found[i] = caption
    return found


def _gap(picture: Picture, rows: Sequence[Row]) -> float | None:
    """How far a caption stands above or below a picture; None if it does not, or too far."""
    left, top, right, bottom = picture.box
    if min(row.left for row in rows) >= right or max(row.right for row in rows) <= left:
        return None
    own = [row for row in rows if row.page == rows[0].page]
    gaps = (own[0].top - bottom, top - own[-1].bottom)
    near = [max(gap, 0.0) for gap in gaps if -_OVER <= gap <= _REACH]
    return min(near, default=None)


def _level(a: Picture, b: Picture) -> bool:
    return a.box[1] < b.box[3] and b.box[1] < a.box[3]


def _place(page: int, picture: Picture, groups: Sequence[Sequence[Row]]) -> int:
    """The group before which a picture without a caption stands."""
    left, top, right, bottom = picture.box
    rows = list(_rows_of(page, groups))
    beside = [(k, row) for k, row in rows if row.left < right and row.right > left]
    above = [
        (row.middle, k) for k, row in beside or rows if row.middle <= (top + bottom) / 2
    ]
    if above:
        k = max(above)[1]
        return k if groups[k][-1].page > page else k + 1
    if rows:
        k = (beside or rows)[0][0]
        return k if groups[k][0].page == page else k + 1
    return next(
        (k for k, group in enumerate(groups) if group and group[0].page > page),
        len(groups),
    )


def _rows_of(page: int, groups: Sequence[Sequence[Row]]) -> Iterator[tuple[int, Row]]:
    """The upright rows of a page, each with its group."""
    for k, group in enumerate(groups):
        for row in group:
            if row.page == page and row.upright:
                yield k, row
