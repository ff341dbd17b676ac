"""Laid-out pages to Markdown by rules, without running heads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, pairwise, zip_longest
from statistics import median
from typing import NamedTuple

from structrag.reading.drafts import Draft
from structrag.reading.escaping import assembled, escaped_line, fenced, heading_line
from structrag.reading.paging import PageStart, starts_in_text
from structrag.reading.pdf.aligned_tables import find_tables
from structrag.reading.pdf.bidi import is_rtl
from structrag.reading.pdf.heading_styles import (
    Body,
    StyledBlock,
    body_of,
    has_leaders,
    is_large,
    levels_of_blocks,
)
from structrag.reading.pdf.named_headings import rows_named, run_in_titles
from structrag.reading.pdf.pages import Grid, Line, NamedHeading, Page
from structrag.reading.pdf.paragraphs import (
    Paragraph,
    Spacing,
    paragraphs_of,
    spacing_of,
)
from structrag.reading.pdf.pictures import picture_places
from structrag.reading.pdf.rows import (
    BULLETS,
    Joiner,
    Row,
    row_of,
    rows_of,
    stands_out_beside,
    with_run_in_titles,
)
from structrag.reading.pdf.running_heads import find_page_marks, find_running_heads
from structrag.reading.tables import count_headers, pipe_table
from structrag.text.numbers import pluralise

_SHOWN = 5  # examples in a note
_SAME_COLUMN = (
    4.0  # points by which the columns of a table on the next page may stand elsewhere
)
_TYPEWRITTEN = 0.8  # of the text is in type of one width, which is no code then
_PICTURE = 0.6  # of the page covered by pictures, and
_FEW_WORDS = 20  # on it: likely a scan with a stamp
_STRUCTURE = re.compile(
    r"(?P<mark>[-*+>](?=[ \t]|$)|>)|(?P<number>\d{1,9})[.)](?=[ \t]|$)|\[[^\]]*\]:"
    r"|(?:[-*_][ \t]*){3,}$|[-=:|+ \t]+$"
)


@dataclass(frozen=True, slots=True)
class _CellGrid:
    cells: list[list[str]]
    columns: tuple[float, ...]  # their left edges
    pages: tuple[tuple[int, int], ...]  # row, page that begins with it


@dataclass(frozen=True, slots=True)
class _Code:
    """Rows in type of one width, as they stand."""

    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class _Loose:
    """Rows that may be a table: each stays a line."""

    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class _Title:
    """Rows that the file names as a heading."""

    rows: tuple[Row, ...]
    level: int


class _Item(NamedTuple):
    """An item that further ones may be nested in."""

    page: int
    left: float  # of its mark
    look: str  # its mark, "1" for letters and digits
    inside: int  # column of Markdown where its text begins


class _Text(NamedTuple):
    """A text, and where pages begin in it."""

    text: str
    page_starts: tuple[PageStart, ...]

    def as_written(self, written: str) -> _Text:
        """The same text as it is written in Markdown."""
        return _Text(written, self.page_starts)


_Part = _CellGrid | _Code | _Loose | _Title | Row
_Group = _CellGrid | _Code | _Loose | _Title | Paragraph


def markdown_of_pages(pages: Sequence[Page]) -> Draft:
    """Markdown made of laid-out pages by rules alone.

    Headings are told by larger or bold type and by numbers; their levels by size, weight and depth
    of number. Where the file names its headings (`Page.headings`), these are the headings, and what
    looks like one beyond them must be clearly deeper. Paragraphs are joined over rows, columns and
    pages, words broken at line ends made whole; a line ended on purpose keeps its end. Ruled
    tables, and aligned ones where everything fits, become pipe tables with the first row as header.
    Bullets become "-"; labels such as "(a)" stay behind it. Running heads, page numbers,
    watermarks, the numbers of lines in the margin and lines of nothing but unknown characters are
    left out (`Draft.removed`) and named in `Draft.uncertain`, with everything else that may be
    wrong: guessed hyphens, tables left as text, large type that is no heading, pages that are
    pictures. A picture with an alternative text, a caption or a file becomes an image block: before
    its caption, else behind the text above it. `Draft.page_starts` says where each page begins;
    within a paragraph to a few characters. Apart from what is left out, bullet signs and line-end
    hyphens all text is there, in the order of the pages' lines. No page, or none with text, gives
    "".
    """
    heads = find_running_heads(pages)
    marks = find_page_marks(pages)
    bodies: list[list[Line]] = []  # the lines of each page that stay
    removed: list[str] = []
    for page, of_heads, of_marks in zip(
        pages, heads.removed, marks.removed, strict=True
    ):
        numbers = of_heads | of_marks | _unreadable(page)
        bodies.append([line for j, line in enumerate(page.lines) if j not in numbers])
        removed += [" ".join(page.lines[j].text.split()) for j in sorted(numbers)]
    joiner = Joiner.of(line.text for lines in bodies for line in lines)
    has_code = not _is_typewritten(line for lines in bodies for line in lines)
    parts: list[_Part] = []
    for number, (page, lines) in enumerate(zip(pages, bodies, strict=True), start=1):
        of_page = list(_parts(lines, page.grids, number, joiner, has_code))
        parts += _with_titles(of_page, page.headings)
    lines = [line for lines in bodies for line in lines]
    blocks, notes = _blocks(_joined_tables(parts), lines, joiner, pages)
    uncertain = (
        *heads.notes,
        *marks.notes,
        *_page_notes(pages),
        *notes,
        *_hyphen_note(joiner),
    )
    text = assembled([block.text for block in blocks])
    starts = starts_in_text(text, [block for block in blocks if block.text.strip()])
    return Draft(text, uncertain, tuple(removed), tuple(starts))


def _parts(
    lines: Sequence[Line],
    grids: Sequence[Grid],
    page: int,
    joiner: Joiner,
    has_code: bool,
) -> Iterator[_Part]:
    """A page's tables, code and rows, in order."""
    free: list[Line] = []
    i = 0
    while i < len(lines):
        grid = next(
            (grid for grid in grids if lines[i].upright and grid.cell(lines[i])), None
        )
        if grid is None:
            free.append(lines[i])
            i += 1
            continue
        yield from _rows_and_tables(free, page, has_code)
        free, start = [], i
        while i < len(lines) and lines[i].upright and grid.cell(lines[i]):
            i += 1
        yield _ruled_table(lines[start:i], grid, page, joiner)
    yield from _rows_and_tables(free, page, has_code)


