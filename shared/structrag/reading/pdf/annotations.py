"""What stands on top of a PDF page: the values of its form, and text typed onto it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any

from structrag.reading.pdf.pages import Line
from structrag.reading.pdf.pieces import Turn, string_of

_HIDDEN = 1 << 1 | 1 << 5  # hidden, and not to be seen on a screen
_PASSWORD = 1 << 13
_BLANK = re.compile("_{3,}|[.\u2026]{6,}")
_MOST_TYPED = 200  # of what is typed may stand on blanks
_SIZE = 10.0  # points, on a page without text


def with_typed(
    raw: Any, page: Any, form: Any, turn: Turn, lines: Sequence[Line]
) -> tuple[list[Line], int]:
    """A page's lines with the values of a form's fields and typed notes, which fill the blanks that
    they stand on; and how many comments of readers there are. Ticked boxes are ☒, others ☐."""
    size = median([line.size for line in lines] or [_SIZE])
    typed: list[Line] = []
    comments = 0
    for i in range(raw.FPDFPage_GetAnnotCount(page)):
        note = raw.FPDFPage_GetAnnot(page, i)
        kind = raw.FPDFAnnot_GetSubtype(note)
        if kind in (raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP):
            text = ""
        elif kind == raw.FPDF_ANNOT_WIDGET:
            text = _value(raw, form, note) if form else ""
        else:
            text = string_of(partial(raw.FPDFAnnot_GetStringValue, note, b"Contents"))
        if text.strip() and not raw.FPDFAnnot_GetFlags(note) & _HIDDEN:
            if kind in (raw.FPDF_ANNOT_WIDGET, raw.FPDF_ANNOT_FREETEXT):
                rectangle = raw.FS_RECTF()
                raw.FPDFAnnot_GetRect(note, rectangle)
                sides = (
                    getattr(rectangle, side)
                    for side in ("left", "bottom", "right", "top")
                )
                typed += _lines(text, turn.rectangle(*sides), turn.size, size)
            else:
                comments += 1
        raw.FPDFPage_CloseAnnot(note)
    return _filled(lines, typed) if typed else list(lines), comments


def _filled(lines: Sequence[Line], typed: Sequence[Line]) -> list[Line]:
    """The lines, with what is typed on their blanks in place of these, and the rest of it."""
    filled: list[Line] = []
    taken: set[Line] = set()
    for line in lines:
        text = line.text
        for value in typed[:_MOST_TYPED] if _BLANK.search(text) else ():
            share = (value.left - line.left) / max(line.right - line.left, 1.0)
            blanks = list(_BLANK.finditer(text))
            if (
                blanks
                and 0 <= share < 1
                and abs(value.middle - line.middle) < line.size
            ):
                place = share * len(text)
                blank = min(blanks, key=lambda blank: abs(blank.start() - place))
                text = f"{text[: blank.start()]}{value.text}{text[blank.end() :]}"
                taken.add(value)
        filled.append(replace(line, text=text))
    return filled + [value for value in typed if value not in taken]


def _value(raw: Any, form: Any, field: Any) -> str:
    kind = raw.FPDFAnnot_GetFormFieldType(form, field)
    if kind in (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON):
        state = string_of(partial(raw.FPDFAnnot_GetStringValue, field, b"AS"))
        return "☐" if state in ("", "Off") else "☒"
    if raw.FPDFAnnot_GetFormFieldFlags(form, field) & _PASSWORD:
        return ""
    if kind in (raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX):
        choices = [
            string_of(partial(raw.FPDFAnnot_GetOptionLabel, form, field, i))
            for i in range(raw.FPDFAnnot_GetOptionCount(form, field))
            if raw.FPDFAnnot_IsOptionSelected(form, field, i)
        ]
        if choices:
            return ", ".join(choices)
    elif kind != raw.FPDF_FORMFIELD_TEXTFIELD:
        return ""
    return string_of(partial(raw.FPDFAnnot_GetFormFieldValue, form, field))


def _lines(
    text: str,
    box: tuple[float, float, float, float],
    page: tuple[float, float],
    size: float,
) -> Iterator[Line]:
    """A text in a box: amid a low one, else from its top on. Outside the page nobody sees it."""
    left, top, right, bottom = box
    if not (left < page[0] and right > 0 and top < page[1] and bottom > 0):
        return
    y = (top + bottom - size) / 2 if bottom - top < 2.5 * size else top + 0.2 * size
    for line in text.splitlines():
        end = min(right, left + 0.5 * size * len(line))
        yield Line(line, size, False, left, end, y, y + size)
        y += 1.2 * size
