"""DrawingML: the text, pictures, charts and diagrams of slides and sheets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from xml.etree.ElementTree import Element

from structrag.reading.escaping import escaped_line
from structrag.reading.limits import check_characters
from structrag.reading.looks import LOWERED, RAISED, STRUCK, add_run
from structrag.reading.office.package import Package
from structrag.reading.office.placed import PlacedText
from structrag.reading.tables import Cell, spread
from structrag.text.numbers import whole_number

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_COMPATIBLE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"

_DEEPEST = 8  # level of a list, from 0
_SHAPES = {"sp", "pic", "graphicFrame", "cxnSp"}
_GROUPS = {"grpSp", "twoCellAnchor", "oneCellAnchor", "absoluteAnchor"}


def local(element: Element) -> str:
    """The name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def targets(package: Package, part: str) -> dict[str, str]:
    """The parts that a part refers to and that are there, by the id of their relation."""
    return {
        each.id: each.target
        for each in package.relations(part)
        if not each.is_external and each.target in package
    }


def shapes(tree: Element) -> Iterator[Element]:
    """The shapes below `tree` by their places, row by row, those of groups too."""
    stack = [tree]
    while stack:
        element = stack.pop()
        if local(element) in _SHAPES:
            yield element
            continue
        if element.tag == f"{_COMPATIBLE}AlternateContent":
            children = list(element)[:1]
        elif element is tree or local(element) in {*_GROUPS, "Choice", "Fallback"}:
            children = list(element)
        else:
            continue
        stack += reversed(_in_rows(children))


def _in_rows(children: Iterable[Element]) -> list[Element]:
    """Those with places from the top, those side by side from the left. One is beside another if it
    begins above its middle. One whose place is that of its layout stays behind the one before."""
    box = (0, 0, 0)
    boxes = [(*(box := _box(each) or box), each) for each in children]
    row = end = 0
    rows = []
    for top, middle, left, each in sorted(boxes, key=itemgetter(0)):
        if top >= end:
            row, end = row + 1, middle
        rows.append((row, left, each))
    return [each for _, _, each in sorted(rows, key=itemgetter(0, 1))]


def _box(shape: Element) -> tuple[int, int, int] | None:
    """The top of a shape or group, its middle, and its left edge."""
    places = (
        each if local(each) == "xfrm" else each.find(f"{A}xfrm") for each in shape
    )
    place = next((each for each in places if each is not None), None)
    if place is None or len(place) < 2:
        return None
    left, top = (whole_number(place[0].get(name), 0) for name in "xy")
    return top, top + whole_number(place[1].get("cy"), 0) // 2, left


def alternative(shape: Element) -> str:
    """The alternative text of a shape."""
    return " ".join(named(shape, "descr").split())


def named(shape: Element, key: str = "name") -> str:
    """What a shape is called, or is said to show ("descr")."""
    found = next((each for each in shape.iter() if local(each) == "cNvPr"), None)
    return "" if found is None else found.get(key, "")


def paragraph_text(paragraph: Element) -> str:
    """The runs of a paragraph; its line breaks are line ends, its equations one line."""
    texts: list[str] = []
    for child in paragraph:
        if child.tag in (f"{A}r", f"{A}fld"):
            add_run(texts, child.findtext(f"{A}t") or "", _look(child.find(f"{A}rPr")))
        elif child.tag == f"{A}br":
            texts.append("\n")
        elif child.tag not in (f"{A}pPr", f"{A}endParaRPr"):
            symbols = "".join(each.text or "" for each in child.iter(f"{_MATH}t"))
            texts.append(f" {symbols} " if symbols else "")
    return "".join(texts).replace("\v", "\n").replace("\f", " ").strip()


def _look(properties: Element | None) -> str:
    if properties is None:
        return ""
    if properties.get("strike", "noStrike") != "noStrike":
        return STRUCK
    baseline = properties.get("baseline", "0")
    if baseline.startswith("-"):
        return LOWERED
    return "" if baseline.startswith("0") else RAISED


def plain_text(element: Element) -> str:
    """All paragraphs inside, one a line."""
    texts = map(paragraph_text, element.iter(f"{A}p"))
    return "\n".join(filter(None, texts))


