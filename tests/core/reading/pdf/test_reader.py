"""PDF pages: lines with their places in reading order, and ruled tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fixture_cases import examples
from pdf_making import image, made, manual, prose, texts, wrapped, write

from structrag.errors import InvalidDocument, InvalidParameter
from structrag.reading.files import read_file
from structrag.reading.pdf.document import pdf_document
from structrag.reading.pdf.layout import markdown_of_pages
from structrag.reading.pdf.reader import read_pdf
from structrag.reading.sections import parse

# Lines


# Ruled tables


def test_a_manual_becomes_markdown(tmp_path: Path) -> None:
    path = tmp_path / "manual.pdf"
    path.write_bytes(made(manual))
    document = read_file(path)
    assert (document.format, document.title, document.id) == (
        "markdown",
        "Acme Meter 300",
        str(path),
    )
    starts = "0:1 591:2 1196:3 1755:4 2389:5"
    assert dict(document.meta) == {
        "source": str(path),
        "pages": 5,
        "page_starts": starts,
    }
    outline = parse(document)
    assert [section.path for section in outline.sections[1:4]] == [
        ("Acme Meter 300",),
        ("Acme Meter 300", "1 Chapter about item 1"),
        ("Acme Meter 300", "1 Chapter about item 1", "1.1 Details of 1"),
    ]
    assert len(outline.sections) == 12
    assert prose(3, 60) in document.text
    assert "It is an important instrument." in document.text
    assert "- first thing of 4\n- second thing of 4" in document.text
    assert "operating manual" not in document.text
    assert "Page" not in document.text


def test_the_title_is_the_files_own_unless_a_program_made_it_up(tmp_path: Path) -> None:
    path = tmp_path / "x.PDF"
    for told, title in [
        ("Meter guide", "Meter guide"),
        ("Microsoft Word - a.doc", "Acme Meter 300"),
        ("a.docx", "Acme Meter 300"),
    ]:
        path.write_bytes(
            made(lambda canvas, told=told: (canvas.setTitle(told), manual(canvas)))
        )
        assert read_file(path).title == title
    assert read_file(path, title="Mine", id="7", meta={"shelf": 3}).meta == {
        "source": str(path),
        "shelf": 3,
        "pages": 5,
        "page_starts": "0:1 591:2 1196:3 1755:4 2389:5",
    }
    assert read_file(path, title="Mine", id="7").title == "Mine"


@examples
def test_a_scan_says_so_and_on_which_pages(pictures: int, where: str) -> None:
    def draw(canvas: Any) -> None:
        for _ in range(pictures):
            image(canvas)
            canvas.showPage()

    with pytest.raises(
        InvalidDocument, match=rf"scan: .* pictures on {where}\. Run OCR"
    ):
        read_pdf(made(draw))


def test_some_scanned_pages_are_reported(tmp_path: Path) -> None:
    def draw(canvas: Any) -> None:
        for number in range(1, 5):
            if number in (2, 4):
                image(canvas)
                if number == 4:
                    write(canvas, ["Received 3 May"], 20, 20)
            else:
                write(canvas, wrapped(prose(number, 80), 10, 400), 60, 700)
            canvas.showPage()

    path = tmp_path / "mixed.pdf"
    path.write_bytes(made(draw))
    pages = read_pdf(path)
    assert [len(page.images) for page in pages] == [0, 1, 0, 1]
    notes = markdown_of_pages(pages).uncertain
    assert [
        note
        for note in notes
        if note.startswith("Page 2 only shows a picture") and "OCR" in note
    ]
    assert [
        note
        for note in notes
        if note.startswith("Page 4 is mostly a picture, with 3 words")
    ]
    assert read_file(path).meta["pages_without_text"] == [2]


def test_empty_pages() -> None:
    with pytest.raises(InvalidDocument, match="no text on its 2 pages"):
        read_pdf(made(lambda canvas: (canvas.showPage(), canvas.showPage())))
    pages = read_pdf(
        made(lambda canvas: (canvas.showPage(), write(canvas, ["words"], 60, 700)))
    )
    assert [len(page.lines) for page in pages] == [0, 1]


def test_encrypted(tmp_path: Path) -> None:
    data = made(manual, encrypt="secret")
    with pytest.raises(InvalidDocument, match=r"is encrypted\. Give its password"):
        read_pdf(data)
    with pytest.raises(InvalidDocument, match="password given does not open it"):
        read_pdf(data, password="other")
    assert texts(read_pdf(data, password="secret")[0])[0] == "Acme operating manual"
    path = tmp_path / "locked.pdf"
    path.write_bytes(data)
    assert read_file(path, password="secret").title == "Acme Meter 300"
    with pytest.raises(InvalidDocument, match=re.escape(repr(str(path)))):
        read_file(path)


def damaged() -> Iterator[tuple[str, bytes, str]]:
    data = made(manual)
    yield "empty", b"", "empty"
    yield "half", data[: len(data) // 2], "cut off"
    yield "start", data[:500], "cut off"
    yield "text", b"Just words, no PDF.", "is not a PDF"
    yield "hollow", b"%PDF-1.7\nnothing at all\n%%EOF\n", "damaged"
    yield (
        "no pages",
        b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\ntrailer << /Root 1 0 R "
        b">>\nstartxref\n0\n%%EOF",
        "pdf|PDF",
    )


@pytest.mark.parametrize(
    ("data", "words"), [pytest.param(*case[1:], id=case[0]) for case in damaged()]
)
def test_damaged_files_are_one_sentence(
    tmp_path: Path, data: bytes, words: str
) -> None:
    path = tmp_path / "broken.pdf"
    path.write_bytes(data)
    for source in (data, path):
        with pytest.raises(InvalidDocument, match=words) as caught:
            read_pdf(source)
        assert "\n" not in str(caught.value)
    with pytest.raises(InvalidDocument, match=r"broken\.pdf"):
        read_file(path)


def test_wrong_sources(tmp_path: Path) -> None:
    with pytest.raises(InvalidDocument, match="No such file"):
        read_pdf(tmp_path / "missing.pdf")
    with pytest.raises(InvalidDocument, match="is a folder"):
        read_pdf(tmp_path)
    with pytest.raises(InvalidParameter, match="path or the bytes"):
        read_pdf(3)  # type: ignore[arg-type]


def plain_pdf(*objects: bytes, trailer: bytes = b"") -> bytes:
    """A PDF of objects as they are written; the first is its catalogue."""
    data, places = b"%PDF-1.4\n", []
    for number, text in enumerate(objects, start=1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, text)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    end = b"trailer\n<< /Size %d /Root 1 0 R %s >>\n" % (len(objects) + 1, trailer)
    return data + head + table + end + b"startxref\n%d\n%%%%EOF\n" % len(data)


@pytest.mark.parametrize("title", [b"<FEFF0041D8>", b"<FEFFD800>", b"<FEFFDC000041>"])
def test_a_title_in_bad_utf_16_is_no_title(title: bytes) -> None:
    stream = b"BT /F1 12 Tf 72 700 Td (Pumps move water) Tj ET"
    data = plain_pdf(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 5 0 R"
        b" /Resources << /Font << /F1 4 0 R >> >> >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Title %s >>" % title,
        trailer=b"/Info 6 0 R",
    )
    document = pdf_document(data)
    assert document.text == "Pumps move water\n"
    assert "\ud800" not in document.title


def test_a_pdf_without_pages_is_empty_and_not_damaged() -> None:
    empty = plain_pdf(
        b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [] /Count 0 >>"
    )
    with pytest.raises(InvalidDocument, match="empty PDF: it has no pages"):
        read_pdf(empty)


@examples
def test_a_password_that_is_none_is_one_sentence(
    tmp_path: Path, password: Any, reason: str
) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(made(manual))
    with pytest.raises(InvalidParameter, match=reason):
        read_file(path, password=password)
    with pytest.raises(InvalidParameter, match=reason):
        pdf_document(path.read_bytes(), password=password)


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_a_page_without_text_is_turned_as_the_file_says(rotation: int) -> None:
    def draw(canvas: Any) -> None:
        write(canvas, ["words"], 72, 700, 12)
        canvas.showPage()
        canvas.setPageRotation(rotation)  # what is shown stays upright
        canvas.rect(100, 100, 50, 20)

    first, second = read_pdf(made(draw))
    assert (second.width, second.height) == (first.width, first.height)


@examples
def test_chinese_and_japanese(font: str, text: str) -> None:
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont

    pdfmetrics.registerFont(UnicodeCIDFont(font))

    def draw(canvas: Any) -> None:
        write(canvas, [text, text], 72, 700, 12, font)

    pages = read_pdf(made(draw))
    assert texts(pages[0]) == [text, text]
    assert markdown_of_pages(pages).text == f"{text}{text}\n"


def test_any_cut_gives_all_pages_or_an_error() -> None:
    data = made(manual)
    whole = [texts(page) for page in read_pdf(data)]
    for cut in range(0, len(data), 97):
        try:
            pages = read_pdf(data[:cut])
        except InvalidDocument:
            continue
        assert [texts(page) for page in pages] == whole
