"""The bytes of a regular file, up to a limit."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from structrag.errors import InvalidDocument, InvalidParameter, check_choice
from structrag.reading.limits import exceeded, limits_now

PDF_READERS = ("layout", "docling")  # those that have a name
_SHOWN = 200  # characters of a path that an error shows


def path_of(name: Any) -> Path:
    """The path that a user has named.

    As a string, as bytes such as the operating system has, or as a path.

    Raises:
        InvalidParameter: it is something else.
    """
    try:
        return Path(os.fsdecode(name))
    except TypeError:
        raise InvalidParameter(
            f"path must be a path as string, bytes or Path; got {type(name).__name__}. For a text "
            "use structrag.read_text(text)."
        ) from None


def check_reader(reader: Any) -> None:
    """Refuse a reader of PDF files whose name is not known. Anything but strings passes."""
    if isinstance(reader, str):
        check_choice("reader", reader, PDF_READERS)


def check_images_to(images_to: Any, reader: Any) -> None:
    """Refuse a folder for pictures unless the reader of PDF files is ours."""
    if images_to is not None and reader != "layout":
        raise InvalidParameter(
            "images_to works only with reader='layout'; leave it out, or write the pictures in a "
            "reader of your own."
        )


def shown(path: Path) -> str:
    """A path as errors quote it. An over-long one is shortened."""
    name = str(path)
    return repr(name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…")


def check_file(path: Path) -> int:
    """The size of a file. Refuses an irregular or too large one before it is opened.

    Raises:
        InvalidDocument: nothing is there, a folder, a pipe, a device or a socket is (also at the
            end of a link), or the file has more bytes than `max_bytes` allows.
    """
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    if stat.S_ISDIR(status.st_mode):
        raise InvalidDocument(
            f"Cannot read {shown(path)}: it is a folder. Use structrag.find_files(path)."
        )
    # Reading a pipe waits for a writer, reading some devices never ends.
    if not stat.S_ISREG(status.st_mode):
        raise InvalidDocument(
            f"Cannot read {shown(path)}: it is a pipe, a device or a socket, not a regular file."
        )
    _check_size(path, status.st_size)
    return status.st_size


def file_bytes(path: Path) -> bytes:
    """The bytes of a regular file. Raises InvalidDocument where `check_file` refuses it, or it
    cannot be opened."""
    size = check_file(path)
    try:
        with path.open("rb") as file:
            data = file.read(size + 1)
            # It has grown, or is one of /proc, which have a size of 0.
            if len(data) > size:
                data += file.read(limits_now().max_bytes + 1 - len(data))
    except OSError as error:
        raise unreadable(path, error) from error
    _check_size(path, len(data), "more than ")
    return data


def _check_size(path: Path, size: int, more: str = "") -> None:
    most = limits_now().max_bytes
    if size > most:
        happening = f"has {more}{most if more else size:,} bytes"
        raise exceeded(shown(path), "max_bytes", happening, most)


def unreadable(path: Path, error: Exception) -> InvalidDocument:
    """The sentence for what the operating system refused."""
    reason = str(getattr(error, "strerror", None) or error)
    return InvalidDocument(f"Cannot read {shown(path)}: {reason}.")
