"""Texts shortened to the evidence in them, for results of other retrievers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from structrag.errors import InvalidParameter, check_query
from structrag.reading.files import read_text
from structrag.retrieval.evidence.retriever import (
    EvidenceOptions,
    EvidenceRetriever,
    opened,
)
from structrag.text.sentences import sentence_spans

if TYPE_CHECKING:
    from typing_extensions import Unpack


Span = tuple[int, int]


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


class TextPlace(NamedTuple):
    """The place of a text, as far as it is known."""

    source: Any = (
        None  # equal for texts of one source; the document, where an index holds it
    )
    start: int | None = None  # in characters of the source
    lead: int = 0  # characters in front of it that are not in the source
    handle: str = ""  # of the `EvidenceRetriever` that holds the source


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
        places: Sequence[TextPlace] | None = None,
    ) -> list[Slice]:
        """The slices that answer a question, together at most `max_tokens`.

        Texts that overlap, by their places or else by what they say, are read as one text, so that
        nothing is given twice. Blank texts and a blank question have no slices. `places` are those
        of the texts. Raises InvalidParameter for texts that are not a sequence of strings.
        """
        check_query(question)
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise InvalidParameter(
                "texts must be a list of strings; got something else in it."
            )
        retriever = EvidenceRetriever(self.embedding, **self.options)
        joined = _joined(texts, places or [TextPlace()] * len(texts))
        stored = _put_stored(retriever, joined)
        for number, one in enumerate(joined):
            if number not in stored and len(one.members) == 1:
                joined[number] = one.with_lead(texts)
        retriever.add(
            read_text(one.text, id=str(number), format="markdown")
            for number, one in enumerate(joined)
            if number not in stored
        )
        language = retriever.read_options.language
        slices: list[Slice] = []
        for hit in retriever.search(question):
            number, context = int(hit.chunk.doc_id), hit.chunk.context
            start = stored.get(number, 0)
            span = hit.chunk.start - start, hit.chunk.end - start
            for text, first, last in joined[number].parts(*span, texts, language):
                rank = len(slices) + 1
                slices.append(Slice(text, first, last, hit.score, rank, context))
                context = ""
        if retriever.order == "document":
            slices.sort(key=lambda one: (one.text, one.start))
        return slices


LEAST = (
    16  # characters that two texts of unknown places share at least where they overlap
)
_TRIES = 8  # places at which one text may begin in another


@dataclass(frozen=True, slots=True)
class _JoinedText:
    """A text, or several that overlap as one."""

    text: str
    place: TextPlace  # of this text; what leads the single ones is not in it
    members: Mapping[
        int, Span
    ]  # number of a text -> where it begins and its lead ends here

    def offset(self, other: _JoinedText) -> int | None:
        """Return where another one begins in this one; None if they do not overlap."""
        mine, its = self.place, other.place
        if mine.source != its.source and None not in (mine.source, its.source):
            return None
        if None not in (mine.start, its.start) and mine.source == its.source:
            offset = its.start - mine.start
            least = LEAST if mine.source is None else 1
            if not -len(other.text) < offset < len(self.text):
                return None
            if self._shared(other, offset) >= least:
                return offset
        for one, two, sign in ((self, other, 1), (other, self, -1)):
            place = -1
            for _ in range(_TRIES):
                place = one.text.find(two.text[:LEAST], place + 1)
                shared = one._shared(two, place) if place >= 0 else 0
                if shared >= LEAST or shared == len(one.text) == len(two.text):
                    return sign * place
                if place < 0:
                    break
        return None

    def _shared(self, other: _JoinedText, offset: int) -> int:
        """Count the characters that both have from an offset on; 0 if they differ."""
        start = max(0, offset)
        end = min(len(self.text), offset + len(other.text))
        is_same = self.text[start:end] == other.text[start - offset : end - offset]
        return max(0, end - start) if is_same else 0

    def joined(self, other: _JoinedText, offset: int) -> _JoinedText:
        """Both as one text; the other begins at an offset."""
        if offset < 0:
            return other.joined(self, -offset)
        text = self.text + other.text[len(self.text) - offset :]
        mine, its = self.place, other.place
        start = mine.start
        if start is None and its.start is not None:
            start = its.start - offset
        place = TextPlace(
            mine.source if mine.source is not None else its.source,
            start,
            handle=mine.handle or its.handle,
        )
        moved = {
            number: (first + offset, start + offset)
            for number, (first, start) in other.members.items()
        }
        return _JoinedText(text, place, {**self.members, **moved})

    def with_lead(self, texts: Sequence[str]) -> _JoinedText:
        """A text alone with what leads it, which may be what its reader needs."""
        (number,) = self.members
        return replace(self, text=texts[number], members={number: (0, 0)})

    def parts(
        self, start: int, end: int, texts: Sequence[str], language: str
    ) -> Iterator[tuple[int, int, int]]:
        """A span of this text as spans of the texts, each with its number. It goes on in another
        text at a sentence where both have one."""
        spans = [
            (number, first, begin, first + len(texts[number]))
            for number, (first, begin) in sorted(self.members.items())
        ]
        while start < end:
            number, first, _, stop = max(
                (one for one in spans if one[2] <= start < one[3]),
                key=lambda one: min(one[3], end),
            )
            if stop < end:
                begins = [begin for *_, begin, until in spans if begin <= stop < until]
                low = max(start + 1, min(begins, default=stop))
                sentences = sentence_spans(self.text, start, end, language=language)
                begins = [begin for begin, _ in sentences if low <= begin <= stop]
                blank = self.text.rfind(" ", low, stop) + 1
                stop = max(begins, default=blank or stop)
            part = self.text[start : min(stop, end)]
            at = start - first + len(part) - len(part.lstrip())
            if part.strip():
                yield number, at, at + len(part.strip())
            start += len(part)


def _joined(texts: Sequence[str], places: Sequence[TextPlace]) -> list[_JoinedText]:
    """The texts that are not blank, those that overlap as one."""
    joined: list[_JoinedText] = []
    for number, (text, place) in enumerate(zip(texts, places, strict=True)):
        one = _JoinedText(text[place.lead :], place, {number: (-place.lead, 0)})
        if not one.text.strip():
            continue
        apart = []
        for other in joined:
            offset = other.offset(one)
            if offset is None:
                apart.append(other)
            else:
                one = other.joined(one, offset)
        joined = [*apart, one]
    return sorted(joined, key=lambda one: min(one.members))


def _put_stored(
    retriever: EvidenceRetriever, joined: Sequence[_JoinedText]
) -> dict[int, int]:
    """Put those texts in that an index holds, with what it keeps of them.

    Gives by number where each begins in its document. All are of one index, since each has token
    vectors of its own form.
    """
    index: EvidenceRetriever | None = None
    starts: dict[int, int] = {}
    for number, one in enumerate(joined):
        source, start, _, handle = one.place
        holder = opened(handle) if handle else None
        if holder is None or start is None or not retriever.encodes_like(holder):
            continue
        index = index or holder
        if holder is not index:
            continue
        end = start + len(one.text)
        entry = index.level.part(str(number), source, start, end, one.text)
        if entry is not None:
            retriever.store.put(entry)
            starts[number] = start
    if index is not None and index.level.quantiser is not None:
        retriever.level.quantiser = index.level.quantiser
    return starts
