"""Documents read in a reader process."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Literal, TypeVar

from structrag.errors import InvalidParameter, MissingExtra
from structrag.reading.limits import Limits
from structrag.reading.opening import path_of, shown
from structrag.reading.processes import can_start, is_reader, read_apart
from structrag.records import (
    Block,
    Document,
    Heading,
    Layout,
    PlacedImage,
    SourceMap,
)

# "auto": PDF files, whose reader is not written in Python.
Isolated = bool | Literal["auto"]
T = TypeVar("T")


def apart_or_here(
    apart: Callable[[], T],
    here: Callable[[], T],
    isolated: Isolated,
    *,
    is_pdf: bool,
    reader: Any,
) -> T:
    """Read a file in a reader process or in this one.

    Raises:
        InvalidParameter: `isolated` is not True, False or "auto", or True for a PDF whose reader is
            not "layout".
    """
    if isolated not in (True, False, "auto"):
        raise InvalidParameter(
            f"isolated must be True, False or 'auto'; got {isolated!r}. Limits are set by "
            "limits=Limits(...)."
        )
    if isolated is True and is_pdf and reader != "layout":
        came = repr(reader) if isinstance(reader, str) else type(reader).__name__
        raise InvalidParameter(
            f"isolated works only with reader='layout'; got {came}. Read with isolated=False."
        )
    if isolated == "auto":
        isolated = is_pdf and reader == "layout" and can_start()
        # What this process can import is not always found by another one.
        if isolated and not is_reader():
            with suppress(MissingExtra):
                return apart()
        return here()
    return apart() if isolated and not is_reader() else here()


def document_apart(
    path: str | os.PathLike[str],
    limits: Limits,
    *,
    id: str = "",
    title: str = "",
    meta: Mapping[str, Any] | None = None,
    **options: Any,
) -> Document:
    """The document of a file, as `read_file` with these options reads it, by a reader process.

    Raises:
        InvalidDocument: the process reached a limit or crashed, or the file cannot be read.
        InvalidParameter: there is no interpreter to start.
        MissingExtra: a package is not installed.
    """
    meta = dict(meta or {})
    name = str(path_of(path))
    if options.get("images_to") is not None:
        options["images_to"] = os.fspath(options["images_to"])
    arguments = {
        "path": name,
        "limits": asdict(limits),
        "options": {**options, "title": title},
        "meta": {"source": str(meta.get("source", name))},
    }
    facts, text = read_apart(
        "structrag.reading.files:document_of_request",
        arguments,
        b"",
        limits,
        shown(path_of(path)),
    )
    source = {"source": facts["meta"].pop("source")}
    layout = facts["layout"] and _layout(facts["layout"])
    meta = {**source, **meta, **facts["meta"]}
    return Document(text, id, facts["title"], facts["format"], meta, layout)


def facts_of(document: Document) -> tuple[dict[str, Any], str]:
    """A document as facts for JSON and its text."""
    facts = {
        "title": document.title,
        "format": document.format,
        "meta": dict(document.meta),
        "layout": document.layout and _layout_facts(document.layout),
    }
    return facts, document.text


def _layout_facts(layout: Layout) -> list[Any]:
    places = layout.source_map
    return [
        [(each.level, each.title, each.start, each.end) for each in layout.headings],
        [
            (
                each.kind,
                each.start,
                each.end,
                each.cuts,
                each.header_end,
                each.header_start,
            )
            for each in layout.blocks
        ],
        (places.text_starts, places.source_starts, [*map(int, places.exact)]),
        [(each.offset, each.file, each.alt, each.title) for each in layout.images],
    ]


def _layout(facts: list[Any]) -> Layout:
    headings, blocks, (text_starts, source_starts, exact), images = facts
    return Layout(
        tuple(Heading(*each) for each in headings),
        tuple(
            Block(kind, start, end, tuple(cuts), *header)
            for kind, start, end, cuts, *header in blocks
        ),
        SourceMap(tuple(text_starts), tuple(source_starts), tuple(map(bool, exact))),
        tuple(PlacedImage(*each) for each in images),
    )
