"""The tags of a PDF: the tree of its structure, as PDFium gives it for a page."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

_MOST = 20_000  # of a page's elements that are looked at


@contextmanager
def structure_of(raw: Any, page: Any) -> Iterator[list[Any]]:
    """The topmost elements of a page's structure; none where the file has no tags."""
    tree = raw.FPDF_StructTree_GetForPage(page)
    if not tree:
        yield []
        return
    try:
        yield [
            raw.FPDF_StructTree_GetChildAtIndex(tree, i)
            for i in range(raw.FPDF_StructTree_CountChildren(tree))
        ]
    finally:
        raw.FPDF_StructTree_Close(tree)


def elements_below(raw: Any, roots: Sequence[Any]) -> Iterator[Any]:
    """The elements of a structure in order, at most so many; those below a heading too."""
    waiting = list(reversed([root for root in roots if root]))
    seen = 0
    while waiting and seen < _MOST:
        element = waiting.pop()
        seen += 1
        yield element
        count = raw.FPDF_StructElement_CountChildren(element)
        children = (
            raw.FPDF_StructElement_GetChildAtIndex(element, i) for i in range(count)
        )
        waiting += reversed([child for child in children if child])


def marks_of(raw: Any, element: Any) -> list[int]:
    """The marked contents of an element, in order."""
    marks = []
    for part in elements_below(raw, [element]):
        for i in range(raw.FPDF_StructElement_CountChildren(part)):
            mark = raw.FPDF_StructElement_GetChildMarkedContentID(part, i)
            if mark >= 0:
                marks.append(mark)
    return marks


def type_of(raw: Any, element: Any) -> str:
    """What an element is: "H1", "P", "Figure"."""
    return _string(raw.FPDF_StructElement_GetType, element)


def alternative_texts(raw: Any, page: Any) -> dict[int, str]:
    """What the file says its figures show, by their marked contents."""
    texts: dict[int, str] = {}
    with structure_of(raw, page) as roots:
        for element in elements_below(raw, roots):
            if type_of(raw, element) != "Figure":
                continue
            alt = " ".join(_string(raw.FPDF_StructElement_GetAltText, element).split())
            if alt:
                texts |= dict.fromkeys(marks_of(raw, element), alt)
    return texts


def _string(get: Callable[[Any, Any, int], int], element: Any) -> str:
    length = get(element, None, 0)
    buffer = ctypes.create_string_buffer(max(length, 2))
    get(element, buffer, length)
    return buffer.raw[: max(length - 2, 0)].decode("utf-16-le", "replace")
