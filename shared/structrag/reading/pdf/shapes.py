"""What is drawn on a PDF page beside text: pictures, and the ruled lines that make up a table's
grid."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from structrag.reading.pdf.pages import Box, Grid
from structrag.reading.pdf.pieces import Turn

_NEAR = 2.5  # points: rules this close are one (the two edges of a thin rectangle)
_SHORT = 5.0  # points: shorter strokes are no rules
_MOST_SEGMENTS, _MOST_RULES = 5_000, 400  # a page with more is a drawing


class _Rule(NamedTuple):
    at: float  # y of a horizontal rule, x of a vertical one
    start: float
    end: float


def read_shapes(raw: Any, page: Any, turn: Turn) -> tuple[tuple[Box, ...], tuple[Grid, ...]]:
    """The page's pictures, and every grid of at least two rows and two columns."""
    images: list[Box] = []
    across: list[_Rule] = []
    down: list[_Rule] = []
    budget = _MOST_SEGMENTS
    for i in range(raw.FPDFPage_CountObjects(page)):
        item = raw.FPDFPage_GetObject(page, i)
        kind = raw.FPDFPageObj_GetType(item)
        if kind == raw.FPDF_PAGEOBJ_IMAGE or (
            kind == raw.FPDF_PAGEOBJ_FORM and _shows_image(raw, item, 0)
        ):
            images += _bounds(raw, item, turn)
        elif kind == raw.FPDF_PAGEOBJ_PATH and budget > 0 and _is_drawn(raw, item):
            budget -= raw.FPDFPath_CountSegments(item)
            for (x0, y0), (x1, y1) in _strokes(raw, item, turn) if budget > 0 else ():
                if abs(y0 - y1) < 1 and abs(x0 - x1) >= _SHORT:
                    across.append(_Rule((y0 + y1) / 2, min(x0, x1), max(x0, x1)))
                elif abs(x0 - x1) < 1 and abs(y0 - y1) >= _SHORT:
                    down.append(_Rule((x0 + x1) / 2, min(y0, y1), max(y0, y1)))
    if budget <= 0:
        return tuple(images), ()
    return tuple(images), tuple(find_grids(_merged(across), _merged(down)))


def _shows_image(raw: Any, form: Any, depth: int) -> bool:
    for i in range(raw.FPDFFormObj_CountObjects(form)):
        item = raw.FPDFFormObj_GetObject(form, i)
        kind = raw.FPDFPageObj_GetType(item)
        if kind == raw.FPDF_PAGEOBJ_IMAGE:
            return True
        if kind == raw.FPDF_PAGEOBJ_FORM and depth < 5 and _shows_image(raw, item, depth + 1):
            return True
    return False


def _bounds(raw: Any, item: Any, turn: Turn) -> list[Box]:
    sides = [ctypes.c_float() for _ in range(4)]
    if not raw.FPDFPageObj_GetBounds(item, *sides):
        return []
    left, bottom, right, top = (side.value for side in sides)
    return [turn.rectangle(left, bottom, right, top)]


def _is_drawn(raw: Any, path: Any) -> bool:
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    return bool(raw.FPDFPath_GetDrawMode(path, fill, stroke) and (fill.value or stroke.value))


def _strokes(
    raw: Any, path: Any, turn: Turn
) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    """The straight strokes of a path, in the coordinates of the turned page."""
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


def _merged(rules: Sequence[_Rule]) -> list[_Rule]:
    """Rules at nearly the same place that touch become one."""
    merged: list[_Rule] = []
    by_place: list[list[_Rule]] = []
    for rule in sorted(rules):
        if by_place and rule.at - by_place[-1][0].at <= _NEAR:
            by_place[-1].append(rule)
        else:
            by_place.append([rule])
    for group in by_place:
        at = sum(rule.at for rule in group) / len(group)
        start = end = None
        for rule in sorted(group, key=lambda rule: rule.start):
            if start is None or end is None or rule.start > end + _NEAR:
                if start is not None and end is not None:
                    merged.append(_Rule(at, start, end))
                start, end = rule.start, rule.end
            else:
                end = max(end, rule.end)
        if start is not None and end is not None:
            merged.append(_Rule(at, start, end))
    return merged


def find_grids(across: Sequence[_Rule], down: Sequence[_Rule]) -> list[Grid]:
    """Each group of rules that touch one another, if it forms at least two rows and two columns;
    from top to bottom."""
    if not across or not down or len(across) + len(down) > _MOST_RULES:
        return []
    group = list(range(len(across) + len(down)))

    def root(i: int) -> int:
        while group[i] != i:
            group[i] = group[group[i]]
            i = group[i]
        return i

    for i, h in enumerate(across):
        for j, v in enumerate(down):
            if (
                h.start - _NEAR <= v.at <= h.end + _NEAR
                and v.start - _NEAR <= h.at <= v.end + _NEAR
            ):
                group[root(i)] = root(len(across) + j)
    grids = []
    for name in sorted({root(i) for i in range(len(group))}):
        ys = [h for i, h in enumerate(across) if root(i) == name]
        xs = [v for j, v in enumerate(down) if root(len(across) + j) == name]
        if xs and ys:
            columns, rows = _places(xs, ys), _places(ys, xs)
            if len(columns) > 2 and len(rows) > 2:
                grids.append(Grid(columns, rows))
    return sorted(grids, key=lambda grid: (grid.rows[0], grid.columns[0]))


def _places(rules: Sequence[_Rule], crossing: Sequence[_Rule]) -> tuple[float, ...]:
    """Where the rules stand, with the ends of the crossing ones: a table may be open at its sides."""
    places = sorted(
        [rule.at for rule in rules] + [min(c.start for c in crossing), max(c.end for c in crossing)]
    )
    return (*(a for a, b in pairwise(places) if b - a > _NEAR), places[-1])