def _with_titles(
    parts: Sequence[_Part], headings: Sequence[NamedHeading]
) -> Iterator[_Part]:
    """A page's parts, with the rows that the file names as headings set apart."""
    if not headings:
        yield from parts
        return
    split = run_in_titles([part for part in parts if isinstance(part, Row)], headings)
    parts = [
        piece
        for part in parts
        for piece in (split.get(part, (part,)) if isinstance(part, Row) else (part,))
    ]
    rows = [(i, row) for i, part in enumerate(parts) if (row := _only_row(part))]
    named = rows_named([row for _, row in rows], headings)
    titles: dict[int, _Title] = {}
    covered: set[int] = set()
    for first, (end, level) in named.items():
        places = [i for i, _ in rows[first:end]]
        if places[-1] - places[0] == end - first - 1:  # no table between
            titles[places[0]] = _Title(tuple(row for _, row in rows[first:end]), level)
            covered.update(places)
    for i, part in enumerate(parts):
        if i in titles:
            yield titles[i]
        elif i not in covered:
            yield part


def _only_row(part: _Part) -> Row | None:
    """The row that a part is; a title of names in type of one width looks like code."""
    if isinstance(part, Row):
        return part
    return part.rows[0] if isinstance(part, _Code) and len(part.rows) == 1 else None


def _rows_and_tables(
    lines: Sequence[Line], page: int, has_code: bool
) -> Iterator[_Part]:
    rows = _with_side_heads(_with_numbers_at_left(list(rows_of(lines, page))))
    rows = list(with_run_in_titles(rows))
    for is_code, group in groupby(rows, lambda row: has_code and _is_code(row)):
        block = list(group)
        if is_code and (len(block) > 1 or len(block[0].cells) == 1):
            yield _Code(tuple(block))
        else:
            yield from _tables_among(block, page)


def _is_code(row: Row) -> bool:
    """Whether a row is in type of one width, and no item of a list."""
    return row.mono and row.text[0] not in BULLETS


def _tables_among(rows: Sequence[Row], page: int) -> Iterator[_Part]:
    done = 0
    for start, end, cells in find_tables(rows):
        yield from rows[done:start]
        if cells:
            full = [row for row in rows[start:end] if len(row.cells) == len(cells[0])]
            columns = zip(*(row.cells for row in full), strict=True)
            lefts = tuple(min(cell.left for cell in column) for column in columns)
            yield _CellGrid(cells, lefts, ((0, page),))
        else:
            yield _Loose(tuple(rows[start:end]))
        done = end
    yield from rows[done:]


