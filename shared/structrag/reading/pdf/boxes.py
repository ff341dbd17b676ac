"""Where a passage stands on the pages of its PDF: boxes, and pictures of the pages."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from unicodedata import normalize

from structrag.errors import InvalidParameter
from structrag.reading.limits import reading_within
from structrag.reading.paging import read_starts
from structrag.reading.pdf.document import pdf_document
from structrag.reading.pdf.pages import Box
from structrag.reading.pdf.pictures import png_of
from structrag.reading.pdf.pieces import Turn
from structrag.reading.pdf.reader import Source, form_of, laid_out_page, opened
from structrag.records import Document

_SURE = 12  # letters that are found wherever they stand on a page
_NEAR = 60  # letters within which fewer must stand
_GAP = 1.5  # of the type's height: a wider gap divides a box
_SCALE = 2.0  # pixels a point
_MARKER = (1.0, 0.93, 0.45)  # of red, green and blue that the marked part keeps


class PageBox(NamedTuple):
    """A rectangle on a page, in points (1/72 inch) from the page's upper left corner."""

    page: int  # from 1
    x0: float
    top: float
    x1: float
    bottom: float


def boxes(source: Source | Document, hit: Any) -> tuple[PageBox, ...]:
    """Find the rectangles that a passage of a PDF covers, one for each line or cell.

    Example:
        >>> from structrag.show import boxes
        >>> boxes("pump.pdf", hit)  # doctest: +SKIP
        (PageBox(page=3, x0=72.0, top=144.5, x1=522.6, bottom=158.3),)

    The file is read when you ask, so that an index holds nothing of it. A `Document` that
    `read_file` gave spares reading its structure again. Words that are not found on the page where
    the text says that they stand have no box; nothing is guessed.

    Args:
        source: The PDF as a path or bytes, or the document read from its path.
        hit: A hit or chunk of structrag, or a LangChain document or LlamaIndex node of it.

    Raises:
        InvalidDocument: The file cannot be read as PDF.
        InvalidParameter: The document has other text where the passage stood, or no file; or `hit`
            is none of these.
    """
    return tuple(_boxes_and_picture(source, hit)[0])


def page_image(source: Source | Document, hit: Any, page: int | None = None) -> bytes:
    """Draw a page of a PDF with a passage marked, as PNG with 144 pixels an inch.

    `page` is one of those that the passage stands on, the first by default. The other parameters
    and errors are those of `boxes`.
    """
    placed, picture = _boxes_and_picture(source, hit, page, is_drawn=True)
    if not placed:
        raise InvalidParameter(
            "hit must be a passage that is visible on its pages; none of its words was found "
            "there, so nothing can be marked."
        )
    if not picture:
        raise InvalidParameter(
            "page must be one of the passage's pages, "
            f"{sorted({box.page for box in placed})}; got {page}."
        )
    return picture


def _boxes_and_picture(
    source: Source | Document,
    hit: Any,
    drawn: int | None = None,
    is_drawn: bool = False,
) -> tuple[list[PageBox], bytes]:
    document = source if isinstance(source, Document) else pdf_document(source)
    file = document.meta.get("source") if isinstance(source, Document) else source
    start, end = _span(hit, document)
    if file is None:
        raise InvalidParameter(
            f"source must be a document that was read from a file; {document.id!r} was not. Pass "
            "the path of the file instead."
        )
    starts, pages = read_starts(str(document.meta.get("page_starts")))
    placed: list[PageBox] = []
    picture = b""
    with (
        reading_within(),
        opened(file, None) as (pdfium, pdf, _, _),
        form_of(pdfium.raw, pdf) as form,
    ):
        first = max(0, bisect_right(starts, start) - 1)
        for i in range(first, bisect_right(starts, end - 1)):
            page = pdf[pages[i] - 1]
            textpage = page.get_textpage()
            stop = min(end, starts[i + 1]) if i + 1 < len(starts) else end
            lead = document.text[starts[i] : max(start, starts[i])]
            passage = document.text[max(start, starts[i]) : stop]
            letters, places, turn = _drawn_letters(pdfium.raw, page, textpage, form)
            found = [
                turn.rectangle(left, -bottom, right, -top)
                for left, top, right, bottom in _boxes_on_page(
                    letters, places, lead, passage
                )
            ]
            placed += [
                PageBox(pages[i], *(round(side, 2) for side in box)) for box in found
            ]
            is_asked = is_drawn and drawn in (None, pages[i])
            if found and is_asked and not picture:
                picture = _marked(page, found)
            textpage.close()
            page.close()
    return placed, picture


