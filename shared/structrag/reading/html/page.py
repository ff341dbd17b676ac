"""What each tag means for the flow of a page's text."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Final
from xml.etree import ElementTree

from structrag.reading.formulas import linear
from structrag.reading.html.flow import Flow, Lists, Marker
from structrag.reading.html.text import unescaped
from structrag.reading.html.tokens import (
    START,
    TEXT,
    Span,
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

_HEADINGS: Final = "h1 h2 h3 h4 h5 h6"
_LISTS: Final = "ul ol menu dir dl"
_PREFORMATTED: Final = "pre listing xmp textarea"
# Storage format of Confluence, and what does the same in HTML.
_CONFLUENCE: Final = {
    "ac:plain-text-body": "pre",
    "ac:rich-text-body": "div",
    "ac:task": "li",
    "ac:task-list": "ul",
}
# Text that stands elsewhere or nowhere: readings of words, settings and states of macros.
_ASIDES: Final = "rt rp rtc ac:parameter ac:task-id ac:task-uuid ac:task-status"
# In a line, but words end at their edges.
_BOXES: Final = "button select optgroup option text desc"
_BLOCKS: Final = (
    "address article aside body center details dialog div fieldset figcaption figure footer form "
    "frameset header hgroup hr html legend main nav p search summary"
)
Handler = Callable[["PageReader"], None]


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
        # A line feed here is the one after <pre>, which is not shown.
        self.newline_at: int = -1
        self.formula_end: int = 0  # where the formula ends that was written
        self.tried: int = 0  # up to where formulas were looked for
        self.tex: str = ""  # of the last formula, as the page has it
        self.aside: list[str] | None = None  # where text goes that is not shown here
        self.reading: list[str] = []  # of the open `ruby`
        self._last: dict[str, int] = {}

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
        handler = (_STARTS if kind == START else _ENDS).get(name)
        if handler:
            self.name = _CONFLUENCE.get(name, name)
            self.place = self.flow.place = start
            self.end = end
            handler(self)

    def finish(self) -> Flow:
        """Close what is open and return the flow with everything written."""
        self.flow.close_heading()
        self.flow.close_table()
        return self.flow

    def _closes_later(self, name: str) -> bool:
        """Whether an end tag of this name follows."""
        if name not in self._last:
            last = -1
            for match in re.finditer(f"</{name}", self.source, re.IGNORECASE):
                last = match.start()
            self._last[name] = last
        return self._last[name] > self.place

    def _attributes(self) -> dict[str, Span]:
        return attributes(self.source, self.place, self.end)

    def _nest(self, name: str, step: int) -> None:
        """Go into or out of quotes or sections."""
        self.flow.break_line(2)
        if self.flow.table is None:
            self.flow.inside[name] = max(self.flow.inside[name] + step, 0)

    def _start_heading(self) -> None:
        flow = self.flow
        if (
            flow.table is not None
            and flow.table.in_cell
            and self._closes_later("table")
        ):
            flow.space()  # in a cell a heading is text
            return
        # A table, `pre` or quote that is never closed ends here.
        flow.close_table()
        flow.pre *= self._closes_later("pre")
        flow.inside["quote"] *= self._closes_later("blockquote")
        following = _HEADING_TAG.search(self.source, self.end)
        closes = following is not None and following[1] == "/"
        flow.open_heading(int(self.name[1]), flow.inside["section"], closes=closes)

    def _end_heading(self) -> None:
        if self.flow.table is None:
            self.flow.close_heading()
        self.flow.break_line(2)

    def _start_list(self) -> None:
        lists = self.flow.lists
        self.flow.break_line(2, force=not lists.depth)
        first = 1
        if self.name == "ol":
            first = attribute_number(self.source, self._attributes(), "start")
        lists.push(self.name, first - 1)
        self.flow.marker = None

    def _end_list(self) -> None:
        lists = self.flow.lists
        lists.pop(self.name)
        self.flow.marker = None
        self.flow.break_line(2, force=not lists.depth)

    def _start_item(self) -> None:
        flow, lists = self.flow, self.flow.lists
        flow.break_line(2, force=not lists.depth)
        if flow.heading or (flow.table is not None and not flow.table.in_cell):
            return
        if not lists.names:
            lists.push("ul" if self.name == "li" else "dl")
        lists.base = min(lists.base, len(lists.names) - 1)
        if self.name == "li":
            lists.numbers[-1] += 1
            numbered = lists.names[-1] == "ol"
            flow.marker = Marker(
                f"{lists.numbers[-1]}. " if numbered else "- ", self.place
            )
        elif flow.table is None:
            flow.marker = _definition_marker(lists, self.name, self.place)

    def _end_item(self) -> None:
        self.flow.marker = None
        self.flow.break_line(2)

    def _start_pre(self) -> None:
        self.flow.break_line(2, force=True)
        self.newline_at = self.end
        if self.flow.table is None and self.flow.heading is None:
            self.flow.pre += 1

    def _end_pre(self) -> None:
        if self.flow.table is None and self.flow.heading is None:
            self.flow.pre = max(self.flow.pre - 1, 0)
        self.flow.break_line(2, force=True)

    def _start_table(self) -> None:
        flow = self.flow
        if flow.heading:
            flow.break_line(1)
        elif flow.table is not None and flow.table.in_cell:
            flow.space()
            flow.table.inner += 1
        else:
            flow.close_table()
            flow.open_table()

    def _end_table(self) -> None:
        table = self.flow.table
        if table is not None and table.inner:
            table.inner -= 1
            self.flow.space()
        elif table is not None:
            self.flow.close_table()
        else:
            self.flow.break_line(2)

    def _start_cell(self) -> None:
        table = self.flow.table
        if table is None or table.inner:
            self.flow.space()
        else:
            table.open_cell(self.source, self.place, self.end, header=self.name == "th")
            self.flow.reset_cell()

    def _end_cell(self) -> None:
        table = self.flow.table
        if table is None or table.inner:
            self.flow.space()
        else:
            table.cell = None
            self.flow.reset_cell()

    def _start_row(self) -> None:
        table = self.flow.table
        if table is None or table.inner:
            self.flow.break_line(1)
        else:
            table.open_row(self.place)
            self.flow.reset_cell()

    def _end_row(self) -> None:
        table = self.flow.table
        if table is None or table.inner:
            self.flow.break_line(1)
        else:
            table.close_row()
            self.flow.reset_cell()

    def _row_group(self) -> None:
        table = self.flow.table
        self._end_row()
        if table is not None and not table.inner:
            table.in_head = self.name == "thead" and self.source[self.place + 1] != "/"

    def _start_caption(self) -> None:
        table = self.flow.table
        if table is None or table.inner or table.in_cell:
            self.flow.break_line(1)
        else:
            table.close_row()
            table.open_stray()
            table.stray = False

    def _end_caption(self) -> None:
        table = self.flow.table
        self.flow.break_line(1)
        if table is not None and not table.inner:
            table.close_row()

    def _start_title(self) -> None:
        if self.svg:
            self.flow.space()
        else:
            self.in_title = True

    def _end_title(self) -> None:
        self.flow.space()
        self.in_title = False

    def _start_svg(self) -> None:
        self.flow.space()
        self.svg += 1

    def _end_svg(self) -> None:
        self.flow.space()
        self.svg = max(self.svg - 1, 0)

    def _start_script(self) -> None:
        markup = self.source[self.end : self.end + _SCRIPT].partition("</su")[0]
        look = LOWERED if self.name == "sub" else RAISED
        self.flow.script(unescaped(_TAG.sub("", markup)), look)

    def _start_link(self) -> None:
        """The link to a note is as raised."""
        if "noteref" in self.source[self.place : self.end]:
            self._start_script()

    def _start_aside(self) -> None:
        tag = self.source[self.place : self.end]
        if self.name == "ac:parameter" and '"title"' in tag:
            self.flow.space()
        elif self._closes_later("ruby" if self.name[0] == "r" else self.name):
            is_kept = self.name in ("rt", "ac:task-status")
            self.aside = self.reading if is_kept else []

    def _end_aside(self) -> None:
        self.aside = None
        if self.name == "ac:task-status":
            state = "".join(self.reading).strip()
            self.flow.insert("☒" if state == "complete" else "☐")
            self.reading = []
        if self.name[0] != "r":
            self.flow.space()

    def _end_ruby(self) -> None:
        """Write the reading of a word behind it."""
        self.aside = None
        reading = "".join(unescaped("".join(self.reading)).split())
        self.reading = []
        if reading:
            self.flow.insert(f"({reading})")

    def _start_formula(self) -> None:
        """Write a formula as TeX if the page has it, else as a line."""
        if self.place < self.tried:
            return
        closing = _MATH_END.search(self.source, self.end)
        self.tried = closing.end() if closing else len(self.source)
        if closing is None:
            return
        markup = self.source[self.place : closing.end()]
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
            self.flow.put(text, self.place, closing.end(), exact=False)

    def _image(self) -> None:
        flow = self.flow
        flow.images.append((self.place, self.end))
        spans = self._attributes()
        alt = spans.get("alt")
        if alt is None or is_screen_only(self.source, spans):
            return
        if self.tex and self.source[slice(*alt)] == self.tex:
            return  # the formula once more
        flow.space()
        flow.in_image = True
        flow.text(*alt)
        flow.in_image = False
        flow.space(self.end - 1)


def _of_flow(name: str, *arguments: int) -> Handler:
    """The method of the page's flow."""
    return lambda page: getattr(page.flow, name)(*arguments)