def _with_numbers_at_left(rows: Sequence[Row]) -> list[Row]:
    """Rows, with the numbers of paragraphs in the right margin as if they stood in the left one."""
    others = [row.right for row in rows if not _has_number_at_right(row)]
    numbers = [int(row.cells[-1].text) for row in rows if _has_number_at_right(row)]
    count = all(b == a + 1 for a, b in pairwise(numbers))
    if len(numbers) < 2 or not count or len(others) < len(numbers):
        return list(rows)
    edge, left = max(others), min(row.left for row in rows)
    moved: list[Row] = []
    for row in rows:
        *text, number = row.cells
        if _has_number_at_right(row) and number.left > edge:
            width = number.right - number.left
            number = replace(number, left=left - 2 * width, right=left - width)
            moved.append(row_of([number, *text], row.page))
        else:
            moved.append(row)
    return moved


def _has_number_at_right(row: Row) -> bool:
    *text, number = row.cells
    is_apart = text and number.left - text[-1].right > row.size
    return bool(is_apart) and number.text.isdecimal() and len(number.text) < 5


def _with_side_heads(rows: Sequence[Row]) -> list[Row]:
    """Rows, with a title at the side of a text apart from the row it stands beside."""
    apart: list[Row] = []
    for row, below in zip_longest(rows, rows[1:]):
        head, *text = row.cells
        others = text and below and abs(below.left - text[0].left) <= 2
        if (
            others
            and head.upright
            and stands_out_beside(head, text[0])
            and text[0].left - head.right > row.size
            and head.right < below.left
        ):
            apart += [row_of([head], row.page), row_of(text, row.page)]
        else:
            apart.append(row)
    return apart


def _is_typewritten(lines: Iterable[Line]) -> bool:
    """Whether nearly all of the text is in type of one width, which then is no sign of code."""
    total = mono = 0
    for line in lines:
        total += len(line.text)
        mono += line.mono * len(line.text)
    return mono > _TYPEWRITTEN * total


def _joined_tables(parts: Sequence[_Part]) -> list[_Part]:
    """The parts, with a table that goes on atop the next page as one. A header is not repeated."""
    joined: list[_Part] = []
    for part in parts:
        before = joined[-1] if joined else None
        if (
            isinstance(part, _CellGrid)
            and isinstance(before, _CellGrid)
            and part.pages[0][1] == before.pages[-1][1] + 1
            and len(part.columns) == len(before.columns)
            and all(
                abs(a - b) <= _SAME_COLUMN
                for a, b in zip(part.columns, before.columns, strict=True)
            )
        ):
            header = before.cells[: count_headers(before.cells, 1)]
            repeated = part.cells[: len(header)] == header
            rows = part.cells[len(header) * repeated :]
            pages = (*before.pages, (len(before.cells), part.pages[0][1]))
            joined[-1] = _CellGrid([*before.cells, *rows], before.columns, pages)
        else:
            joined.append(part)
    return joined


def _ruled_table(
    lines: Iterable[Line], grid: Grid, page: int, joiner: Joiner
) -> _CellGrid:
    """A ruled table's cells, without empty rows and columns."""
    texts: dict[tuple[int, int], str] = {}
    for line in lines:
        cell, text = grid.cell(line), " ".join(line.text.split())
        if cell and text:
            before = texts.get(cell, "")
            texts[cell] = joiner.join(before, text) if before else text
    rows = sorted({row for row, _ in texts})
    from_right = is_rtl("".join(texts.values()))
    columns = sorted({column for _, column in texts}, reverse=from_right)
    cells = [[texts.get((row, column), "") for column in columns] for row in rows]
    lefts = tuple(grid.columns[column] for column in columns)
    return _CellGrid(cells, lefts, ((0, page),))


def _blocks(
    parts: Sequence[_Part],
    lines: Sequence[Line],
    joiner: Joiner,
    pages: Sequence[Page],
) -> tuple[list[_Text], list[str]]:
    """Markdown blocks, and what is uncertain about them. `lines` are all of the text."""
    rows = _text_rows(parts)
    outside = sum(len(row.text) for row in rows)
    in_tables = 2 * outside < sum(len(line.text) for line in lines)
    body = body_of(lines if in_tables else rows)
    groups = _groups(parts, spacing_of(rows))
    texts = [_text(group, joiner) for group in groups]
    levels = levels_of_blocks(list(map(partial(_judged, pages), groups, texts)), body)
    blocks: list[_Text] = []
    notes: list[str] = []
    items: list[tuple[Paragraph, _Text]] = []
    pictures = picture_places(
        pages, [() if isinstance(group, _CellGrid) else group.rows for group in groups]
    )
    for i, (group, read, level) in enumerate(zip(groups, texts, levels, strict=True)):
        if i in pictures:
            blocks += [*_list(items), *_images(pictures[i])]
            items = []
        if isinstance(group, Paragraph) and group.mark and not level:
            items.append((group, read))
            continue
        blocks += _list(items)
        items = []
        if isinstance(group, _CellGrid):
            blocks.append(_pipe_table(group))
            continue
        if isinstance(group, _Code):
            written = fenced(_code(group.rows))
        elif isinstance(group, _Loose):
            written = _plain_lines(row.text for row in group.rows)
            notes.append(_loose_note(group))
        elif level:
            written = heading_line(level, _title(group, read.text))
        else:
            written = _plain_lines(read.text.split("\n"))
            notes += _large_note(group.rows[0], read.text, body)
        blocks.append(read.as_written(written))
    return [*blocks, *_list(items), *_images(pictures.get(len(groups), ()))], notes


