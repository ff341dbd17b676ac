"""Texts shortened to the evidence in them, for results of other retrievers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from structrag.errors import InvalidParameter, check_query
from structrag.reading.files import read_text
from structrag.retrieval.evidence.retriever import (
    EvidenceOptions,
    EvidenceRetriever,
    opened,
)

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
    # Text to read it with, such as the header of a table's rows; it counts towards the budget.
    context: str = ""


class StoredSlice(NamedTuple):
    """The slice of a document in an `EvidenceRetriever` that a text ends with."""

    handle: str  # of the retriever
    doc_id: str
    start: int  # characters [start, end) of the document
    end: int


class Shortener:
    """Finds the evidence for a question in some texts.

    Example:
        >>> shortener = Shortener(max_tokens=10)
        >>> text = "Cats sleep all day. The blue pump leaks at the seal. Birds sing."
        >>> (piece,) = shortener.shorten([text], "Which pump leaks?")
        >>> text[piece.start : piece.end]
        'The blue pump leaks at the seal.'

    Texts that an index of evidence holds are taken from it as they are stored there, if it was made
    with the same models. Others are embedded for every question, so give it some ten, not hundreds.

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

    def shorten(
        self,
        texts: Sequence[str],
        question: str,
        places: Sequence[StoredSlice | None] | None = None,
    ) -> list[Slice]:
        """The slices that answer a question, together at most `max_tokens`. Blank texts and a blank
        question have none. `places` says of each text where it is stored, if it is. Raises
        InvalidParameter for texts that are not a sequence of strings."""
        check_query(question)
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise InvalidParameter(
                "texts must be a list of strings; got something else in it."
            )
        retriever = EvidenceRetriever(self.embedding, **self.options)
        starts = _put_stored(retriever, texts, places or ())
        retriever.add(
            read_text(text, id=str(number), format="markdown")
            for number, text in enumerate(texts)
            if text.strip() and number not in starts
        )
        slices = []
        for hit in retriever.search(question):
            chunk = hit.chunk
            number = int(chunk.doc_id)
            start, end = (
                place - starts.get(number, 0) for place in (chunk.start, chunk.end)
            )
            slices.append(Slice(number, start, end, hit.score, hit.rank, chunk.context))
        if retriever.order == "document":
            slices.sort(key=lambda one: (one.text, one.start))
        return slices


def _put_stored(
    retriever: EvidenceRetriever,
    texts: Sequence[str],
    places: Iterable[StoredSlice | None],
) -> dict[int, int]:
    """Put those texts in that an index holds, with what it keeps of them.

    Gives by text where that begins in its document. All are of one index, since each has token
    vectors of its own form.
    """
    index: EvidenceRetriever | None = None
    starts: dict[int, int] = {}
    for number, place in enumerate(places):
        holder = opened(place.handle) if place else None
        if place is None or holder is None or not retriever.encodes_like(holder):
            continue
        index = index or holder
        _, doc_id, start, end = place
        lead = len(texts[number]) - (end - start)
        if holder is not index:
            continue
        entry = index.level.part(str(number), doc_id, start, end, texts[number][lead:])
        if entry is not None:
            retriever.store.put(entry)
            starts[number] = start - lead
    if index is not None and index.level.quantiser is not None:
        retriever.level.quantiser = index.level.quantiser
    return starts
