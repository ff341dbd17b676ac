"""The pictures of a PDF that are worth a place in its text: where they stand, their Markdown, and
their files."""

from __future__ import annotations

import ctypes
import os
import re
import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from structrag.errors import InvalidParameter
from structrag.reading.pdf.named_headings import alternative_texts
from structrag.reading.pdf.pages import Box, Page, Picture
from structrag.reading.pdf.pieces import Turn, bounds_of, objects_of
from structrag.reading.pdf.rows import Row
from structrag.reading.pdf.shapes import shows_image

_LEAST_SIDE = 40.0  # points: what is smaller is a sign, a rule or a line of a logo
_BACKGROUND = 0.85  # of the page: a background, or a scan
_REPEATED = 3  # pages that show the same at one place: a part of their design
_NEAR = 1.5  # points between the strips of one picture
_SCALE = 200 / 72  # pixels a point
_MOST_PIXELS = 4_000  # of a side


class Found(NamedTuple):
    """A picture as a page shows it."""

    box: Box
    alt: str
    weight: int  # bytes of its data
    quarters: int  # the page is turned clockwise


def read_pictures(raw: Any, page: Any, turn: Turn) -> list[Found]:
    """The pictures of a page that are large enough, in the order of the file. Strips that touch are
    one picture."""
    width, height = turn.size
    most = _BACKGROUND * width * height
    found: list[Found] = []
    alts: dict[int, str] | None = None
    for item in objects_of(raw, page):
        bounds = bounds_of(raw, item) if shows_image(raw, item) else None
        if not bounds:
            continue
        left, top, right, bottom = turn.rectangle(*bounds)
        box = max(left, 0.0), max(top, 0.0), min(right, width), min(bottom, height)
        if box[0] >= box[2] or box[1] >= box[3] or _area(box) > most:
            continue
        if alts is None:
            alts = alternative_texts(raw, page)
        mark = raw.FPDFPageObj_GetMarkedContentID(item)
        shown = Found(box, alts.get(mark, ""), _weight(raw, item), turn.quarters)
        if found and _touch(found[-1].box, box):
            shown = _united(found.pop(), shown)
        found.append(shown)
    return [
        picture
        for picture in found
        if min(_sides(picture.box)) >= _LEAST_SIDE and _area(picture.box) <= most
    ]


def _weight(raw: Any, item: Any) -> int:
    if raw.FPDFPageObj_GetType(item) != raw.FPDF_PAGEOBJ_IMAGE:
        return 0
    return int(raw.FPDFImageObj_GetImageDataRaw(item, None, 0))


def _sides(box: Box) -> tuple[float, float]:
    return box[2] - box[0], box[3] - box[1]


def _area(box: Box) -> float:
    width, height = _sides(box)
    return width * height


def _touch(a: Box, b: Box) -> bool:
    return (
        a[0] - _NEAR <= b[2]
        and b[0] - _NEAR <= a[2]
        and a[1] - _NEAR <= b[3]
        and b[1] - _NEAR <= a[3]
    )


def _united(a: Found, b: Found) -> Found:
    (left, top, right, bottom), other = a.box, b.box
    box = (
        min(left, other[0]),
        min(top, other[1]),
        max(right, other[2]),
        max(bottom, other[3]),
    )
    return Found(box, a.alt or b.alt, a.weight + b.weight, a.quarters)


def without_repeated(pages: Sequence[Sequence[Found]]) -> list[list[Found]]:
    """The pictures of each page without those that further pages show at the same place."""
    places = Counter(key for found in pages for key in set(map(_key, found)))
    return [
        [picture for picture in found if places[_key(picture)] < _REPEATED]
        for found in pages
    ]


def _key(picture: Found) -> tuple[int, ...]:
    return (*map(round, picture.box), picture.weight)


def folder_for_images(images_to: object, name: str = "images_to") -> Path | None:
    """The folder, made if need be. Raises InvalidParameter where there can be none."""
    if images_to is None:
        return None
    if not isinstance(images_to, str | os.PathLike):
        raise InvalidParameter(
            f"{name} must be the path of a folder or None; got {type(images_to).__name__}."
        )
    folder = Path(images_to)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidParameter(
            f"{name} must be a folder that can be written to; got {str(folder)!r} "
            f"({error.strerror}). Name another one."
        ) from error
    return folder


def written_pictures(
    pdf: Any, pages: Sequence[Sequence[Found]], folder: Path | None, stem: str
) -> list[tuple[Picture, ...]]:
    """The pictures of each page, as PNG files where there is a folder: the part of the page, drawn
    with 200 pixels an inch."""
    named: list[tuple[Picture, ...]] = []
    for i, found in enumerate(pages):
        files = [""] * len(found)
        if folder and found:
            names = (f"page-{i + 1}-picture-{k}.png" for k in range(1, len(found) + 1))
            files = [str(folder / f"{stem}{name}") for name in names]
            _write(pdf[i], found, files)
        named.append(
            tuple(
                Picture(picture.box, picture.alt, file)
                for picture, file in zip(found, files, strict=True)
            )
        )
    return named


def _write(page: Any, found: Sequence[Found], files: Sequence[str]) -> None:
    try:
        for picture, file in zip(found, files, strict=True):
            Path(file).write_bytes(_drawn(page, picture))
    except OSError as error:
        raise InvalidParameter(
            f"images_to must be a folder that can be written to; {file!r} cannot "
            f"({error.strerror}). Name another one."
        ) from error
    finally:
        page.close()


def _drawn(page: Any, picture: Found) -> bytes:
    """A picture of the page as PNG, turned as the page is read."""
    rotation = (90 * picture.quarters - page.get_rotation()) % 360
    width, height = page.get_width(), page.get_height()
    if rotation % 180:
        width, height = height, width
    left, top, right, bottom = picture.box
    scale = min(_SCALE, _MOST_PIXELS / max(_sides(picture.box)))
    crop = (left, max(height - bottom, 0.0), max(width - right, 0.0), top)
    bitmap = page.render(scale=scale, rotation=rotation, crop=crop, rev_byteorder=True)
    try:
        return png_of(bitmap)
    finally:
        bitmap.close()


def png_of(bitmap: Any) -> bytes:
    """Rows of red, green and blue as a PNG file."""
    data = bytes(ctypes.string_at(bitmap.buffer, bitmap.stride * bitmap.height))
    length, step = bitmap.width * bitmap.n_channels, bitmap.stride
    kind = {1: 0, 3: 2, 4: 6}[bitmap.n_channels]
    rows = b"".join(
        b"\0" + data[start : start + length]
        for start in range(0, step * bitmap.height, step)
    )
    head = struct.pack(">IIBBBBB", bitmap.width, bitmap.height, 8, kind, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body))
        + name
        + body
        + struct.pack(">I", zlib.crc32(name + body))
        for name, body in parts
    )


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