def _span(hit: Any, document: Document) -> tuple[int, int]:
    """The characters of the document that a hit is. Raises InvalidParameter unless they are its
    text."""
    passage = getattr(hit, "chunk", getattr(hit, "node", hit))
    facts = getattr(passage, "metadata", {})
    start, end = (
        getattr(
            passage,
            name,
            getattr(passage, f"{name}_char_idx", facts.get(f"{name}_index")),
        )
        for name in ("start", "end")
    )
    if not isinstance(start, int) or not isinstance(end, int):
        raise InvalidParameter(
            "hit must be a hit or chunk of structrag, or a document or node made of one, with its "
            f"start and end; got {type(hit).__name__}."
        )
    text = getattr(passage, "page_content", getattr(passage, "text", ""))
    if not document.text[start:end].strip() or document.text[start:end] not in text:
        raise InvalidParameter(
            f"hit must match the current text of {document.id!r}; there is different text at its "
            "position. Index the file again."
        )
    return start, end


def _drawn_letters(
    raw: Any, page: Any, textpage: Any, form: Any
) -> tuple[str, list[Box], Turn]:
    """The letters and digits of a page as they are read, the box of each, and what turns boxes as
    the page is seen."""
    laid_out, turn, pieces = laid_out_page(raw, page, textpage, form)
    letters = ""
    places: list[Box] = []
    for line in laid_out.lines:
        typed = [(line.text, (line.left, line.top, line.right, line.bottom))]
        drawn = [
            (each.text, turn.rectangle(*each.box)) for each in pieces.get(line, ())
        ]
        for text, (left, top, right, bottom) in drawn or typed:
            shown = _letters(text)
            letters += shown
            for i in range(len(shown)):
                step = (right - left) / len(shown)
                places.append((left + i * step, top, left + (i + 1) * step, bottom))

    quarters = (page.get_rotation() // 90 - turn.quarters) % 4
    return letters, places, Turn(quarters, (0, -laid_out.height, laid_out.width, 0))


def _boxes_on_page(
    letters: str, places: Sequence[Box], lead: str, passage: str
) -> list[Box]:
    """The boxes of a passage. `lead` is the page's text before it."""
    near = len(_letters(lead))
    boxes: list[Box] = []
    for part in passage.replace("|", "\n").split("\n"):
        for first, last in _spans(letters, part, near):
            near = last
            for box in places[first:last]:
                if boxes and _touch(boxes[-1], box):
                    box = _around(boxes.pop(), box)
                boxes.append(box)
    return boxes


def _letters(text: str) -> str:
    """The letters and digits of a text."""
    return "".join(filter(str.isalnum, normalize("NFKC", text)))


def _spans(letters: str, part: str, near: int) -> Iterator[tuple[int, int]]:
    """Where the words of a text stand among the letters of a page: all together, else by halves."""
    wanted = _letters(part)
    at = _nearest(letters, wanted, near) if wanted else -1
    if at >= 0:
        yield at, at + len(wanted)
        return
    words = part.split()
    for half in (words[: len(words) // 2], words[len(words) // 2 :]):
        if len(words) > 1:
            for span in _spans(letters, " ".join(half), near):
                near = span[1]
                yield span


def _nearest(letters: str, wanted: str, near: int) -> int:
    """Where the wanted letters stand nearest to a place; -1 if nowhere, or if they are few and
    stand further away."""
    places = (letters.find(wanted, near), letters.rfind(wanted, 0, near + len(wanted)))
    distances = [(abs(place - near), place) for place in places if place >= 0]
    distance, place = min(distances, default=(0, -1))
    return place if len(wanted) >= _SURE or distance <= _NEAR else -1


def _touch(box: Box, other: Box) -> bool:
    """Whether two boxes stand side by side on one line."""
    height = max(box[3] - box[1], other[3] - other[1])
    apart = max(other[0] - box[2], box[0] - other[2])
    return abs(box[1] + box[3] - other[1] - other[3]) < height and apart < _GAP * height


def _around(box: Box, other: Box) -> Box:
    left, top, right, bottom = zip(box, other, strict=True)
    return min(left), min(top), max(right), max(bottom)


def _marked(page: Any, found: Sequence[Box]) -> bytes:
    bitmap = page.render(scale=_SCALE, rev_byteorder=True)
    try:
        pixels = bitmap.to_numpy()
        for box in found:
            left, top, right, bottom = (max(0, round(_SCALE * side)) for side in box)
            part = pixels[top:bottom, left:right, :3]
            part[:] = (part * _MARKER).astype(part.dtype)
        return png_of(bitmap)
    finally:
        bitmap.close()
