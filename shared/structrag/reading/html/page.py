"""What each tag means for the flow of a page's text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final
from xml.etree import ElementTree

from structrag.reading.formulas import linear
from structrag.reading.html.flow import Flow, Lists, Marker
from structrag.reading.html.text import unescaped
from structrag.reading.html.tokens import (
    START,
    TEXT,
    attribute_number,
    attributes,
    is_screen_only,
)
from structrag.reading.looks import LOWERED, RAISED

_HEADING_TAG = re.compile(r"<(/?)[hH][1-6](?=[\t\n\f\r />])")
_LINE_END = re.compile(r"\r\n|\n|\r")
_TAG = re.compile(r"<[^<>]*>")
_MATH_END = re.compile(r"</math\s?>", re.IGNORECASE)
_TEX = re.compile(
    r"<annotation\s[^<>]{0,99}\bapplication/x-tex[^<>]{0,99}>([^<]+)<", re.IGNORECASE
)
_TEX_STYLE = re.compile(r"\{\\(?:display|text)style\s(.*)\}", re.DOTALL)
_NAMED_SIGN = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)\w{2,31};")
_SCRIPT = 99  # characters of markup that are looked at behind `sup` and `sub`

_HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
_LISTS: Final = ("ul", "ol", "menu", "dir", "dl")
_PREFORMATTED: Final = ("pre", "listing", "xmp", "textarea")
# Storage format of Confluence, and what does the same in HTML.
_CONFLUENCE: Final = {
    "ac:plain-text-body": "pre",
    "ac:rich-text-body": "div",
    "ac:task": "li",
    "ac:task-list": "ul",
}
# Text that stands elsewhere or nowhere: readings of words, settings and states of macros.
_ASIDES: Final = (
    *("rt", "rp", "rtc"),
    *("ac:parameter", "ac:task-id", "ac:task-uuid", "ac:task-status"),
)
# In a line, but words end at their edges.
_BOXES: Final = ("button", "select", "optgroup", "option", "text", "desc")
# fmt: off
_BLOCKS: Final = (
    "address", "article", "aside", "body", "center", "details", "dialog", "div", "fieldset",
    "figcaption", "figure", "footer", "form", "frameset", "header", "hgroup", "hr", "html",
    "legend", "main", "nav", "p", "search", "summary",
)
# fmt: on
Handler = Callable[[str, int, int], None]


class PageReader:
    """Takes the tokens of one page in order.

    Example:
        >>> source = "Nova<br>phone"
        >>> page = PageReader(source)
        >>> page.take(TEXT, "", 0, 4)
        >>> page.take(START, "br", 4, 8)
        >>> page.take(TEXT, "", 8, 13)
        >>> "".join(page.finish().out.parts)
        'Nova\\nphone'
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.flow: Flow = Flow(source)
        self.title: str | None = None
        self.in_title: bool = False
        self.svg: int = 0
        self.sections: int = 0
        # A line feed here is the one after <pre>, which is not shown.
        self.newline_at: int = -1
        self.formula_end: int = 0  # where the formula ends that was written
        self.tex: str = ""  # of the last formula, as the page has it
        self.aside: list[str] | None = None  # where text goes that is not shown here
        self.reading: list[str] = []  # of the open `ruby`
        self._last: dict[str, int] = {}
        starts: dict[str, Handler] = dict.fromkeys(_BLOCKS, self._break)
        ends = dict(starts)
        for names, start, end in (
            (_HEADINGS, self._start_heading, self._end_heading),
            (_LISTS, self._start_list, self._end_list),
            (_PREFORMATTED, self._start_pre, self._end_pre),
            (_BOXES, self._space, self._space),
            (("section", "article"), self._start_section, self._end_section),
            (("li", "dt", "dd"), self._start_item, self._end_item),
            (("td", "th"), self._start_cell, self._end_cell),
            (("thead", "tbody", "tfoot"), self._row_group, self._row_group),
            (("tr",), self._start_row, self._end_row),
            (("table",), self._start_table, self._end_table),
            (("caption",), self._start_caption, self._end_caption),
            (("blockquote",), self._start_quote, self._end_quote),
            (("title",), self._start_title, self._end_title),
            (("svg",), self._start_svg, self._end_svg),
            (("br",), self._line_feed, self._line_feed),
            (("del", "s", "strike"), self._start_struck, self._end_struck),
            (_ASIDES, self._start_aside, self._end_aside),
        ):
            starts.update(dict.fromkeys(names, start))
            ends.update(dict.fromkeys(names, end))
        ends["ruby"] = self._end_ruby
        starts |= {
            "img": self._image,
            "sup": self._start_script,
            "sub": self._start_script,
            "a": self._start_link,
            "math": self._start_formula,
        }
        for name, alias in _CONFLUENCE.items():
            starts[name], ends[name] = starts[alias], ends[alias]
        self._starts, self._ends = starts, ends

    def take(self, kind: int, name: str, start: int, end: int) -> None:
        """Take one token of `visible_tokens`."""
        if start < self.formula_end:
            return
        if kind == TEXT:
            if self.aside is not None:
                self.aside.append(self.source[start:end])
                return
            if self.in_title:
                self.title = (
                    self.source[start:end] if self.title is None else self.title
                )
                return
            if start == self.newline_at:
                feed = _LINE_END.match(self.source, start, end)
                start = feed.end() if feed else start
            self.flow.text(start, end, literal=bool(name))
            return
        handler = (self._starts if kind == START else self._ends).get(name)
        if handler:
            handler(_CONFLUENCE.get(name, name), start, end)

    def finish(self) -> Flow:
        """Close what is open and return the flow with everything written."""
        self.flow.close_heading()
        self.flow.close_table()
        return self.flow

    def _closes_later(self, name: str, place: int) -> bool:
        """Whether an end tag of this name begins behind `place`."""
        if name not in self._last:
            last = -1
            for match in re.finditer(f"</{name}", self.source, re.IGNORECASE):
                last = match.start()
            self._last[name] = last
        return self._last[name] > place

    def _break(self, name: str, start: int, end: int) -> None:
        self.flow.break_line(2, start)

    def _space(self, name: str, start: int, end: int) -> None:
        self.flow.space(start)

    def _line_feed(self, name: str, start: int, end: int) -> None:
        self.flow.line_feed(start, end)

    def _start_heading(self, name: str, start: int, end: int) -> None:
        flow = self.flow
        if (
            flow.table is not None
            and flow.table.in_cell
            and self._closes_later("table", start)
        ):
            flow.space(start)  # in a cell a heading is text
            return
        # A table, `pre` or quote that is never closed ends here.
        flow.close_table()
        flow.pre = flow.pre if self._closes_later("pre", start) else 0
        flow.quotes = flow.quotes if self._closes_later("blockquote", start) else 0
        following = _HEADING_TAG.search(self.source, end)
        closes = following is not None and following[1] == "/"
        flow.open_heading(int(name[1]), self.sections, closes=closes)

    def _end_heading(self, name: str, start: int, end: int) -> None:
        if self.flow.table is None:
            self.flow.close_heading()
        self.flow.break_line(2, start)

    def _start_list(self, name: str, start: int, end: int) -> None:
        lists = self.flow.lists
        self.flow.break_line(2, start, force=not lists.depth)
        first = 1
        if name == "ol":
            first = attribute_number(
                self.source, attributes(self.source, start, end), "start"
            )
        lists.push(name, first - 1)
        self.flow.marker = None

    def _end_list(self, name: str, start: int, end: int) -> None:
        lists = self.flow.lists
        lists.pop(name)
        self.flow.marker = None
        self.flow.break_line(2, start, force=not lists.depth)

    def _start_item(self, name: str, start: int, end: int) -> None:
        flow, lists = self.flow, self.flow.lists
        flow.break_line(2, start, force=not lists.depth)
        if flow.heading or (flow.table is not None and not flow.table.in_cell):
            return
        if not lists.names:
            lists.push("ul" if name == "li" else "dl")
        lists.base = min(lists.base, len(lists.names) - 1)
        if name == "li":
            lists.numbers[-1] += 1
            numbered = lists.names[-1] == "ol"
            flow.marker = Marker(f"{lists.numbers[-1]}. " if numbered else "- ", start)
        elif flow.table is None:
            flow.marker = _definition_marker(lists, name, start)

    def _end_item(self, name: str, start: int, end: int) -> None:
        self.flow.marker = None
        self.flow.break_line(2, start)

    def _start_pre(self, name: str, start: int, end: int) -> None:
        self.flow.break_line(2, start, force=True)
        self.newline_at = end
        if self.flow.table is None and self.flow.heading is None:
            self.flow.pre += 1

    def _end_pre(self, name: str, start: int, end: int) -> None:
        if self.flow.table is None and self.flow.heading is None:
            self.flow.pre = max(self.flow.pre - 1, 0)
        self.flow.break_line(2, start, force=True)

    def _start_quote(self, name: str, start: int, end: int) -> None:
        self.flow.break_line(2, start)
        if self.flow.table is None:
            self.flow.quotes += 1

    def _end_quote(self, name: str, start: int, end: int) -> None:
        self.flow.break_line(2, start)
        if self.flow.table is None:
            self.flow.quotes = max(self.flow.quotes - 1, 0)

    def _start_section(self, name: str, start: int, end: int) -> None:
        self.flow.break_line(2, start)
        if self.flow.table is None:
            self.sections += 1

    def _end_section(self, name: str, start: int, end: int) -> None:
        self.flow.break_line(2, start)
        if self.flow.table is None:
            self.sections = max(self.sections - 1, 0)

    def _start_table(self, name: str, start: int, end: int) -> None:
        flow = self.flow
        if flow.heading:
            flow.break_line(1, start)
        elif flow.table is not None and flow.table.in_cell:
            flow.space(start)
            flow.table.inner += 1
        else:
            flow.close_table()
            flow.open_table()

    def _end_table(self, name: str, start: int, end: int) -> None:
        table = self.flow.table
        if table is not None and table.inner:
            table.inner -= 1
            self.flow.space(start)
        elif table is not None:
            self.flow.close_table()
        else:
            self.flow.break_line(2, start)

    def _start_cell(self, name: str, start: int, end: int) -> None:
        table = self.flow.table
        if table is None or table.inner:
            self.flow.space(start)
        else:
            table.open_cell(self.source, start, end, header=name == "th")
            self.flow.reset_cell()

    def _end_cell(self, name: str, start: int, end: int) -> None:
        table = self.flow.table
        if table is None or table.inner:
            self.flow.space(start)
        else:
            table.cell = None
            self.flow.reset_cell()

    def _start_row(self, name: str, start: int, end: int) -> None:
        table = self.flow.table
        if table is None or table.inner:
            self.flow.break_line(1, start)
        else:
            table.open_row(start)
            self.flow.reset_cell()

    def _end_row(self, name: str, start: int, end: int) -> None:
        table = self.flow.table
        if table is None or table.inner:
            self.flow.break_line(1, start)
        else:
            table.close_row()
            self.flow.reset_cell()

    def _row_group(self, name: str, start: int, end: int) -> None:
        table = self.flow.table
        self._end_row(name, start, end)
        if table is not None and not table.inner:
            table.in_head = name == "thead" and self.source[start + 1] != "/"

    def _start_caption(self, name: str, start: int, end: int) -> None:
        table = self.flow.table
        if table is None or table.inner or table.in_cell:
            self.flow.break_line(1, start)
        else:
            table.close_row()
            table.open_stray()
            table.stray = False

    def _end_caption(self, name: str, start: int, end: int) -> None:
        table = self.flow.table
        self.flow.break_line(1, start)
        if table is not None and not table.inner:
            table.close_row()

    def _start_title(self, name: str, start: int, end: int) -> None:
        if self.svg:
            self.flow.space(start)
        else:
            self.in_title = True

    def _end_title(self, name: str, start: int, end: int) -> None:
        self.flow.space(start)
        self.in_title = False

    def _start_svg(self, name: str, start: int, end: int) -> None:
        self.flow.space(start)
        self.svg += 1

    def _end_svg(self, name: str, start: int, end: int) -> None:
        self.flow.space(start)
        self.svg = max(self.svg - 1, 0)

    def _start_script(self, name: str, start: int, end: int) -> None:
        markup = self.source[end : end + _SCRIPT].partition("</su")[0]
        look = LOWERED if name == "sub" else RAISED
        self.flow.script(start, unescaped(_TAG.sub("", markup)), look)

    def _start_link(self, name: str, start: int, end: int) -> None:
        """The link to a note is as raised."""
        if "noteref" in self.source[start:end]:
            self._start_script(name, start, end)

    def _start_struck(self, name: str, start: int, end: int) -> None:
        self.flow.struck = self.flow.struck or 1

    def _end_struck(self, name: str, start: int, end: int) -> None:
        self.flow.end_struck()

    def _start_aside(self, name: str, start: int, end: int) -> None:
        tag = self.source[start:end]
        if name == "ac:parameter" and '"title"' in tag:
            self.flow.space(start)
        elif self._closes_later("ruby" if name[0] == "r" else name, start):
            is_kept = name in ("rt", "ac:task-status")
            self.aside = self.reading if is_kept else []

    def _end_aside(self, name: str, start: int, end: int) -> None:
        self.aside = None
        if name == "ac:task-status":
            state = "".join(self.reading).strip()
            self.flow.put(
                "☒" if state == "complete" else "☐", start, start, exact=False
            )
            self.reading = []
        if name[0] != "r":
            self.flow.space(start)

    def _end_ruby(self, name: str, start: int, end: int) -> None:
        """Write the reading of a word behind it."""
        self.aside = None
        reading = "".join(unescaped("".join(self.reading)).split())
        self.reading = []
        if reading:
            self.flow.put(f"({reading})", start, start, exact=False)

    def _start_formula(self, name: str, start: int, end: int) -> None:
        """Write a formula as TeX if the page has it, else as a line."""
        closing = (
            _MATH_END.search(self.source, end)
            if self._closes_later("math", start)
            else None
        )
        if closing is None:
            return
        markup = self.source[start : closing.end()]
        tex = _TEX.search(markup)
        if tex:
            self.tex = tex[1]
            text = unescaped(tex[1]).strip()
            styled = _TEX_STYLE.fullmatch(text)
            text = f"${styled[1].strip() if styled else text}$"
        else:
            try:
                text = linear(ElementTree.fromstring(_NAMED_SIGN.sub(_sign, markup)))
            except ElementTree.ParseError:
                return  # its text as it stands
        self.formula_end = closing.end()
        if text:
            self.flow.put(text, start, closing.end(), exact=False)

    def _image(self, name: str, start: int, end: int) -> None:
        flow = self.flow
        flow.images.append((start, end))
        spans = attributes(self.source, start, end)
        alt = spans.get("alt")
        if alt is None or is_screen_only(self.source, spans):
            return
        if self.tex and self.source[slice(*alt)] == self.tex:
            return  # the formula once more
        flow.space(start)
        flow.in_image = True
        flow.text(*alt)
        flow.in_image = False
        flow.space(end - 1)


def _sign(match: re.Match[str]) -> str:
    return unescaped(match[0])


def _definition_marker(lists: Lists, name: str, start: int) -> Marker:
    """The marker of a `dt` or `dd`. A term and what is said of it are not cut apart."""
    if name == "dt":
        lists.numbers[-1] = 1
        return Marker("", start)
    follows_term = lists.numbers[-1] == 1
    lists.numbers[-1] = 0
    return Marker("  ", start, cut=not follows_term)
