"""Excel files (XLSX) by their own XML."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby, takewhile
from xml.etree.ElementTree import Element

from structrag.reading.drafts import Draft
from structrag.reading.office.drawings import R, add_shape, shapes, targets
from structrag.reading.office.package import Package
from structrag.reading.office.placed import PlacedText

_S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_DATE_FORMATS = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}
_DURATION_FORMAT = 46  # [h]:mm:ss
_NOT_CODES = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h|m|s)[^\]]*\]')
_REFERENCE = re.compile(r"\$?([A-Za-z]{1,3})\$?(\d{1,7})")
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
_MOST_CUTS = 12  # how often a region is cut into smaller ones
_MOST_COVERED = 1_000_000  # places of merged cells in a sheet
_EMPTY_SHARE = 20  # a table may have this many times more places than cells

_Cells = dict[tuple[int, int], str]  # (row, column), from 1


def to_markdown(data: bytes, name: str = "") -> Draft:
    """An Excel file as Markdown: a sheet is a section, and a region of cells in it a table.

    Formulas have the values that were kept, dates are written as ISO 8601 by their number format.
    A line of text above a table stands as a paragraph. Comments, text boxes and charts come behind
    the tables. Hidden sheets are kept, and named in `uncertain`.

    Raises:
        InvalidDocument: It is no Excel file, or broken, encrypted or too large.
    """
    package = Package(data, name)
    main = package.related("", "officeDocument") or "xl/workbook.xml"
    root = package.xml(main)
    if root.tag != f"{_S}workbook":
        package.refuse("it holds no sheets. Give it the suffix of what it is.")
    values = _Values(package, main, root)
    relations = {each.id: each for each in package.relations(main)}
    placed = PlacedText()
    unsure = []
    for entry in root.iter(f"{_S}sheet"):
        title = entry.get("name", "")
        hidden = entry.get("state", "visible") != "visible"
        if hidden:
            unsure.append(f"Sheet {title} is hidden; its text was kept.")
        sheet = _Sheet(placed, title, hidden=hidden)
        placed.enter(sheet.label())
        placed.heading(1, title)
        relation = relations.get(entry.get(f"{R}id", ""))
        if relation is None or relation.target not in package:
            unsure.append(f"Sheet {title} is missing in the file.")
            continue
        part = package.xml(relation.target)
        if relation.kind == "worksheet":
            sheet.read(part, values)
            sheet.write()
        _add_related(package, relation.target, placed)
    return placed.draft(uncertain=unsure)


class _Values:
    """The values of cells by the tables of a workbook."""

    def __init__(self, package: Package, main: str, root: Element) -> None:
        strings = package.related(main, "sharedStrings")
        self._strings = (
            [_string(each) for each in package.xml(strings)] if strings else []
        )
        properties = root.find(f"{_S}workbookPr")
        self._since_1904 = properties is not None and properties.get("date1904") in (
            "1",
            "true",
        )
        self._dates: dict[str, bool] = {}  # style -> whether it is a duration
        styles = package.related(main, "styles")
        if styles:
            self._read_styles(package.xml(styles))

    def _read_styles(self, root: Element) -> None:
        codes = {
            each.get("numFmtId", ""): each.get("formatCode", "").lower()
            for each in root.iter(f"{_S}numFmt")
        }
        for i, style in enumerate(root.findall(f"{_S}cellXfs/{_S}xf")):
            number = style.get("numFmtId", "0")
            code = _NOT_CODES.sub("", codes.get(number, "").split(";")[0])
            is_built_in = number.isdecimal() and int(number) in _DATE_FORMATS
            if number in codes:
                is_date = bool(re.search("[dmyhs]", code)) and "general" not in code
            else:
                is_date = is_built_in
            if is_date:
                self._dates[str(i)] = "[" in code or number == str(_DURATION_FORMAT)

    def of(self, cell: Element) -> str:
        kind = cell.get("t", "n")
        if kind == "inlineStr":
            return "".join(map(_string, cell.findall(f"{_S}is")))
        value = cell.findtext(f"{_S}v") or ""
        if kind == "s":
            known = value.isdecimal() and int(value) < len(self._strings)
            return self._strings[int(value)] if known else ""
        if kind == "b":
            return {"1": "TRUE", "0": "FALSE"}.get(value, value)
        if kind != "n" or not value:
            return _decoded(value)
        try:
            number = float(value)
            style = cell.get("s", "0")
            if style in self._dates:
                return self._date(number, is_duration=self._dates[style])
            return format(number, ".15g")
        except (ValueError, OverflowError):
            return value

    def _date(self, days: float, *, is_duration: bool) -> str:
        seconds = round(days * 86_400)
        if is_duration:
            minutes, second = divmod(abs(seconds), 60)
            sign = "-" if seconds < 0 else ""
            return f"{sign}{minutes // 60}:{minutes % 60:02}:{second:02}"
        if 0 <= days < 1 and not self._since_1904:
            return str((datetime.datetime.min + datetime.timedelta(0, seconds)).time())
        first = datetime.datetime(1904, 1, 1)
        if not self._since_1904:  # Excel has a 29 February 1900
            first = datetime.datetime(1899, 12, 30 if days >= 60 else 31)
        date = first + datetime.timedelta(0, seconds)
        return str(date if date.time() != datetime.time() else date.date())


def _string(element: Element) -> str:
    """The text of a string, without its guide to pronunciation."""
    texts = [
        text.text or ""
        for child in element
        if child.tag in (f"{_S}t", f"{_S}r")
        for text in child.iter(f"{_S}t")
    ]
    return _decoded("".join(texts))


def _decoded(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


@dataclass(slots=True)
class _Region:
    """A rectangle of a sheet and the rows of its cells."""

    rows: dict[int, list[int]]  # row -> columns, both ascending
    cuts: int = 0

    @property
    def left(self) -> int:
        return min(columns[0] for columns in self.rows.values())

    @property
    def right(self) -> int:
        return max(columns[-1] for columns in self.rows.values())


@dataclass(slots=True)
class _Sheet:
    placed: PlacedText
    title: str
    hidden: bool
    cells: _Cells = field(default_factory=dict)
    numbers: set[tuple[int, int]] = field(default_factory=set)
    _covered: int = 0  # places of merged cells

    def label(self, row: int = 0, left: int = 0, right: int = 0) -> str:
        place = f" {_letters(left)}{row}" if row else ""
        if right > left:
            place += f":{_letters(right)}{row}"
        return f"sheet {self.title}{place}{' (hidden)' * self.hidden}"

    def read(self, root: Element, values: _Values) -> None:
        number = 0
        for row in root.iter(f"{_S}row"):
            written = row.get("r", "")
            number = int(written) if written.isdecimal() else number + 1
            column = 0
            for cell in row.iter(f"{_S}c"):
                at = _position(cell.get("r", ""))
                column = at[1] if at else column + 1
                text = values.of(cell)
                if text.strip():
                    self.cells[number, column] = text
                    if cell.get("t", "n") == "n":
                        self.numbers.add((number, column))
        if self.cells:
            last_row = max(row for row, _ in self.cells)
            last_column = max(column for _, column in self.cells)
            for merge in root.iter(f"{_S}mergeCell"):
                self._merge(merge.get("ref", ""), last_row, last_column)

    def _merge(self, reference: str, last_row: int, last_column: int) -> None:
        """A cell over several rows has its text in each, and reaches over its columns."""
        start, end = map(_position, reference.partition(":")[::2])
        if not start or not end or start not in self.cells:
            return
        rows = range(start[0], min(end[0], last_row) + 1)
        columns = range(start[1], min(end[1], last_column) + 1)
        self._covered += len(rows) * len(columns)
        if self._covered > _MOST_COVERED:
            return
        for row in rows:
            for column in columns:
                text = self.cells[start] if column == start[1] else ""
                self.cells.setdefault((row, column), text)

    def write(self) -> None:
        rows: dict[int, list[int]] = {}
        for row, column in sorted(self.cells):
            rows.setdefault(row, []).append(column)
        for region in _regions(rows):
            self._write(region)

    def _write(self, region: _Region) -> None:
        rows = list(region.rows)
        left, right = region.left, region.right
        titles = list(takewhile(lambda row: self._is_title(row, region), rows))
        for row in titles:
            self._line(row, region)
        rows = rows[len(titles) :]
        count = sum(len(region.rows[row]) for row in rows)
        if (
            left == right
            or len(rows) * (right - left + 1) > _EMPTY_SHARE * count + 1_000
        ):
            for row in rows:
                self._line(row, region)
        elif rows:
            grid = [
                [self.cells.get((row, column), "") for column in range(left, right + 1)]
                for row in rows
            ]
            has_header = len(rows) > 1 and any(
                self.cells[rows[0], column] and (rows[0], column) not in self.numbers
                for column in region.rows[rows[0]]
            )
            labels = [self.label(row, left, right) for row in rows]
            self.placed.table(grid, labels, int(has_header))

    def _is_title(self, row: int, region: _Region) -> bool:
        places = [(row, column) for column in region.rows[row]]
        texts = list(filter(None, map(self.cells.__getitem__, places)))
        return len(texts) == 1 and self.numbers.isdisjoint(places)

    def _line(self, row: int, region: _Region) -> None:
        columns = region.rows[row]
        self.placed.enter(self.label(row, columns[0], columns[-1]))
        texts = filter(None, (self.cells[row, column].strip() for column in columns))
        self.placed.paragraph("; ".join(texts))


def _regions(rows: dict[int, list[int]]) -> Iterable[_Region]:
    """The cells cut along empty rows, then along empty columns, and again."""
    stack = [_Region(rows)] if rows else []
    while stack:
        region = stack.pop()
        parts = _cut_rows(region) if region.cuts % 2 == 0 else _cut_columns(region)
        if region.cuts > _MOST_CUTS or (len(parts) == 1 and region.cuts):
            yield region
            continue
        for part in reversed(parts):
            part.cuts = region.cuts + 1
            stack.append(part)


def _cut_rows(region: _Region) -> list[_Region]:
    parts = []
    for _, group in groupby(enumerate(region.rows), lambda pair: pair[1] - pair[0]):
        parts.append(_Region({row: region.rows[row] for _, row in group}))
    return parts


def _cut_columns(region: _Region) -> list[_Region]:
    columns = sorted({column for row in region.rows.values() for column in row})
    parts: list[_Region] = []
    number = {}
    for i, column in enumerate(columns):
        if not i or column > columns[i - 1] + 1:
            parts.append(_Region({}))
        number[column] = len(parts) - 1
    for row, found in region.rows.items():
        for column in found:
            parts[number[column]].rows.setdefault(row, []).append(column)
    return parts


def _position(reference: str) -> tuple[int, int] | None:
    """(row, column) of "B12"."""
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        return None
    column = 0
    for letter in match[1].upper():
        column = column * 26 + ord(letter) - 64
    return int(match[2]), column


def _letters(column: int) -> str:
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def _add_related(package: Package, part: str, placed: PlacedText) -> None:
    """Append the comments, text boxes, pictures and charts of a sheet."""
    comments = package.related(part, "comments")
    if comments:
        for comment in package.xml(comments).iter(f"{_S}comment"):
            text = "".join(each.text or "" for each in comment.iter(f"{_S}t"))
            placed.quote(f"{comment.get('ref', '')}: {text}")
    drawing = package.related(part, "drawing")
    if drawing:
        parts = targets(package, drawing)
        for shape in shapes(package.xml(drawing)):
            add_shape(placed, shape, package, parts)
