"""PDF files, and those of other formats that become Markdown, read in a process of their own."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from structrag.errors import InvalidParameter
from structrag.reading.formats import converted_document, format_named
from structrag.reading.opening import check_reader, path_of, shown
from structrag.reading.pdf.document import pdf_document
from structrag.reading.pdf.pictures import folder_for_images
from structrag.reading.pdf.reader import Source, check_password
from structrag.reading.processes import Isolation, asked, reply_with
from structrag.records import Document

_ADVICE = "Allow more by isolated=Isolation(max_seconds=..., max_memory=...) if you trust the file."


def isolated_document(
    source: Source,
    *,
    limits: Isolation | None = None,
    format: str = "pdf",
    reader: str = "layout",
    password: str | None = None,
    id: str = "",
    title: str = "",
    meta: Mapping[str, Any] | None = None,
    images_to: str | os.PathLike[str] | None = None,
) -> Document:
    """A PDF, or a file of another format that becomes Markdown, read in a process of its own.

    What kills that process is an InvalidDocument here. It is started anew for each file, with the
    interpreter of this one (`sys.executable`), which takes a part of a second. `limits` are those
    of `Isolation()` by default.

    Raises:
        InvalidDocument: the process reached a limit or crashed; or what `pdf_document` raises.
        InvalidParameter: `reader` is not "layout", or there is no interpreter.
        MissingExtra: the package of the reader is not installed.
    """
    limits = Isolation() if limits is None else limits
    if not isinstance(limits, Isolation):
        raise InvalidParameter(
            f"isolated must be True, False or an Isolation; got {limits!r}."
        )
    _check_reader(reader)
    check_password(password)
    folder = folder_for_images(images_to)
    meta = dict(meta or {})
    request = {
        "source": None if isinstance(source, bytes) else str(path_of(source)),
        "format": format,
        "reading": {
            "reader": reader,
            "password": password,
            "title": title,
            "images_to": None if folder is None else str(folder),
        },
        "meta": {"source": str(meta["source"])} if "source" in meta else {},
    }
    kind = "PDF" if format == "pdf" else "file"
    name = f"The {kind}" if isinstance(source, bytes) else shown(path_of(source))
    data = source if isinstance(source, bytes) else b""
    reply = asked(__name__, request, data, limits, name, _ADVICE)
    facts = {key: value for key, value in reply["meta"].items() if key != "source"}
    facts = {**reply["meta"], **meta, **facts}
    return Document(
        reply["text"], id=id, title=reply["title"], format="markdown", meta=facts
    )


def _check_reader(reader: Any) -> None:
    """Refuse readers that do not run in another process."""
    check_reader(reader)
    if reader != "layout":
        came = repr(reader) if isinstance(reader, str) else type(reader).__name__
        raise InvalidParameter(
            f"isolated is for the reader 'layout'; got {came}. Read with isolated=False."
        )


def answer(request: Mapping[str, Any]) -> None:
    """The child's part: read a request's file and write the reply."""

    def reply() -> dict[str, Any]:
        data = request["source"] is None
        document = _read(
            request, sys.stdin.buffer.read() if data else request["source"]
        )
        return {
            "text": document.text,
            "title": document.title,
            "meta": dict(document.meta),
        }

    reply_with(request, reply)


def _read(request: Mapping[str, Any], source: str | bytes) -> Document:
    meta = dict(request["meta"])
    registered = format_named(request.get("format", "pdf"))
    if registered is None:
        return pdf_document(source, meta=meta, **request["reading"])
    title = request["reading"]["title"]
    if isinstance(source, bytes):
        return converted_document(
            registered, source, "The file", title=title, meta=meta
        )
    meta = {"source": source, **meta}
    data = Path(source).read_bytes()
    return converted_document(
        registered, data, shown(Path(source)), title=title, meta=meta
    )
