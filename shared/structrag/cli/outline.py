"""`structrag outline`: a document's sections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from structrag.cli.options import AsJson, File, Format, Isolated, Reader, one_document
from structrag.cli.printing import print_items
from structrag.reading.sections import parse
from structrag.records import Document, Section
from structrag.text.numbers import pluralise
from structrag.text.tokens import count_tokens

FIELDS = (
    "ordinal",
    "level",
    "title",
    "path",
    "start",
    "body_start",
    "body_end",
    "end",
    "parent",
)


def outline(
    file: File,
    format: Format = "auto",
    reader: Reader = "layout",
    isolated: Isolated = True,
    as_json: AsJson = False,
) -> None:
    """Print a document's sections with their character ranges and sizes."""
    document = one_document(
        "outline", file, format=format, reader=reader, isolated=isolated
    )
    sections = parse(document).sections
    print_items(
        map(_record, sections) if as_json else _lines(document, sections), as_json
    )


def _record(section: Section) -> dict[str, Any]:
    return {name: getattr(section, name) for name in FIELDS}


def _lines(document: Document, sections: Iterable[Section]) -> Iterator[str]:
    yield f"{document.title or '(no title)'} · {document.format} · {len(document.text)} characters"
    for section in sections:
        tokens = count_tokens(document.text[section.body_start : section.body_end])
        name = section.title if section.ordinal else "(before the first heading)"
        if (
            section.ordinal
            or document.text[section.body_start : section.body_end].strip()
        ):
            indent = "  " * len(section.path)
            place = f"[{section.start}:{section.end}]"
            yield f"{indent}{name}  {place}  about {pluralise(tokens, 'token')} of its own"
