"""Passages as tools hand them to agents, with their places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from structrag.integrations.documents import file_of
from structrag.integrations.metadata import PAGE_LABEL_KEY, PLACE_KEY, titles_of
from structrag.text.heading_path import SEPARATOR

NOTHING = "Nothing was found."
# What an agent is told of a tool that searches, and of one that answers.
SEARCH = (
    "Search the documents. Returns the passages that answer a question, each with its source, "
    "heading path and character range for citation."
)
ANSWER = (
    "Answer a question from the documents, with several searches if necessary. Returns the "
    "answer and the passages it is based on, for citation."
)


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage and its exact place.

    Example:
        >>> print(Citation("It leaks.", "pump.md", "Pump > Seal", 12, 21).shown(1))
        [1] pump.md, Pump > Seal, characters 12 to 21
        It leaks.

    Attributes:
        text: The passage, maybe behind its heading path.
        source: The file or id of its document; "" where unknown.
        path: Titles that lead to it, joined by " > ".
        start, end: Characters of the document; None where unknown.
        pages: Of a PDF, from 1, such as "3" or "3-4"; "" where unknown.
        place: In the file's own terms, such as "slide 4"; "" where unknown.
    """

    text: str
    source: str = ""
    path: str = ""
    start: int | None = None
    end: int | None = None
    pages: str = ""
    place: str = ""

    def shown(self, number: int) -> str:
        """The passage below a line that says where it stands."""
        place = ""
        if self.start is not None and self.end is not None:
            place = f"characters {self.start} to {self.end}"
        page = (
            f"page{'s' if '-' in self.pages else ''} {self.pages}" if self.pages else ""
        )
        where = ", ".join(
            filter(None, (self.source, page, self.place, self.path, place))
        )
        return f"[{number}] {where or 'unknown source'}\n{self.text.strip()}"


def citation_of(
    text: str, metadata: Mapping[str, Any], start: int | None, end: int | None
) -> Citation:
    """The citation of a passage by its host's metadata."""
    source = file_of(metadata) or str(metadata.get("structrag_document") or "")
    path = SEPARATOR.join(titles_of(metadata.get("heading_path")))
    return Citation(
        text,
        source,
        path,
        start,
        end,
        str(metadata.get(PAGE_LABEL_KEY) or ""),
        str(metadata.get(PLACE_KEY) or ""),
    )


def shown_citations(citations: Iterable[Citation]) -> str:
    """All passages, numbered from 1, or a sentence that says there are none."""
    shown = [
        citation.shown(number) for number, citation in enumerate(citations, start=1)
    ]
    return "\n\n".join(shown) or NOTHING
