"""Texts shortened to the evidence in them, for results of other retrievers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from structrag.errors import InvalidParameter, check_query
from structrag.model_calls.requests import Flow, T
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
        # Refuses now what a question would refuse, and calls the models of all questions.
        self._retriever = EvidenceRetriever(embedding, **options)

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
        return self.run(self.flow(texts, question, places))

    def run(self, flow: Flow[T]) -> T:
        """Run a flow with the models."""
        return self._retriever.run(flow)

    async def arun(self, flow: Flow[T]) -> T:
        """`run` on an event loop."""
        return await self._retriever.arun(flow)

    def flow(
        self,
        texts: Sequence[str],
        question: str,
        places: Sequence[TextPlace] | None = None,
    ) -> Flow[list[Slice]]:
        """`shorten` as a flow."""
        check_query(question)
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise InvalidParameter(
                "texts must be a list of strings; got something else in it."
            )
        retriever = EvidenceRetriever(self.embedding, **self.options)
        places = places or [TextPlace()] * len(texts)
        joined = _joined(texts, places)
        starts = _put_stored(retriever, joined)
        for number, one in enumerate(joined):
            (member, *others) = one.members
            if number not in starts and not others:
                # With what leads it, which its reader may need.
                span = 0, len(texts[member])
                joined[number] = replace(
                    one, text=texts[member], members={member: span}
                )
        yield from retriever.add_flow(
            read_text(one.text, id=str(number), format="markdown")
            for number, one in enumerate(joined)
            if number not in starts
        )
        language = retriever.read_options.language
        slices: list[Slice] = []
        for hit in (yield from retriever.flow(question)):
            number, context = int(hit.chunk.doc_id), hit.chunk.context
            start = starts.get(number, 0)
            span = hit.chunk.start - start, hit.chunk.end - start
            for member, first, last in joined[number].parts(*span, language):
                length, rank = len(texts[member]), len(slices) + 1
                place = length + first, length + last
                slices.append(Slice(member, *place, hit.score, rank, context))
                context = ""
        if retriever.order == "document":
            slices.sort(key=lambda one: (one.text, one.start))
        return slices


LEAST = 16  # characters that texts of unknown places share at least where they overlap
_TRIES = 8  # places at which one text may begin in another


@dataclass(frozen=True, slots=True)
class _JoinedText:
    """A text without its lead, or several that overlap as one."""

    text: str
    place: TextPlace
    members: Mapping[int, Span]  # number of a text -> its span here

    def offset(self, other: _JoinedText) -> int | None:
        """Return where another one begins in this one; None if they do not overlap."""
        (source, start, *_), (its_source, its_start, *_) = self.place, other.place
        offsets: Iterable[int]
        if None in (source, start, its_source, its_start):
            least = min(LEAST, max(len(self.text), len(other.text)))
            behind = _beginnings(self.text, other.text)
            before = _beginnings(other.text, self.text)
            offsets = [*behind, *(-at for at in before)]
        else:
            least, offsets = 1, [(its_start or 0) - (start or 0)]
        is_apart = source != its_source and None not in (source, its_source)
        return next(
            (at for at in offsets if not is_apart and self._shared(other, at) >= least),
            None,
        )

    def _shared(self, other: _JoinedText, offset: int) -> int:
        """Count the characters that both have from an offset on; 0 if they differ."""
        start, end = max(0, offset), min(len(self.text), offset + len(other.text))
        theirs = other.text[max(0, start - offset) : max(0, end - offset)]
        return len(theirs) if theirs == self.text[start : max(0, end)] else 0

    def joined(self, other: _JoinedText, offset: int) -> _JoinedText:
        """Both as one text; the other begins at an offset."""
        if offset < 0:
            return other.joined(self, -offset)
        place, its = self.place, other.place
        if place.start is None and its.start is not None:
            place = its._replace(start=its.start - offset)
        moved = {
            number: (first + offset, stop + offset)
            for number, (first, stop) in other.members.items()
        }
        text = self.text + other.text[len(self.text) - offset :]
        return _JoinedText(text, place, {**self.members, **moved})

    def parts(
        self, start: int, end: int, language: str
    ) -> Iterator[tuple[int, int, int]]:
        """A span of this text as spans of the texts, counted from their ends, each with its number.
        It goes on in another text at a sentence where both have one."""
        while start < end:
            number, (_, last) = max(
                (one for one in self.members.items() if one[1][0] <= start < one[1][1]),
                key=lambda one: (min(one[1][1], end), -one[0]),
            )
            stop = last
            if stop < end:
                spans = self.members.values()
                low = min(
                    (at for at, until in spans if at <= stop < until), default=end
                )
                sentences = sentence_spans(self.text, start, end, language=language)
                begins = [
                    at for at, _ in sentences if max(start + 1, low) <= at <= stop
                ]
                stop = max(begins, default=stop)
            part = self.text[start : min(stop, end)]
            at = start - last + part.find(part.strip())
            if part.strip():
                yield number, at, at + len(part.strip())
            start += len(part)


def _beginnings(text: str, other: str) -> list[int]:
    """Where another text may begin in a text."""
    starts: list[int] = []
    at = text.find(other[:LEAST])
    while at >= 0 and len(starts) < _TRIES:
        starts.append(at)
        at = text.find(other[:LEAST], at + 1)
    return starts


def _joined(texts: Sequence[str], places: Sequence[TextPlace]) -> list[_JoinedText]:
    """The texts that are not blank, those that overlap as one."""
    joined: list[_JoinedText] = []
    for number, (text, place) in enumerate(zip(texts, places, strict=True)):
        one = _JoinedText(
            text[place.lead :], place, {number: (0, len(text) - place.lead)}
        )
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
