"""What Unstructured read of a file as a document of ours."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from html.parser import HTMLParser
from typing import Any

from structrag.errors import InvalidParameter
from structrag.reading.bridges.placed import (
    Part,
    PlacedDocument,
    code,
    heading,
    list_item,
    paragraph,
    placed_document,
    table,
)
from structrag.reading.pdf.pages import Box

_SKIPPED = {"Header", "Footer", "PageNumber", "PageBreak"}
_CODE = {"CodeSnippet", "Code"}
_MARK = re.compile(r"(\d{1,9}[.)]|[-*+])\s+")  # of an item, where the text has it


def from_unstructured(
    elements: Iterable[Any],
    *,
    id: str = "",
    title: str = "",
    meta: dict[str, Any] | None = None,
) -> PlacedDocument:
    """Elements of Unstructured as Markdown, with their titles, tables, pages and boxes.

    Example:
        >>> pump = {"type": "Title", "text": "Pump", "metadata": {"category_depth": 0}}
        >>> text = {"type": "NarrativeText", "text": "It leaks.", "metadata": {"page_number": 1}}
        >>> from_unstructured([pump, text]).document.text
        '# Pump\\n\\nIt leaks.\\n'

    Args:
        elements: As a partitioner gives them, before any chunking, or their dicts.
        id: Default: the file that the first element names.
        title: Default: the first element of type Title.
        meta: Metadata to be added.

    A title's level is its `category_depth`, 0 for the first. Running heads and page numbers are
    left out. A table is read of its `text_as_html` where it has one. Long elements without a title
    are warned of.

    Raises:
        InvalidParameter: an item is not an element.
    """
    records = [_record(element) for element in elements]
    parts = [_part(record) for record in records if record["type"] not in _SKIPPED]
    files = (record["metadata"].get("filename") for record in records)
    source = next((str(file) for file in files if file), "")
    titles = (record["text"] for record in records if record["type"] == "Title")
    title = title or next(titles, "")
    return placed_document(parts, id=id, title=title, source=source, meta=meta)


def _record(element: Any) -> dict[str, Any]:
    record = element if isinstance(element, Mapping) else None
    if hasattr(element, "to_dict"):
        record = element.to_dict()
    if not isinstance(record, Mapping) or not {"type", "text"} <= record.keys():
        raise InvalidParameter(
            f"elements must hold elements of Unstructured or their dicts; got "
            f"{type(element).__name__}. Pass what partition(...) returned."
        )
    metadata = record.get("metadata") or {}
    return {
        "type": record["type"],
        "text": str(record["text"] or ""),
        "metadata": metadata,
    }


def _part(record: Mapping[str, Any]) -> Part:
    kind, text, metadata = record["type"], record["text"], record["metadata"]
    page = metadata.get("page_number")
    places = ((int(page), _box(metadata.get("coordinates"))),) if page else ()
    return Part(_markdown(kind, text, metadata), places)


def _markdown(kind: str, text: str, metadata: Mapping[str, Any]) -> str:
    if not text.strip():
        return ""
    depth = int(metadata.get("category_depth") or 0)
    if kind == "Title":
        return heading(depth + 1, text)
    if kind == "ListItem":
        mark = _MARK.match(text)
        depth = max(depth - 1, 0)
        return (
            list_item(text[mark.end() :], mark[1], depth)
            if mark
            else list_item(text, depth=depth)
        )
    if kind in _CODE:
        return code(text)
    if kind == "Table":
        return table(_rows(str(metadata.get("text_as_html") or ""))) or paragraph(text)
    return paragraph(text)


def _box(coordinates: Any) -> Box | None:
    points = (coordinates or {}).get("points") or []
    if not points:
        return None
    across, down = [float(x) for x, _ in points], [float(y) for _, y in points]
    return min(across), min(down), max(across), max(down)


class _Rows(HTMLParser):
    """The cells of a table of HTML, row by row."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[list[str]] = []
        self.is_in_cell = False

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            if not self.rows:
                self.rows.append([])
            self.rows[-1].append("")
            self.is_in_cell = True
        elif tag == "br":
            self.handle_data(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "tr", "table"):
            self.is_in_cell = False

    def handle_data(self, data: str) -> None:
        if self.is_in_cell:
            self.rows[-1][-1] += data


def _rows(markup: str) -> list[list[str]]:
    parser = _Rows()
    parser.feed(markup)
    parser.close()
    return [row for row in parser.rows if row]