def _judged(pages: Sequence[Page], group: _Group, read: _Text) -> StyledBlock:
    """What tells whether a group is a heading."""
    if isinstance(group, _Title):
        return StyledBlock(group.rows, read.text, named=group.level)
    if not isinstance(group, Paragraph):
        return StyledBlock((), "", is_table=not isinstance(group, _Code))
    is_bullet = group.mark is not None and not group.mark.shown[0].isalnum()
    rows, title = tuple(group.rows), _title(group, read.text)
    on_page = all(_is_on_page(row, pages[row.page - 1]) for row in rows)
    return StyledBlock(rows, title, is_text=on_page, is_bullet=is_bullet)


def _is_on_page(row: Row, page: Page) -> bool:
    """Whether a row stands on the paper. Broken files place text far beyond it."""
    beyond = (-row.left, -row.top, row.right - page.width, row.bottom - page.height)
    return max(beyond) < 0.1 * page.width


def _images(pictures: Iterable[tuple[int, str]]) -> Iterator[_Text]:
    for page, markdown in pictures:
        yield _Text(markdown, ((0, page),))


def _text_rows(parts: Iterable[_Part]) -> list[Row]:
    """All rows outside tables."""
    rows: list[Row] = []
    for part in parts:
        if isinstance(part, Row):
            rows.append(part)
        elif isinstance(part, _Loose):
            rows += part.rows
    return rows


def _groups(parts: Iterable[_Part], spacing: Spacing) -> list[_Group]:
    """The parts with successive rows put together to paragraphs."""
    groups: list[_Group] = []
    rows: list[Row] = []
    for part in parts:
        if isinstance(part, Row):
            rows.append(part)
            continue
        groups += [*paragraphs_of(rows, spacing), part]
        rows = []
    return groups + paragraphs_of(rows, spacing)


def _text(group: _Group, joiner: Joiner) -> _Text:
    """A paragraph's text, an item's without its mark; "" for a table. There is a line end where a
    line was ended on purpose."""
    if isinstance(group, _CellGrid):
        return _Text("", ())
    starts = [(0, group.rows[0].page)]
    if isinstance(group, _Loose | _Code):
        return _Text("", tuple(starts))
    mark, breaks = None, set[int]()
    if isinstance(group, Paragraph):
        mark, breaks = group.mark, group.breaks
    text = group.rows[0].text[mark.end if mark else 0 :]
    for i, row in enumerate(group.rows[1:], start=1):
        text = f"{text}\n{row.text}" if i in breaks else joiner.join(text, row.text)
        if row.page != starts[-1][1]:
            starts.append((len(text) - len(row.text), row.page))
    return _Text(text, tuple(starts))


def _title(group: Paragraph | _Title, text: str) -> str:
    """The text on one line, its number included."""
    words = text.split()
    mark = group.mark if isinstance(group, Paragraph) else None
    return " ".join([mark.shown, *words] if mark else words)


def _plain(line: str) -> str:
    """A paragraph's line, with a backslash before what would be structure."""
    structure = _STRUCTURE.match(line)
    if structure and structure["number"]:
        return f"{structure['number']}\\{line[structure.end('number') :]}"
    return f"\\{line}" if structure else escaped_line(line)


def _plain_lines(lines: Iterable[str]) -> str:
    return "\n".join(map(_plain, lines))


