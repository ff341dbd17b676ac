"""Tables without ruled lines, whose cells hold several lines of text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from structrag.reading.pdf.aligned_tables import LABEL, Span, columns_of
from structrag.reading.pdf.heading_styles import has_leaders
from structrag.reading.pdf.pages import Grid, Line
from structrag.reading.pdf.rows import SENTENCE_END, level_rows, stands_out_beside

_LEAST_ROWS = 3
_MOST_LINES = 4  # times the columns: in the longest cells of most rows
_MOST_WORDS = 3  # of a typical cell in the first column where no blank parts the rows
_FEW_WORDS = 2.5
_MOST_COLUMNS = 100  # of more, the words of a page lie on each other
_ALIGNED = 3.0  # points by which the lines of a column may begin elsewhere
_MOST_TRIED = 40  # rows: of more that are no table, no later ones are tried
_COLUMN_GAP = 6.0  # points between two columns
_APART = 1.25  # times the usual distance of lines: a row of the table begins
_FAR = 2.0  # of the font size: a wider blank ends the table
_LEVEL = 0.15  # of the font size by which the first lines of a row may differ
_MOST_GOING_ON = 0.2  # of the cells may go on from the cell above

Band = list[Line]  # the lines of a row of cells, of one cell, or of one height
Columns = list[Span]


def wrapped_tables(lines: Sequence[Line]) -> list[Grid]:
    """The grids of tables in upright lines.

    A table has three rows or more, four if it has two columns. A quarter of its rows have a cell of
    several lines, or at least one row where no cell is empty. The cells of a row begin at one
    height, and sentences do not go on from a cell to the one below. Rows are parted by blanks; on a
    page without such tables, by words in the first column, whose cells have one line.
    """
    bands = _bands(lines)
    grids: list[Grid] = []
    start = 0
    while start < len(bands):
        end, columns = _end_of_table(bands, start)
        rows = bands[start:end]
        if _is_table(rows, columns):
            grids.append(_grid(rows, columns))
        elif end - start <= _MOST_TRIED:
            end = start + 1
        start = end
    return grids or _hanging_tables(lines)


def _hanging_tables(lines: Sequence[Line]) -> list[Grid]:
    """Tables with a word or a few in the first column, and no blanks between rows."""
    rows = level_rows(lines)
    grids: list[Grid] = []
    start = 0
    while start < len(rows):
        end, records = _records(rows, start)
        around = [*rows[max(0, start - 1) : start], *rows[end : end + 1]]
        if _is_hanging(records, end - start) and not _takes_in_text(records, around):
            grids.append(_grid(records, _columns_of(records)))
        start = end
    return grids


def _records(rows: Sequence[Band], start: int) -> tuple[int, list[Band]]:
    """Where the table that may begin at `start` ends, and its rows. A row of lines without one in
    the first column goes on with the row above."""
    lefts = [line.left for line in rows[start]]
    records: list[Band] = [list(rows[start])]
    end = start + 1
    while end < len(rows) and 1 < len(lefts) <= _MOST_COLUMNS:
        row, above = rows[end], rows[end - 1][0]
        columns = [
            column
            for line in row
            for column, left in enumerate(lefts)
            if abs(line.left - left) <= _ALIGNED
        ]
        is_near = row[0].top - above.top <= 2 * above.size
        if len(columns) != len(row) or columns == [0] or not is_near:
            break
        if columns[0] == 0:
            records.append(list(row))
        else:
            records[-1] += row
        end += 1
    return end, records


def _takes_in_text(records: Sequence[Band], around: Sequence[Band]) -> bool:
    """Whether one of the columns is of text beside the table: it goes on from row to row, or above
    or below the table, in the rows `around` it."""
    columns = _columns_of(records)
    lefts = [left for left, _ in columns[1:]]
    ends = records[0][0].top, records[-1][-1].top
    return _goes_on(records, columns) or any(
        abs(line.left - left) <= _ALIGNED
        and min(abs(line.top - end) for end in ends) < 3 * line.size
        for row in around
        for line in row
        for left in lefts
    )


def _is_hanging(records: Sequence[Band], rows: int) -> bool:
    """Whether records made of so many rows of lines are a table."""
    if len(records) < _LEAST_ROWS or rows - len(records) < 2:
        return False
    firsts = [record[0] for record in records]
    words = median(len(line.text.split()) for line in firsts)
    names = sum(
        line.text[:1].isalpha() and line.text[-1] not in ".:)" for line in firsts
    )
    columns = _columns_of(records)
    at_side = len(columns) == 2 and all(
        _is_beside(record[:1], record[1:]) for record in records if record[1:]
    )
    cells = (cell for record in records for cell in _cells(record, columns))
    return (
        words <= _MOST_WORDS
        and names >= 0.8 * len(firsts)
        and len(columns) == len({round(line.left / 4) for line in records[0]})
        and not at_side
        and not any(map(_is_no_cell, cells))
    )


def _columns_of(records: Sequence[Band]) -> Columns:
    return columns_of(
        ((line.left, line.right) for record in records for line in record), _COLUMN_GAP
    )


def _bands(lines: Sequence[Line]) -> list[Band]:
    """The lines by height, parted where there is a wider blank than between lines of a text."""
    pitches = _pitches(lines)
    bands: list[Band] = []
    for line in sorted(lines, key=lambda line: line.top):
        last = bands[-1][-1] if bands else line
        pitch = pitches.get(round(last.size), 1.2 * last.size)
        if bands and line.top - last.top <= _APART * pitch:
            bands[-1].append(line)
        else:
            bands.append([line])
    return bands


def _pitches(lines: Sequence[Line]) -> dict[int, float]:
    """How far lines of a text stand below each other, by size of the type."""
    steps: defaultdict[int, list[float]] = defaultdict(list)
    by_left = sorted(lines, key=lambda line: (round(line.left), line.top))
    for above, below in pairwise(by_left):
        step = below.top - above.top
        if (
            round(above.left) == round(below.left)
            and above.size <= step < 2 * above.size
        ):
            steps[round(above.size)].append(step)
    most = {size: _APART * min(of_size) for size, of_size in steps.items()}
    return {
        size: median(step for step in of_size if step <= most[size])
        for size, of_size in steps.items()
    }


def _end_of_table(bands: Sequence[Band], start: int) -> tuple[int, Columns]:
    """Where the rows that begin at `start` end, and their columns."""
    columns: Columns = []
    for end in range(start, len(bands)):
        band, above = bands[end], bands[max(start, end - 1)][-1]
        joint = columns_of(
            [*columns, *((line.left, line.right) for line in band)], _COLUMN_GAP
        )
        is_far = band[0].top - above.bottom > _FAR * above.size
        if is_far or len(joint) < 2 or not _is_row(band, joint):
            return end, columns
        columns = joint
    return len(bands), columns


def _cells(band: Band, columns: Columns) -> list[Band]:
    cells = (
        [line for line in band if left <= line.left <= right] for left, right in columns
    )
    return [cell for cell in cells if cell]


def _is_row(band: Band, columns: Columns) -> bool:
    """Whether the lines begin at one height in several columns."""
    cells = _cells(band, columns)
    return len(cells) > 1 and all(
        cell[0].top - band[0].top <= _LEVEL * cell[0].size for cell in cells
    )


def _is_table(rows: Sequence[Band], columns: Columns) -> bool:
    if len(rows) < _LEAST_ROWS + (len(columns) == 2):
        return False
    cells = [_cells(row, columns) for row in rows]
    if any(map(_is_no_cell, (cell for row in cells for cell in row))):
        return False
    if len(columns) == 2 and all(len(row) < 2 or _is_beside(*row) for row in cells):
        return False
    wrapped = [
        row for row in cells if any(cell[-1].top > cell[0].bottom - 1 for cell in row)
    ]
    is_full = all(len(row) == len(columns) for row in cells)
    stacked = [row for row in wrapped if _is_stack(row)]
    most = sorted(max(map(len, row)) for row in cells)[len(cells) * 3 // 4]
    return (
        len(wrapped) > (0 if is_full else max(1, len(rows) / 4))
        and len(stacked) <= len(wrapped) / 3
        and most <= _MOST_LINES * len(columns)
        and not _goes_on(rows, columns)
    )


def _is_stack(row: Sequence[Band]) -> bool:
    """Whether all cells of a row have as many lines, of a word or two: rows themselves."""
    words = [len(line.text.split()) for cell in row for line in cell]
    return len(set(map(len, row))) == 1 and sum(words) < _FEW_WORDS * len(words)


def _is_beside(first: Band, second: Band) -> bool:
    """Whether the first cell is a number in the margin, or a title at the side of a text."""
    if not any(map(str.isalpha, first[0].text + first[-1].text)):
        return True
    return stands_out_beside(first[0], second[0])


def _is_no_cell(cell: Band) -> bool:
    """Whether lines are an item, of a contents page, or a heading and its text."""
    if len({line.bold for line in cell}) > 1:
        return True
    return any(LABEL.fullmatch(line.text) or has_leaders(line.text) for line in cell)


def _goes_on(rows: Sequence[Band], columns: Columns) -> bool:
    """Whether sentences go on from row to row: full lines, then a small letter."""
    transitions = going_on = 0
    for left, right in columns:
        cells = (cell for row in rows for cell in _cells(row, [(left, right)]))
        for above, below in pairwise(cells):
            is_full = above[-1].right > right - 0.15 * (right - left)
            is_open = not SENTENCE_END.search(above[-1].text)
            transitions += 1
            going_on += is_full and is_open and below[0].text[:1].islower()
    return going_on > _MOST_GOING_ON * transitions


def _grid(rows: Sequence[Band], columns: Columns) -> Grid:
    heights = [
        (min(line.top for line in row), max(line.bottom for line in row))
        for row in rows
    ]
    return Grid(_rules(columns), _rules(heights))


def _rules(spans: Sequence[Span]) -> tuple[float, ...]:
    """Edges of a grid amid the blanks between spans, and a point behind the last."""
    between = ((before[1] + after[0]) / 2 for before, after in pairwise(spans))
    return spans[0][0], *between, spans[-1][1] + 1
