"""The pictures of a PDF that are worth a place in its text, and how they become files."""

from __future__ import annotations

import ctypes
import os
import struct
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from structrag.errors import InvalidParameter
from structrag.reading.pdf.pages import Box, Picture
from structrag.reading.pdf.pieces import Turn, bounds_of, objects_of
from structrag.reading.pdf.shapes import shows_image
from structrag.reading.pdf.structure_tree import alternative_texts

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


def folder_for_images(images_to: object) -> Path | None:
    """The folder, made if need be. Raises InvalidParameter where there can be none."""
    if images_to is None:
        return None
    if not isinstance(images_to, str | os.PathLike):
        raise InvalidParameter(
            f"images_to must be the path of a folder or None; got {type(images_to).__name__}."
        )
    folder = Path(images_to)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidParameter(
            f"images_to must be a folder that can be written to; got {str(folder)!r} "
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
        return _png(bitmap)
    finally:
        bitmap.close()


def _png(bitmap: Any) -> bytes:
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
