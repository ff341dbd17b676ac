"""Sheets of XLS, XLSB and ODS by python-calamine (extra `sheets`), in a reader process.

calamine makes room for all cells between the first and the last one, so that two at opposite
corners end the process.
"""

from __future__ import annotations

import datetime
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any
from zipfile import ZipFile

from structrag.errors import InvalidDocument, require
from structrag.reading.drafts import Draft
from structrag.reading.limits import (
    Limits,
    count_bytes,
    limits_now,
    reading_within,
    spend_characters,
)
from structrag.reading.office.grid import Sheet, clock, digits
from structrag.reading.office.package import ENCRYPTED, OLE, Package, refuse
from structrag.reading.office.placed import PlacedText
from structrag.reading.processes import can_start, is_reader, read_apart

_DURATION = re.compile(r"(-?)PT(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})(?:\.\d*)?S)?")
_READ = (".xml", ".bin", ".rels")  # parts that calamine reads
_AMOUNT = re.compile(
    rb'office:value-type="(?:percentage|currency|float(?="[^<>]*><text:p>0\d))"([^<>]*)'
)
_ADVICE = "Save it again, as .xlsx."


def to_markdown(data: bytes, name: str = "") -> Draft:
    """A workbook in XLS, XLSB or ODS as Markdown, in the shape that XLSX has.

    Raises:
        InvalidDocument: It is no such file, or broken, encrypted or too large.
        MissingExtra: python-calamine is not installed.
    """
    require("python_calamine", extra="sheets")
    size = len(data)
    if not data.startswith(OLE) or ENCRYPTED in data:
        package = Package(data, name)
        size = _checked_size(package)
        data = _with_shown(package, data)
    reply = _cells(data, name, size)
    placed = PlacedText()
    unsure = []
    for title, hidden, cells, merged in reply["sheets"]:
        if hidden:
            unsure.append(f"Sheet {title} is hidden; its text was kept.")
        sheet = Sheet(placed, title, hidden)
        placed.enter(sheet.label())
        placed.heading(1, title)
        for row, column, text in cells:
            sheet.fill((row, column), text)
        for start, end in merged:
            sheet.merge(tuple(start), tuple(end))
        sheet.write()
    return placed.draft(uncertain=unsure)


def _checked_size(package: Package) -> int:
    """The unpacked size. Refuses what is too large, or another package."""
    if not {"content.xml", "xl/workbook.bin", "xl/workbook.xml"} & set(package.names):
        package.refuse("it holds no sheets. Give it the suffix of its real format.")
    parts = (part for part in set(package.names) if part.endswith(_READ))
    return sum(len(package.data(part)) for part in parts)


def _with_shown(package: Package, data: bytes) -> bytes:
    """An ODS file whose percentages, sums and numbers with leading zeros are as it shows them."""
    content = package.data("content.xml") if "content.xml" in package else b""
    shown = _AMOUNT.sub(
        lambda cell: (
            b'office:value-type="string"' + cell[1].replace(b"office:value", b"value")
        ),
        content,
    )
    if shown == content:
        return data
    file = io.BytesIO()
    with ZipFile(file, "w") as archive:
        archive.writestr("content.xml", shown)
        for part in ("mimetype", "META-INF/manifest.xml"):
            archive.writestr(part, package.data(part))
    return file.getvalue()


def _cells(data: bytes, name: str, size: int) -> dict[str, Any]:
    """The cells of all sheets, by a reader process where there can be one."""
    limits = limits_now()
    arguments = {"name": name, "size": size, "limits": asdict(limits)}
    if is_reader() or not can_start():
        return cells_here(arguments, data)[0]
    function = f"{__name__}:cells_here"
    name = name or "The file"
    return read_apart(function, arguments, data, limits, name, _ADVICE)[0]


def cells_here(arguments: Mapping[str, Any], data: bytes) -> tuple[dict[str, Any], str]:
    """The cells of all sheets."""
    name = arguments["name"]
    with reading_within(Limits(**arguments["limits"]), name):
        count_bytes(arguments["size"])
        return {"sheets": list(_sheets(data, name))}, ""


def _sheets(data: bytes, name: str) -> Iterator[tuple[str, bool, list[Any], list[Any]]]:
    """Each sheet: its title, whether it is hidden, its cells and its merged cells, from 1."""
    import python_calamine as calamine

    try:
        book = calamine.CalamineWorkbook.from_object(io.BytesIO(data))
        kinds = calamine.SheetTypeEnum
        for about in book.sheets_metadata:
            if about.typ not in (kinds.WorkSheet, kinds.MacroSheet):
                continue  # a chart, a form, a module of macros
            sheet = book.get_sheet_by_name(about.name)
            hidden = about.visible != calamine.SheetVisibleEnum.Visible
            top, left = sheet.start or (0, 0)
            cells = []
            for row, values in enumerate(sheet.iter_rows(), top + 1):
                line = [
                    (row, column, _text(value))
                    for column, value in enumerate(values, left + 1)
                    if value != ""
                ]
                spend_characters(sum(len(text) for _, _, text in line))
                cells += line
            merged = [
                [(row + 1, column + 1) for row, column in ends]
                for ends in sheet.merged_cell_ranges or ()
            ]
            yield about.name, hidden, cells, merged
    except calamine.PasswordError:
        refuse(name, "it is encrypted. Save it without a password.")
    except InvalidDocument:  # a limit
        raise
    except (calamine.CalamineError, OSError, ValueError) as error:
        reason = str(error).rstrip(".")
        refuse(
            name,
            f"its sheets are broken, cut off or far too large ({reason}). {_ADVICE}",
        )


def _text(value: Any) -> str:
    """A value as it is written for XLSX too."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float | int):
        return digits(value)
    if isinstance(value, datetime.timedelta):
        return clock(round(value.total_seconds()))
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return str(value.date())
    duration = isinstance(value, str) and _DURATION.fullmatch(value)
    if duration and value[-1] != "T":
        hours, minutes, seconds = (int(part or 0) for part in duration.groups()[1:])
        return duration[1] + clock(hours * 3600 + minutes * 60 + seconds)
    return str(value)
