"""Hostile files that the tests make: what multiplies meets a limit, before it takes memory."""

from __future__ import annotations

import io
import re
import struct
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from places import ROOT

from structrag import read_file
from structrag.errors import InvalidDocument, InvalidParameter
from structrag.reading import Limits
from structrag.reading.drafts import Draft
from structrag.reading.formats import Format, converted
from structrag.reading.limits import reading_within
from structrag.reading.office.package import Package

SMALL = Limits(max_uses=100, max_characters=1_000_000)
LONG = "A long text. " * 1_000
TIMES = 1_200
BLANKS = '<text:s text:c="100000000"/>'
_OPEN_XML = "http://schemas.openxmlformats.org"
_OFFICE = f"{_OPEN_XML}/officeDocument/2006/relationships"
_RELATIONS = f"{_OPEN_XML}/package/2006/relationships"
_SPACES = {
    "w": f"{_OPEN_XML}/wordprocessingml/2006/main",
    "p": f"{_OPEN_XML}/presentationml/2006/main",
    "a": f"{_OPEN_XML}/drawingml/2006/main",
    "c": f"{_OPEN_XML}/drawingml/2006/chart",
    "r": _OFFICE,
}
_ODF = "urn:oasis:names:tc:opendocument:xmlns:%s:1.0"
_ODF_SPACES = {name: _ODF % name for name in ("office", "text", "table", "style")}


def names(*spaces: str) -> str:
    return " ".join(f'xmlns:{space}="{_SPACES[space]}"' for space in spaces)


