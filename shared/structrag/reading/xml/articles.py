"""JATS and DocBook articles and books; any other XML as its text."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.entities import html5
from xml.parsers import expat

from structrag.reading.decoding import xml_text
from structrag.reading.drafts import Draft
from structrag.reading.escaping import (
    assembled,
    escaped_lines,
    fenced,
    heading_line,
)
from structrag.reading.limits import check_depth
from structrag.reading.office.package import refuse
from structrag.reading.tables import Cell, pipe_table, spread
from structrag.text.numbers import whole_number


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_KNOWN = _names(
    "article book chapter part set appendix preface section sect1 reference refentry glossary "
    "bibliography book-part pmc-articleset"
)
_SECTIONS = _names(
    "article book sec app app-group ack ref-list abstract trans-abstract notes glossary boxed-text "
    "bio fn-group sub-article response book-part part chapter section simplesect sect1 sect2 "
    "sect3 sect4 sect5 appendix preface bibliography index dedication acknowledgements colophon "
    "reference refentry refsection refsect1 refsect2 refsect3 refsynopsisdiv partintro glossdiv "
    "bibliodiv"
)
_INFO = _names(
    "info title-group front-stub article-meta book-meta book-part-meta front refmeta"
)
_DROPPED = _names(
    "journal-meta article-id article-categories pub-date volume issue fpage lpage history "
    "permissions self-uri counts custom-meta-group related-article elocation-id processing-meta "
    "object-id indexterm contrib-id alt-title revhistory"
)
_CODE = _names("programlisting preformat screen literallayout synopsis")
_BLOCKS = _names(
    "p para simpara title subtitle label caption attrib disp-formula equation contrib aff "
    "kwd-group ref biblioentry bibliomixed list-item listitem term def fig "
    "table-wrap disp-quote blockquote formalpara phrase-block statement speech verse-line author "
    "funding-group copyright legalnotice subject date corresp refname refpurpose"
)
_ITEMS = _names("list-item listitem ref biblioentry bibliomixed")
_SPACED = _names(
    "ref element-citation biblioentry name string-name kwd author personname contrib aff"
)
_NOTES = _names("fn footnote")
_TABLES = _names("table informaltable")
_TITLES = _names("title article-title refentrytitle label")
_LISTS = _names("list itemizedlist orderedlist variablelist simplelist")
_FORMULAS = _names(
    "inline-formula disp-formula equation inlineequation informalequation"
)
_MOST_AROUND = 10  # elements around a title, and lists inside each other
_QUOTES = _names("disp-quote blockquote epigraph")


@dataclass(slots=True)
class _OpenTable:
    rows: list[list[Cell]] = field(default_factory=list)
    header_rows: int = 0
    columns: dict[str, int] = field(default_factory=dict)  # their places by name


class _ArticleReader:
    def __init__(self, name: str) -> None:
        self.name = name
        self.parts: list[str] = []
        self.title = ""
        self.is_known = False
        self._open: list[str] = []
        self._titled: list[bool] = []  # of the sections that are open
        self._depth = 0  # how many of them have a title
        self._text: list[str] = []
        self._outer: list[list[str]] = []  # texts around cells and notes
        self._notes: list[str] = []
        self._tables: list[_OpenTable] = []
        self._label = ""
        self._items: list[
            str
        ] = []  # what stands in front of the next paragraph of each
        self._lists: list[int] = []  # the number of the next item; 0 for bullets
        self._tex, self._has_math = "", False  # of the formula that is open
        self._dropped = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        local = tag.rpartition(":")[2]
        if not self._open:
            self.is_known = local in _KNOWN
        self._open.append(local)
        if self._dropped or local in _DROPPED:
            self._dropped += 1
        elif not self.is_known:
            self._flush()
        elif local in _NOTES or local in ("td", "th", "entry", "tex-math"):
            self._outer.append(self._text)
            check_depth(len(self._outer), "cells and notes")
            self._text = []
            if self._tables and local in ("td", "th", "entry"):
                self._cell(attributes)
        elif local in _TABLES:
            self._flush()
            self._tables.append(_OpenTable())
        elif local in ("tr", "row") and self._tables:
            self._tables[-1].rows.append([])
            self._tables[-1].header_rows += "thead" in self._open[-3:]
        elif local == "colspec" and self._tables:
            columns = self._tables[-1].columns
            name = attributes.get("colname", f" {len(columns)}")  # no name begins so
            columns.setdefault(name, len(columns))
        elif local in _BLOCKS or local in _SECTIONS or local in _CODE:
            self._flush()
            if local in _SECTIONS and len(self._open) > 1:
                self._titled.append(False)
                self._label = ""
            elif local in _ITEMS:
                self._items.append(self._mark())
        elif local in _TITLES and _is_info((["", *self._open])[-2]):
            self._flush()
        elif local in _LISTS:
            self._flush()
            is_ordered = (
                local == "orderedlist" or attributes.get("list-type") == "order"
            )
            self._lists.append(1 if is_ordered else 0)
        elif local in _FORMULAS:
            self._flush() if local in _BLOCKS else None
            self._tex, self._has_math = "", False
        elif local == "math":
            self._has_math = True
        elif local in ("break", "sbr", "td"):
            self._text.append(" ")

    def _mark(self) -> str:
        """What stands in front of the next item."""
        number = self._lists[-1] if self._lists else 0
        if not number:
            return "- "
        self._lists[-1] += 1
        return f"{number}. "

    def _cell(self, attributes: dict[str, str]) -> None:
        table = self._tables[-1]
        columns = whole_number(attributes.get("colspan"), 1)
        first = table.columns.get(attributes.get("namest", ""))
        last = table.columns.get(attributes.get("nameend", ""))
        if first is not None and last is not None:
            columns = max(1, last - first + 1)
        rows = whole_number(attributes.get("rowspan"), 1) + whole_number(
            attributes.get("morerows"), 0
        )
        if not table.rows:
            table.rows.append([])
        table.rows[-1].append(Cell("", columns, rows))

    def end(self, tag: str) -> None:
        local = self._open.pop()
        if self._dropped:
            self._dropped -= 1
        elif not self.is_known:
            self._flush()
        elif local in _NOTES:
            note = self._taken()
            self._text = self._outer.pop()
            self._notes.append(note)
            if not self._outer and not any(map(str.strip, self._text)):
                self._flush()
        elif local in ("td", "th", "entry"):
            text = self._taken()
            self._text = self._outer.pop()
            if self._tables and self._tables[-1].rows and self._tables[-1].rows[-1]:
                self._tables[-1].rows[-1][-1].text = text
        elif local in _TABLES and self._tables:
            table = self._tables.pop()
            grid = spread(table.rows)
            if self._outer:  # in a cell or a note
                rows = (", ".join(filter(None, row)) for row in grid)
                self._text.append(f" {'; '.join(rows)} ")
            elif shown := pipe_table(grid, table.header_rows):
                self.parts.append(shown)
        elif local in _LISTS and self._lists:
            self._flush()
            self._lists.pop()
        elif local == "tex-math":
            tex = "".join(self._text).partition("\\begin{document}")
            self._text = self._outer.pop()
            self._tex = (tex[2] or tex[0]).partition("\\end{document}")[0].strip("$ \n")
        elif local in _FORMULAS:
            if self._tex and not self._has_math:
                self._text.append(f"${self._tex}$")
            self._tex = ""
            if local in _BLOCKS:
                self._flush()
        elif local in _SECTIONS:
            self._flush()
            if self._open:
                self._depth -= self._titled.pop()
        elif local in _TITLES and not self._outer:
            self._end_title(local)
        elif local in _CODE:
            code = "".join(self._text).strip("\n")
            self._text = [code] if self._outer else []
            if code.strip() and not self._outer:
                self.parts.append(fenced(code))
        elif local in _BLOCKS:
            self._flush()
            if local in _ITEMS and self._items:
                self._items.pop()
        elif self._open and self._open[-1] in _SPACED:
            self._text.append(" ")

    def _end_title(self, local: str) -> None:
        """A title belongs to what is around it, whatever holds it together with other facts."""
        around = self._open[-_MOST_AROUND:]
        while len(around) > 1 and _is_info(around[-1]):
            around.pop()
        owner = around[-1] if around else ""
        if local in ("article-title", "refentrytitle") and owner == self._open[-1]:
            return  # of what is cited
        is_root = len(self._open) <= _MOST_AROUND and len(around) <= 1
        if local == "label" and owner in _ITEMS:
            self._text.append(" ")
        elif not is_root and owner not in _SECTIONS:
            self._flush()
        elif local == "label":
            self._label = self._taken()
        elif title := f"{self._label} {self._taken()}".strip():
            self._label = ""
            level = 1 + bool(self.title) + self._depth
            if is_root and not self.title:
                self.title = title
            elif self._titled:
                level -= self._titled[-1]
                self._depth += not self._titled[-1]
                self._titled[-1] = True
            self.parts.append(heading_line(level, title))

    def characters(self, text: str) -> None:
        if not self._dropped:
            self._text.append(text)

    def skipped(self, entity: str, is_parameter: bool) -> None:
        if not is_parameter:
            self.characters(html5.get(f"{entity};", f"&{entity};"))

    def refused(self, *_: object) -> None:
        refuse(
            self.name,
            "it declares entities, which could expand without limit. Save it without them.",
        )

    def _taken(self) -> str:
        text = " ".join("".join(self._text).split())
        self._text.clear()
        return text

    def _flush(self) -> None:
        if self._outer:
            self._text.append(" ")
            return
        text = self._taken()
        line = escaped_lines([text])[0] if text else ""
        if line and self._items:
            outer = "".join(self._items[-_MOST_AROUND:-1])
            line = f"{' ' * len(outer)}{self._items[-1]}{line}"
            self._items[-1] = " " * len(self._items[-1])
        elif line and _QUOTES & set(self._open[-3:]):
            line = f"> {line}"
        if line:
            self.parts.append(line)
        for note in filter(None, self._notes):
            self.parts.append(f"> {escaped_lines([note])[0]}")
        self._notes.clear()


def to_markdown(data: bytes, name: str = "") -> Draft:
    """An article or book as Markdown; XML of any other kind as text without headings.

    A document type is never fetched; HTML's named characters are read without it.

    Raises:
        InvalidDocument: It is not well-formed, or declares entities.
    """
    reader = _ArticleReader(name)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.characters
    parser.SkippedEntityHandler = reader.skipped
    parser.EntityDeclHandler = reader.refused
    try:
        parser.Parse(xml_text(data, name), True)
    except expat.ExpatError as error:
        refuse(name, f"it is not well-formed XML ({error}). Save it again.")
    return Draft(assembled(reader.parts), title=reader.title)


def _is_info(tag: str) -> bool:
    return tag in _INFO or tag.endswith("info")
