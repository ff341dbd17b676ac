"""JATS and DocBook articles and books; any other XML as its text."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.entities import html5
from xml.parsers import expat

from structrag.reading.drafts import Draft
from structrag.reading.escaping import (
    assembled,
    escaped_lines,
    fenced,
    heading_line,
)
from structrag.reading.office.package import refuse
from structrag.reading.office.tables import Cell, pipe_table, spread


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_KNOWN = _names(
    "article book chapter part set appendix preface section sect1 reference refentry glossary "
    "bibliography book-part pmc-articleset"
)
_SECTIONS = _names(
    "sec app app-group ack ref-list abstract trans-abstract notes glossary boxed-text bio fn-group "
    "sub-article response book-part part chapter section simplesect sect1 sect2 sect3 sect4 sect5 "
    "appendix preface bibliography index dedication acknowledgements colophon reference refentry "
    "refsection refsect1 refsect2 refsect3 refsynopsisdiv partintro glossdiv bibliodiv"
)
_INFO = _names(
    "info title-group front-stub article-meta book-meta book-part-meta front"
)
_DROPPED = _names(
    "journal-meta article-id article-categories pub-date volume issue fpage lpage history "
    "permissions self-uri counts custom-meta-group related-article elocation-id processing-meta "
    "tex-math object-id indexterm contrib-id alt-title revhistory"
)
_CODE = _names("programlisting preformat screen literallayout synopsis")
_BLOCKS = _names(
    "p para simpara title subtitle label caption attrib disp-formula equation contrib aff "
    "kwd-group ref mixed-citation biblioentry bibliomixed list-item listitem term def fig "
    "table-wrap disp-quote blockquote formalpara phrase-block statement speech verse-line author "
    "funding-group copyright legalnotice subject date corresp"
)
_ITEMS = _names("list-item listitem ref biblioentry bibliomixed")
_SPACED = _names(
    "element-citation biblioentry name string-name kwd author personname contrib aff"
)
_NOTES = _names("fn footnote")
_TABLES = _names("table informaltable")
_QUOTES = _names("disp-quote blockquote epigraph")


@dataclass(slots=True)
class _Table:
    rows: list[list[Cell]] = field(default_factory=list)
    header_rows: int = 0
    columns: list[str] = field(default_factory=list)


class _Reader:
    def __init__(self, name: str) -> None:
        self.name = name
        self.parts: list[str] = []
        self.title = ""
        self.is_known = False
        self._open: list[str] = []
        self._titled: list[bool] = []  # of the sections that are open
        self._text: list[str] = []
        self._outer: list[list[str]] = []  # texts around cells and notes
        self._notes: list[str] = []
        self._tables: list[_Table] = []
        self._label = ""
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
        elif local in _NOTES or local in ("td", "th", "entry"):
            self._outer.append(self._text)
            self._text = []
            if self._tables and local not in _NOTES:
                self._cell(attributes)
        elif local in _TABLES:
            self._flush()
            self._tables.append(_Table())
        elif local in ("tr", "row") and self._tables:
            self._tables[-1].rows.append([])
            self._tables[-1].header_rows += "thead" in self._open[-3:]
        elif local == "colspec" and self._tables:
            self._tables[-1].columns.append(attributes.get("colname", ""))
        elif local in _BLOCKS or local in _SECTIONS or local in _CODE:
            self._flush()
            if local in _SECTIONS:
                self._titled.append(False)
                self._label = ""
        elif local == "article-title" and "title-group" in self._open[-2:]:
            self._flush()
        elif local in ("break", "sbr", "td"):
            self._text.append(" ")

    def _cell(self, attributes: dict[str, str]) -> None:
        table = self._tables[-1]
        columns = _count(attributes.get("colspan"), 1)
        ends = attributes.get("namest"), attributes.get("nameend")
        if all(each in table.columns for each in ends):
            first, last = (table.columns.index(each or "") for each in ends)
            columns = max(1, last - first + 1)
        rows = _count(attributes.get("rowspan"), 1) + _count(
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
            if not self._outer and not "".join(self._text).strip():
                self._flush()
        elif local in ("td", "th", "entry"):
            text = self._taken()
            self._text = self._outer.pop()
            if self._tables and self._tables[-1].rows and self._tables[-1].rows[-1]:
                self._tables[-1].rows[-1][-1].text = text
        elif local in _TABLES and self._tables:
            table = self._tables.pop()
            shown = pipe_table(spread(table.rows), table.header_rows)
            if self._outer:
                self._text.append(f" {' '.join(shown.split())} ")
            elif shown:
                self.parts.append(shown)
        elif local in _SECTIONS:
            self._flush()
            self._titled.pop()
        elif local in ("title", "article-title", "label") and not self._outer:
            self._end_title(local)
        elif local in _CODE:
            code = "".join(self._text).strip("\n")
            self._text = [code] if self._outer else []
            if code.strip() and not self._outer:
                self.parts.append(fenced(code))
        elif local in _BLOCKS:
            self._flush(local)
        elif self._open and self._open[-1] in _SPACED:
            self._text.append(" ")

    def _end_title(self, local: str) -> None:
        around = [each for each in self._open[-3:] if each not in _INFO]
        parent = self._open[-1] if self._open else ""
        if parent in _INFO or parent.endswith("info"):
            parent = around[-1] if around and not around[-1].endswith("info") else ""
            parent = parent or next(
                (
                    e
                    for e in reversed(self._open)
                    if e not in _INFO and not e.endswith("info")
                ),
                "",
            )
        is_root = parent in ("", self._open[0]) and len(self._titled) == (
            parent in _SECTIONS
        )
        if not (is_root or parent in _SECTIONS) or (
            local == "article-title"
            and (self._open[-1] != "title-group" and self._open[-1] not in _INFO)
        ):
            if local != "article-title":
                self._flush()
            return
        if local == "label":
            self._label = self._taken()
            return
        title = f"{self._label} {self._taken()}".strip()
        self._label = ""
        if is_root and not self.title:
            self.title = title
        elif title:
            level = 1 + sum(self._titled)
            if self._titled and not self._titled[-1]:
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
            "it declares entities, which could be a bomb. Save it without them.",
        )

    def _taken(self) -> str:
        text = " ".join("".join(self._text).split())
        self._text.clear()
        return text

    def _flush(self, local: str = "") -> None:
        if self._outer:
            self._text.append(" ")
            return
        text = self._taken()
        lines = escaped_lines([text]) if text else []
        if lines and _ITEMS & {*self._open[-3:], local}:
            lines = [f"- {lines[0]}"]
        elif lines and _QUOTES & set(self._open[-3:]):
            lines = [f"> {lines[0]}"]
        if lines:
            self.parts.append(lines[0])
        for note in filter(None, self._notes):
            self.parts.append(f"> {escaped_lines([note])[0]}")
        self._notes.clear()


def to_markdown(data: bytes, name: str = "") -> Draft:
    """An article or book as Markdown; XML of any other kind as text without headings.

    A document type is never fetched; HTML's named characters are read without it.

    Raises:
        InvalidDocument: It is not well-formed, or declares entities.
    """
    reader = _Reader(name)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.characters
    parser.SkippedEntityHandler = reader.skipped
    parser.EntityDeclHandler = reader.refused
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, LookupError) as error:
        refuse(name, f"it is not well-formed XML ({error}). Save it again.")
    return Draft(assembled(reader.parts), title=reader.title)


def _count(text: str | None, default: int) -> int:
    is_number = text is not None and text.isdecimal() and len(text) < 6
    return int(text) if text is not None and is_number else default
