"""XML documents, by way of HTML: JATS, DocBook, RFC, TEI, DITA, FB2. Any other XML as its text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from html.entities import html5
from xml.parsers import expat

from structrag.reading.decoding import xml_text
from structrag.reading.drafts import Draft
from structrag.reading.html.markdown import page_draft
from structrag.reading.limits import check_depth
from structrag.reading.markup.lines import by_word
from structrag.reading.office.package import refuse
from structrag.text.numbers import whole_number


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NAMED = _names(  # what may begin with a name or a head
    "section references div div0 div1 div2 div3 div4 div5 div6 div7"
)
_SECTIONS = _NAMED | _names(
    "article book sec app app-group ack ref-list abstract trans-abstract notes glossary boxed-text "
    "bio fn-group sub-article response book-part part chapter simplesect sect1 sect2 sect3 sect4 "
    "sect5 appendix preface bibliography index dedication acknowledgements colophon reference "
    "refentry refsection refsect1 refsect2 refsect3 refsynopsisdiv partintro glossdiv bibliodiv "
    "set topic concept task"
)
_TITLES = _names("title article-title refentrytitle label name head")
_APART = _names(  # what holds a title that is no heading
    "front titleStmt title-info"
)
_INFO = re.compile(  # what holds a title and other facts
    r".*info|title-group|front-stub|(?:article|book|book-part)-meta|front|refmeta"
)
_DROPPED = _names(
    "journal-meta article-id article-categories pub-date volume issue fpage lpage history "
    "permissions self-uri counts custom-meta-group related-article elocation-id processing-meta "
    "object-id indexterm contrib-id alt-title revhistory binary"
)
_HTML = by_word(
    p="p para simpara t ab l v title subtitle attrib contrib aff author personname address "
    "kwd-group funding-group subject def-item",
    pre="programlisting preformat screen literallayout synopsis sourcecode artwork codeblock",
    blockquote="disp-quote blockquote epigraph cite",
    ul="list itemizedlist simplelist ul",
    ol="orderedlist ol",
    li="list-item listitem li item ref biblioentry bibliomixed",
    dl="dl variablelist def-list",
    dt="dt term",
    dd="dd def",
    table="table informaltable",
    tr="tr row",
    td="td entry cell",
    th="th",
    thead="thead",
    sup="sup superscript",
    sub="sub subscript",
    br="break sbr lb br",
)
_AROUND = _names("ul ol dl table tr thead blockquote")  # hold blocks, no text
_SPACED = _names(
    "ref element-citation biblioentry bibliomixed name string-name kwd author personname contrib "
    "aff address postal"
)
_REFERENCES = _names("ref biblioentry bibliomixed")
_ASIDE = _names("fn footnote tex-math")
_FORMULAS = _names(
    "inline-formula disp-formula equation inlineequation informalequation"
)
_MEANT = _names("math note colspec varlistentry").union(
    *(_SECTIONS, _TITLES, _APART, _DROPPED, _SPACED, _ASIDE, _FORMULAS, _HTML)
)
_MOST_AROUND = 10  # elements around a title
_TAG = re.compile(r"<[^<>]*>")


@dataclass(slots=True)
class _OpenElement:
    name: str = ""
    is_line: bool = (
        False  # its text is a paragraph: what is unknown inside belongs to it
    )
    is_dropped: bool = False
    is_math: bool = False
    tables: int = 0  # it and around it
    is_apart: bool = False  # it, or what is around it, is read apart
    has_text: bool = False
    is_titled: bool = False
    behind: str = ""  # what is written at its end
    around: list[str] | None = None  # what is written around it, while it is read apart


class _PageWriter:
    """The HTML of a document, written while it is parsed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.html: list[str] = []
        self._open = [_OpenElement()]
        self._depth = 0  # of the open sections with titles
        self._label = ""
        self._notes: list[str] = []
        self._columns: dict[str, int] = {}  # the places of a table's columns by name
        self._tex, self._has_math = "", False  # of the formula that is open

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name, above = tag.rpartition(":")[2], self._open[-1]
        is_meant = name in _MEANT or above.name in _SPACED
        if above.is_line and not (above.is_math or is_meant):
            self._open.append(above)  # a part of its line
            return
        element = _OpenElement(
            name,
            above.is_line,
            above.is_dropped or name in _DROPPED,
            above.is_math or name == "math",
            above.tables,
            above.is_apart,
        )
        self._open.append(element)
        if element.is_dropped:
            return
        self._has_math |= name == "math"
        if name in _FORMULAS:
            self._tex, self._has_math = "", False
        is_note = name == "note" and above.is_line
        if is_note or name in _ASIDE or self._owner(name):
            element.around, self.html = self.html, []
            element.is_line = element.is_apart = True
        elif element.is_math:
            self._write(element, name)
        elif html := _HTML.get(name, ""):
            self._known(element, html, attributes)
        elif name == "colspec":
            self._columns.setdefault(attributes.get("colname", ""), len(self._columns))
        elif not (above.is_line or above.has_text):
            self._write(element, "p")
        elif above.name in _SPACED:
            self.html.append(" ")

    def _known(
        self, element: _OpenElement, html: str, attributes: dict[str, str]
    ) -> None:
        name, above = element.name, self._open[-2]
        if html == "table":
            self._columns = {}
            element.tables += 1
            check_depth(element.tables, "tables")
        elif html in ("td", "th"):
            is_head = html == "th" or "thead" in (each.name for each in self._open[-3:])
            html = f"{'th' if is_head else 'td'}{self._span(attributes)}"
        elif name == "title" and _HTML.get(above.name) == "table":
            html = "caption"
        elif html == "ul" and attributes.get("list-type") == "order":
            html = "ol"
        elif html == "li" and above.name in ("varlistentry", "def-item"):
            html = "dd"
        if name in _REFERENCES:
            self.html.append("<ul>")
        element.is_line = html not in _AROUND
        self._write(element, html)
        element.behind += "</ul>" * (name in _REFERENCES)

    def _write(self, element: _OpenElement, html: str) -> None:
        self.html.append(f"<{html}>")
        element.behind = f"</{html.partition(' ')[0]}>"

    def _span(self, attributes: dict[str, str]) -> str:
        columns = whole_number(attributes.get("colspan"), 1)
        first = self._columns.get(attributes.get("namest", ""))
        last = self._columns.get(attributes.get("nameend", ""))
        if first is not None and last is not None:
            columns = max(1, last - first + 1)
        rows = whole_number(attributes.get("rowspan"), 1)
        rows += whole_number(attributes.get("morerows"), 0)
        return (
            f' colspan="{columns}" rowspan="{rows}"'
            if (columns, rows) != (1, 1)
            else ""
        )

    def _owner(self, name: str) -> _OpenElement | None:
        """The section or metadata that a title belongs to, whatever holds it together with other
        facts; None for other titles."""
        above = self._open[-2]
        is_apart = name.endswith("title") and above.name in _APART
        if is_apart and self._open[1].name not in _SECTIONS:
            return above
        if name not in _TITLES or (
            name in ("name", "head") and above.name not in _NAMED
        ):
            return None
        around = self._open[-_MOST_AROUND:-1]
        while len(around) > 1 and _INFO.fullmatch(around[-1].name):
            around.pop()
        owner = around[-1]
        if name in ("article-title", "refentrytitle") and owner is above:
            return None  # of what is cited
        return owner if owner.name in _SECTIONS else None

    def end(self, tag: str) -> None:
        element = self._open[-1]
        name = element.name
        if element is self._open[-2]:
            self._open.pop()
            return
        if element.around is not None:
            text, self.html = "".join(self.html), element.around
            self._apart(name, text)
        elif name in _FORMULAS and self._tex and not self._has_math:
            self.html.append(f"${escape(self._tex)}$")
            self._tex = ""
        self._depth -= element.is_titled
        self._open.pop()
        self.html.append(element.behind)
        above = self._open[-1]
        if self._notes and element.behind and not (above.tables or above.is_apart):
            self.html += [f"<blockquote>{note}</blockquote>" for note in self._notes]
            self._notes.clear()

    def _apart(self, name: str, text: str) -> None:
        """Put what was read apart where it belongs."""
        owner = self._owner(name)
        if name == "tex-math":
            tex = text.partition("\\begin{document}")
            self._tex = (tex[2] or tex[0]).partition("\\end{document}")[0].strip("$ \n")
        elif owner is None:
            self._notes.append(text)
        elif name == "label":
            self._label = f"{text} "
        else:
            if owner.name not in _SECTIONS or owner is self._open[1]:
                self.html.append(f"<title>{_TAG.sub('', text)}</title>")
            if owner.name not in _SECTIONS:
                self.html.append(f"<p>{text}</p>")
                return
            self._depth += not owner.is_titled
            owner.is_titled = True
            level = min(self._depth, 6)
            self.html.append(f"<h{level}>{self._label}{text}</h{level}>")
            self._label = ""

    def characters(self, text: str) -> None:
        element = self._open[-1]
        is_text = element.is_line or element.has_text or not text.isspace()
        if is_text and not element.is_dropped:
            self.html.append(escape(text, quote=False))
            element.has_text = True

    def skipped(self, entity: str, is_parameter: bool) -> None:
        if not is_parameter:
            self.characters(html5.get(f"{entity};", f"&{entity};"))

    def refused(self, *_: object) -> None:
        refuse(
            self.name,
            "it declares entities, which could expand without limit. Save it without them.",
        )


def to_markdown(data: bytes, name: str = "") -> Draft:
    """A document as Markdown; XML of an unknown kind as text.

    A section that begins with a title, a name or a head has it as its heading. A document type is
    never fetched; HTML's named characters are read without it.

    Raises:
        InvalidDocument: It is not well-formed, or declares entities.
    """
    page = _PageWriter(name)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = page.start
    parser.EndElementHandler = page.end
    parser.CharacterDataHandler = page.characters
    parser.SkippedEntityHandler = page.skipped
    parser.EntityDeclHandler = page.refused
    try:
        parser.Parse(xml_text(data, name), True)
    except expat.ExpatError as error:
        refuse(name, f"it is not well-formed XML ({error}). Save it again.")
    return page_draft("".join(page.html))