def packed(parts: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in parts.items():
            package.writestr(name, content)
    return out.getvalue()


def related(*targets: tuple[str, str]) -> str:
    entries = "".join(
        f'<Relationship Id="r{i}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for i, (kind, target) in enumerate(targets)
    )
    return f'<Relationships xmlns="{_RELATIONS}">{entries}</Relationships>'


def xlsx(
    sheet: str, *, entries: int = 1, strings: str = LONG, title: str = "S"
) -> bytes:
    space = f"{_OPEN_XML}/spreadsheetml/2006/main"
    sheets = f'<sheet name="{title}" r:id="r0"/>' * entries
    return packed(
        {
            "xl/workbook.xml": f'<workbook xmlns="{space}" {names("r")}><sheets>{sheets}</sheets>'
            "</workbook>",
            "xl/_rels/workbook.xml.rels": related(
                ("worksheet", "sheet1.xml"), ("sharedStrings", "strings.xml")
            ),
            "xl/strings.xml": f'<sst xmlns="{space}"><si><t>{strings}</t></si></sst>',
            "xl/sheet1.xml": f'<worksheet xmlns="{space}">{sheet}</worksheet>',
        }
    )


def rows(count: int, cell: str = '<c t="s"><v>0</v></c>') -> str:
    return f"<sheetData>{f'<row>{cell}</row>' * count}</sheetData>"


def pptx(slide: str, *, entries: int = 1, **parts: str) -> bytes:
    slides = '<p:sldId r:id="r0"/>' * entries
    return packed(
        {
            "ppt/presentation.xml": f"<p:presentation {names('p', 'r')}>"
            f"<p:sldIdLst>{slides}</p:sldIdLst></p:presentation>",
            "ppt/_rels/presentation.xml.rels": related(("slide", "slide1.xml")),
            "ppt/slide1.xml": f"<p:sld {names('p', 'r', 'a', 'c')}><p:cSld><p:spTree>{slide}"
            "</p:spTree></p:cSld></p:sld>",
            "ppt/_rels/slide1.xml.rels": related(("chart", "chart1.xml")),
            **{f"ppt/{name}.xml": content for name, content in parts.items()},
        }
    )


def shape(text: str, properties: str = "") -> str:
    return f"<p:sp><p:txBody>{paragraph(text, properties)}</p:txBody></p:sp>"


def paragraph(text: str, properties: str = "") -> str:
    return f"<a:p>{properties}<a:r><a:t>{text}</a:t></a:r></a:p>"


def frame(inside: str) -> str:
    return f"<p:graphicFrame>{inside}</p:graphicFrame>"


def chart(series: str) -> str:
    return f"<c:chartSpace {names('c', 'a')}>{series}</c:chartSpace>"


def points(number: int, text: str = "1") -> str:
    return f'<c:val><c:pt idx="{number}"><c:v>{text}</c:v></c:pt></c:val>'


def docx(body: str, numbering: str = "") -> bytes:
    return packed(
        {
            "word/document.xml": f"<w:document {names('w')}><w:body>{body}</w:body></w:document>",
            "word/_rels/document.xml.rels": related(("numbering", "numbering.xml")),
            "word/numbering.xml": f"<w:numbering {names('w')}>{numbering}</w:numbering>",
        }
    )


def item(text: str, level: int = 0) -> str:
    return (
        f'<w:p><w:pPr><w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="1"/></w:numPr></w:pPr>'
        f"<w:r><w:t>{text}</w:t></w:r></w:p>"
    )


def numbered(text: str, levels: int = 1) -> str:
    shown = "".join(
        f'<w:lvl w:ilvl="{level}"><w:lvlText w:val="{text}"/></w:lvl>'
        for level in range(levels)
    )
    return (
        f'<w:abstractNum w:abstractNumId="0">{shown}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    )


def word_cell(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>"


def merged_rows(text: str, count: int) -> str:
    first = word_cell(text, '<w:vMerge w:val="restart"/>') + word_cell("a")
    later = word_cell("", "<w:vMerge/>") + word_cell("b")
    return f"<w:tbl><w:tr>{first}</w:tr>{f'<w:tr>{later}</w:tr>' * count}</w:tbl>"


def odt(body: str, styles: str = "") -> bytes:
    spaces = " ".join(f'xmlns:{name}="{space}"' for name, space in _ODF_SPACES.items())
    return packed(
        {
            "content.xml": f"<office:document-content {spaces}><office:automatic-styles>{styles}"
            f"</office:automatic-styles><office:body><office:text>{body}</office:text>"
            "</office:body></office:document-content>"
        }
    )


def odt_table(text: str, *, columns: int = 1, row: int = 1) -> str:
    return (
        f'<table:table><table:table-row table:number-rows-repeated="{row}">'
        f'<table:table-cell table:number-columns-repeated="{columns}"><text:p>{text}</text:p>'
        "</table:table-cell></table:table-row></table:table>"
    )


def odt_styles(count: int) -> str:
    return "".join(
        f'<style:style style:family="paragraph" style:name="s{i}" '
        f'style:parent-style-name="s{i + 1}"/>'
        for i in range(count)
    )


def epub(spine: int, page: str = "", href: str = "page.xhtml") -> bytes:
    entries = '<itemref idref="i"/>' * spine
    return packed(
        {
            "META-INF/container.xml": '<container><rootfile full-path="book.opf"/></container>',
            "book.opf": f'<package><item id="i" href="{href}" media-type="text/html"/>'
            f"{entries}</package>",
            "page.xhtml": page,
        }
    )


def rtf(body: str) -> bytes:
    return f"{{\\rtf1 {body}}}".encode()


def rtf_styles(count: int) -> str:
    styles = "".join(f"{{\\s{i}\\sbasedon{i + 1} n{i};}}" for i in range(1, count))
    return f"{{\\stylesheet {styles}}}\\pard\\s1 Text\\par"


def rtf_merged(text: str, count: int) -> str:
    first = rf"\trowd\clvmgf\cellx1000\cellx2000\intbl {text}\cell a\cell\row"
    later = rf"\trowd\clvmrg\cellx1000\cellx2000\intbl {text}\cell b\cell\row"
    return first + later * count


def pdf(count: int) -> bytes:
    """One page that is named `count` times."""
    content = b"BT /F 12 Tf 20 100 Td (One page that is named many times) Tj ET"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[%s]>>" % (count, b"3 0 R " * count),
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R"
        b"/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(content), content),
    ]
    out, starts = b"%PDF-1.4\n", []
    for i, each in enumerate(objects, 1):
        starts.append(len(out))
        out += b"%d 0 obj%s endobj\n" % (i, each)
    table = b"".join(b"%010d 00000 n \n" % start for start in starts)
    return out + (
        b"xref\n0 5\n0000000000 65535 f \n%strailer<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
        % (table, len(out))
    )


# name -> the bytes, and the limit that they meet
HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "one string in many cells.xlsx": (lambda: xlsx(rows(TIMES)), "max_characters"),
    "one string in one column.xlsx": (
        lambda: xlsx(rows(TIMES, '<c t="s"><v>0</v></c><c><v>1</v></c>')),
        "max_characters",
    ),
    "a form feed in it.xlsx": (
        lambda: xlsx(rows(TIMES), strings=f"{LONG}_x000C_"),
        "max_characters",
    ),
    "merged over many rows.xlsx": (
        lambda: xlsx(
            f'<sheetData><row r="1"><c t="s"><v>0</v></c><c><v>1</v></c></row>'
            f'<row r="{TIMES}"><c/><c><v>1</v></c></row></sheetData>'
            f'<mergeCells><mergeCell ref="A1:A{TIMES}"/></mergeCells>'
        ),
        "max_characters",
    ),
    "a long name of a sheet.xlsx": (
        lambda: xlsx(rows(TIMES), strings="a", title=LONG),
        "max_characters",
    ),
    "one sheet named often.xlsx": (
        lambda: xlsx(rows(1), strings="a", entries=TIMES),
        "max_uses",
    ),
    "one slide named often.pptx": (
        lambda: pptx(shape(LONG), entries=TIMES),
        "max_uses",
    ),
    "one chart shown often.pptx": (
        lambda: pptx(frame('<c:chart r:id="r0"/>') * TIMES, chart1=chart(points(1))),
        "max_uses",
    ),
    "points of their own.pptx": (
        lambda: pptx(
            frame('<c:chart r:id="r0"/>'),
            chart1=chart("".join(f"<c:ser>{points(i)}</c:ser>" for i in range(TIMES))),
        ),
        "max_characters",
    ),
    "a cell of many rows.pptx": (
        lambda: pptx(
            frame(
                f'<a:tbl><a:tr><a:tc rowSpan="99999"><a:txBody>{paragraph(LONG)}</a:txBody></a:tc>'
                f"</a:tr>{'<a:tr/>' * TIMES}</a:tbl>"
            )
        ),
        "max_characters",
    ),
    "wide cells of many rows.pptx": (
        lambda: pptx(
            frame(
                '<a:tbl><a:tr><a:tc rowSpan="99999" gridSpan="99999"><a:txBody>'
                f"{paragraph('a')}</a:txBody></a:tc></a:tr>{'<a:tr/>' * TIMES}</a:tbl>"
            )
        ),
        "max_characters",
    ),
    "long numbers of items.docx": (
        lambda: docx(item("a") * TIMES, numbered(LONG)),
        "max_characters",
    ),
    "numbers of numbers.docx": (
        lambda: docx(item("a") * TIMES, numbered("%1" * 1_000)),
        "max_characters",
    ),
    "merged rows.docx": (lambda: docx(merged_rows(LONG, TIMES)), "max_characters"),
    "tables in cells.docx": (
        lambda: docx(
            "<w:tbl>"
            + f"<w:tr>{word_cell('a')}<w:tc>{merged_rows(LONG, 50)}<w:p/></w:tc></w:tr>"
            * 50
            + "</w:tbl>"
        ),
        "max_characters",
    ),
    "long numbers of items.odt": (
        lambda: odt(
            '<text:list text:style-name="L">'
            + "<text:list-item><text:p>a</text:p></text:list-item>" * TIMES
            + "</text:list>",
            '<text:list-style style:name="L"><text:list-level-style-number text:level="1" '
            f'style:num-format="1" style:num-prefix="{LONG}"/></text:list-style>',
        ),
        "max_characters",
    ),
    "repeated rows.odt": (
        lambda: odt(odt_table("a", row=99_999_999)),
        "max_characters",
    ),
    "repeated cells.odt": (
        lambda: odt(odt_table(LONG, columns=99_999_999)),
        "max_characters",
    ),
    "repeated blanks.odt": (
        lambda: odt(f"<text:p>a{BLANKS * 20_000}b</text:p>"),
        "max_characters",
    ),
    "a chain of styles.odt": (
        lambda: odt('<text:p text:style-name="s0">a</text:p>', odt_styles(TIMES)),
        "max_depth",
    ),
    "deep elements.odt": (lambda: odt("<a>" * 600 + "</a>" * 600), "max_depth"),
    "one page named often.epub": (lambda: epub(TIMES, "<p>A page.</p>"), "max_uses"),
    "a missing page named often.epub": (lambda: epub(TIMES, href=LONG), "max_uses"),
    "deep groups.rtf": (lambda: rtf("{" * 600), "max_depth"),
    "a chain of styles.rtf": (lambda: rtf(rtf_styles(TIMES)), "max_depth"),
    "merged rows.rtf": (lambda: rtf(rtf_merged("x" * 100, TIMES)), "max_characters"),
    "one wide row.csv": (lambda: b"a," * TIMES + b"\nb" * TIMES, "max_characters"),
    "one page named often.pdf": (lambda: pdf(100), "max_characters"),
    "many entries.docx": (lambda: b"PK" + b"PK\x01\x02" * 600_000, "max_unpacked"),
    "text.md": (lambda: b"a" * 1_000_001, "max_characters"),
    "page.html": (
        lambda: (
            b"<table><tr>"
            + b"<td>a" * 90
            + (b"<tr>" + b"<td>" * 89 + b"<td>a") * 20_000
        ),
        "max_characters",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_multiplies_meets_a_limit_that_the_error_names(
    name: str, tmp_path: Path
) -> None:
    make, parameter = HOSTILE[name]
    if name.endswith(".pdf"):
        pytest.importorskip("pypdfium2")
    path = tmp_path / name
    path.write_bytes(make())
    limits = Limits(max_characters=2_000) if name.endswith(".pdf") else SMALL
    began = time.process_time()
    tracemalloc.start()
    try:
        with pytest.raises(
            InvalidDocument, match=rf"{name}' .*, and {parameter} allows "
        ):
            read_file(path, limits=limits)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 30 * limits.max_characters + 10 * path.stat().st_size + 5_000_000
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("name", "make", "text"),
    [
        (
            "levels.pptx",
            lambda: pptx(
                "".join(shape("a", f'<a:pPr lvl="{i}"/>') for i in range(500))
            ),
            "- a\n",
        ),
        (
            "levels.docx",
            lambda: docx(
                "".join(item("a", i) for i in range(TIMES)), numbered("a", TIMES)
            ),
            "- a a\n",
        ),
        (
            "levels.odt",
            lambda: odt('<text:h text:outline-level="99999999">a</text:h>'),
            "###### a\n",
        ),
        (
            "spans.html",
            lambda: (
                b"<table><tr><td colspan=999999999 rowspan=999999999>a<td>b<tr><td>c"
            ),
            "a",
        ),
        ("many bytes.rtf", lambda: rtf(r"a\bin999999999 b"), "a\n"),
        (
            "numbers of a level.pptx",
            lambda: pptx(
                frame('<c:chart r:id="r0"/>'),
                chart1=chart(f"<c:ser>{points(1) * TIMES}</c:ser>"),
            ),
            "1",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_does_not_multiply_is_read(
    name: str, make: Callable[[], bytes], text: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(make())
    document = read_file(path, limits=SMALL)
    assert text in document.text
    assert len(document.text) < 100_000


BOMB = 50_000_000


def lying(said: int, *, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A package whose directory and headers say that a part has `said` bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as package:
        package.writestr("word/document.xml", b" " * BOMB)
    size, wrong = struct.pack("<I", BOMB), struct.pack("<I", said)
    return out.getvalue().replace(size, wrong)


def overlapping(count: int) -> bytes:
    """A package of many names for the same packed bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("part0000", b" " * 1_000_000)
    data = out.getvalue()
    start = data.index(b"PK\x01\x02")
    end = data.index(b"PK\x05\x06")
    entry = data[start:end]
    directory = b"".join(
        entry.replace(b"part0000", b"part%04d" % i) for i in range(count)
    )
    tail = struct.pack(
        "<4sHHHHIIH", b"PK\5\6", 0, 0, count, count, len(directory), start, 0
    )
    return data[:start] + directory + tail


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (lying(100), "broken or cut off"),
        (lying(0xFFFFFFFF), "broken or cut off|unpacks to more than 2,000,000 bytes"),
        (lying(BOMB), "unpacks to more than 2,000,000 bytes"),
        (lying(BOMB, compression=zipfile.ZIP_BZIP2), "broken or cut off"),
        (lying(BOMB, compression=zipfile.ZIP_LZMA), "broken or cut off"),
        (overlapping(5_000), "unpacks to more than 2,000,000 bytes|broken or cut off"),
    ],
    ids=["too small", "zip64 without it", "true", "bzip2", "lzma", "overlapping"],
)
def test_a_part_is_unpacked_no_further_than_allowed(data: bytes, reason: str) -> None:
    tracemalloc.start()
    try:
        with (
            reading_within(Limits(max_unpacked=2_000_000), "'a.docx'"),
            pytest.raises(InvalidDocument, match=reason),
        ):
            package = Package(data)
            for name in package.names:
                package.data(name)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 15_000_000


def test_an_archive_unpacks_to_no_more_than_many_times_its_size() -> None:
    data = docx(" " * 12_000_000)
    with reading_within(name="'a.docx'"), pytest.raises(InvalidDocument) as raised:
        Package(data).data("word/document.xml")
    assert "unpacks to more than 100 times its size, and max_inflation" in str(
        raised.value
    )
    with reading_within(Limits(max_inflation=2_000)):
        assert Package(data).data("word/document.xml")


def test_what_cannot_be_counted_ahead_is_an_invalid_document_too() -> None:
    def deep(level: int) -> int:
        return 1 + deep(level + 1)

    with (
        pytest.raises(InvalidDocument, match=r"'a\.docx' needs more depth"),
        reading_within(name="'a.docx'"),
    ):
        deep(0)
    with (
        pytest.raises(InvalidDocument, match=r"'a\.docx' needs more memory"),
        reading_within(name="'a.docx'"),
    ):
        bytearray(1 << 62)


def test_a_format_of_a_user_has_the_same_limits() -> None:
    class Reader:
        @staticmethod
        def to_markdown(data: bytes, name: str) -> Draft:
            return Draft("a" * 200)

    mine = Format("mine", (".mine",), Reader)
    assert converted(mine, b"", "a.mine").text
    with (
        reading_within(Limits(max_characters=100), "a.mine"),
        pytest.raises(
            InvalidDocument, match=r"a\.mine becomes more than 100 characters"
        ),
    ):
        converted(mine, b"", "a.mine")


def test_limits_are_numbers() -> None:
    assert Limits(max_memory=None).max_memory is None
    for name in ("max_bytes", "max_depth", "max_seconds", "max_memory"):
        with pytest.raises(
            InvalidParameter, match=f"{name} must be a number of at least 1"
        ):
            Limits(**{name: 0})
    with pytest.raises(InvalidParameter, match="max_uses must be a number"):
        Limits(max_uses=None)  # type: ignore[arg-type]
    with pytest.raises(
        InvalidParameter, match="limits must be a Limits or None; got 5"
    ):
        read_file("a.md", limits=5)  # type: ignore[arg-type]


def test_the_numbers_of_the_page_are_the_defaults() -> None:
    page = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
    said = dict(re.findall(r"^\| `(max_\w+)` \| ([\d,]+)", page, re.MULTILINE))
    assert {name: int(number.replace(",", "")) for name, number in said.items()} == {
        name: getattr(Limits(), name) for name in Limits.__annotations__
    }
