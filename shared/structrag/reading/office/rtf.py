"""Rich Text Format (RTF)."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from itertools import pairwise

from structrag.reading.decoding import encoding_named
from structrag.reading.drafts import Draft
from structrag.reading.limits import check_depth
from structrag.reading.looks import LOWERED, RAISED, STRUCK
from structrag.reading.office.inheritance import inherited
from structrag.reading.office.package import refuse
from structrag.reading.office.story import (
    PAGE,
    StoryParagraph,
    StoryPiece,
    StoryTable,
    flat,
    mark,
    to_draft,
)
from structrag.reading.tables import Cell

_TOKEN = re.compile(
    rb"\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,9})? ?|\\'(?P<hex>[0-9a-fA-F]{2})"
    rb"|\\(?P<sign>[^a-zA-Z])|(?P<brace>[{}])|[\r\n]+|(?P<text>[^\\{}\r\n]+)|\\"
)
_HEADING = re.compile(r"heading ?([1-9])\b", re.IGNORECASE)
_SAME_EDGE = 40  # twips

_SKIPPED = frozenset(
    b"colortbl pict object header footer headerl headerr headerf footerl footerr footerf info "
    b"listtable listoverridetable revtbl rsidtbl themedata colorschememapping datastore filetbl "
    b"latentstyles generator xmlnstbl fldinst bkmkstart bkmkend pn mmathPr nonshppict atnid "
    b"atndate template pgptbl xe tc falt panose nonesttables ftnsep ftnsepc ftncn aftnsep "
    b"aftnsepc aftncn shprslt private1 docvar userprops".split()
)
_KNOWN = frozenset(  # destinations of newer RTF that are read
    b"shptxt shpinst footnote annotation atnauthor nesttableprops listtext".split()
)
_CAPTURED = frozenset(b"listtext pntext sn sv title atnauthor".split())
_SIGNS = {
    b"tab": "\t",
    b"line": "\n",
    b"softline": "",
    b"softpage": PAGE,
    b"emdash": "\u2014",
    b"endash": "\u2013",
    b"lquote": "\u2018",
    b"rquote": "\u2019",
    b"ldblquote": "\u201c",
    b"rdblquote": "\u201d",
    b"bullet": "\u2022",
    b"emspace": "\u2003",
    b"enspace": "\u2002",
    b"qmspace": " ",
}
_CHARSETS = {
    0: "cp1252",
    77: "mac_roman",
    128: "cp932",
    129: "cp949",
    134: "gbk",
    136: "big5",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
}
_LOOKS = {
    b"super": RAISED,
    b"sub": LOWERED,
    b"nosupersub": "",
    b"strike": STRUCK,
    b"striked": STRUCK,
}
_SYSTEMS = {b"mac": "mac_roman", b"pc": "cp437", b"pca": "cp850"}


def to_markdown(data: bytes, name: str = "", *, comments: bool = False) -> Draft:
    """An RTF file as Markdown.

    The numbers of headings and lists are those that the file has for old readers. Deleted and
    hidden text is left out; notes stand behind the paragraph that has their mark.

    Args:
        data: The file's bytes.
        name: What errors call the file.
        comments: Also keep comments, as notes.

    Raises:
        InvalidDocument: The file is not an RTF file, or its groups are too deep.
    """
    if not data.lstrip().startswith(b"{\\rtf"):
        refuse(name, "it is not an RTF file. Give it the suffix of its real format.")
    reader = _RtfReader(comments=comments)
    reader.read(data)
    uncertain = ["The file ends within a group, so it may be cut off."]
    return to_draft(
        reader.pieces, reader.notes, reader.title, uncertain[: reader.is_open]
    )


@dataclass(slots=True)
class _RtfState:
    """What a group inherits from the one around it."""

    target: str = ""  # where text goes; "" for the document, "skip" for nowhere
    substitutes: int = 1  # bytes behind `\u` for old readers
    font: int = -1
    style: int = 0
    level: int = -1  # 0 for text, -1 where only the style says it
    depth: int = 0  # of a list
    is_list: bool = False
    in_table: bool = False
    is_hidden: bool = False
    is_deleted: bool = False
    is_bold: bool = False
    look: str = ""  # one of `looks`
    based_on: int = -1
    ends: str = ""  # what the group is, so that its end is known


@dataclass(slots=True)
class _RtfTable:
    # Each cell with its right edge, and whether it goes on the one above.
    rows: list[list[tuple[Cell, int, bool]]] = field(default_factory=list)
    header_rows: int = 0
    notes: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Edge:
    right: int
    is_wide: bool  # merged with the cell before
    is_tall: bool  # merged with the cell above


@dataclass(frozen=True, slots=True)
class _Story:
    """What was open around a note or text box."""

    pieces: list[StoryPiece]
    paragraph: StoryParagraph
    label: str | None
    cell: list[StoryPiece]
    row: list[list[StoryPiece]]
    table: _RtfTable


class _RtfReader:
    def __init__(self, *, comments: bool) -> None:
        self._comments = comments
        self.title = ""
        self.pieces: list[StoryPiece] = []
        self.notes: dict[int, str] = {}
        self.is_open = False
        self._state = _RtfState()
        self._groups: list[_RtfState] = []
        self._raw = bytearray()  # not yet decoded
        self._page = "cp1252"
        self._default_font = -1
        self._fonts: dict[int, str] = {}
        self._levels: dict[int, int] = {}
        self._bases: dict[int, int] = {}
        self._titles: set[int] = set()
        self._captured: list[str] = []
        self._property = self._author = ""
        self._paragraph = StoryParagraph()
        self._label: str | None = None
        self._cell: list[StoryPiece] = []
        self._row: list[list[StoryPiece]] = []
        self._edges: list[_Edge] = []
        self._is_wide = self._is_tall = self._is_header = False
        self._table = _RtfTable()
        self._outer: list[_Story] = []
        self._words: dict[bytes, Callable[[int | None], None]] = {
            b"par": self._end_paragraph,
            b"sect": self._end_paragraph,
            b"page": self._end_paragraph,
            b"pard": self._plain_paragraph,
            b"plain": self._plain_text,
            b"cell": self._end_cell,
            b"row": self._end_row,
            b"nestcell": self._end_paragraph,
            b"nestrow": self._end_paragraph,
            b"trowd": self._new_row,
            b"cellx": self._edge,
        }

    def read(self, data: bytes) -> None:
        """Go through the file once."""
        place, is_optional, left = 0, False, 0
        while place < len(data) and (token := _TOKEN.match(data, place)):
            place = token.end()
            word, brace, text = token["word"], token["brace"], token["text"]
            if brace:
                left = 0
                self._open() if brace == b"{" else self._close()
                is_optional = False
            elif word:
                number = int(token["number"]) if token["number"] else None
                if word == b"bin":
                    place += max(0, number or 0)
                elif left:
                    left -= 1
                elif word == b"u" and number is not None:
                    self._add(chr(number % 65536))
                    left = self._state.substitutes
                else:
                    self._word(word, number, is_optional=is_optional)
                is_optional = False
            elif token["sign"] == b"*":
                is_optional = True
            elif left and (token["hex"] or token["sign"]):
                left -= 1
            elif token["hex"]:
                self._raw.append(int(token["hex"], 16))
            elif token["sign"]:
                self._sign(token["sign"])
            elif text:
                self._raw += text[left:]
                left = max(0, left - len(text))
        self.is_open = bool(self._groups)
        while self._groups:
            self._close()
        self._state.in_table = False
        self._end_paragraph(None)

    def _open(self) -> None:
        self._flush()
        self._groups.append(self._state)
        check_depth(len(self._groups), "groups")
        self._state = copy(self._state)
        self._state.ends = ""

    def _close(self) -> None:
        self._flush()
        if not self._groups:
            return
        done, self._state = self._state, self._groups.pop()
        if done.target == "styles" and self._captured:
            self._style(done)
        if done.ends in ("footnote", "annotation"):
            text = flat(self._close_story(done)).replace(PAGE, "")
            number = len(self.notes) + 1
            is_comment = done.ends == "annotation" and self._author
            self.notes[number] = f"{self._author}: {text}" if is_comment else text
            self._paragraph.notes.append(number)
            self._paragraph.parts.append(mark(number))
        elif done.ends == "shptxt":
            inside = self._close_story(done)
            self._paragraph.after += inside
        elif done.ends:
            self._capture(done.ends, "".join(self._captured).strip())
            self._captured = []

    def _capture(self, what: str, text: str) -> None:
        if what in ("listtext", "pntext"):
            is_number = any(map(str.isalnum, text)) and text != "o"
            self._label = text if is_number else ""
        elif what == "title":
            self.title = self.title or " ".join(text.split())
        elif what == "atnauthor":
            self._author = text
        elif what == "sn":
            self._property = text
        elif what == "sv" and self._property == "wzDescription" and text:
            self._paragraph.after.append(StoryPiece(" ".join(text.split())))

    def _style(self, done: _RtfState) -> None:
        name = "".join(self._captured).strip(" ;")
        self._captured = []
        self._bases[done.style] = done.based_on
        match = _HEADING.match(name)
        if done.level >= 0 or match:
            self._levels[done.style] = (
                done.level if done.level >= 0 or not match else int(match[1])
            )
        if name.lower() == "title":
            self._titles.add(done.style)

    def _flush(self) -> None:
        if self._raw:
            page = self._fonts.get(self._state.font, self._page)
            text = self._raw.decode(page, "replace")
            self._raw.clear()
            self._put(text)

    def _add(self, text: str) -> None:
        self._flush()
        self._put(text)

    def _put(self, text: str) -> None:
        state = self._state
        if state.target in ("captured", "styles"):
            self._captured.append(text)
        elif not (state.target or state.is_hidden or state.is_deleted):
            self._paragraph.add(text, bold=state.is_bold, look=state.look)

    def _sign(self, sign: bytes) -> None:
        if sign in b"\\{}":
            self._raw += sign
        elif sign == b"~":
            self._add("\u00a0")
        elif sign == b"_":
            self._add("-")
        elif sign in b"\r\n":
            self._end_paragraph(None)

    def _word(self, word: bytes, number: int | None, *, is_optional: bool) -> None:
        state = self._state
        self._flush()
        if word in _CAPTURED and state.target in ("", "skip"):
            is_inside = state.target == "skip" and word != b"title"
            state.target = "skip" if is_inside else "captured"
            state.ends = "" if is_inside else word.decode()
        elif state.target == "skip":
            return
        elif word in _SKIPPED or (is_optional and word not in _KNOWN):
            state.target = "skip"
        elif word == b"fonttbl":
            state.target = "fonts"
        elif word == b"stylesheet":
            state.target = "styles"
            self._captured = []
        elif word in (b"footnote", b"annotation", b"shptxt"):
            if word == b"annotation" and not self._comments:
                state.target = "skip"
            else:
                state.ends = word.decode()
                self._open_story()
        elif word in self._words:
            if not state.target:
                self._words[word](number)
        elif word in _SIGNS:
            self._put(_SIGNS[word])
        else:
            self._property_of(state, word, number)

    def _property_of(self, state: _RtfState, word: bytes, number: int | None) -> None:
        given = 1 if number is None else number
        if word == b"f":
            state.font = given
        elif word == b"fcharset" and state.target == "fonts":
            if given in _CHARSETS:
                self._fonts[state.font] = _CHARSETS[given]
        elif word == b"s":
            state.style = given
        elif word == b"sbasedon":
            state.based_on = given
        elif word == b"outlinelevel":
            state.level = given + 1 if 0 <= given < 9 else 0
        elif word == b"b":
            state.is_bold = given != 0
        elif word in _LOOKS:
            state.look = _LOOKS[word] if given else ""
        elif word == b"v":
            state.is_hidden = given != 0
        elif word == b"deleted":
            state.is_deleted = given != 0
        elif word == b"intbl":
            state.in_table = True
        elif word == b"itap":
            state.in_table = given > 0
        elif word == b"ilvl":
            state.depth = min(max(given, 0), 8)
        elif word == b"ls":
            state.is_list = given > 0
        elif word == b"uc":
            state.substitutes = max(0, given)
        elif word == b"deff":
            state.font = self._default_font = given
        elif word == b"trhdr":
            self._is_header = True
        elif word == b"clmrg":
            self._is_wide = True
        elif word == b"clvmrg":
            self._is_tall = True
        elif word in _SYSTEMS:
            self._page = _SYSTEMS[word]
        elif word == b"ansicpg":
            self._page = encoding_named(f"cp{given}") or "cp1252"

    def _plain_paragraph(self, _: int | None) -> None:
        state = self._state
        state.style, state.level, state.depth = 0, -1, 0
        state.is_list = state.in_table = False

    def _plain_text(self, _: int | None) -> None:
        state = self._state
        state.font = self._default_font
        state.is_bold = state.is_hidden = state.is_deleted = False
        state.look = ""

    def _level(self) -> int:
        if self._state.level >= 0:
            return self._state.level
        return inherited(
            self._state.style, self._bases.get, self._levels, 0, lambda _, base: base
        )

    def _end_paragraph(self, _: int | None) -> None:
        state = self._state
        paragraph, self._paragraph = self._paragraph, StoryParagraph()
        label, self._label = self._label, None
        paragraph.parts = [_joined("".join(paragraph.parts))]
        level = self._level()
        is_title = state.style in self._titles and not level and not self._outer
        is_item = (label is not None or state.is_list) and not level
        pieces = paragraph.pieces(
            level=0 if state.in_table else level,
            depth=state.depth + 1 if is_item and not is_title else 0,
            label=label or "",
            is_title=is_title and not state.in_table,
        )
        if state.in_table:
            self._cell += pieces
            return
        if self._row or self._cell:
            self._end_row(None)
        self._end_table()
        self.pieces += pieces

    def _end_cell(self, _: int | None) -> None:
        self._state.in_table = True
        self._end_paragraph(None)
        self._row.append(self._cell)
        self._cell = []

    def _new_row(self, _: int | None) -> None:
        self._edges = []
        self._is_wide = self._is_tall = self._is_header = False

    def _edge(self, number: int | None) -> None:
        self._edges.append(_Edge(number or 0, self._is_wide, self._is_tall))
        self._is_wide = self._is_tall = False

    def _end_row(self, _: int | None) -> None:
        row, self._row = [*self._row, *([self._cell] if self._cell else [])], []
        self._cell = []
        line: list[tuple[Cell, int, bool]] = []
        for place, inside in enumerate(row):
            text = flat(inside).replace(PAGE, "")
            self._table.notes.update(note for each in inside for note in each.notes)
            before = line[-1][1] if line else 0
            edge = (
                self._edges[place]
                if place < len(self._edges)
                else _Edge(before + 1000, is_wide=False, is_tall=False)
            )
            if edge.is_wide and line:
                cell, _, is_tall = line.pop()
                cell.text = f"{cell.text} {text}".strip()
                line.append((cell, edge.right, is_tall))
            else:
                line.append((Cell(text), edge.right, edge.is_tall))
        if self._is_header and self._table.header_rows == len(self._table.rows):
            self._table.header_rows += 1
        if line:
            self._table.rows.append(line)

    def _end_table(self) -> None:
        done, self._table = self._table, _RtfTable()
        if not done.rows:
            return
        rights = sorted({right for row in done.rows for _, right, _ in row})
        edges = rights[:1] + [b for a, b in pairwise(rights) if b - a > _SAME_EDGE]
        rows: list[list[Cell]] = []
        above: dict[int, Cell] = {}
        for row in done.rows:
            line: list[Cell] = []
            column = 0
            for cell, right, is_tall in row:
                end = max(column, bisect_left(edges, right - _SAME_EDGE)) + 1
                cell.columns = end - column
                if is_tall and column in above:
                    above[column].grow(cell.text)
                else:
                    above[column] = cell
                    line.append(cell)
                column = end
            rows.append(line)
        self.pieces += StoryTable(rows, done.header_rows, done.notes).pieces()

    def _open_story(self) -> None:
        self._outer.append(
            _Story(
                self.pieces,
                self._paragraph,
                self._label,
                self._cell,
                self._row,
                self._table,
            )
        )
        self.pieces, self._cell, self._row = [], [], []
        self._paragraph, self._label, self._table = StoryParagraph(), None, _RtfTable()
        self._plain_paragraph(None)

    def _close_story(self, done: _RtfState) -> list[StoryPiece]:
        outside, self._state = self._state, done
        done.in_table = False
        self._end_paragraph(None)
        inside = self.pieces
        self._state = outside
        outer = self._outer.pop()
        self.pieces, self._paragraph, self._label = (
            outer.pieces,
            outer.paragraph,
            outer.label,
        )
        self._cell, self._row, self._table = outer.cell, outer.row, outer.table
        return inside


def _joined(text: str) -> str:
    """The halves of a character beyond the first 65,536 come one by one."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
