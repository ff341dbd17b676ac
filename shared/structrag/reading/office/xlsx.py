"""Excel files (XLSX) by their own XML."""

from __future__ import annotations

import datetime
import re
from xml.etree.ElementTree import Element

from structrag.reading.drafts import Draft
from structrag.reading.looks import add_run, look_of
from structrag.reading.office.drawings import R, add_shape, shapes, targets
from structrag.reading.office.grid import Place, Sheet, clock, digits
from structrag.reading.office.package import Package
from structrag.reading.office.placed import PlacedText
from structrag.text.numbers import whole_number

_S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_DATE_FORMATS = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}
_DURATION_FORMAT = 46  # [h]:mm:ss
_LONGEST_FORMAT = 255  # characters that Excel allows
_NOT_CODES = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h|m|s)[^\]]*\]')
# What a number format shows beside its digits: the text in quotes, a currency, one character.
_LITERAL = re.compile(
    r'\[\$([^-\[\]]{0,9})[^\[\]]{0,20}\]|"([^"]{0,99})"|\\(.)|_.|\*.|\[[^\[\]]{0,20}\]'
)
_NUMBER_FORMAT = re.compile(
    r"([^0#?.%,]*)([0#?](?:[0#?,]*[0#?])?)(?:\.([0#?]+))?(%?)([^0#?.%,]*)"
)
_BUILT_IN = {"9": "0%", "10": "0.00%", "44": "$#,##0.00"}
_REFERENCE = re.compile(r"\$?([A-Za-z]{1,3})\$?(\d{1,7})")
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")


def to_markdown(data: bytes, name: str = "") -> Draft:
    """An Excel file as Markdown: a sheet is a section, and a region of cells in it a table.

    Formulas have the values that were kept, dates are written as ISO 8601 by their number format.
    A line of text above a table stands as a paragraph. Comments, text boxes and charts come behind
    the tables. Hidden sheets are kept, and named in `uncertain`.

    Raises:
        InvalidDocument: The file is not an Excel file, or it is broken, encrypted or too large.
    """
    package = Package(data, name)
    main = package.related("", "officeDocument") or "xl/workbook.xml"
    root = package.xml(main)
    if root.tag != f"{_S}workbook":
        package.refuse("it holds no sheets. Give it the suffix of its real format.")
    values = _Values(package, main, root)
    relations = {each.id: each for each in package.relations(main)}
    placed = PlacedText()
    unsure = []
    for entry in root.iter(f"{_S}sheet"):
        title = entry.get("name", "")
        hidden = entry.get("state", "visible") != "visible"
        if hidden:
            unsure.append(f"Sheet {title} is hidden; its text was kept.")
        sheet = Sheet(placed, title, hidden)
        placed.enter(sheet.label())
        placed.heading(1, title)
        relation = relations.get(entry.get(f"{R}id", ""))
        if relation is None or relation.target not in package:
            unsure.append(f"Sheet {title} is missing in the file.")
            continue
        part = package.xml(relation.target)
        if relation.kind == "worksheet":
            _read(sheet, part, values)
            sheet.write()
        _add_related(package, relation.target, placed)
    if values.formulas:
        unsure.append(
            f"Formulas without a stored value, shown as formulas: {values.formulas}."
        )
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
        self._formats: dict[str, re.Match[str]] = {}  # of numbers with more than digits
        self.formulas = 0  # without a value
        styles = package.related(main, "styles")
        if styles:
            self._read_styles(package.xml(styles))

    def _read_styles(self, root: Element) -> None:
        codes = {
            each.get("numFmtId", ""): each.get("formatCode", "")[:_LONGEST_FORMAT]
            for each in root.iter(f"{_S}numFmt")
        }
        durations = {
            str(number): number == _DURATION_FORMAT for number in _DATE_FORMATS
        }
        for number, written in codes.items():
            durations.pop(number, None)
            code = _NOT_CODES.sub("", written.split(";")[0].lower())
            if re.search("[dmyhs]", code) and "general" not in code:
                durations[number] = "[" in code
        for i, style in enumerate(root.findall(f"{_S}cellXfs/{_S}xf")):
            number = style.get("numFmtId", "0")
            code = codes.get(number, _BUILT_IN.get(number, "")).partition(";")[0]
            shown = _NUMBER_FORMAT.fullmatch(_LITERAL.sub(r"\1\2\3", code))
            if number in durations:
                self._dates[str(i)] = durations[number]
            elif shown and (shown[0].strip("#0,.?") or shown[0].startswith("00")):
                self._formats[str(i)] = shown

    def of(self, cell: Element) -> str:
        kind = cell.get("t", "n")
        if kind == "inlineStr":
            return "".join(map(_string, cell.findall(f"{_S}is")))
        value = cell.findtext(f"{_S}v") or ""
        formula = cell.findtext(f"{_S}f")
        if kind == "n" and not value and formula is not None:
            self.formulas += 1
            return f"={formula}"
        if kind == "s":
            place = whole_number(value, -1, len(self._strings) - 1)
            return self._strings[place] if place >= 0 else ""
        if kind == "b":
            return {"1": "TRUE", "0": "FALSE"}.get(value, value)
        if kind != "n" or not value:
            return _decoded(value)
        try:
            number = float(value)
            style = cell.get("s", "0")
            if style in self._dates:
                return self._date(number, is_duration=self._dates[style])
            if style in self._formats:
                return _shown(number, *self._formats[style].groups(""))
            return value if value.isdigit() else digits(number)
        except (ValueError, OverflowError):
            return value

    def _date(self, days: float, *, is_duration: bool) -> str:
        seconds = round(days * 86_400)
        if is_duration:
            return clock(seconds)
        if 0 <= days < 1 and not self._since_1904:
            return str((datetime.datetime.min + datetime.timedelta(0, seconds)).time())
        first = datetime.datetime(1904, 1, 1)
        if not self._since_1904:  # Excel has a 29 February 1900
            first = datetime.datetime(1899, 12, 30 if days >= 60 else 31)
        date = first + datetime.timedelta(0, seconds)
        return str(date if date.time() != datetime.time() else date.date())


