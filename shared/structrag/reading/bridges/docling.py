"""What docling read of a file as a document of ours."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from structrag.errors import InvalidDocument, InvalidParameter
from structrag.reading.bridges.placed import (
    Part,
    PlacedDocument,
    code,
    heading,
    list_item,
    paragraph,
    placed_document,
)
from structrag.reading.pdf.pages import Box
from structrag.reading.tables import pipe_table

_SKIPPED = {"page_header", "page_footer"}
_OFF_THE_PAGE = {"furniture", "background"}  # layers that are no content
_PICTURES = {"picture", "chart"}
_LISTS = {"list", "ordered_list"}


def from_docling(
    document: Any, *, id: str = "", title: str = "", meta: dict[str, Any] | None = None
) -> PlacedDocument:
    """A `DoclingDocument` as Markdown, with its sections, tables, pages and boxes.

    So Word files, slides, spreadsheets and scans work: docling reads them, here they are split and
    searched.

    Example:
        >>> texts = [{"self_ref": "#/texts/0", "label": "section_header", "text": "Pump"}]
        >>> read = {"name": "pump", "body": {"children": [{"$ref": "#/texts/0"}]}, "texts": texts}
        >>> from_docling(read).document.text
        '# Pump\\n'

    Args:
        document: A `DoclingDocument`, what its `export_to_dict` gives, or the path of the JSON file
            that its `save_as_json` wrote.
        id: Default: the name of the file that docling read, else of the document.
        title: Default: the document's own title, else its name.
        meta: Metadata to be added.

    Running heads are left out, and so are pictures but for their captions. Boxes are in points from
    the page's upper left corner.

    Raises:
        InvalidParameter: it is none of these.
        InvalidDocument: the file is not docling JSON.
    """
    content = _content(document)
    reader = _Docling(content)
    parts = list(reader.parts())
    origin = content.get("origin") or {}
    source = _text(origin, "filename") or _text(content, "name")
    title = title or reader.title or _text(content, "name")
    return placed_document(parts, id=id, title=title, source=source, meta=meta)


def _content(document: Any) -> Mapping[str, Any]:
    if isinstance(document, str | os.PathLike):
        try:
            document = json.loads(Path(document).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InvalidDocument(
                f"{str(document)!r} is not a docling JSON file: {error}"
            ) from error
    if hasattr(document, "export_to_dict"):
        document = document.export_to_dict()
    if not isinstance(document, Mapping) or not isinstance(
        document.get("body"), Mapping
    ):
        raise InvalidParameter(
            "document must be a DoclingDocument, its export_to_dict() or the path of its JSON; "
            f"got {type(document).__name__}. For the result of a conversion, pass result.document."
        )
    return document


def _text(node: Mapping[str, Any], key: str = "text") -> str:
    return str(node.get(key) or "")


def _rows(grid: Sequence[Sequence[Mapping[str, Any]]]) -> list[list[str]]:
    return [list(map(_text, row)) for row in grid]


class _Docling:
    """A walk through the tree of a document in reading order."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        texts = content.get("texts") or []
        titles = [text for text in texts if text.get("label") == "title"]
        # Without a title in the text the first level of headings is the document's first.
        self.shift = int(
            any(title.get("content_layer", "body") == "body" for title in titles)
        )
        self.title = " ".join(_text(titles[0]).split()) if titles else ""
        self.captions: set[str] = set()  # that were there

    def parts(self) -> Iterator[Part]:
        for child in self._children(self.content["body"]):
            yield from self._node(child, 0)

    def _children(self, node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        for reference in node.get("children") or []:
            yield self._item(reference)

    def _item(self, reference: Mapping[str, Any]) -> Mapping[str, Any]:
        """The item that a JSON pointer such as `#/texts/3` names."""
        kind, _, number = str(
            reference.get("$ref") or reference.get("cref")
        ).rpartition("/")
        try:
            item: Mapping[str, Any] = self.content[kind.removeprefix("#/")][int(number)]
        except (KeyError, IndexError, ValueError, TypeError):
            return {}
        return item

    def _node(self, node: Mapping[str, Any], depth: int) -> Iterator[Part]:
        """The parts of a node and of those below it. `depth` counts the lists around it."""
        label = _text(node, "label")
        if label in _SKIPPED or node.get("content_layer") in _OFF_THE_PAGE:
            return
        grid = (node.get("data") or {}).get("grid")
        if grid is not None:
            yield from self._captions(node)
            yield Part(pipe_table(_rows(grid)), self._places(node))
        elif label in _PICTURES:
            yield from self._captions(node)
        elif label == "inline":
            words, places = self._inline(node)
            yield Part(paragraph(words), places)
        else:
            yield from self._worded(node, label, depth)

    def _worded(
        self, node: Mapping[str, Any], label: str, depth: int
    ) -> Iterator[Part]:
        """The words of a node, if it has some, then its children."""
        text, places = _text(node), self._places(node)
        children = list(self._children(node))
        if not text and children and children[0].get("label") == "inline":
            # Its own words are in runs of different styles.
            text, places = self._inline(children.pop(0))
        if text and not self._is_repeated(node):
            yield Part(self._markdown(node, text, label, depth), places)
        if label in _LISTS:
            depth += 1
        for child in children:
            yield from self._node(child, depth)

    def _inline(
        self, node: Mapping[str, Any]
    ) -> tuple[str, tuple[tuple[int, Box | None], ...]]:
        """The words of runs of text, and where they are."""
        runs = list(self._children(node))
        words = " ".join(filter(None, map(_text, runs)))
        return words, tuple(place for run in runs for place in self._places(run))

    def _is_repeated(self, node: Mapping[str, Any]) -> bool:
        """Whether it is a caption that was there before. Such as with its table or picture."""
        name = str(node.get("self_ref") or "")
        if node.get("label") != "caption" or not name:
            return False
        is_repeated = name in self.captions
        self.captions.add(name)
        return is_repeated

    def _markdown(
        self, node: Mapping[str, Any], text: str, label: str, depth: int
    ) -> str:
        if label == "title":
            return heading(1, text)
        if label == "section_header":
            return heading(int(node.get("level") or 1) + self.shift, text)
        if label == "list_item":
            mark = str(node.get("marker") or "-") if node.get("enumerated") else "-"
            return list_item(
                text, mark if mark.rstrip(".)").isdigit() else "-", max(depth - 1, 0)
            )
        if label == "code":
            return code(text)
        if label == "formula":
            return f"$$\n{text.strip()}\n$$"
        return paragraph(text)

    def _captions(self, node: Mapping[str, Any]) -> Iterator[Part]:
        for reference in node.get("captions") or []:
            caption = self._item(reference)
            if caption.get("text") and not self._is_repeated(caption):
                yield Part(paragraph(str(caption["text"])), self._places(caption))

    def _places(self, node: Mapping[str, Any]) -> tuple[tuple[int, Box | None], ...]:
        return tuple(
            (int(place["page_no"]), self._box(place))
            for place in node.get("prov") or []
            if place.get("page_no")
        )

    def _box(self, place: Mapping[str, Any]) -> Box | None:
        """The box from the upper left corner. docling mostly counts from the lower one."""
        box = place.get("bbox")
        if not box:
            return None
        left, top, right, bottom = (float(box[side]) for side in "ltrb")
        if str(box.get("coord_origin", "TOPLEFT")).upper().endswith("BOTTOMLEFT"):
            page = (self.content.get("pages") or {}).get(str(place["page_no"])) or {}
            height = float((page.get("size") or {}).get("height") or 0.0)
            top, bottom = height - top, height - bottom
        return left, top, right, bottom
