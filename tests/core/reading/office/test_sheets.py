"""XLS written by xlwt, XLSB and ODS by hand: the tables and places that XLSX has."""

from __future__ import annotations

import datetime
import io
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from structrag import read_file
from structrag.errors import InvalidDocument, MissingExtra
from structrag.integrations.loading import FileReading
from structrag.reading.office import xlsx
from structrag.reading.office.package import ENCRYPTED, OLE
from structrag.reading.office.sheets import to_markdown

pytest.importorskip("python_calamine", reason="the extra 'sheets' is not installed")
xlwt = pytest.importorskip("xlwt")

PRICES = {
    (0, 0): "Pumps",
    (2, 0): "Part",
    (2, 1): "Price",
    (3, 0): "Seal",
    (3, 1): 12.0,
    (4, 0): "Valve|2",
    (4, 1): 0.1 + 0.2,
    (6, 3): True,
}
TEXT = (
    "# Prices\n\nPumps\n\n| Part | Price |\n| --- | --- |\n| Seal | 12 |\n"
    "| Valve\\|2 | 0.3 |\n\nTRUE\n"
)
LABELS = ["", " A1", " A3:B3", " A4:B4", " A5:B5", " D7"]


def archive(parts: Mapping[str, str | bytes]) -> bytes:
    file = io.BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as package:
        for name, content in parts.items():
            package.writestr(name, content)
    return file.getvalue()


def xls(book: Any) -> bytes:
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def xls_of(cells: dict[tuple[int, int], Any]) -> bytes:
    book = xlwt.Workbook()
    sheet = book.add_sheet("Prices")
    for place, value in cells.items():
        sheet.write(*place, value)
    return xls(book)


def record(kind: int, data: bytes = b"") -> bytes:
    """A record of BIFF12; none here is longer than 127 bytes."""
    head = bytes([kind]) if kind < 128 else bytes([kind & 127 | 128, kind >> 7])
    return head + bytes([len(data)]) + data


def wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def xlsb_of(cells: dict[tuple[int, int], Any]) -> bytes:
    rows = [row for row, _ in cells]
    columns = [column for _, column in cells]
    corners = struct.pack("<4I", min(rows), max(rows), min(columns), max(columns))
    sheet = record(129) + record(148, corners) + record(145)
    last = -1
    for (row, column), value in sorted(cells.items()):
        if row != last:
            sheet += record(0, struct.pack("<IIHHBI", row, 0, 300, 0, 0, 0))
            last = row
        head = struct.pack("<II", column, 0)
        if isinstance(value, bool):
            sheet += record(4, head + bytes([value]))
        elif isinstance(value, str):
            sheet += record(6, head + wide(value))
        else:
            sheet += record(5, head + struct.pack("<d", value))
    bundle = struct.pack("<II", 0, 1) + wide("rId1") + wide("Prices")
    book = record(131) + record(143) + record(156, bundle) + record(144) + record(132)
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/'
        'relationships/worksheet" Target="worksheets/sheet1.bin"/></Relationships>'
    )
    return archive(
        {
            "xl/workbook.bin": book,
            "xl/_rels/workbook.bin.rels": relations,
            "xl/worksheets/sheet1.bin": sheet + record(146) + record(130),
        }
    )


def ods_cell(value: Any) -> str:
    kind = {bool: "boolean", str: "string"}.get(type(value), "float")
    attribute = "" if kind == "string" else f'office:{kind}-value="{value}"'
    attribute = attribute.replace("float-", "").lower()
    text = f"<text:p>{value}</text:p>"
    return f'<table:table-cell office:value-type="{kind}" {attribute}>{text}</table:table-cell>'


def ods(rows: str, manifest: str = "<manifest/>") -> bytes:
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text")
    )
    return archive(
        {
            "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
            "META-INF/manifest.xml": manifest,
            "content.xml": f'<office:document-content {spaces} office:version="1.2">'
            f'<office:body><office:spreadsheet><table:table table:name="Prices">{rows}'
            "</table:table></office:spreadsheet></office:body></office:document-content>",
        }
    )


def ods_of(cells: dict[tuple[int, int], Any]) -> bytes:
    size = max(row for row, _ in cells) + 1, max(column for _, column in cells) + 1
    rows = [
        "".join(ods_cell(cells.get((row, column), "")) for column in range(size[1]))
        for row in range(size[0])
    ]
    return ods("".join(f"<table:table-row>{row}</table:table-row>" for row in rows))


@pytest.mark.parametrize("make", [xls_of, xlsb_of, ods_of])
def test_regions_are_tables_at_their_places(make: Any) -> None:
    draft = to_markdown(make(PRICES))
    assert draft.text == TEXT
    assert [label for _, label in draft.places] == [f"sheet Prices{x}" for x in LABELS]


def test_it_is_what_xlsx_gives() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "Prices"
    for (row, column), value in PRICES.items():
        book.active.cell(row + 1, column + 1, value)
    file = io.BytesIO()
    book.save(file)
    assert xlsx.to_markdown(file.getvalue()) == to_markdown(xls_of(PRICES))