def _shown(
    number: float, before: str, whole: str, decimals: str, percent: str, behind: str
) -> str:
    """A number as its format shows it."""
    places = len(decimals)
    width = "," if "," in whole else f"0{whole.count('0') + places + (places > 0)}"
    digits = f"{abs(number) * (100 if percent else 1):{width}.{places}f}"
    return f"{'-' * (number < 0)}{before}{digits}{percent}{behind}".strip()


def _string(element: Element) -> str:
    """The text of a string, without its guide to pronunciation."""
    texts: list[str] = []
    for child in element:
        if child.tag == f"{_S}t":
            texts.append(child.text or "")
        elif child.tag == f"{_S}r":
            look = look_of(child.find(f"{_S}rPr"))
            add_run(texts, child.findtext(f"{_S}t") or "", look)
    return _decoded("".join(texts))


def _decoded(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


def _read(sheet: Sheet, root: Element, values: _Values) -> None:
    number = 0
    for row in root.iter(f"{_S}row"):
        number = whole_number(row.get("r"), number + 1)
        column = 0
        for cell in row.iter(f"{_S}c"):
            at = _position(cell.get("r", ""))
            column = at[1] if at else column + 1
            sheet.fill((number, column), values.of(cell))
    for merge in root.iter(f"{_S}mergeCell"):
        start, end = map(_position, merge.get("ref", "").partition(":")[::2])
        if start and end:
            sheet.merge(start, end)


def _position(reference: str) -> Place | None:
    """(row, column) of "B12"."""
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        return None
    column = 0
    for letter in match[1].upper():
        column = column * 26 + ord(letter) - 64
    return int(match[2]), column


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
