"""PDF files read in their own process. The process has limits of memory and time. A file can be
made to fill the memory or to crash the library that reads it. Such a file takes the process down in
which it is read; here that is a process that nothing else needs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structrag import errors
from structrag.errors import (
    InvalidDocument,
    InvalidParameter,
    StructragError,
    check_at_least,
)
from structrag.reading.formats import converted_document, format_named
from structrag.reading.opening import check_reader, path_of, shown
from structrag.reading.pdf.document import pdf_document
from structrag.reading.pdf.pictures import folder_for_images
from structrag.reading.pdf.reader import Source, check_password
from structrag.records import Document

_START = (
    "import json, sys; request = json.loads(sys.stdin.buffer.readline()); "
    "sys.path[:] = request['modules']; "
    "from structrag.reading.pdf.isolation import answer; answer(request)"
)


@dataclass(frozen=True, slots=True)
class Isolation:
    """Limits of the process that reads a PDF.

    Example:
        >>> Isolation(max_seconds=60).max_memory
        4000000000

    The limit of memory needs Linux; macOS and Windows have the limit of time alone.

    Attributes:
        max_seconds: From its start to its end, by the clock.
        max_memory: Bytes of address space; None: no limit.

    Raises:
        InvalidParameter: a limit is no number, or below 1.
    """

    max_seconds: float = 300
    max_memory: int | None = 4_000_000_000

    def __post_init__(self) -> None:
        check_at_least("max_seconds", self.max_seconds, 1)
        if self.max_memory is not None:
            check_at_least("max_memory", self.max_memory, 1)


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
        "modules": sys.path,
        "source": None if isinstance(source, bytes) else str(path_of(source)),
        "max_memory": limits.max_memory,
        "max_seconds": limits.max_seconds,
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
    reply = _reply(json.dumps(request).encode() + b"\n" + data, limits, name)
    if "error" in reply:
        raise getattr(errors, reply["error"])(reply["message"])
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


def _reply(request: bytes, limits: Isolation, name: str) -> dict[str, Any]:
    """What the process answers. Raises InvalidDocument where it does not."""
    if not sys.executable:
        raise InvalidParameter(
            "isolated needs a Python interpreter of its own, and sys.executable names none here. "
            "Read with isolated=False."
        )
    try:
        process = subprocess.run(
            [sys.executable, "-c", _START],
            input=request,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=limits.max_seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InvalidDocument(
            f"{name} was not read within {limits.max_seconds:g} seconds. Allow more by "
            "isolated=Isolation(max_seconds=...) if you trust the file."
        ) from None
    try:
        reply: dict[str, Any] = json.loads(process.stdout)
    except ValueError:
        memory = "" if limits.max_memory is None else f" of {limits.max_memory:,} bytes"
        raise InvalidDocument(
            f"{name} cannot be read: the process that read it ended by {_ending(process)}. The "
            f"file is damaged, or needs more than the memory{memory} that "
            "isolated=Isolation(max_memory=...) allows."
        ) from None
    return reply


def _ending(process: subprocess.CompletedProcess[bytes]) -> str:
    """How a process ended, as people say it."""
    if process.returncode >= 0:
        return f"exit status {process.returncode}"
    try:
        return signal.Signals(-process.returncode).name
    except ValueError:
        return f"signal {-process.returncode}"


def answer(request: Mapping[str, Any]) -> None:
    """The child's part: read a request's PDF and write the reply."""
    output = os.dup(1)
    os.dup2(2, 1)  # what a reader prints must not be taken for the reply
    _limit(request["max_memory"], request["max_seconds"])
    source = sys.stdin.buffer.read() if request["source"] is None else request["source"]
    reply: dict[str, Any]
    try:
        document = _read(request, source)
        reply = {
            "text": document.text,
            "title": document.title,
            "meta": dict(document.meta),
        }
    except StructragError as error:
        reply = {"error": type(error).__name__, "message": str(error)}
    with os.fdopen(output, "wb") as file:
        file.write(json.dumps(reply).encode())


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


def _limit(max_memory: int | None, max_seconds: float) -> None:
    """Limit this process, as far as the system can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    # The parent waits for a time; this is for a child whose parent is gone.
    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_CPU: int(max_seconds) + 1}
    if max_memory is not None:
        limits[resource.RLIMIT_AS] = max_memory
    for kind, most in limits.items():
        try:
            hard = resource.getrlimit(kind)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (most, hard))
        except (OSError, ValueError):  # macOS refuses some
            continue
