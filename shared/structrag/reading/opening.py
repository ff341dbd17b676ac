"""The bytes of a regular file, up to a limit."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from structrag.errors import (
    InvalidDocument,
    InvalidParameter,
    check_at_least,
    check_choice,
)

MAX_BYTES = 200_000_000
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
            "images_to is for the reader 'layout'; leave it out, or write the pictures in a reader "
            "of your own."
        )


def shown(path: Path) -> str:
    """A path as errors quote it. An over-long one is shortened."""
    name = str(path)
    return repr(name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…")


def check_file(path: Path, max_bytes: int | None = None) -> None:
    """Refuse an irregular or too large file before it is opened.

    Raises:
        InvalidDocument: nothing is there, a folder, a pipe, a device or a socket is (also at the
            end of a link), or the file has more than `max_bytes` bytes.
        InvalidParameter: `max_bytes` is below 1.
    """
    if max_bytes is not None:
        check_at_least("max_bytes", max_bytes, 1)
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
    if max_bytes is not None and status.st_size > max_bytes:
        raise _too_large(path, f"{status.st_size:,}", max_bytes)


def file_bytes(path: Path, max_bytes: int | None = None) -> bytes:
    """The bytes of a regular file.

    Raises:
        InvalidDocument: `check_file` refuses it, or it cannot be opened.
        InvalidParameter: `max_bytes` is below 1.
    """
    check_file(path, max_bytes)
    try:
        with path.open("rb") as file:
            # One more than allowed: some files (in /proc) have a size of 0 and do not end.
            data = file.read(-1 if max_bytes is None else max_bytes + 1)
    except OSError as error:
        raise unreadable(path, error) from error
    if max_bytes is not None and len(data) > max_bytes:
        raise _too_large(path, f"more than {max_bytes:,}", max_bytes)
    return data


def _too_large(path: Path, size: str, max_bytes: int) -> InvalidDocument:
    return InvalidDocument(
        f"{shown(path)} has {size} bytes, and max_bytes allows {max_bytes:,}. Split the file, or "
        "pass a higher max_bytes to read_file."
    )


def unreadable(path: Path, error: Exception) -> InvalidDocument:
    """The sentence for what the operating system refused."""
    reason = str(getattr(error, "strerror", None) or error)
    return InvalidDocument(f"Cannot read {shown(path)}: {reason}.")
