"""The formats that are read beside Markdown, HTML, plain text and PDF: one line each.

A text markup stays the document's text: its module has `headings(text)`, `blocks(text, start, end)`
and `title(text)`. Any other format becomes Markdown: its module has `to_markdown(data, name)`,
which gives a `Draft`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

from structrag.errors import InvalidParameter

BUILT_IN = ("markdown", "html", "text")


@dataclass(frozen=True, slots=True)
class Format:
    """One format: how its files are recognised, and who reads them.

    Example:
        >>> Format("ini", (".ini",), "my_package.ini_reader").is_markup
        False

    Attributes:
        name: What `read_text(format=)` and `read_file(format=)` call it.
        suffixes: Of its files, in lower case, with the dot.
        module: Who reads it: a module, or the name of one, which is imported when it is needed.
        media_types: As web servers and loaders call it.
        is_markup: Whether the text itself is the document; otherwise the file's bytes become
            Markdown.
        looks_like: Whether the first 4,096 bytes of a file are of this format; asked of files
            without a known suffix. None: only the suffix tells.
    """

    name: str
    suffixes: tuple[str, ...]
    module: str | ModuleType
    media_types: tuple[str, ...] = ()
    is_markup: bool = False
    looks_like: Callable[[bytes], bool] | None = None

    def reader(self) -> Any:
        """The module that reads it."""
        return (
            import_module(self.module) if isinstance(self.module, str) else self.module
        )


_FORMATS: dict[str, Format] = {}


def register_format(format: Format) -> None:
    """Have files of a format read by every door; the same name again replaces it.

    Raises InvalidParameter where its name is one of those built in, or another format has one of
    its suffixes.
    """
    if format.name in (*BUILT_IN, "auto", "pdf"):
        raise InvalidParameter(
            f"name must not be that of a format built in; got {format.name!r}. Choose another."
        )
    for other in _FORMATS.values():
        shared = set(other.suffixes) & set(format.suffixes)
        if other.name != format.name and shared:
            raise InvalidParameter(
                f"suffixes must not be those of another format; {min(shared)!r} is of "
                f"{other.name!r}. Give other suffixes, or register under the name {other.name!r}."
            )
    _FORMATS[format.name] = format


def format_named(name: str) -> Format | None:
    """A registered format by its name."""
    return _FORMATS.get(name)


def format_names() -> tuple[str, ...]:
    """What `format=` may be: "auto", the formats built in, and the registered ones."""
    return ("auto", *sorted((*BUILT_IN, *_FORMATS)))


def by_suffix(suffix: str) -> Format | None:
    """The registered format with files of this suffix."""
    return next((f for f in _FORMATS.values() if suffix.lower() in f.suffixes), None)


def by_media_type(media_type: str) -> Format | None:
    """The registered format that is called so."""
    return next((f for f in _FORMATS.values() if media_type in f.media_types), None)


def by_look(data: bytes) -> Format | None:
    """The registered format that the first bytes of a file look like."""
    start = data[:4096]
    looking = (f for f in _FORMATS.values() if f.looks_like)
    return next((f for f in looking if f.looks_like and f.looks_like(start)), None)
