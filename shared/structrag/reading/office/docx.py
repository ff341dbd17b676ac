"""Word files (DOCX) by their own XML."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from structrag.reading.drafts import Draft
from structrag.reading.formats import draft_of
from structrag.reading.formulas import linear
from structrag.reading.limits import use_part
from structrag.reading.looks import look_of
from structrag.reading.office.docx_styles import (
    Numbering,
    Styles,
    W,
    WordStyle,
    is_on,
    number,
    outline_level,
    value,
)
from structrag.reading.office.drawings import R, targets
from structrag.reading.office.package import Package, walk
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
from structrag.reading.tables import Cell

_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"
_VML = "{urn:schemas-microsoft-com:vml}"
_COMPATIBLE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"

_MOST_INSERTED = 50  # files of one name, which may hold each other
_DEEPEST = 8  # level of a list, from 0
_NAMES_NOT_SHOWN = (
    "del moveFrom pPr rPr tblPr tblGrid trPr tcPr sectPr sdtPr sdtEndPr instrText "
    "delText delInstrText fldData annotationRef"
)
_NOT_SHOWN = {f"{W}{name}" for name in _NAMES_NOT_SHOWN.split()}
_SIGNS = {
    f"{W}tab": "\t",
    f"{W}ptab": "\t",
    f"{W}cr": "\n",
    f"{W}noBreakHyphen": "-",
    f"{W}lastRenderedPageBreak": PAGE,
}
_NOTES = {
    f"{W}footnoteReference": "footnotes",
    f"{W}endnoteReference": "endnotes",
    f"{W}commentReference": "comments",
}
# Of the fonts Symbol and Wingdings, by the last byte of the character.
_SYMBOL = dict(
    zip(
        b"abgdezhqiklmnxoprstufcywABGDEZHQIKLMNXOPRSTUFCYW",
        "αβγδεζηθικλμνξοπρστυφχψωΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩ",
        strict=True,
    )
) | {0xB1: "±", 0xB3: "≥", 0xA3: "≤", 0xB7: "•", 0xB4: "×", 0xA5: "∞", 0xAE: "→"}
_WINGDINGS = {0xFC: "✓", 0xFB: "✗", 0xFE: "☑", 0xFD: "☒", 0xA8: "☐", 0xE0: "→"}


def to_markdown(data: bytes, name: str = "", *, comments: bool = False) -> Draft:
    """A Word file as Markdown.

    Automatic numbers of headings and lists are written out. Inserted text is kept, deleted and
    hidden text left out; foot- and endnotes stand behind the paragraph that has their mark.

    Args:
        data: The file's bytes.
        name: What errors call the file.
        comments: Also keep comments, as notes.

    Raises:
        InvalidDocument: The file is not a Word file, or it is broken, encrypted or too large.
    """
    package = Package(data, name)
    main = package.related("", "officeDocument") or "word/document.xml"
    root = package.xml(main)
    body = root.find(f"{W}body")
    if root.tag != f"{W}document" or body is None:
        package.refuse(
            "it holds no Word document. Give it the suffix of its real format."
        )
    reader = _WordReader(package, main, {"footnotes", "endnotes"}, comments=comments)
    walk(body, reader.enter, reader.leave)
    pieces = reader.pieces
    notes = {n: reader.note(element) for n, element in list(reader.noted.items())}
    core = package.related("", "core-properties")
    return to_draft(pieces, notes, package.title(core), reader.unsure)


@dataclass(slots=True)
class _WordTable(StoryTable):
    column: int = 0
    origins: dict[int, Cell] = field(default_factory=dict)  # cells that go on below


class _WordReader:
    """A walk through a document, with what is open."""

    def __init__(
        self, package: Package, main: str, kinds: set[str], *, comments: bool
    ) -> None:
        parts = {}
        for kind in ("styles", "numbering", *sorted(kinds), "comments"):
            part = package.related(main, kind)
            if part and (kind != "comments" or comments):
                parts[kind] = package.xml(part)
        self.styles = Styles(parts.get("styles"))
        self.numbering = Numbering(parts.get("numbering"))
        self._notes = {
            (kind, each.get(f"{W}id", "")): each
            for kind in (*kinds, "comments")
            for each in parts.get(kind, ())
            if each.get(f"{W}type", "normal") == "normal"
        }
        self.unsure: list[str] = []
        self._package, self._main = package, main
        self._targets = targets(package, main)
        self.pieces: list[StoryPiece] = []
        self.noted: dict[int, Element] = {}
        self._numbers: dict[Element, int] = {}
        self._paragraph: StoryParagraph | None = None
        self._style = WordStyle()
        self._bold = False
        self._look = ""
        self._tables: list[_WordTable] = []
        # What was open around cells and text boxes.
        self._outer: list[
            tuple[list[StoryPiece], StoryParagraph | None, WordStyle, list[_WordTable]]
        ] = []
        self._enter: dict[str, Callable[[Element], bool]] = {
            f"{W}p": self._open_paragraph,
            f"{W}r": self._open_run,
            f"{W}t": self._text,
            f"{W}br": self._break,
            f"{W}sym": self._symbol,
            f"{W}ruby": self._ruby,
            f"{W}checkBox": self._field,
            f"{W}ddList": self._field,
            f"{W}altChunk": self._insert,
            f"{W}tbl": self._open_table,
            f"{W}tr": self._open_row,
            f"{W}tc": self._open_story,
            f"{W}txbxContent": self._open_story,
            f"{_COMPATIBLE}AlternateContent": self._choose,
            f"{_MATH}oMath": self._equation,
            f"{_MATH}oMathPara": self._equation,
            f"{_DRAWING}docPr": self._alternative,
            f"{_VML}shape": self._alternative,
            f"{_VML}textpath": self._alternative,
        }
        self._enter |= dict.fromkeys(_NOT_SHOWN, lambda _: False)
        self._enter |= dict.fromkeys(_SIGNS, self._sign)
        self._enter |= dict.fromkeys(_NOTES, self._note)
        self._leave = {
            f"{W}p": self._close_paragraph,
            f"{W}tbl": self._close_table,
            f"{W}tr": self._close_row,
            f"{W}tc": self._close_cell,
            f"{W}txbxContent": self._close_box,
        }

    def enter(self, element: Element) -> bool:
        action = self._enter.get(element.tag)
        return action is None or action(element)

    def leave(self, element: Element) -> None:
        action = self._leave.get(element.tag)
        if action:
            action(element)

    def note(self, element: Element) -> str:
        """The text of a note. Marks inside have no number."""
        self.pieces, self._notes = [], {}
        walk(element, self.enter, self.leave)
        author = element.get(f"{W}author", "")
        text = flat(self.pieces).replace(PAGE, "")
        return f"{author}: {text}" if author and text else text

    def _add(self, text: str) -> None:
        if self._paragraph is None:
            self.pieces.append(StoryPiece(text))
        else:
            self._paragraph.add(text, bold=self._bold, look=self._look)

    def _open_paragraph(self, element: Element) -> bool:
        if self._paragraph is None:  # else the mark between the two was deleted
            self._paragraph = StoryParagraph()
        properties = element.find(f"{W}pPr")
        named = None if properties is None else properties.find(f"{W}pStyle")
        self._style = self.styles.get(value(named, self.styles.default))
        return True

    def _close_paragraph(self, element: Element) -> None:
        properties = element.find(f"{W}pPr")
        paragraph = self._paragraph or StoryParagraph()
        if properties is not None and (
            properties.find(f"{W}rPr/{W}del") is not None
            or properties.find(f"{W}rPr/{W}moveFrom") is not None
        ):
            return
        self._paragraph = None
        level = self._style.level
        outline = None if properties is None else properties.find(f"{W}outlineLvl")
        if outline is not None:
            level = outline_level(value(outline))
        label = self._label(properties)
        depth = 0
        if label is not None and not level:
            depth = 1 + min(self._depth, _DEEPEST)
        is_title = self._style.is_title and not level and not self._outer
        pieces = paragraph.pieces(
            level=level, depth=depth, label=label or "", is_title=is_title
        )
        self.pieces += pieces

    def _label(self, properties: Element | None) -> str | None:
        """The number that Word shows before a paragraph; None: no list."""
        style = self._style
        num_id, self._depth = style.num_id, style.num_level
        style_id = self.styles.default
        if properties is not None:
            style_id = value(properties.find(f"{W}pStyle"), style_id)
            numbering = properties.find(f"{W}numPr")
            if numbering is not None:
                num_id = value(numbering.find(f"{W}numId"), num_id)
                self._depth = number(numbering.find(f"{W}ilvl"), self._depth)
        if num_id in ("", "0"):
            return None
        if self._depth < 0:
            self._depth = self.numbering.level_of(num_id, style_id, self.styles)
        return self.numbering.next_label(num_id, self._depth)

    def _open_run(self, element: Element) -> bool:
        self._bold, self._look = self._style.is_bold, self._style.look
        properties = element.find(f"{W}rPr")
        if properties is None:
            return not self._style.is_hidden
        style = self.styles.get(value(properties.find(f"{W}rStyle")))
        bold = is_on(properties.find(f"{W}b"))
        hidden = is_on(properties.find(f"{W}vanish"))
        self._look = look_of(properties, style.look or self._look)
        self._bold = (self._bold or style.is_bold) if bold is None else bold
        if hidden is None:
            hidden = style.is_hidden or self._style.is_hidden
        return not hidden

    def _text(self, element: Element) -> bool:
        self._add(element.text or "")
        return False

    def _sign(self, element: Element) -> bool:
        self._add(_SIGNS[element.tag])
        return False

    def _break(self, element: Element) -> bool:
        self._add("\n")
        return False

    def _symbol(self, element: Element) -> bool:
        code = element.get(f"{W}char", "")
        try:
            sign = chr(int(code, 16))
        except (ValueError, OverflowError):
            return False
        if "\ue000" <= sign <= "\uf8ff":  # the place of a sign in its font
            font = element.get(f"{W}font", "").lower()
            symbols = _WINGDINGS if "wingdings" in font else _SYMBOL
            sign = symbols.get(ord(sign) & 0xFF, "")
        self._add(sign)
        return False

    def _ruby(self, element: Element) -> bool:
        """A word, then its reading."""
        for name, form in (("rubyBase", "{}"), ("rt", "({})")):
            words = element.iterfind(f"{W}{name}//{W}t")
            self._add(form.format("".join(each.text or "" for each in words)))
        return False

    def _field(self, element: Element) -> bool:
        """A check box or a list of an old form, as it is filled in."""
        said = (element.find(f"{W}{each}") for each in ("checked", "result", "default"))
        state = next((each for each in said if each is not None), None)
        if element.tag == f"{W}checkBox":
            self._add("☒" if is_on(state) else "☐")
        for entry in element.findall(f"{W}listEntry")[number(state) :][:1]:
            self._add(value(entry))
        return False

    def _insert(self, element: Element) -> bool:
        """A file of any format, which Word shows in place."""
        relation = element.get(f"{R}id", "")
        part = self._targets.get(relation, self._main)
        if part == self._main or use_part(f"inserted {part}") > _MOST_INSERTED:
            self.unsure.append(
                f"The inserted file {relation} is missing or holds itself; it was left out."
            )
            return False
        draft = draft_of(self._package.data(part), f"{self._package.name}/{part}")
        self.unsure += draft.uncertain
        self.pieces.append(StoryPiece(draft.text.strip(), is_markdown=True))
        return False

    def _note(self, element: Element) -> bool:
        key = (_NOTES[element.tag], element.get(f"{W}id", ""))
        note = self._notes.get(key)
        if note is not None and self._paragraph is not None:
            count = self._numbers.setdefault(note, len(self._numbers) + 1)
            self.noted[count] = note
            self._paragraph.notes.append(count)
            self._paragraph.parts.append(mark(count))
        return False

    def _choose(self, element: Element) -> bool:
        element[:] = element[:1]  # the fallback shows the same once more
        return True

    def _equation(self, element: Element) -> bool:
        self._add(f" {linear(element)} ")
        return False

    def _alternative(self, element: Element) -> bool:
        names = ("descr", "alt", "string")
        text = next(filter(None, map(element.get, names)), "")
        if text and self._paragraph is not None:
            self._paragraph.after.append(StoryPiece(" ".join(text.split())))
        return True

    def _open_story(self, element: Element) -> bool:
        self._outer.append((self.pieces, self._paragraph, self._style, self._tables))
        self.pieces, self._paragraph, self._tables = [], None, []
        return True

    def _close_story(self) -> list[StoryPiece]:
        if self._paragraph is not None:
            self.pieces += self._paragraph.pieces()
        inside = self.pieces
        self.pieces, self._paragraph, self._style, self._tables = self._outer.pop()
        return inside

    def _close_box(self, element: Element) -> None:
        inside = self._close_story()
        (self.pieces if self._paragraph is None else self._paragraph.after).extend(
            inside
        )

    def _open_table(self, element: Element) -> bool:
        if self._paragraph is not None:  # of a deleted mark
            self.pieces += self._paragraph.pieces()
            self._paragraph = None
        self._tables.append(_WordTable())
        return True

    def _open_row(self, element: Element) -> bool:
        if not self._tables or element.find(f"{W}trPr/{W}del") is not None:
            return False
        open_table = self._tables[-1]
        skipped = number(element.find(f"{W}trPr/{W}gridBefore"))
        row = [Cell(columns=skipped)] if skipped else []
        header = is_on(element.find(f"{W}trPr/{W}tblHeader"))
        if header and open_table.header_rows == len(open_table.rows):
            open_table.header_rows += 1
        open_table.rows.append(row)
        open_table.column = skipped
        return True

    def _close_cell(self, element: Element) -> None:
        inside = self._close_story()
        if not self._tables or not self._tables[-1].rows:
            self.pieces += inside
            return
        open_table = self._tables[-1]
        open_table.inside = inside
        open_table.notes.update(note for piece in inside for note in piece.notes)
        width = max(1, number(element.find(f"{W}tcPr/{W}gridSpan"), 1))
        merge = element.find(f"{W}tcPr/{W}vMerge")
        text = flat(inside)
        origin = open_table.origins.pop(open_table.column, None)
        if merge is not None and value(merge, "continue") != "restart" and origin:
            origin.grow(text.replace(PAGE, ""))
        else:
            origin = Cell(text, width)
            open_table.rows[-1].append(origin)
        if merge is not None:
            open_table.origins[open_table.column] = origin
        open_table.column += width

    def _close_row(self, element: Element) -> None:
        if self._tables and element.find(f"{W}trPr/{W}del") is None:
            on_one_page(self._tables[-1].rows[-1])

    def _close_table(self, element: Element) -> None:
        self.pieces += self._tables.pop().pieces()
