"""The paragraphs, lists, tables, notes and equations of an office file on their way to Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from structrag.reading.drafts import Draft
from structrag.reading.escaping import assembled, escaped_lines, heading_line
from structrag.reading.limits import spend_characters
from structrag.reading.looks import add_run
from structrag.reading.numbering import is_label
from structrag.reading.plain_titles import is_clean, is_short_title
from structrag.reading.tables import Cell, pipe_table, spread

PAGE = "\f"  # stands in a text where a page begins

_MOST_LEVEL = 6  # of Markdown's headings
_BLANKS = " \t\u00a0"
_COUNTED = re.compile(r"\d{1,9}[.)]")


@dataclass(frozen=True, slots=True)
class StoryPiece:
    """A paragraph, heading, list item or table.

    Example:
        >>> StoryPiece("Safety", level=1, label="1").is_heading
        True
    """

    text: str  # with line ends, and `PAGE` where a page begins
    level: int = 0  # of a heading, from 1
    depth: int = 0  # of a list item, from 1
    label: str = ""  # its number; "" for a bullet
    is_bold: bool = False
    is_title: bool = False  # of the document: above all headings
    notes: tuple[int, ...] = ()  # whose marks stand in it
    rows: tuple[tuple[Cell, ...], ...] = ()  # of a table
    header_rows: int = 1
    is_markdown: bool = False  # its text, which stays as it is

    @property
    def is_heading(self) -> bool:
        """Whether a section begins with it."""
        return self.level > 0 or self.is_title


@dataclass(slots=True)
class StoryParagraph:
    """An open paragraph; text is appended to `parts`."""

    parts: list[str] = field(default_factory=list)
    notes: list[int] = field(default_factory=list)
    after: list[StoryPiece] = field(default_factory=list)  # text boxes
    plain: bool = False  # some of its text is not bold
    bold: bool = False  # some of its text is bold

    def add(self, text: str, *, bold: bool = False, look: str = "") -> None:
        """Append a run of text; `look` is one of `looks`, "" for none."""
        add_run(self.parts, text, look)
        if text.strip():
            self.bold |= bold
            self.plain |= not bold

    def pieces(
        self, *, level: int = 0, depth: int = 0, label: str = "", is_title: bool = False
    ) -> list[StoryPiece]:
        """It and its text boxes; a paragraph without text or mark is left out."""
        lines = "".join(self.parts).replace("\u00ad", "").split("\n")
        text = "\n".join(line.strip(_BLANKS) for line in lines)
        text = text.strip(" \t\n\r\u00a0")
        if label:
            spend_characters(len(label))  # a short paragraph may have a long number
        piece = StoryPiece(
            text,
            level,
            depth,
            label,
            self.bold and not self.plain,
            is_title,
            tuple(self.notes),
        )
        return [piece, *self.after] if text else self.after


def mark(number: int) -> str:
    """What stands in the text for a note."""
    return f"[^{number}]"


@dataclass(slots=True)
class StoryTable:
    """An open table.

    Example:
        >>> StoryTable(rows=[[Cell("a"), Cell("b")]]).pieces()[0].header_rows
        1
    """

    rows: list[list[Cell]] = field(default_factory=list)
    header_rows: int = 0
    notes: set[int] = field(default_factory=set)
    inside: list[StoryPiece] = field(default_factory=list)  # of the last cell

    def pieces(self) -> list[StoryPiece]:
        """It as a piece, or what it frames if it is one cell."""
        if sum(map(len, self.rows)) == 1 and self.inside:
            return self.inside
        rows = tuple(map(tuple, self.rows))
        header_rows, notes = max(1, self.header_rows), tuple(sorted(self.notes))
        piece = StoryPiece("", rows=rows, header_rows=header_rows, notes=notes)
        return [piece] if any(rows) else []


def flat(pieces: Iterable[StoryPiece]) -> str:
    """Pieces as one line, for a cell or a note."""
    texts = []
    for piece in pieces:
        if piece.rows:
            texts += ["; ".join(filter(None, row)) for row in spread(piece.rows)]
        else:
            texts.append(f"{piece.label} {piece.text}".strip(" "))
    return " ".join(" ".join(filter(None, texts)).split("\n"))


def to_draft(
    pieces: Sequence[StoryPiece],
    notes: Mapping[int, str],
    title: str = "",
    uncertain: Iterable[str] = (),
) -> Draft:
    """The document.

    A note stands behind the paragraph, list or table that has its mark. Bold paragraphs are marked
    where there is no heading, so that they can stand for headings.
    """
    has_headings = any(piece.level for piece in pieces)
    titles = [piece.text.replace(PAGE, " ") for piece in pieces if piece.is_title]
    title = " ".join(titles[0].split()) if titles else title
    parts: list[str] = []
    items: list[str] = []
    depths: list[int] = []  # of the open list
    waiting: list[int] = []  # numbers of notes
    written: set[int] = set()
    pages = ""  # of pieces without text

    def close() -> None:
        if items:
            parts.append("\n".join(items))
        for number in waiting:
            if number in notes and number not in written:
                written.add(number)
                parts.append(f"{mark(number)}: {notes[number]}")
        for each in (items, depths, waiting):
            each.clear()

    for piece in pieces if has_headings else _without_titles(pieces):
        if not piece.depth:
            close()
        waiting += piece.notes
        if not piece.rows and not piece.text.strip(f"{PAGE} \n"):
            pages += piece.text
            continue
        if piece.depth:
            while depths and depths[-1] >= piece.depth:
                depths.pop()
            depths.append(piece.depth)
            items.append(pages + _item(piece, len(depths)))
        else:
            parts.append(
                pages
                + _written(
                    piece, piece.level + bool(titles), mark_bold=not has_headings
                )
            )
        pages = ""
    close()
    text, page_starts = _paged(assembled(parts))
    return Draft(text, uncertain=tuple(uncertain), page_starts=page_starts, title=title)


def _without_titles(pieces: Sequence[StoryPiece]) -> Iterator[StoryPiece]:
    """The pieces, with the numbered titles of clauses as paragraphs instead of items of lists.

    Such an item is short, in bold type or capitals or numbered with a word (`Section 2.`), and has
    deeper items or text below.
    """
    for piece, below in pairwise([*pieces, StoryPiece("")]):
        has_text = below.depth > piece.depth or (below.text and not below.depth)
        if piece.depth and piece.label and has_text:
            stands_out = piece.is_bold or is_label(piece.label)
            stands_out |= piece.text.isupper() and is_clean(piece.text)
            if stands_out and is_short_title(piece.text.removesuffix(".")):
                piece = replace(piece, text=f"{piece.label} {piece.text}", depth=0)
        yield piece


def _written(piece: StoryPiece, level: int, *, mark_bold: bool) -> str:
    if piece.rows:
        return pipe_table(spread(piece.rows, piece.header_rows), piece.header_rows)
    if piece.is_heading:
        words = f"{piece.label} {piece.text}".replace(PAGE, " ").split()
        line = heading_line(min(level, _MOST_LEVEL), " ".join(words))
        return PAGE * piece.text.count(PAGE) + line
    if piece.is_markdown:
        return piece.text
    if mark_bold and piece.is_bold and "\n" not in piece.text:
        text = piece.text.replace(PAGE, "").strip().replace("*", "\\*")
        return f"{PAGE * piece.text.count(PAGE)}**{text}**"
    return _escaped(piece.text)


def _escaped(text: str) -> str:
    """Marks of pages stand in front where lines are escaped, or the mark would be in the way."""
    plain = text.replace(PAGE, "")
    escaped = "\n".join(escaped_lines(plain.strip().split("\n")))
    return text if escaped == plain else PAGE * text.count(PAGE) + escaped


def _item(piece: StoryPiece, depth: int) -> str:
    lines = _escaped(piece.text).split("\n")
    sign = piece.label if _COUNTED.fullmatch(piece.label) else "-"
    if piece.label and sign == "-":
        lines[0] = f"{piece.label} {lines[0]}"
    inside = "    " * depth
    return f"{inside[4:]}{sign} " + f"\n{inside}".join(lines)


def _paged(text: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The text without marks of pages, and where the pages begin."""
    sheets = text.split(PAGE)
    starts = [(0, 1)]
    for page, sheet in enumerate(sheets[:-1], 2):
        starts.append((starts[-1][0] + len(sheet), page))
    return "".join(sheets), tuple(starts) if len(starts) > 1 else ()


def on_one_page(rows: Sequence[Cell]) -> None:
    """Keep of a row only the marks of its cell with the most: its cells stand side by side."""
    most = max((cell.text.count(PAGE) for cell in rows), default=0)
    for cell in rows:
        cell.text = cell.text.replace(PAGE, "")
    if most:
        rows[0].text = PAGE * most + rows[0].text