def test_dates_durations_merged_cells_and_hidden_sheets_of_xls() -> None:
    book = xlwt.Workbook()
    sheet = book.add_sheet("Hours")
    for row, (value, code) in enumerate(
        [
            (datetime.date(2025, 1, 31), "yyyy-mm-dd"),
            (datetime.datetime(2024, 2, 29, 13, 5), "yyyy-mm-dd hh:mm"),
            (0.75, "h:mm"),
            (1.5, "[h]:mm:ss"),
            (1e6, "0.00"),
        ]
    ):
        sheet.write(row, 1, value, xlwt.easyxf(num_format_str=code))
    sheet.write_merge(0, 4, 0, 0, "Work")
    hidden = book.add_sheet("Old")
    hidden.visibility = 1
    hidden.write(0, 0, "gone")
    draft = to_markdown(xls(book))
    assert draft.text == (
        "# Hours\n\n| Work | 2025-01-31 |\n| --- | --- |\n| Work | 2024-02-29 13:05:00 |\n"
        "| Work | 18:00:00 |\n| Work | 36:00:00 |\n| Work | 1000000 |\n\n# Old\n\ngone\n"
    )
    assert draft.uncertain == ("Sheet Old is hidden; its text was kept.",)
    assert draft.places[-1][1] == "sheet Old A1 (hidden)"


def test_values_of_ods() -> None:
    draft = to_markdown(
        ods(
            "<table:table-row>"
            '<table:table-cell office:value-type="date" office:date-value="2025-01-31">'
            "<text:p>31 Jan</text:p></table:table-cell>"
            '<table:table-cell office:value-type="time" office:time-value="PT36H05M09S">'
            "<text:p>36 h</text:p></table:table-cell>"
            '<table:table-cell office:value-type="string"><text:p>two</text:p>'
            "<text:p>lines</text:p></table:table-cell></table:table-row>"
            '<table:table-row table:number-rows-repeated="1048000"><table:table-cell '
            'table:number-columns-repeated="16384"/></table:table-row>'
        )
    )
    assert "2025-01-31" in draft.text and "36:05:09" in draft.text
    assert "two lines" in draft.text and "PT36" not in draft.text


FAR = {(0, 0): "first", (1_048_575, 16_383): "last"}
REPEATED = (
    '<table:table-row table:number-rows-repeated="1048576"><table:table-cell '
    'office:value-type="string" table:number-columns-repeated="16384"><text:p>x</text:p>'
    "</table:table-cell></table:table-row>"
)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"", "is empty", id="empty"),
        pytest.param(b"<html><table></table></html>", "an HTML or XML file", id="html"),
        pytest.param(b"a;b\n1;2\n", "does not match its suffix", id="csv"),
        pytest.param(b"%PDF-1.7 x", "a PDF file", id="pdf"),
        pytest.param(xls_of(PRICES)[:3000], "broken, cut off", id="cut-xls"),
        pytest.param(ods_of(PRICES)[:300], "broken or cut off", id="cut-ods"),
        pytest.param(OLE + bytes(5000), "broken", id="zeros"),
        pytest.param(archive({"word/document.xml": ""}), "no sheets", id="word"),
        pytest.param(ods("", "<encryption-data/>"), "encrypted", id="encrypted-ods"),
        pytest.param(OLE + ENCRYPTED, "encrypted", id="encrypted-xlsb"),
        pytest.param(ods(REPEATED), "far too large", id="repeated"),
        pytest.param(xlsb_of(FAR), "ended with|far too large", id="far-apart"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(data: bytes, reason: str) -> None:
    with pytest.raises(InvalidDocument, match=rf"(?s)stock\.xls.*({reason})"):
        to_markdown(data, "stock.xls")


def test_without_the_extra_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    (tmp_path / "a.xls").write_bytes(xls_of(PRICES))
    with pytest.raises(MissingExtra, match=r"pip install 'structrag\[sheets\]'"):
        read_file(tmp_path / "a.xls")
    (tmp_path / "b.md").write_text("# B")
    with pytest.warns(UserWarning, match=r"a\.xls.*structrag\[sheets\]"):
        assert len(list(FileReading().load_all(tmp_path))) == 1


def test_amounts_of_ods_are_as_shown_and_long_numbers_whole() -> None:
    cells = (
        ("percentage", "0.075", "7.50 %"),
        ("currency", "1234.5", "1.234,50 €"),
        ("float", "12345678901234568", "1.23E16"),
        ("float", "1067", "01067"),
    )
    rows = "".join(
        "<table:table-row><table:table-cell><text:p>a</text:p></table:table-cell>"
        f'<table:table-cell office:value-type="{kind}" office:value="{value}">'
        f"<text:p>{text}</text:p></table:table-cell></table:table-row>"
        for kind, value, text in cells
    )
    text = to_markdown(ods(rows)).text
    for shown in ("7.50 %", "1.234,50 €", "12345678901234568", "01067"):
        assert shown in text