def add_shape(
    placed: PlacedText,
    shape: Element,
    package: Package,
    parts: Mapping[str, str],
    *,
    is_list: bool = False,
) -> None:
    """Append what a shape shows, then its alternative text.

    `parts` are what relations lead to, by their ids (`targets`). `is_list` says whether its
    paragraphs are items of a list unless they say no.
    """
    if local(shape) == "graphicFrame":
        for each in shape.iter():
            if each.tag == f"{A}tbl":
                _add_table(placed, each)
            elif local(each) == "chart" and (part := parts.get(each.get(f"{R}id", ""))):
                add_chart(placed, package.xml(part))
            elif each.tag == f"{_DIAGRAM}relIds" and (
                part := parts.get(each.get(f"{R}dm", ""))
            ):
                items = plain_text(package.xml(part)).split("\n")
                placed.add(
                    "\n".join(f"- {escaped_line(item)}" for item in items if item)
                )
    else:
        _add_paragraphs(placed, shape.iter(f"{A}p"), is_list=is_list)
    placed.paragraph(alternative(shape))


def _add_paragraphs(
    placed: PlacedText, paragraphs: Iterable[Element], *, is_list: bool
) -> None:
    items: list[str] = []
    levels: list[int] = []  # of the open list
    for paragraph in paragraphs:
        text = paragraph_text(paragraph)
        if not text:
            continue
        level = _list_level(paragraph.find(f"{A}pPr"), is_list=is_list)
        if not level:
            placed.add("\n".join(items))
            items, levels = [], []
            placed.paragraph(text)
            continue
        while levels and levels[-1] >= level:
            levels.pop()
        indent = "  " * len(levels)
        levels.append(level)
        lines = [escaped_line(line.strip()) for line in text.split("\n")]
        items.append(f"{indent}- " + f"\n{indent}  ".join(filter(None, lines)))
    placed.add("\n".join(items))


def _list_level(properties: Element | None, *, is_list: bool) -> int:
    """From 1; 0 is no list."""
    if properties is None:
        return int(is_list)
    level = min(whole_number(properties.get("lvl"), 0), _DEEPEST)
    has_sign = any(
        properties.find(f"{A}{name}") is not None for name in ("buChar", "buAutoNum")
    )
    is_plain = properties.find(f"{A}buNone") is not None
    return level + 1 if level or has_sign or (is_list and not is_plain) else 0


def _add_table(placed: PlacedText, table: Element) -> None:
    rows = []
    for row in table.iter(f"{A}tr"):
        cells = []
        for cell in row.iter(f"{A}tc"):
            if not (_is_on(cell, "hMerge") or _is_on(cell, "vMerge")):
                columns, height = _span(cell, "gridSpan"), _span(cell, "rowSpan")
                cells.append(Cell(plain_text(cell), columns, height))
        rows.append(cells)
    properties = table.find(f"{A}tblPr")
    has_header = properties is None or properties.get("firstRow", "1") not in (
        "0",
        "false",
    )
    placed.table(spread(rows, has_header), header_rows=int(has_header))


def _is_on(cell: Element, name: str) -> bool:
    return cell.get(name, "0") in ("1", "true")


def _span(cell: Element, name: str) -> int:
    return whole_number(cell.get(name), 1)


def add_chart(placed: PlacedText, root: Element) -> None:
    """Append a chart: its texts, then a table of its categories and series."""
    placed.paragraph(plain_text(root))
    header = [""]
    values: list[dict[int, str]] = []
    for series in (each for each in root.iter() if local(each) == "ser"):
        names = _points(series.find(f"{CHART}tx"))
        categories = _points(series.find(f"{CHART}cat")) or _points(
            series.find(f"{CHART}xVal")
        )
        if categories and (not values or categories != values[0]):
            if values:
                _add_points(placed, header, values)
            header, values = [""], [categories]
        elif not values:
            values = [{}]
        header.append(" ".join(names.values()))
        values.append(
            _points(series.find(f"{CHART}val")) or _points(series.find(f"{CHART}yVal"))
        )
        sizes = _points(series.find(f"{CHART}bubbleSize"))
        if sizes:
            header.append("")
            values.append(sizes)
    _add_points(placed, header, values)


def _add_points(
    placed: PlacedText, header: list[str], values: list[dict[int, str]]
) -> None:
    numbers = sorted({number for points in values for number in points})
    check_characters(len(numbers) * len(values))
    rows = [[points.get(number, "") for points in values] for number in numbers]
    placed.table([header, *rows])


def _points(element: Element | None) -> dict[int, str]:
    """The points of a sequence by their number; levels of categories are joined."""
    levels: dict[int, list[str]] = {}
    for point in element.iter(f"{CHART}pt") if element is not None else ():
        number = whole_number(point.get("idx"), -1)
        if number >= 0:
            levels.setdefault(number, []).append(point.findtext(f"{CHART}v") or "")
    if not levels and element is not None:
        texts = [each.text or "" for each in element.iter(f"{CHART}v")]
        return dict(enumerate(texts))
    return {
        number: " ".join(filter(None, reversed(texts)))
        for number, texts in levels.items()
    }
