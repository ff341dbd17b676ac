"""Text documents of OpenDocument (ODT) by their own XML."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from xml.etree.ElementTree import Element

from structrag.errors import InvalidDocument
from structrag.reading.drafts import Draft
from structrag.reading.formulas import linear, local
from structrag.reading.limits import spend_characters
from structrag.reading.looks import LOWERED, RAISED, STRUCK
from structrag.reading.office.counting import counted
from structrag.reading.office.inheritance import inherited
from structrag.reading.office.package import Package, joined, walk
from structrag.reading.office.story import (
    PAGE,
    StoryParagraph,
    StoryPiece,
    StoryTable,
    flat,
    mark,
    on_one_page,
    to_draft,
)
from structrag.reading.tables import AROUND_CELL, MOST_COLUMNS, Cell
from structrag.text.numbers import whole_number

_BASE = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}"
_OFFICE = _BASE % "office"
_TEXT = _BASE % "text"
_TABLE = _BASE % "table"
_STYLE = _BASE % "style"
_SVG = _BASE % "svg-compatible"
_DRAW = _BASE % "drawing"
_FO = _BASE % "xsl-fo-compatible"
_DC = "{http://purl.org/dc/elements/1.1/}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_MATH = "{http://www.w3.org/1998/Math/MathML}math"

_DEEPEST = 10  # level of a heading
_SPACE = re.compile(r"[ \t\r\n]+")
_FORMS = {
    "1": "decimal",
    "a": "lowerLetter",
    "A": "upperLetter",
    "i": "lowerRoman",
    "I": "upperRoman",
}
_NOT_SHOWN = {
    f"{_TEXT}tracked-changes",
    f"{_TEXT}note-citation",
    f"{_TEXT}sequence-decls",
    f"{_TEXT}variable-decls",
    f"{_TEXT}user-field-decls",
    f"{_TEXT}table-of-content-source",
    f"{_TEXT}bibliography-source",
    f"{_TEXT}alphabetical-index-source",
    f"{_TEXT}illustration-index-source",
    f"{_TEXT}table-index-source",
    f"{_TEXT}object-index-source",
    f"{_TEXT}user-index-source",
    f"{_TABLE}covered-table-cell",
    f"{_OFFICE}forms",
    f"{_OFFICE}event-listeners",
    f"{_DC}creator",
    f"{_DC}date",
}


def to_markdown(data: bytes, name: str = "", *, comments: bool = False) -> Draft:
    """A text document of OpenDocument as Markdown.

    Numbers of headings and lists are written out, deleted and hidden text is left out; notes stand
    behind the paragraph that has their mark.

    Args:
        data: The file's bytes.
        name: What errors call the file.
        comments: Also keep comments, as notes.

    Raises:
        InvalidDocument: It is no such file, or broken, encrypted or too large.
    """
    package = Package(data, name)
    root = package.xml("content.xml")
    body = root.find(f"{_OFFICE}body/{_OFFICE}text")
    if body is None:
        package.refuse(
            "it holds no text document. Give it the suffix of its real format."
        )
    roots = [package.xml("styles.xml")] if "styles.xml" in package else []
    reader = _OdtReader(package, _Styles([*roots, root]), comments=comments)
    walk(body, reader.enter, reader.leave)
    title = package.title("meta.xml")
    return to_draft(reader.pieces, reader.notes, title, reader.uncertain)


def _count(element: Element, name: str, default: int = 1) -> int:
    return whole_number(element.get(name), default)


@dataclass(frozen=True, slots=True)
class _OdtStyle:
    """What a style, with those it is based on, says."""

    weight: str = ""
    display: str = ""
    look: str | None = (
        None  # one of `looks`, "" for none; None: that of the text around
    )
    is_title: bool = False
    level: int = 0  # of a heading; 0 for text


class _Styles:
    """Styles of paragraphs and text, and how lists and headings are numbered."""

    def __init__(self, roots: list[Element]) -> None:
        self._styles: dict[tuple[str, str], Element] = {}
        self._resolved: dict[tuple[str, str], _OdtStyle] = {}
        self.lists: dict[str, dict[int, Element]] = {}
        self.outline: dict[int, Element] = {}
        for root in roots:
            for each in root.iter():
                name = each.get(f"{_STYLE}name", "")
                if each.tag == f"{_STYLE}style":
                    self._styles[each.get(f"{_STYLE}family", ""), name] = each
                elif each.tag == f"{_TEXT}list-style":
                    self.lists[name] = _levels(each)
                elif each.tag == f"{_TEXT}outline-style":
                    self.outline = _levels(each)

    def get(self, element: Element, family: str) -> _OdtStyle:
        """The style of an element; a plain one where it is unknown."""
        key = family, element.get(f"{_TEXT}style-name", "")
        return inherited(key, self._base, self._resolved, _OdtStyle(), self._made)

    def _base(self, key: tuple[str, str]) -> tuple[str, str] | None:
        style = self._styles.get(key)
        name = None if style is None else style.get(f"{_STYLE}parent-style-name")
        return (key[0], name) if name else None

    def _made(self, key: tuple[str, str], base: _OdtStyle) -> _OdtStyle:
        """A style by what it says itself, and by the one it is based on."""
        style = self._styles.get(key)
        if style is None:
            return base
        names = (style.get(f"{_STYLE}{each}") for each in ("name", "display-name"))
        properties = style.find(f"{_STYLE}text-properties")
        text = {} if properties is None else properties.attrib
        return _OdtStyle(
            text.get(f"{_FO}font-weight", base.weight),
            text.get(f"{_TEXT}display", base.display),
            _look(text, base.look),
            base.is_title or "Title" in names,
            _count(style, f"{_STYLE}default-outline-level", 0) or base.level,
        )


def _look(text: Mapping[str, str], default: str | None) -> str | None:
    line = text.get(f"{_STYLE}text-line-through-style")
    place = text.get(f"{_STYLE}text-position")
    if line not in (None, "none"):
        return STRUCK
    if place is None:
        return "" if line else default
    if place.startswith(("sub", "-")):
        return LOWERED
    return "" if place.startswith("0") else RAISED


def _levels(root: Element) -> dict[int, Element]:
    return {_count(each, f"{_TEXT}level"): each for each in root}


@dataclass(slots=True)
class _OdtList:
    style: str
    counts: list[int]  # of this list and those around it
    label: str | None = None  # of the open item; None once it is used


@dataclass(slots=True)
class _OdtTable(StoryTable):
    in_header: bool = False
    pages: str = ""  # between rows


class _OdtReader:
    """A walk through a document, with what is open."""

    def __init__(self, package: Package, styles: _Styles, *, comments: bool) -> None:
        self._package = package
        self._styles = styles
        self._comments = comments
        self.pieces: list[StoryPiece] = []
        self.notes: dict[int, str] = {}
        self.uncertain: list[str] = []
        self._paragraphs: list[StoryParagraph] = []
        self._looks: list[tuple[bool, str]] = []  # whether text is bold, and its look
        self._lists: list[_OdtList] = []
        self._last: dict[str, int] = {}  # where lists of a style stopped
        self._outline: list[int] = []
        self._tables: list[_OdtTable] = []
        self._outer: list[
            tuple[
                list[StoryPiece], list[StoryParagraph], list[_OdtList], list[_OdtTable]
            ]
        ] = []
        self._enter: dict[str, Callable[[Element], bool]] = {
            f"{_TEXT}p": self._open_paragraph,
            f"{_TEXT}h": self._open_paragraph,
            f"{_TEXT}span": self._open_span,
            f"{_TEXT}ruby-text": lambda _: not self._add("("),
            f"{_TEXT}s": self._spaces,
            f"{_TEXT}tab": lambda _: self._add("\t"),
            f"{_TEXT}line-break": lambda _: self._add("\n"),
            f"{_TEXT}soft-page-break": self._page,
            f"{_TEXT}list": self._open_list,
            f"{_TEXT}list-item": self._open_item,
            f"{_TEXT}section": lambda e: e.get(f"{_TEXT}display") != "none",
            f"{_TEXT}hidden-text": lambda e: e.get(f"{_TEXT}is-hidden") == "false",
            f"{_TEXT}note": self._open_note,
            f"{_OFFICE}annotation": self._open_note,
            f"{_TABLE}table": self._open_table,
            f"{_TABLE}table-header-rows": self._open_header,
            f"{_TABLE}table-row": self._open_row,
            f"{_TABLE}table-cell": self._open_story,
            f"{_SVG}title": self._alternative,
            f"{_SVG}desc": self._alternative,
            f"{_DRAW}object": self._object,
            _MATH: self._equation,
        }
        self._enter |= dict.fromkeys(_NOT_SHOWN, lambda _: False)
        self._leave: dict[str, Callable[[Element], object]] = {
            f"{_TEXT}p": self._close_paragraph,
            f"{_TEXT}h": self._close_paragraph,
            f"{_TEXT}span": self._close_span,
            f"{_TEXT}ruby-text": lambda _: self._add(")"),
            f"{_TEXT}list": self._close_list,
            f"{_TEXT}note": self._close_note,
            f"{_OFFICE}annotation": self._close_note,
            f"{_TABLE}table": self._close_table,
            f"{_TABLE}table-header-rows": self._close_header,
            f"{_TABLE}table-row": self._close_row,
            f"{_TABLE}table-cell": self._close_cell,
        }

    def enter(self, element: Element) -> bool:
        action = self._enter.get(element.tag)
        goes_in = action is None or action(element)
        if goes_in and element.text:
            self._add(_SPACE.sub(" ", element.text))
        return goes_in

    def leave(self, element: Element) -> None:
        action = self._leave.get(element.tag)
        if action:
            action(element)
        if element.tail:
            self._add(_SPACE.sub(" ", element.tail))

    def _add(self, text: str) -> bool:
        if self._paragraphs:
            bold, look = self._looks[-1]
            self._paragraphs[-1].add(text, bold=bold, look=look)
        return False

    def _emit(self, pieces: list[StoryPiece]) -> None:
        (self._paragraphs[-1].after if self._paragraphs else self.pieces).extend(pieces)

    def _open_look(self, element: Element, family: str) -> bool:
        """Begin text in its style; False where that is hidden."""
        style = self._styles.get(element, family)
        is_bold, look = self._looks[-1] if self._looks else (False, "")
        if style.weight:
            is_bold = style.weight == "bold"
        self._looks.append((is_bold, look if style.look is None else style.look))
        return style.display != "none"

    def _open_paragraph(self, element: Element) -> bool:
        self._paragraphs.append(StoryParagraph())
        return self._open_look(element, "paragraph")

    def _close_paragraph(self, element: Element) -> None:
        paragraph = self._paragraphs.pop()
        self._looks.pop()
        style = self._styles.get(element, "paragraph")
        is_title = style.is_title and not self._outer
        level = 0
        if element.tag == f"{_TEXT}h":
            level = _count(element, f"{_TEXT}outline-level")
        elif not is_title:
            level = style.level
        level = min(level, _DEEPEST)
        label, depth = "", 0
        if self._lists:
            item = self._lists[-1]
            label, depth = item.label or "", len(self._lists)
            is_first, item.label = item.label is not None, None
        elif level:
            label = self._heading_label(element, level)
        if level or is_title:
            depth = 0
        pieces = paragraph.pieces(
            level=level, depth=depth, label=label, is_title=is_title
        )
        target = self._paragraphs[-1].after if self._paragraphs else self.pieces
        if depth and not is_first and pieces and target and target[-1].depth:
            before = target[-1]  # one more paragraph of the same item
            target[-1] = replace(
                before,
                text=f"{before.text}\n{pieces[0].text}",
                notes=before.notes + pieces[0].notes,
            )
            del pieces[0]
        target += pieces

    def _heading_label(self, element: Element, level: int) -> str:
        if element.get(f"{_TEXT}is-list-header") == "true":
            return ""
        del self._outline[level:]
        self._outline += [0] * (level - len(self._outline))
        self._outline[-1] += 1
        if element.get(f"{_TEXT}restart-numbering") == "true":
            self._outline[-1] = _count(element, f"{_TEXT}start-value")
        return self._label(self._styles.outline, self._outline) or ""

    def _label(self, levels: dict[int, Element], counts: list[int]) -> str:
        """The number as it is shown; "" for a bullet."""
        depth = len(counts)
        style = levels.get(depth)
        if style is None or not style.get(f"{_STYLE}num-format"):
            return ""
        shown = _count(style, f"{_TEXT}display-levels")
        numbers = []
        for place in range(max(0, depth - shown), depth):
            level = levels.get(place + 1, style)
            form = _FORMS.get(level.get(f"{_STYLE}num-format", ""), "none")
            numbers.append(counted(max(1, counts[place]), form))
        inside = ".".join(filter(None, numbers))
        before, after = (style.get(f"{_STYLE}num-{end}", "") for end in _AROUND)
        return f"{before}{inside}{after}".strip()

    def _open_span(self, element: Element) -> bool:
        return self._open_look(element, "text")

    def _close_span(self, element: Element) -> None:
        self._looks.pop()

    def _spaces(self, element: Element) -> bool:
        blanks = " " * min(_count(element, f"{_TEXT}c"), 100)
        spend_characters(len(blanks))
        return self._add(blanks)

    def _page(self, element: Element) -> bool:
        if self._paragraphs:
            self._paragraphs[-1].parts.append(PAGE)
        elif self._tables:
            self._tables[-1].pages += PAGE
        else:
            self.pieces.append(StoryPiece(PAGE))
        return False

    def _open_list(self, element: Element) -> bool:
        outer = self._lists[-1] if self._lists else None
        style = element.get(f"{_TEXT}style-name", outer.style if outer else "")
        depth = len(self._lists) + 1
        level = self._styles.lists.get(style, {}).get(depth)
        start = 1 if level is None else _count(level, f"{_TEXT}start-value")
        goes_on = element.get(f"{_TEXT}continue-numbering") == "true"
        if (goes_on or element.get(f"{_TEXT}continue-list")) and not outer:
            start = self._last.get(style, start - 1) + 1
        counts = [*(outer.counts if outer else []), start - 1]
        self._lists.append(_OdtList(style, counts))
        return True

    def _open_item(self, element: Element) -> bool:
        if self._lists:
            item = self._lists[-1]
            item.counts[-1] = _count(
                element, f"{_TEXT}start-value", item.counts[-1] + 1
            )
            levels = self._styles.lists.get(item.style, {})
            item.label = self._label(levels, item.counts)
        return True

    def _close_list(self, element: Element) -> None:
        done = self._lists.pop()
        if not self._lists:
            self._last[done.style] = done.counts[-1]

    def _open_note(self, element: Element) -> bool:
        if element.tag.startswith(_OFFICE) and not self._comments:
            return False
        return self._open_story(element)

    def _close_note(self, element: Element) -> None:
        is_comment = element.tag.startswith(_OFFICE)
        if is_comment and not self._comments:
            return
        text = flat(self._close_story()).replace(PAGE, "")
        author = element.findtext(f"{_DC}creator") if is_comment else None
        number = len(self.notes) + 1
        self.notes[number] = f"{author}: {text}" if author else text
        if self._paragraphs:
            self._paragraphs[-1].notes.append(number)
            self._paragraphs[-1].parts.append(mark(number))
        else:
            self.pieces.append(StoryPiece(mark(number), notes=(number,)))

    def _open_story(self, element: Element) -> bool:
        self._outer.append((self.pieces, self._paragraphs, self._lists, self._tables))
        self.pieces, self._paragraphs, self._lists, self._tables = [], [], [], []
        return True

    def _close_story(self) -> list[StoryPiece]:
        inside = self.pieces
        self.pieces, self._paragraphs, self._lists, self._tables = self._outer.pop()
        return inside

    def _open_table(self, element: Element) -> bool:
        self._tables.append(_OdtTable())
        return True

    def _open_header(self, element: Element) -> bool:
        if self._tables:
            self._tables[-1].in_header = True
        return True

    def _close_header(self, element: Element) -> None:
        if self._tables:
            self._tables[-1].in_header = False

    def _open_row(self, element: Element) -> bool:
        if self._tables:
            self._tables[-1].rows.append([])
        return bool(self._tables)

    def _close_cell(self, element: Element) -> None:
        inside = self._close_story()
        if not self._tables or not self._tables[-1].rows:
            self._emit(inside)
            return
        done = self._tables[-1]
        text = flat(inside)
        done.inside = inside
        done.notes.update(note for piece in inside for note in piece.notes)
        columns = _count(element, f"{_TABLE}number-columns-spanned")
        rows = _count(element, f"{_TABLE}number-rows-spanned")
        times = min(_count(element, f"{_TABLE}number-columns-repeated"), MOST_COLUMNS)
        if text:
            spend_characters(times * (len(text) + AROUND_CELL))
            copy = Cell(text.replace(PAGE, ""), columns, rows)
            done.rows[-1] += [Cell(text, columns, rows), *[copy] * (times - 1)]
        else:
            done.rows[-1].append(Cell("", max(columns, times), rows))

    def _close_row(self, element: Element) -> None:
        if not self._tables:
            return
        done = self._tables[-1]
        row = done.rows[-1]
        if done.in_header and done.header_rows == len(done.rows) - 1:
            done.header_rows += 1
        on_one_page(row)
        if row and done.pages:
            row[0].text = done.pages + row[0].text
            done.pages = ""
        said = _count(element, f"{_TABLE}number-rows-repeated")
        if said > 1 and any(cell.text for cell in row):
            spend_characters(said * sum(len(cell.text) + AROUND_CELL for cell in row))
            plain = [replace(cell, text=cell.text.replace(PAGE, "")) for cell in row]
            done.rows += [plain] * (said - 1)

    def _close_table(self, element: Element) -> None:
        self._emit(self._tables.pop().pieces())

    def _alternative(self, element: Element) -> bool:
        text = " ".join((element.text or "").split())
        if text:
            self._emit([StoryPiece(text)])
        return False

    def _object(self, element: Element) -> bool:
        part = f"{joined('', element.get(_HREF, ''))}/content.xml"
        if part in self._package:
            try:
                root = self._package.xml(part)
            except InvalidDocument:  # the rest of the document is no worse for it
                self.uncertain.append(f"{part} could not be read and was left out.")
                return True
            if local(root.tag) == "math":
                self._add(f" {linear(root)} ")
        return True

    def _equation(self, element: Element) -> bool:
        return self._add(f" {linear(element)} ")


_AROUND = ("prefix", "suffix")
