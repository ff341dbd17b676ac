"""What Unstructured read of a file as a document of ours."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
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
)
from structrag.reading.html.markdown import markdown_parts
from structrag.reading.html.reader import read_html
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
        return _table(str(metadata.get("text_as_html") or "")) or paragraph(text)
    return paragraph(text)


def _box(coordinates: Any) -> Box | None:
    points = (coordinates or {}).get("points") or []
    if not points:
        return None
    across, down = [float(x) for x, _ in points], [float(y) for _, y in points]
    return min(across), min(down), max(across), max(down)


def _table(markup: str) -> str:
    first, end, others = markup.partition("</tr>")  # is the header
    text, _, layout = read_html(first.replace("<td", "<th") + end + others)
    return "\n\n".join(markdown_parts(text, layout, []))