def _list(items: Sequence[tuple[Paragraph, _Text]]) -> list[_Text]:
    """A list as one block, nested by its marks' indents. Behind a page break it is nested by how
    the marks look."""
    lines: list[str] = []
    starts: list[PageStart] = []
    opened: list[_Item] = []
    for paragraph, (text, page_starts) in items:
        row, shown = paragraph.rows[0], paragraph.mark.shown if paragraph.mark else ""
        look = re.sub(r"\w+", "1", shown)
        _close(opened, row, look)
        indent = opened[-1].inside if opened else 0
        label = shown if shown[:-1].isdigit() else "-"
        if label != shown and any(map(str.isalnum, shown)):
            text = f"{shown} {text}"
        first, *rest = text.split("\n")
        inside = indent + len(label) + 1
        item_start = sum(len(line) + 1 for line in lines)
        starts += [(item_start + start, page) for start, page in page_starts]
        lines.append(f"{' ' * indent}{label} {_plain(first)}")
        lines += [f"{' ' * inside}{_plain(line)}" for line in rest]
        opened.append(_Item(row.page, row.left, look, inside))
    return [_Text("\n".join(lines), tuple(starts))] if lines else []


def _close(opened: list[_Item], row: Row, look: str) -> None:
    """Close the items in which one that begins with `row` is not."""
    for k, item in enumerate(opened):
        if item.look == look and item.page != row.page:
            del opened[k:]
            break
    while opened and opened[-1].page == row.page and row.left < opened[-1].left + 3:
        opened.pop()


def _pipe_table(table: _CellGrid) -> _Text:
    text = pipe_table(table.cells)
    starts = [0, *(end.end() for end in re.finditer("\n", text)), len(text) + 1]
    # The header is one line, and the rule below it another.
    above = count_headers(table.cells, 1) - 2
    pages = ((starts[row - above if row else 0], page) for row, page in table.pages)
    return _Text(text, tuple(pages) if text else ())


def _code(rows: Sequence[Row]) -> str:
    """Rows of code with their indents, and a blank line where there is a gap."""
    widths = [
        (cell.right - cell.left) / len(cell.text) for row in rows for cell in row.cells
    ]
    width = max(median(widths), 0.1)
    left = min(row.left for row in rows)
    steps = [below.top - above.top for above, below in pairwise(rows)]
    step = median([step for step in steps if step > 0] or [rows[0].size])
    lines: list[str] = []
    for above, row in zip([None, *rows], rows, strict=False):
        if above and row.top - above.top > 1.6 * step:
            lines.append("")
        line = ""
        for cell in row.cells:
            column = round((cell.left - left) / width)
            line += " " * max(column - len(line), 1 if line else 0) + cell.text
        lines.append(line)
    return "\n".join(lines)


def _unreadable(page: Page) -> set[int]:
    """The lines of nothing but characters that the file does not tell, such as symbols of a font
    of its own, which no other line stands beside."""
    blank = [not line.text.strip(" \t\ufffd") for line in page.lines]
    return {
        i
        for i, line in enumerate(page.lines)
        if blank[i]
        and "\ufffd" in line.text
        and not any(
            other.top < line.bottom and line.top < other.bottom
            for other, is_blank in zip(page.lines, blank, strict=True)
            if not is_blank
        )
    }


def _page_notes(pages: Sequence[Page]) -> Iterator[str]:
    for number, page in enumerate(pages, start=1):
        covered = sum(
            (right - left) * (bottom - top) for left, top, right, bottom in page.images
        )
        words = sum(len(line.text.split()) for line in page.lines)
        if not words and page.images:
            yield (
                f"Page {number} only shows a picture: its text, if any, is missing; OCR is needed."
            )
        elif words < _FEW_WORDS and covered > _PICTURE * page.width * page.height:
            yield (
                f"Page {number} is mostly a picture, with {pluralise(words, 'word')} of text: it "
                "may be a scan that needs OCR."
            )
        if unknown := sum(line.text.count("\ufffd") for line in page.lines):
            yield (
                f"On page {number} the file does not say which {unknown} characters it shows; "
                "they are U+FFFD here."
            )
        if page.comments:
            yield f"Page {number} has {pluralise(page.comments, 'comment')}: left out."


def _loose_note(group: _Loose) -> str:
    first = group.rows[0]
    return (
        f"{len(group.rows)} rows of page {first.page} that may be a table were left as text, "
        f"from {first.text[:60]!r} on."
    )


def _large_note(row: Row, text: str, body: Body) -> Iterator[str]:
    if (
        row.upright
        and is_large(row.size, body)
        and len(text.split()) > 3
        and not has_leaders(text)
    ):
        yield (
            f"Large type on page {row.page} was taken for a paragraph, not a heading: "
            f"{' '.join(text.split())[:60]!r}."
        )


def _hyphen_note(joiner: Joiner) -> Iterator[str]:
    guessed = joiner.hyphens.guessed
    if guessed:
        shown = ", ".join(map(repr, guessed[:_SHOWN]))
        words = pluralise(len(guessed), "word")
        yield f"Rejoined by guess: {words} broken at line ends, such as {shown}."