def _handlers() -> tuple[dict[str, Handler], dict[str, Handler]]:
    """What start and end tags do, by their names."""
    page, space, line_feed = PageReader, _of_flow("space"), _of_flow("line_feed")
    starts = dict.fromkeys(_BLOCKS.split(), _of_flow("break_line", 2))
    ends = dict(starts)
    for names, start, end in (
        (_HEADINGS, page._start_heading, page._end_heading),
        (_LISTS, page._start_list, page._end_list),
        (_PREFORMATTED, page._start_pre, page._end_pre),
        (_BOXES, space, space),
        ("section article", *_nesting("section")),
        ("li dt dd", page._start_item, page._end_item),
        ("td th", page._start_cell, page._end_cell),
        ("thead tbody tfoot", page._row_group, page._row_group),
        ("tr", page._start_row, page._end_row),
        ("table", page._start_table, page._end_table),
        ("caption", page._start_caption, page._end_caption),
        ("blockquote", *_nesting("quote")),
        ("title", page._start_title, page._end_title),
        ("svg", page._start_svg, page._end_svg),
        ("br", line_feed, line_feed),
        ("del s strike", _of_flow("start_struck"), _of_flow("end_struck")),
        (_ASIDES, page._start_aside, page._end_aside),
    ):
        starts |= dict.fromkeys(names.split(), start)
        ends |= dict.fromkeys(names.split(), end)
    ends["ruby"] = page._end_ruby
    starts |= {
        "img": page._image,
        "sup": page._start_script,
        "sub": page._start_script,
        "a": page._start_link,
        "math": page._start_formula,
    }
    for name, alias in _CONFLUENCE.items():
        starts[name], ends[name] = starts[alias], ends[alias]
    return starts, ends


def _nesting(name: str) -> tuple[Handler, Handler]:
    nest = partial(PageReader._nest, name=name)
    return partial(nest, step=1), partial(nest, step=-1)


_STARTS, _ENDS = _handlers()


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
