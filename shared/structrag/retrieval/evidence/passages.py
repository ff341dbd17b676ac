"""Passages as the reader gets them: chunks with context, and hits."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any

import numpy as np

from structrag.reading.settings import ReadOptions
from structrag.records import Block, Chunk, Hit
from structrag.retrieval.evidence.answers import leads
from structrag.retrieval.evidence.corpus import Corpus
from structrag.retrieval.evidence.packing import Passage
from structrag.retrieval.evidence.references import is_reference
from structrag.retrieval.evidence.required_context import RequiredContext
from structrag.retrieval.evidence.scores import Ranking
from structrag.retrieval.evidence.store import StoredDocument
from structrag.retrieval.packing import reader_text
from structrag.text.arrays import IntArray
from structrag.text.heading_path import heading_context

REFERENCES = 0.5  # what the score of an entry of a list of references is worth
PATH_TOKENS = 64  # of a heading path that is shown
CONTEXTS = ("none", "lead", "all")  # what is shown in front of a passage


class PassageReader:
    """Passages as the reader of a search gets them, with their tokens."""

    def __init__(
        self,
        documents: Sequence[StoredDocument],
        pool: Corpus,
        read_options: ReadOptions,
        context: str = "lead",
    ) -> None:
        self.documents = documents
        self.pool = pool
        self.read_options = read_options
        self.context = context
        self._sizes: dict[tuple[int, int], int] = {}
        self._references: dict[int, bool] = {}
        self._leads: dict[str, IntArray] = {}  # by document

    def tokens(self, first: int, stop: int) -> int:
        """Tokens of a run of atoms, with the context in front."""
        run = first, stop
        if run not in self._sizes:
            self._sizes[run] = self.read_options.counter(
                reader_text(self.chunk(first, stop))
            )
        return self._sizes[run]

    def joins(self, unit: int) -> bool:
        """Whether only blanks are between an atom and the one before."""
        number, place = self.pool.place(unit)
        if not place:
            return False
        record = self.pool.records[number]
        between = self.documents[number].text[
            record.ends[place - 1] : record.starts[place]
        ]
        return not between.strip()

    def ends(self, unit: int) -> bool:
        """Whether a passage may end behind an atom, as that leads to nothing."""
        number, place = self.pool.place(unit)
        record, document = self.pool.records[number], self.documents[number]
        if place + 1 == len(record):
            return True
        words, others = (
            document.text[record.starts[at] : record.ends[at]]
            for at in (place, place + 1)
        )
        if self._is_heading(number, place + 1):
            own, next_path = (
                document.paths[record.sections[at]] for at in (place, place + 1)
            )
            if len(next_path) <= len(own):
                return True
        return not self._is_heading(number, place) and not leads(words, others)

    def by_worth(self, ranking: Ranking) -> Iterator[int]:
        """Units by the score of their hits."""
        waiting: list[tuple[float, int, int]] = []
        for order, unit in enumerate(ranking.units.tolist()):
            score = ranking.share(unit)
            while waiting and -waiting[0][0] >= score:
                yield heappop(waiting)[-1]
            if self.is_reference(unit):
                heappush(waiting, (-score * REFERENCES, order, unit))
            else:
                yield unit
        while waiting:
            yield heappop(waiting)[-1]

    def is_reference(self, unit: int) -> bool:
        if unit not in self._references:
            number, place = self.pool.place(unit)
            start = int(self.pool.records[number].starts[place])
            self._references[unit] = is_reference(self.documents[number].text, start)
        return self._references[unit]

    def _is_heading(self, number: int, place: int) -> bool:
        """Whether an atom is a section's heading."""
        record, document = self.pool.records[number], self.documents[number]
        section = int(record.sections[place])
        has_heading = bool(document.paths[section])
        return has_heading and int(record.ends[place]) <= document.body_starts[section]

    def blocks(self, number: int) -> list[Chunk]:
        """The blocks of a document in reading order, each behind its headings."""
        return [self._block(number, run) for run in self._runs(number)]

    def beside(
        self, number: int, start: int, end: int
    ) -> tuple[Chunk | None, Chunk | None]:
        """The blocks before and behind a span of a document. None where there is none. Headings
        that lead to the span are no block before it."""
        record, runs = self.pool.records[number], self._runs(number)
        firsts = [first for first, _ in runs]
        last_before = int(np.searchsorted(record.ends, start, "right")) - 1
        before = bisect_right(firsts, last_before) - 1
        if before >= 0 and all(
            self._is_heading(number, unit)
            for unit in range(firsts[before], last_before + 1)
        ):
            before -= 1
        first_behind = int(np.searchsorted(record.starts, end, "left"))
        after = bisect_right(firsts, first_behind) - 1
        return (
            self._block(number, runs[before]) if before >= 0 else None,
            self._block(number, runs[after]) if first_behind < len(record) else None,
        )

    def _runs(self, number: int) -> list[tuple[int, int]]:
        """The atoms of each block. Headings are with those of the block behind them."""
        record, document = self.pool.records[number], self.documents[number]
        starts = np.flatnonzero(np.diff(record.blocks, prepend=-1))
        stops = np.append(starts, len(record))[1:]
        sections = record.sections[starts]
        body_starts = [document.body_starts[one] for one in sections.tolist()]
        are_titled = np.array([bool(document.paths[one]) for one in sections.tolist()])
        are_headings = are_titled & (record.ends[starts] <= np.array(body_starts))
        ends = stops[~are_headings | (stops == len(record))]
        return list(pairwise([0, *ends.tolist()]))

    def _block(self, number: int, run: tuple[int, int]) -> Chunk:
        record, last = self.pool.records[number], run[1] - 1
        return self._chunk(
            self.documents[number],
            int(record.sections[last]),
            int(record.starts[run[0]]),
            int(record.ends[last]),
        )

    def chunk(self, first: int, stop: int) -> Chunk:
        """The chunk of a run of atoms. Without blank lines in front and blanks behind."""
        number, place = self.pool.place(first)
        record, document = self.pool.records[number], self.documents[number]
        last = place + stop - first - 1
        return self._chunk(
            document,
            int(record.sections[place]),
            int(record.starts[place]),
            int(record.ends[last]),
        )

    def hit(self, passage: Passage, ranking: Ranking) -> Hit:
        """A passage as a hit."""
        return self._hit(self.chunk(passage.first, passage.stop), passage, ranking)

    def cut(self, unit: int, ranking: Ranking, budget: int) -> list[Hit]:
        """The beginning of an atom that is above the budget, or nothing. It is cut at a word. An
        atom that only its context makes too long is given whole, without the context."""
        whole = replace(self.chunk(unit, unit + 1), context="")
        if self.read_options.counter(whole.text) > budget:
            block = Block("paragraph", whole.start, whole.end)
            document = self.documents[self.pool.place(unit)[0]]
            piece = self.read_options.cutter().cut(document.text, [block], budget)[0]
            section = int(whole.section_id.rpartition("#")[2])
            cut = self._chunk(document, section, piece.start, piece.end, {"cut": True})
            whole = replace(cut, context="")
        if self.read_options.counter(whole.text) > budget:
            return []
        return [self._hit(whole, Passage(unit, unit + 1, unit, 1), ranking)]

    def _hit(self, chunk: Chunk, passage: Passage, ranking: Ranking) -> Hit:
        worth = REFERENCES if self.is_reference(passage.best) else 1.0
        shares = ranking.shares(passage.best).items()
        parts = {name: worth * share for name, share in shares}
        return Hit(chunk, sum(parts.values()), passage.rank, parts=parts)

    def _chunk(
        self,
        document: StoredDocument,
        section: int,
        start: int,
        end: int,
        extras: dict[str, Any] | None = None,
    ) -> Chunk:
        text = document.text[start:end]
        body = text.lstrip()
        # the first line keeps its indentation
        start += text.rfind("\n", 0, len(text) - len(body)) + 1
        text = document.text[start:end].rstrip()
        end = start + len(text)
        path = document.paths[section]
        body_start = document.body_starts[section]
        starts_with_heading = bool(path) and start < body_start
        has_body = body_start < end  # which is behind the last letter
        shown = path[:-1] if starts_with_heading else path
        return Chunk(
            id=f"{document.id}:{start}-{end}",
            doc_id=document.id,
            section_id=f"{document.id}#{section}",
            start=start,
            end=end,
            text=text,
            context=self._context(document, shown, start, end),
            n_tokens=self.read_options.counter(text),
            path=path,
            extras={
                **_in_source(document, end - len(text.lstrip()), end),
                **(extras or {}),
            },
            body_start=body_start if starts_with_heading and has_body else start,
        )

    def _context(
        self, document: StoredDocument, path: tuple[str, ...], start: int, end: int
    ) -> str:
        """What precedes a slice: heading path, caption, header or lead-in."""
        parts = []
        if self.context == "all":
            counter = self.read_options.counter
            parts.append(
                heading_context(document.title, path, counter, limit=PATH_TOKENS).text
            )
        if self.context != "none":
            for lead in self._leads_at(document, start):
                span = lead.shown(start, end)
                if span is not None:
                    parts.append(document.text[slice(*span)].strip())
        return "\n".join(filter(None, parts))

    def _leads_at(self, document: StoredDocument, start: int) -> list[RequiredContext]:
        """The leads of a document that a passage beginning there may need."""
        if document.id not in self._leads:
            self._leads[document.id] = np.array(
                document.required, dtype=np.int64
            ).reshape(-1, 4)
        firsts, stops, *_ = self._leads[document.id].T
        return [
            document.required[i]
            for i in np.flatnonzero((firsts <= start) & (start < stops))
        ]


def _in_source(document: StoredDocument, start: int, end: int) -> dict[str, int]:
    """Where a span stands in the document's markup, if it has any."""
    if document.source is None or start == end:
        return {}
    first, last = document.source.span(start, end)
    return {"source_start": first, "source_end": last}
