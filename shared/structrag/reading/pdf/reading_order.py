"""The order of a page's lines: columns, rows, tables, and texts that the file draws apart."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, groupby, pairwise
from statistics import median

from structrag.reading.pdf.bidi import is_rtl
from structrag.reading.pdf.heading_styles import has_leaders
from structrag.reading.pdf.pages import Grid, Line
from structrag.reading.pdf.rows import BULLETS, SENTENCE_END, is_level, level_rows
from structrag.reading.pdf.wrapped_tables import wrapped_tables

_LEAST_LINES = 4  # on each side of a gutter
_LEAST_WORDS = 3  # of a column's typical line; the cells of a table are shorter
_FILLED = 0.65  # of the column's width, by its typical line
_MOST_ACROSS = 0.35  # of the lines may cross a gutter (titles, wide tables)
_OVER_THE_EDGE = 0.03  # of the lines may run over a gutter's edge
_GUTTER = 6.0  # points
_INDENT = 2.0  # times the type's size
_MORE = 0.03  # of the lines, that must go on better in the order of the file


def reading_order(
    lines: Sequence[Line], grids: Sequence[Grid]
) -> tuple[list[Line], list[Grid]]:
    """The lines in reading order, and the grids that are tables.

    A vertical gutter separates columns when at least four lines stand on each side, when these
    mostly fill their column and hold three words or more. Lines that cross the gutter divide the
    page: what is above them is read first. The lines of a row (same baseline) go left to right, or
    right to left where most letters of the page are of such a script. Where sentences go on from
    line to line more often in the order of the file, that is the order. Turned lines come last, as
    they came.
    """
    upright = [line for line in lines if line.upright]
    turned = [line for line in lines if not line.upright]
    tables = [grid for grid in grids if _holds_table(grid, upright)]
    tables += wrapped_tables(
        [line for line in upright if not any(grid.cell(line) for grid in tables)]
    )
    items, stand_ins = _with_stand_ins(upright, tables)
    right_to_left = is_rtl("".join(line.text for line in upright))
    by_place = _from_right(items) if right_to_left else _ordered(items, 0)

    def with_cells(order: Sequence[Line]) -> list[Line]:
        return [line for item in order for line in stand_ins.get(item, [item])]

    ordered = with_cells(by_place)
    if any(line.drawn < 0 for line in upright):
        return ordered + turned, tables
    in_file = sorted(items, key=lambda item: item.drawn)
    as_drawn = with_cells(in_file)
    if as_drawn != ordered and (
        _reads_better(as_drawn, ordered)
        # A table beside text is in another column.
        or (
            tables
            and _jumps(_between_margins(in_file)) < _jumps(_between_margins(by_place))
            and _coherence(as_drawn) >= _coherence(ordered)
        )
    ):
        ordered = with_last_box(as_drawn)
    elif not tables and not right_to_left:
        ordered = with_last_box(in_flows(ordered))
    return ordered + turned, tables


def _reads_better(drawn: Sequence[Line], placed: Sequence[Line]) -> bool:
    """Whether the order of the file is to be believed instead of that by places.

    Either sentences go on from line to line more often; or they do about as often, and lines follow
    closely below each other that by places alternate between columns of text.
    """
    by_file, by_place = _coherence(drawn), _coherence(placed)
    if by_file > by_place + _MORE * len(drawn) + 1:
        return True
    alternate = [line for above, line in pairwise(placed) if not _is_near(above, line)]
    if len(alternate) <= 0.2 * len(placed) or by_file < 0.7 * by_place:
        return False
    if 3 * _jumps(drawn) >= len(alternate):
        return False
    if median(_words(line.text) for line in alternate) >= _LEAST_WORDS:
        return True
    rows = level_rows(placed)
    return 2 * sum(map(_is_of_table, rows)) < len(rows)


def _is_of_table(row: Sequence[Line]) -> bool:
    """Whether level lines may be cells: they stand apart, and are no two items."""
    items = sum(line.text[:1] in BULLETS for line in row)
    return items < 2 and any(not _is_near(*pair) for pair in pairwise(row))


def _jumps(lines: Sequence[Line]) -> int:
    return sum(not _is_near(above, below) for above, below in pairwise(lines))


def _between_margins(items: Sequence[Line]) -> list[Line]:
    """The items but for the highest and the lowest, a running head and a page number."""
    by_height = sorted(items, key=lambda item: item.middle)
    return [item for item in items if item not in (by_height[0], by_height[-1])]


def _is_near(above: Line, below: Line) -> bool:
    """Whether a line follows another at once: on its row, or in its column below."""
    if is_level(below, above):
        return below.left - above.right < 1.5 * above.size
    indent = _INDENT * above.size  # the mark of an item stands to the left of its text
    overlaps = below.left < above.right and below.right > above.left - indent
    return overlaps and 0 < below.top - above.top < 4 * max(above.size, below.size)


def _coherence(lines: Sequence[Line]) -> int:
    """How often a line goes on in the next as sentences do, less how often it does not."""
    return sum(
        -1 if SENTENCE_END.search(above.text) else 1
        for above, below in pairwise(lines)
        if below.text[:1].islower()
    )


def _with_stand_ins(
    lines: Sequence[Line], tables: Sequence[Grid]
) -> tuple[list[Line], dict[Line, list[Line]]]:
    """The lines with a stand-in for each table. Then its lines, by the stand-in."""
    items: list[Line] = []
    members: list[list[Line]] = [[] for _ in tables]
    for line in lines:
        table = next((k for k, grid in enumerate(tables) if grid.cell(line)), None)
        if table is None:
            items.append(line)
        else:
            members[table].append(line)
    stand_ins = {}
    for k, grid in enumerate(tables):
        left, right = grid.columns[0], grid.columns[-1]
        top, bottom = grid.rows[0], grid.rows[-1]
        members[k].sort(
            key=lambda line: (grid.cell(line) or (0, 0), line.top, line.left)
        )
        drawn = min((line.drawn for line in members[k]), default=-1)
        stand_in = Line(f"table {k}", 0.0, False, left, right, top, bottom, drawn=drawn)
        stand_ins[stand_in] = members[k]
        items.append(stand_in)
    return items, stand_ins


def _from_right(lines: Sequence[Line]) -> list[Line]:
    """The order from right to left: that of the mirrored page."""
    mirrored = [_mirrored(line) for line in lines]
    return [_mirrored(line) for line in _ordered(mirrored, 0)]


def _mirrored(line: Line) -> Line:
    return replace(line, left=-line.right, right=-line.left)


def _holds_table(grid: Grid, lines: Sequence[Line]) -> bool:
    """At least half of the cells have text; a chart's have none. They are in two rows and two
    columns or more."""
    cells = {cell for line in lines if (cell := grid.cell(line))}
    rows, columns = {row for row, _ in cells}, {column for _, column in cells}
    count = (len(grid.rows) - 1) * (len(grid.columns) - 1)
    return len(rows) > 1 and len(columns) > 1 and 2 * len(cells) >= count


def _ordered(lines: list[Line], depth: int) -> list[Line]:
    """By columns where a gutter divides the lines, else by rows."""
    gutter = _gutter(lines) if depth < 4 else None
    if gutter is None:
        return [line for row in level_rows(lines) for line in row]
    sides = _Sides(lines, gutter)
    across: list[Line] = []
    rest: list[Line] = []
    for line in lines:
        if sides.divided_by(line):
            across.append(line)
        else:
            rest.append(line)
    across.sort(key=lambda line: line.top)
    # Each of the rest stands above the first border whose middle is below its own.
    middles = list(accumulate((line.middle for line in across), max))
    parts: list[list[Line]] = [[] for _ in range(len(across) + 1)]
    for line in rest:
        parts[bisect_right(middles, line.middle)].append(line)
    ordered: list[Line] = []
    for above, border in zip(parts, across, strict=False):
        ordered += [*_in_columns(above, gutter, depth), border]
    return ordered + _in_columns(parts[-1], gutter, depth)


def _in_columns(lines: Sequence[Line], gutter: float, depth: int) -> list[Line]:
    """What is left of the gutter, then what is right of it."""
    left = [line for line in lines if _centre(line) < gutter]
    right = [line for line in lines if _centre(line) >= gutter]
    columns = _ordered(left, depth + 1), _ordered(right, depth + 1)
    return with_box(*columns) or columns[0] + columns[1]


class _Sides:
    """The lines on both sides of a gutter, by their tops. In this order neighbours are soon at
    hand."""

    def __init__(self, lines: Sequence[Line], gutter: float) -> None:
        self._gutter = gutter
        self._left = _by_top([line for line in lines if line.right <= gutter])
        self._right = _by_top([line for line in lines if line.left >= gutter])

    def divided_by(self, line: Line) -> bool:
        """Whether a line stands across the gutter, with nothing beside it. Else it only runs over
        the edge of its column."""
        if not line.left < self._gutter < line.right:
            return False
        leans_right = _centre(line) >= self._gutter
        others, tops, height = self._left if leans_right else self._right
        first = bisect_left(tops, line.top - height)
        last = bisect_left(tops, line.bottom)
        free = 0.2 * min(line.size, line.bottom - line.top)
        for other in others[first:last]:
            shared = min(other.bottom, line.bottom) - max(other.top, line.top)
            free -= max(0.0, shared)
            if free < 0:
                return False
        return True


def _by_top(lines: Sequence[Line]) -> tuple[list[Line], list[float], float]:
    """Lines by their tops, the tops, and the greatest height."""
    others = sorted(lines, key=lambda line: line.top)
    height = max((line.bottom - line.top for line in others), default=0.0)
    return others, [line.top for line in others], height


def _centre(line: Line) -> float:
    return (line.left + line.right) / 2


def _gutter(lines: Sequence[Line]) -> float | None:
    """The middle of the widest gap that fewest lines cross. None unless what is on both sides reads
    like columns."""
    if len(lines) < 2 * _LEAST_LINES:
        return None
    left = min(line.left for line in lines)
    stretches = _covered(lines, left)
    fewest = min((count for _, _, count in stretches), default=len(lines))
    if fewest > _MOST_ACROSS * len(lines):
        return None
    # One may be a page number.
    few = fewest + max(1.0, _OVER_THE_EDGE * len(lines))
    gaps: list[tuple[int, int]] = []
    for first, last, count in stretches:
        if count > few:
            continue
        if gaps and gaps[-1][1] == first - 1:
            gaps[-1] = (gaps[-1][0], last)
        else:
            gaps.append((first, last))
    for first, last in sorted(gaps, key=lambda gap: (gap[0] - gap[1], gap[0])):
        middle = left + (first + last + 1) / 2
        if last - first + 1 >= _GUTTER - 1 and _parts_columns(lines, middle):
            return middle
    return None


def _covered(lines: Sequence[Line], left: float) -> list[tuple[int, int, int]]:
    """Stretches of the width, but for 15 % at both edges, with how many lines cover each.

    First and last point, from `left` on. Their number follows that of the lines, not the width:
    broken files place text millions of points away.
    """
    width = int(max(line.right for line in lines) - left) + 1
    changes: Counter[int] = Counter()
    for line in lines:
        changes[int(line.left - left)] += 1
        changes[int(line.right - left) + 1] -= 1
    start, stop = int(0.15 * width), int(0.85 * width)
    stretches = []
    count = 0
    for point, after in pairwise([*sorted(changes), width]):
        count += changes[point]
        first, last = max(point, start), min(after, stop) - 1
        if first <= last:
            stretches.append((first, last, count))
    return stretches


def _parts_columns(lines: Sequence[Line], gutter: float) -> bool:
    """Whether both sides read like columns where they stand beside each other, and few lines divide
    them."""
    left = [line for line in lines if line.right <= gutter]
    right = [line for line in lines if line.left >= gutter]
    if not (left and right):
        return False
    top = max(min(line.top for line in side) for side in (left, right))
    bottom = min(max(line.bottom for line in side) for side in (left, right))
    beside, left, right = (
        [line for line in part if top < line.bottom and line.top < bottom]
        for part in (lines, left, right)
    )
    if not (_reads_like_column(left) and _reads_like_column(right)):
        return False
    return _divides_seldom(beside, gutter)


def _divides_seldom(lines: Sequence[Line], gutter: float) -> bool:
    """Between lines across the gutter there are four rows or more. Wide spaces of justified rows
    meet by chance in fewer."""
    across = []
    for row in level_rows(lines):
        sides = _Sides(row, gutter)
        across.append(any(map(sides.divided_by, row)))
    parts = [divided for divided, _ in groupby(across)].count(False)
    return across.count(False) >= _LEAST_LINES * parts


def _reads_like_column(lines: Sequence[Line]) -> bool:
    """Rows of text that fill the width. Wide spaces in justified rows part lines, so rows are
    looked at, not lines."""
    rows = level_rows(lines)
    if len(rows) < _LEAST_LINES:
        return False
    width = max(line.right for line in lines) - min(line.left for line in lines)
    inked = median(sum(line.right - line.left for line in row) for row in rows)
    words = median(sum(_words(line.text) for line in row) for row in rows)
    return inked >= _FILLED * width and words >= _LEAST_WORDS


def _words(text: str) -> float:
    """Words; in scripts without spaces two characters count as one."""
    return max(len(text.split()), sum(character >= "\u0e00" for character in text) / 2)


# Of a text's typical line but the last, and, times the font size, of its widest; the cells of a
# table are smaller.
_WORDS_OF_A_FLOW, _WIDTH_OF_A_FLOW = 4, 10
_GOING_ON = 0.3  # of a flow's lines must go on from the one above
_MOST_BOXES = 12  # on a page; more are no boxes
_MOST_PARTS = 3  # of a box
_LONGEST_BOX = 20  # lines
_LARGER = 1.15  # times the size of most lines: a title
_TITLE = 1.08  # times the size of the text
_NARROW = 0.6  # of the width of the text beside it


def _flows(drawn: Sequence[Line]) -> list[list[Line]]:
    """Lines drawn one after the other, each right of the last or below it."""
    flows: list[list[Line]] = []
    for line in drawn:
        if flows and _follows(line, flows[-1]):
            flows[-1].append(line)
        else:
            flows.append([line])
    return flows


def _follows(line: Line, flow: Sequence[Line]) -> bool:
    last = flow[-1]
    if abs(line.bottom - last.bottom) <= 0.35 * last.size:
        return -1 <= line.left - last.right < 3 * last.size
    left, right = _sides(flow[-20:])
    is_below = 0 < line.top - last.top <= 2 * max(last.size, line.size)
    return is_below and line.left < right and line.right > left


def _is_text(flow: Sequence[Line]) -> bool:
    """Whether it is a text or code, and more than cells of a table."""
    if len(flow) > 1 and all(line.mono for line in flow):
        return True
    size = median(line.size for line in flow)
    lines = [line for line in flow if line.size <= _LARGER * size]
    going_on = sum(
        not SENTENCE_END.search(above.text) and not _begins_anew(below.text)
        for above, below in pairwise(lines)
    )
    words = median(len(line.text.split()) for line in lines[:-1] or lines)
    width = max(line.right - line.left for line in lines)
    return (
        len(lines) > 1
        and words >= _WORDS_OF_A_FLOW
        and width >= _WIDTH_OF_A_FLOW * size
        and going_on >= _GOING_ON * (len(lines) - 1)
        and not any(has_leaders(line.text) for line in lines)
    )


def _begins_anew(text: str) -> bool:
    return text[:1].isupper() or not text[:1].isalpha()


def _sides(lines: Sequence[Line]) -> tuple[float, float]:
    return min(line.left for line in lines), max(line.right for line in lines)


def in_flows(placed: Sequence[Line]) -> list[Line]:
    """Lines that are ordered by their places, with texts side by side one after the other, and
    boxes behind what they stand beside, where the file draws them so."""
    drawn = sorted(placed, key=lambda line: line.drawn)
    return _with_boxes(_parted(placed, drawn), drawn)


def _parted(placed: Sequence[Line], drawn: Sequence[Line]) -> list[Line]:
    """The lines, with texts whose lines alternate one after the other."""
    flows = [flow for flow in _flows(drawn) if _is_text(flow)]
    place = {line: i for i, line in enumerate(placed)}
    spans = sorted(
        (min(places), max(places), i)
        for i, flow in enumerate(flows)
        for places in [[place[line] for line in flow]]
    )
    together: dict[Line, list[Line]] = {}
    for (_, end, i), (start, _, j) in pairwise(spans):
        if start < end and _are_side_by_side(flows[i], flows[j]):
            for flow in (flows[i], flows[j]):
                together |= dict.fromkeys(flow, flow)
    parted: dict[Line, None] = {}
    for line in placed:
        parted |= dict.fromkeys(together.get(line, [line]))
    return list(parted)


def _are_side_by_side(a: Sequence[Line], b: Sequence[Line]) -> bool:
    """Whether there is a blank between two texts where they have the same height."""
    top = max(min(line.top for line in lines) for lines in (a, b))
    bottom = min(max(line.bottom for line in lines) for lines in (a, b))
    beside = [
        [line for line in lines if line.bottom > top and line.top < bottom]
        for lines in (a, b)
    ]
    if not all(beside):
        return False
    (a_left, a_right), (b_left, b_right) = map(_sides, beside)
    return max(b_left - a_right, a_left - b_right) >= a[0].size


def _with_boxes(placed: Sequence[Line], drawn: Sequence[Line]) -> list[Line]:
    """The lines, with boxes between the lines between which the file draws them."""
    rank = {line: i for i, line in enumerate(drawn)}
    places = [
        i
        for i, (a, b) in enumerate(pairwise(placed), start=1)
        if rank[b] > rank[a] + 1 and b.top > a.top
    ]
    if len(places) > _MOST_BOXES:
        return list(placed)
    behind: dict[int, list[Line]] = {}
    moved: set[Line] = set()
    for i in places:
        box = drawn[rank[placed[i - 1]] + 1 : rank[placed[i]]]
        if moved.isdisjoint(box) and _is_box(box, placed, i):
            behind[i] = [line for line in placed if line in set(box)]
            moved.update(box)
    order: list[Line] = []
    for i, line in enumerate(placed):
        order += behind.get(i, [])
        if line not in moved:
            order.append(line)
    return order


def _is_box(box: Sequence[Line], placed: Sequence[Line], i: int) -> bool:
    """Whether lines that the file draws before line i stand beside the text there. The text goes on
    below them, or they are narrow and begin where it does."""
    flows = _flows(box)
    if len(flows) > _MOST_PARTS or not any(map(_is_text, flows)):
        return False
    above, below = placed[i - 1], placed[i]
    same_type = abs(above.size - below.size) < 0.5 and above.bold == below.bold
    if same_type and not SENTENCE_END.search(above.text):
        return False
    left, right = _sides(box)
    column = [
        line
        for line in placed[max(0, i - 20) : i + 20]
        if line.left < below.right and line.right > below.left and line not in box
    ]
    column_left, column_right = _sides(column)
    if left < column_right + above.size and right > column_left - above.size:
        return False
    top, bottom = min(line.top for line in box), max(line.bottom for line in box)
    if bottom <= below.top + below.size:
        return top >= min(line.top for line in column) - above.size
    is_narrow = right - left <= _NARROW * (column_right - column_left)
    return is_narrow and abs(top - below.top) <= 2 * below.size


def with_box(left: Sequence[Line], right: Sequence[Line]) -> list[Line] | None:
    """Two columns as one text, with the narrow and short one, a box, before the next title below
    it. None if it is no box, or no title follows."""
    text, box = (left, right) if len(right) < len(left) else (right, left)
    if not box or 2 * len(box) > len(text) or box[0].text[:1].islower():
        return None
    (text_left, text_right), (box_left, box_right) = _sides(text), _sides(box)
    if box_right - box_left > _NARROW * (text_right - text_left):
        return None
    if any(b.top - a.top > 2.5 * a.size for a, b in pairwise(box)):
        return None
    size, bottom = median(line.size for line in text), max(line.bottom for line in box)
    few = 2 * sum(line.bold for line in text) < len(text)
    for i, line in enumerate(text):
        is_title = line.size > _TITLE * size or (few and line.bold)
        if is_title and line.top > bottom:
            return [*text[:i], *box, *text[i:]]
    return None


def with_last_box(drawn: Sequence[Line]) -> list[Line]:
    """Lines in the order of the file; a box at the side that is drawn last is put in its place."""
    placed = None
    lefts = list(accumulate((line.left for line in drawn), min))
    rights = list(accumulate((line.right for line in drawn), max))
    for count in range(2, min(_LONGEST_BOX, len(drawn) // 3) + 1):
        text, box = drawn[:-count], drawn[-count:]
        left, right = _sides(box)
        apart = box[0].size
        if left >= rights[-count - 1] + apart or right <= lefts[-count - 1] - apart:
            placed = with_box(text, box)
    return placed or list(drawn)
