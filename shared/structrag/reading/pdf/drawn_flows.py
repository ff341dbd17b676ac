"""Texts that stand side by side, in the order in which the file draws them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from statistics import median

from structrag.reading.pdf.heading_styles import has_leaders
from structrag.reading.pdf.pages import Line
from structrag.reading.pdf.rows import SENTENCE_END

# Of a text's typical line but the last, and, times the font size, of its widest; the cells of a
# table are smaller.
_LEAST_WORDS, _LEAST_WIDTH = 4, 10
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
        and words >= _LEAST_WORDS
        and width >= _LEAST_WIDTH * size
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
