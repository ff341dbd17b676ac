"""Tools for agents: their names, and passages with their places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain, count
from typing import Any
from weakref import ReferenceType, ref

from pydantic import BaseModel, Field

from structrag._locks import Lock
from structrag.errors import warn_user
from structrag.integrations.documents import file_of
from structrag.integrations.metadata import PAGE_LABEL_KEY, PLACE_KEY, titles_of
from structrag.text.heading_path import SEPARATOR
from structrag.text.tokens import without_surrogates

_lock = Lock()
# Name -> the retriever that has it, while it is there, and what that searches.
_given: dict[str, tuple[ReferenceType[Any], str]] = {}


def tool_name(verb: str, retriever: Any, name: str | None) -> str:
    """The name of a tool: the user's, else the verb and "documents", such as "search_documents".
    If another retriever that still exists, or one over other documents, has that name already, a
    warning says so, and a name that is not the user's is numbered.

    Args:
        verb: What the tool does, such as "search".
        retriever: A retriever of an adapter, another of its host, or one around such.
        name: The user's own, which is kept.
    """
    index, inner = _searched(retriever)
    chosen = name or f"{verb}_documents"
    what = _identity(index, inner)
    with _lock:
        free = chosen
        if name is None:
            names = chain([chosen], (f"{chosen}_{number}" for number in count(2)))
            free = next(other for other in names if not _is_taken(other, what))
        is_taken = _is_taken(chosen, what)
        for other in [key for key, (held, _) in _given.items() if held() is None]:
            del _given[other]
        _given.setdefault(free, (ref(retriever), what))
    if is_taken:
        cure = "" if name else f", so this one is {free!r}"
        warn_user(
            "A tool over other documents or another retriever is already named "
            f"{chosen!r}{cure}. Agents keep only one tool of each name. Pass name= and "
            "description= that say what the documents are about."
        )
    return free


def _is_taken(name: str, what: str) -> bool:
    held, searched = _given.get(name, (None, what))
    return searched != what and held is not None and held() is not None


def _searched(retriever: Any) -> tuple[Any, Any]:
    """The index behind a retriever, or None, and the innermost retriever."""
    while not hasattr(retriever, "index") and hasattr(retriever, "retriever"):
        retriever = retriever.retriever
    index = getattr(retriever, "index", None)
    return (index if hasattr(index, "document_ids") else None), retriever


def _identity(index: Any, retriever: Any) -> str:
    """A text that differs between tools that give different answers."""
    if index is None:
        return f"{type(retriever).__name__} {id(retriever)}"
    ids = sha256("\n".join(index.document_ids).encode("utf-8", "surrogatepass"))
    where = getattr(retriever, "where", None)
    return f"{type(retriever).__name__} {ids.hexdigest()} {where!r}"


class SearchInput(BaseModel):
    """Arguments of a tool that searches."""

    query: str = Field(description="A question or search words.")


class LimitedSearchInput(SearchInput):
    """Arguments of a tool whose searches an agent may limit."""

    where: dict[str, Any] | None = Field(
        None,
        description="Limits the search to documents with these values in their metadata, each one "
        "value or a list of values; null: no limit.",
    )


class QuestionInput(BaseModel):
    """Arguments of a tool that answers."""

    question: str = Field(description="A self-contained question.")


NOTHING = "Nothing was found."
# Descriptions of a tool that searches, and of one that answers.
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
    return without_surrogates("\n\n".join(shown)) or NOTHING
