"""Texts shortened to the evidence in them, for results of other retrievers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from structrag.errors import InvalidParameter, check_query
from structrag.reading.files import read_text
from structrag.retrieval.evidence.retriever import EvidenceOptions, EvidenceRetriever

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True, slots=True)
class Slice:
    """A slice of one of several texts."""

    text: int  # which text, from 0
    start: int  # characters [start, end) of it
    end: int
    score: float  # for one question; it cannot be compared between questions
    rank: int  # by score, from 1
    # What it is read with, such as the header of a table's rows; it counts.
    context: str = ""


class Shortener:
    """Finds the evidence for a question in some texts.

    Example:
        >>> shortener = Shortener(max_tokens=10)
        >>> text = "Cats sleep all day. The blue pump leaks at the seal. Birds sing."
        >>> (piece,) = shortener.shorten([text], "Which pump leaks?")
        >>> text[piece.start : piece.end]
        'The blue pump leaks at the seal.'

    The texts are embedded for every question, so give it some ten, not hundreds.

    Args:
        embedding, options: As in `EvidenceRetriever`.
    """

    def __init__(
        self, embedding: Any = None, **options: Unpack[EvidenceOptions]
    ) -> None:
        self.embedding = embedding
        self.options = options
        # Refuses now what a question would refuse.
        EvidenceRetriever(embedding, **options)

    def shorten(self, texts: Sequence[str], question: str) -> list[Slice]:
        """The slices that answer a question, together at most `max_tokens`. Blank texts and a blank
        question have none. Raises InvalidParameter for texts that are not a sequence of strings."""
        check_query(question)
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise InvalidParameter(
                "texts must be a list of strings; got something else in it."
            )
        retriever = EvidenceRetriever(self.embedding, **self.options)
        documents = []
        for number, text in enumerate(texts):
            if text.strip():
                documents.append(read_text(text, id=str(number), format="markdown"))
        retriever.add(documents)
        slices = []
        for hit in retriever.search(question):
            chunk = hit.chunk
            number = int(chunk.doc_id)
            slices.append(
                Slice(
                    number, chunk.start, chunk.end, hit.score, hit.rank, chunk.context
                )
            )
        return slices
