"""A warning of long files in which no heading was seen. It is for PDF files, pages of HTML and what
docling or Unstructured read."""

from __future__ import annotations

from structrag.errors import warn_user
from structrag.reading.sections import parse
from structrag.records import Document

LONG = 8_000  # characters, about three pages; less may well have no heading

_READ_HERE = (
    "If it has headings, read it with reader='docling', or let HiQAFormatter write its Markdown "
    "with a language model."
)
MARKED_NOWHERE = (
    "It marks no headings; HiQAFormatter with a language model may recognise some in "
    "its text."
)
READ_ELSEWHERE = (
    "Many loaders drop headings: load the file with StructragLoader (LangChain), StructragReader "
    "(LlamaIndex) or structrag.read_file. docs/loaders.md says which loaders keep them."
)


def is_flat(document: Document) -> bool:
    """Whether a document has no section but the root."""
    return len(parse(document).sections) == 1


def warn_if_flat(document: Document, kind: str) -> None:
    """Warn once of a long document without headings that was read here."""
    if len(document.text) >= LONG and is_flat(document):
        warn_of_flat(kind, _READ_HERE if kind == "PDF" else MARKED_NOWHERE)


def warn_of_flat(kind: str, cure: str) -> None:
    """The warning; equal ones are shown once by Python's own rules."""
    warn_user(
        f"A long {kind} has no heading, so its chunks have no heading path. {cure}",
    )
