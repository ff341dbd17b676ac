"""What is drawn on a page beside text: pictures and tables' grids.

A grid is made of ruled lines.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from structrag.reading.pdf.pages import Box, Grid
from structrag.reading.pdf.pieces import Turn, bounds_of, objects_of

Point = tuple[float, float]

_NEAR = 2.5  # points: rules this close are one (the two edges of a thin rectangle)
_SHORT = 5.0  # points: shorter strokes are no rules
_MOST_SEGMENTS, _MOST_RULES = 5_000, 400  # a page with more is a drawing


class _Rule(NamedTuple):
    at: float  # y of a horizontal rule, x of a vertical one
    start: float
    end: float


def read_shapes(
    raw: Any, page: Any, turn: Turn
) -> tuple[tuple[Box, ...], tuple[Grid, ...]]:
    """The page's pictures and grids. Grids have two rows and two columns at least."""
    images: list[Box] = []
    across: list[_Rule] = []
    down: list[_Rule] = []
    budget = _MOST_SEGMENTS
    for item in objects_of(raw, page):
        if shows_image(raw, item):
            bounds = bounds_of(raw, item)
            if bounds:
                images.append(turn.rectangle(*bounds))
        elif budget > 0 and _is_drawn(raw, item):
            budget -= raw.FPDFPath_CountSegments(item)
            if budget > 0:
                _add_rules(_strokes(raw, item, turn), across, down)
    if budget <= 0:  # a drawing
        return tuple(images), ()
    return tuple(images), tuple(find_grids(_merged(across), _merged(down)))


def shows_image(raw: Any, item: Any, depth: int = 0) -> bool:
    """Whether an object is a picture or a form that shows one."""
    kind = raw.FPDFPageObj_GetType(item)
    if kind == raw.FPDF_PAGEOBJ_IMAGE:
        return True
    if kind != raw.FPDF_PAGEOBJ_FORM or depth > 5:
        return False
    for i in range(raw.FPDFFormObj_CountObjects(item)):
        if shows_image(raw, raw.FPDFFormObj_GetObject(item, i), depth + 1):
            return True
    return False


def _is_drawn(raw: Any, item: Any) -> bool:
    """Whether an object is a path that is filled or stroked."""
    if raw.FPDFPageObj_GetType(item) != raw.FPDF_PAGEOBJ_PATH:
        return False
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    raw.FPDFPath_GetDrawMode(item, fill, stroke)
    return bool(fill.value or stroke.value)


def _strokes(raw: Any, path: Any, turn: Turn) -> Iterator[tuple[Point, Point]]:
    """The straight strokes of a path, on the turned page."""
    matrix, x, y = raw.FS_MATRIX(), ctypes.c_float(), ctypes.c_float()
    raw.FPDFPageObj_GetMatrix(path, matrix)
    first = last = (0.0, 0.0)
    for i in range(raw.FPDFPath_CountSegments(path)):
        segment = raw.FPDFPath_GetPathSegment(path, i)
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        point = turn.point(
            matrix.a * x.value + matrix.c * y.value + matrix.e,
            matrix.b * x.value + matrix.d * y.value + matrix.f,
        )
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            first = point
        elif kind == raw.FPDF_SEGMENT_LINETO:
            yield last, point
        if raw.FPDFPathSegment_GetClose(segment):
            yield point, first
        last = point


def _add_rules(
    strokes: Iterable[tuple[Point, Point]], across: list[_Rule], down: list[_Rule]
) -> None:
    """Note the strokes that are long enough, and level or upright."""
    for (x0, y0), (x1, y1) in strokes:
        width, height = abs(x0 - x1), abs(y0 - y1)
        if height < 1 and width >= _SHORT:
            across.append(_Rule((y0 + y1) / 2, min(x0, x1), max(x0, x1)))
        elif width < 1 and height >= _SHORT:
            down.append(_Rule((x0 + x1) / 2, min(y0, y1), max(y0, y1)))


def _merged(rules: Sequence[_Rule]) -> list[_Rule]:
    """Rules at nearly the same place that touch become one."""
    by_place: list[list[_Rule]] = []
    for rule in sorted(rules):
        if by_place and rule.at - by_place[-1][0].at <= _NEAR:
            by_place[-1].append(rule)
        else:
            by_place.append([rule])
    merged: list[_Rule] = []
    for group in by_place:
        at = sum(rule.at for rule in group) / len(group)
        spans: list[tuple[float, float]] = []
        for rule in sorted(group, key=lambda rule: rule.start):
            if spans and rule.start <= spans[-1][1] + _NEAR:
                start, end = spans[-1]
                spans[-1] = (start, max(end, rule.end))
            else:
                spans.append((rule.start, rule.end))
        merged += [_Rule(at, start, end) for start, end in spans]
    return merged


def find_grids(across: Sequence[_Rule], down: Sequence[_Rule]) -> list[Grid]:
    """Grids of rules that touch one another, from top to bottom. A group of rules is one if it
    forms at least two rows and two columns."""
    if not across or not down or len(across) + len(down) > _MOST_RULES:
        return []
    groups = _groups(across, down)
    grids = []
    for group in sorted(set(groups)):
        members = [i for i, other in enumerate(groups) if other == group]
        ys = [across[i] for i in members if i < len(across)]
        xs = [down[i - len(across)] for i in members if i >= len(across)]
        grid = _grid(xs, ys)
        if grid:
            grids.append(grid)
    return sorted(grids, key=lambda grid: (grid.rows[0], grid.columns))


def _grid(xs: Sequence[_Rule], ys: Sequence[_Rule]) -> Grid | None:
    if not xs or not ys:
        return None
    columns, rows = _places(xs, ys), _places(ys, xs)
    return Grid(columns, rows) if len(columns) > 2 and len(rows) > 2 else None


def _groups(across: Sequence[_Rule], down: Sequence[_Rule]) -> list[int]:
    """The group of each rule, first those across. Rules of a group touch."""
    parents = list(range(len(across) + len(down)))

    def root(i: int) -> int:
        while parents[i] != i:
            parents[i] = parents[parents[i]]
            i = parents[i]
        return i

    for i, level in enumerate(across):
        for j, upright in enumerate(down, start=len(across)):
            if _reaches(level, upright.at) and _reaches(upright, level.at):
                parents[root(i)] = root(j)
    return [root(i) for i in range(len(parents))]


def _reaches(rule: _Rule, place: float) -> bool:
    return rule.start - _NEAR <= place <= rule.end + _NEAR


def _places(rules: Sequence[_Rule], crossing: Sequence[_Rule]) -> tuple[float, ...]:
    """Where the rules stand, with the ends of the crossing ones.

    A table may be open at its sides.
    """
    start = min(rule.start for rule in crossing)
    end = max(rule.end for rule in crossing)
    places = sorted([*(rule.at for rule in rules), start, end])
    return (*(a for a, b in pairwise(places) if b - a > _NEAR), places[-1])
