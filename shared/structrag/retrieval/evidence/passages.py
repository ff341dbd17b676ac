"""Ranked atoms packed into passages within a token budget, and passages as the reader gets them:
chunks with context, and hits."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import islice, pairwise, starmap
from math import inf
from typing import Any

import numpy as np

from structrag._locks import cached_property
from structrag.citations import cite
from structrag.reading.settings import ReadOptions
from structrag.records import Block, Chunk, Hit, chunk_id
from structrag.retrieval.evidence.atom_arrays import Windows
from structrag.retrieval.evidence.atoms import (
    FIRST,
    LONGEST_CONTEXT,
    SHORT,
    WHOLE,
    RequiredContext,
    leads,
    named_columns,
)
from structrag.retrieval.evidence.pool import Pool, StoredDocument
from structrag.retrieval.evidence.scores import SHORTLIST, Ranking
from structrag.retrieval.packing import reader_text
from structrag.text.heading_path import heading_context

LISTED = 0.5  # what the score of an entry of a list of references or contents is worth
PATH_TOKENS = 64  # of a heading path that is shown
CONTEXTS = ("none", "lead", "all")  # what is shown in front of a passage
LEFT_OUT = "[…]"  # in front of a passage that begins inside a paragraph, list or table


class PassageReader:
    """Passages as the reader of a search gets them, with their tokens."""

    def __init__(
        self, pool: Pool, read_options: ReadOptions, context: str = "lead"
    ) -> None:
        self.pool = pool
        self.read_options = read_options
        self.context = context

    def tokens(self, first: int, stop: int) -> int:
        """Tokens of a run of atoms, with the context in front."""
        return self.read_options.counter(reader_text(self.chunk(first, stop)))

    def joins(self, unit: int) -> bool:
        """Return True if an atom follows the one before with only blanks between."""
        atoms = self.pool.atoms
        between = slice(int(atoms.ends[unit - 1]), int(atoms.starts[unit]))
        return self._follows(unit) and not self._document(unit).text[between].strip()

    def ends(self, unit: int) -> bool:
        """Return True if a passage may end after an atom, because it introduces nothing."""
        if not self._follows(unit + 1):
            return True
        if self._is_heading(unit + 1):
            (_, path), (_, next_path) = map(self._section, (unit, unit + 1))
            if len(next_path) <= len(path):
                return True
        words = self._text(unit), self._text(unit + 1)
        return not (self._is_heading(unit) or leads(*words) or self._introduces(unit))

    def _introduces(self, unit: int) -> bool:
        """Return True if an atom ends a short block right before a table or a list."""
        atoms = self.pool.atoms
        if atoms.block_tokens[unit] >= FIRST or self._is_inside(unit + 1):
            return False
        firsts, stops, *_ = self._document(unit).required.T
        end, next_end = atoms.ends[unit : unit + 2]
        follows = (end <= firsts) & (firsts < next_end) & (next_end <= stops)
        return bool(follows.any())

    def by_worth(self, ranking: Ranking) -> Iterator[int]:
        """Units by the score of their hits."""
        waiting: list[tuple[float, int, int]] = []
        for order, unit in enumerate(ranking.units.tolist()):
            score = ranking.share(unit)
            while waiting and -waiting[0][0] >= score:
                yield heappop(waiting)[-1]
            worth = self._worth(unit)
            if worth < 1:
                heappush(waiting, (-score * worth, order, unit))
            else:
                yield unit
        while waiting:
            yield heappop(waiting)[-1]

    def blocks(self) -> list[Chunk]:
        """The blocks of the pool in reading order, each behind its headings."""
        return [self._block(*run) for run in self._runs()]

    def beside(self, start: int, end: int) -> tuple[Chunk | None, Chunk | None]:
        """Return the blocks before and after a span of the pool's only document; None at either
        end. Headings above the span do not count as a block before it."""
        atoms, runs = self.pool.atoms, self._runs()
        firsts = [first for first, _ in runs]
        last_before = int(np.searchsorted(atoms.ends, start, "right")) - 1
        before = bisect_right(firsts, last_before) - 1
        if before >= 0 and all(
            map(self._is_heading, range(firsts[before], last_before + 1))
        ):
            before -= 1
        first_behind = int(np.searchsorted(atoms.starts, end, "left"))
        after = bisect_right(firsts, first_behind) - 1
        return (
            self._block(*runs[before]) if before >= 0 else None,
            self._block(*runs[after]) if first_behind < len(self.pool) else None,
        )

    def chunk(self, first: int, stop: int) -> Chunk:
        """The chunk of a run of atoms. Without blank lines in front and blanks behind."""
        return self._chunk(first, *self.pool.atoms.span(first, stop))

    def hit(self, passage: Passage, ranking: Ranking, rank: int) -> Hit:
        """A passage as a hit. Its path and section are those of its best atom; a passage of several
        sections names them all."""
        first, stop, best = passage.first, passage.stop, passage.best
        chunk = self._chunk(first, *self.pool.atoms.span(first, stop))
        path = self._section(best)[1]
        chunk = replace(
            chunk,
            id=chunk_id(chunk.doc_id, path, chunk.text),
            path=path,
            section_id=f"{chunk.doc_id}#{self.pool.atoms.sections[best]}",
            extras={**chunk.extras, **self._paths(first, stop)},
        )
        return self._hit(chunk, best, ranking, rank)

    def _paths(self, first: int, stop: int) -> dict[str, Any]:
        """The heading paths of a run of atoms, in reading order, if these are several."""
        paths = dict.fromkeys(self._section(unit)[1] for unit in range(first, stop))
        return {"section_paths": [[*path] for path in paths]} if len(paths) > 1 else {}

    def cut(self, unit: int, ranking: Ranking, budget: int) -> list[Hit]:
        """The beginning of an atom that is above the budget, or nothing. It is cut at a word. An
        atom that only its context makes too long is given whole, without the context."""
        whole = replace(self.chunk(unit, unit + 1), context="")
        if self.read_options.counter(whole.text) > budget:
            block = Block("paragraph", whole.start, whole.end)
            text = self._document(unit).text
            piece = self.read_options.cutter().cut(text, [block], budget)[0]
            cut = self._chunk(unit, piece.start, piece.end)
            whole = replace(cut, context="", extras={**cut.extras, "cut": True})
        if self.read_options.counter(whole.text) > budget:
            return []
        return [self._hit(whole, unit, ranking, 1)]

    def _document(self, unit: int) -> StoredDocument:
        return self.pool.documents[int(self.pool.run_of[unit])]

    def _section(self, unit: int) -> tuple[int, tuple[str, ...]]:
        """Return the start of the body of an atom's section, and its path."""
        return self._document(unit).sections[int(self.pool.atoms.sections[unit])]

    def _text(self, unit: int) -> str:
        span = self.pool.atoms.span(unit, unit + 1)
        return self._document(unit).text[slice(*span)]

    def _follows(self, unit: int) -> bool:
        """Return True if the atom has a predecessor in its run."""
        runs = self.pool.run_of
        return 0 < unit < len(runs) and bool(runs[unit - 1] == runs[unit])

    def _worth(self, unit: int) -> float:
        """Return the factor of an atom's score."""
        text, start = self._document(unit).text, int(self.pool.atoms.starts[unit])
        return LISTED if is_listed(text, start, self._titles) else 1.0

    @cached_property
    def _titles(self) -> set[str]:
        return {
            path[-1]
            for part in self.pool.documents
            for _, path in part.sections.values()
            if path
        }

    def _is_inside(self, unit: int) -> bool:
        """Return True if an atom continues the block of the atom before."""
        blocks = self.pool.blocks
        return self._follows(unit) and bool(blocks[unit - 1] == blocks[unit])

    def _is_heading(self, unit: int) -> bool:
        body_start, path = self._section(unit)
        return bool(path) and int(self.pool.atoms.ends[unit]) <= body_start

    def _runs(self) -> list[tuple[int, int]]:
        """The atoms of each block. Headings are with those of the block behind them."""
        starts = np.flatnonzero(np.diff(self.pool.blocks, prepend=-1)).tolist()
        bounds = pairwise([*starts, len(self.pool)])
        stops = [stop for start, stop in bounds if not self._is_heading(start)]
        return list(pairwise(dict.fromkeys([0, *stops, len(self.pool)])))

    def _block(self, first: int, stop: int) -> Chunk:
        span = self.pool.atoms.span(first, stop)
        return self._cited(self._chunk(stop - 1, *span, first=first), stop - 1)

    def _hit(self, chunk: Chunk, unit: int, ranking: Ranking, rank: int) -> Hit:
        worth = self._worth(unit)
        parts = {
            name: worth * float(share[unit]) for name, share in ranking.shares.items()
        }
        return Hit(self._cited(chunk, unit), sum(parts.values()), rank, parts=parts)

    def _cited(self, chunk: Chunk, unit: int) -> Chunk:
        document = self._document(unit)
        cited = cite(document.text, chunk.start, chunk.end, document.digest)
        return replace(chunk, cited=cited)

    def _chunk(
        self, unit: int, start: int, end: int, first: int | None = None
    ) -> Chunk:
        """A slice of an atom's document, in that atom's section. `first` is the atom that it begins
        with; None: that one."""
        is_inside = self._is_inside(unit if first is None else first)
        document, (body_start, path) = self._document(unit), self._section(unit)
        text = document.text[start:end]
        body = text.lstrip()
        # the first line keeps its indentation
        start += text.rfind("\n", 0, len(text) - len(body)) + 1
        text = document.text[start:end].rstrip()
        end = start + len(text)
        starts_with_heading = bool(path) and start < body_start
        has_body = body_start < end  # which is behind the last letter
        shown = path[:-1] if starts_with_heading else path
        return Chunk(
            id=chunk_id(document.id, path, text),
            doc_id=document.id,
            section_id=f"{document.id}#{self.pool.atoms.sections[unit]}",
            start=start,
            end=end,
            text=text,
            context=self._context(document, shown, start, end, is_inside),
            n_tokens=self.read_options.counter(text),
            path=path,
            extras=_in_source(document, end - len(text.lstrip()), end),
            body_start=body_start if starts_with_heading and has_body else start,
        )

    def _context(
        self,
        document: StoredDocument,
        path: tuple[str, ...],
        start: int,
        end: int,
        is_inside: bool,
    ) -> str:
        """Return the text shown before a slice: heading path, caption, header or lead-in, and a
        mark where it begins inside a block."""
        parts = []
        if self.context == "all":
            counter = self.read_options.counter
            parts.append(
                heading_context(document.title, path, counter, limit=PATH_TOKENS).text
            )
        if self.context != "none":
            firsts, stops, *_ = document.required.T
            inside = (firsts <= start) & (start < stops)
            for lead in starmap(RequiredContext, document.required[inside].tolist()):
                span = lead.shown(start, end)
                text = document.text[slice(*span)].strip() if span else ""
                if len(text) > LONGEST_CONTEXT:
                    text = named_columns(text, document.text[start:end])
                parts.append(text)
                # The header rows of a table say that rows are left out.
                is_inside = not lead.is_inside and (is_inside or lead.first < start)
            parts.append(LEFT_OUT if is_inside else "")
        return "\n".join(filter(None, parts))


def _in_source(document: StoredDocument, start: int, end: int) -> dict[str, Any]:
    """Return the place of a span in the document's markup, if it has any."""
    if document.source is None or start == end:
        return {}
    first, last = document.source.span(start, end)
    return {"source_start": first, "source_end": last}


# -- entries of lists of references and contents, recognised by the shape of their lines


_NEAR = 1500  # characters in which the entries beside one are looked for
_BESIDE = 2  # entries before and behind one that are looked at
_WORDS = 8  # an author and a year are an entry from so many words
_MARK = r"\s*(?:(?:[-*•–]|\d+\s?[.)]|\[\w{1,12}\]|\(\d+\))\s|[\^↑])"
_AUTHOR = (
    r"[A-ZÀ-Þ][\w'’-]+(?: [A-Z][\w'’-]+)? ?, ?[A-ZÀ-Þ]"  # Smith, J
    r"|[A-ZÀ-Þ][\w'’-]+ [A-Z]{1,3} ?[,.;]"  # Smith JA,
    r"|(?:[A-ZÀ-Þ]\. ?-?)+[A-ZÀ-Þ][\w'’-]+"  # J. A. Smith
)
_DOTS = r"(?:\.{4}|(?:\. ){4}|…{2})"  # between a title and its page
_BETWEEN = re.compile(rf"\n\s*\n|\n(?={_MARK}|\s*(?:{_AUTHOR})|[^\n]*{_DOTS})")
_BEGINS = re.compile(rf"(?:\.\. )?(?:{_MARK})*\s*")
_AUTHORED = re.compile(_AUTHOR)
# (2004) or ", 2004.", as no date of a day is written
_YEAR = re.compile(r"(?:[^\d\s] ?[,.]|\() ?(?:1[5-9]|20)\d\d[a-z]? ?(?:[.);:,]|$)")
_BIBLIOGRAPHIC = re.compile(
    r"Jump up|\bRetrieved (?:on )?(?:\d|[A-Z][a-z]+ \d)|\b[Aa]rchived (?:from|on)\b|access-date"
    r"|[Aa]bgerufen|[Cc]onsulté le|\bIS[BS]N\b|\bdoi\b|doi\.org|\bPMID\b|\barXiv\b"
    r"|\b(?:pp?|pg|S|vol)\. ?\d|\d ?\(\d+(?: ?[-–] ?\d+)?\) ?[:,] ?[a-z]?\d|\d;\d+|\bet al\b"
    r"|\b(?:In )?Proc(?:eedings|\.)|\bUniversity Press\b",
)


_LINK = re.compile(r"\[[^\[\]\n]*\]\(#[^()\s]*\)")  # within the page


def is_listed(text: str, start: int, titles: Set[str]) -> bool:
    """Return True if the text at `start` belongs to an entry of a list of references or contents.

    Example:
        >>> text = "- [Pumps](#pumps)\\n- [Seals](#seals)\\n- [Oil](#oil)"
        >>> is_listed(text, 0, {"Pumps"})
        True
    """
    low = max(0, start - _NEAR)
    entries, at = [], 0
    place = low
    near = text[low : start + _NEAR]
    for match in _BETWEEN.finditer(near):
        entries.append(near[place - low : match.start()])
        if match.start() <= start - low:
            at = len(entries)
        place = low + match.end()
    entries.append(near[place - low :])
    beside = entries[max(0, at - _BESIDE) : at + _BESIDE + 1]
    listed = sum(_is_entry(words, titles) for words in beside)
    return 2 * listed > max(2 * _BESIDE, len(beside))


def _is_entry(words: str, titles: Set[str]) -> bool:
    words = words.strip()
    title = re.split(rf"\s?{_DOTS}", words)[0]
    item = re.sub(rf"^(?:{_MARK}|[\d.]+\s)", "", title)
    if _LINK.fullmatch(item) or not titles.isdisjoint({title, item} - {words}):
        return True
    begins = _BEGINS.match(words)
    place = begins.end() if begins else 0
    authored = _AUTHORED.match(words, place)
    if not place and not authored:
        return False
    if _BIBLIOGRAPHIC.search(words):
        return True
    return bool(authored and _YEAR.search(words)) and len(words.split()) >= _WORDS


AROUND = 60  # reader tokens: an atom adds this window of a longer block
HOLE = 60  # reader tokens left out inside a block that come too
NEAR = 120  # reader tokens between passages that may become one where their number is limited


@dataclass(frozen=True, slots=True)
class Passage:
    """A run of atoms that follow each other in a document.

    Example:
        >>> Passage(first=3, stop=5, best=4, rank=1).rank
        1
    """

    first: int  # atom
    stop: int  # behind the last one
    best: int  # the atom that brought it, or the best one where several were joined
    rank: int  # from 1, of `best` among those that brought something


def _always(_: int) -> bool:
    return True


Run = tuple[int, int]  # the first atom and the one behind the last
# Tokens of atoms first to stop - 1 as the reader is given them, or none where they cannot be joined
Size = Callable[[int, int], float]


def units(
    pool: Pool, ranking: Iterable[int], ends: Callable[[int], bool] = _always
) -> Iterator[tuple[int, Run]]:
    """Yield each atom with the run of new atoms that it adds, by rank.

    A block of at most 160 reader tokens comes whole, of a longer one what lies around the atom. If
    a passage must not end there, the next block follows, or the beginning of a long one. Atoms that
    were added before are left out, and such an atom adds nothing.
    """
    starts = np.flatnonzero(np.diff(pool.blocks, prepend=-1, append=-1))
    around, behind = pool.windows[AROUND], pool.windows[2 * AROUND]
    taken = np.zeros(len(pool), dtype=bool)

    def of_block(unit: int, window: Windows) -> Run:
        block = int(pool.blocks[unit])
        first, stop = int(starts[block]), int(starts[block + 1])
        if pool.atoms.block_tokens[unit] > WHOLE:
            first = max(first, int(window.firsts[unit]))
            stop = min(stop, int(window.stops[unit]))
        return first, stop

    for unit in ranking:
        if taken[unit]:
            continue
        first, stop = of_block(unit, around)
        start = int(starts[int(pool.blocks[unit])])
        while first > start and not ends(first - 1):  # what leads to it comes too
            first -= 1
        while not ends(stop - 1):
            stop = of_block(stop, behind)[1]
        while taken[first:unit].any():
            first += 1
        while taken[unit:stop].any():
            stop -= 1
        taken[first:stop] = True
        yield int(unit), (first, stop)


def pack(
    pool: Pool,
    ranking: Iterable[int],
    size: Size,
    *,
    max_tokens: float | None = None,
    k: int | None = None,
    joins: Callable[[int], bool] = _always,
    ends: Callable[[int], bool] = _always,
) -> list[Passage]:
    """Pack the best atoms into passages within the limits, by rank.

    Units are taken in the order of the ranking until one does not fit. From that one, the longest
    run around its atom that fits is taken. Passages with less than a sentence between them are one,
    and so are two of one block with at most `HOLE` tokens between them.
    A larger budget therefore contains everything that a smaller one does.

    If the number of passages is limited, they stay apart. If tokens are limited too and there are
    too many passages, the nearest two are joined with the text between them, if that is at most
    `NEAR` tokens. A unit for which there is no room even so is left out, and the next one tried.

    Args:
        pool, ranking: Units, best first.
        size: Reader tokens of a run of atoms.
        max_tokens, k: Most tokens and passages; None: no limit.
        joins: Whether an atom may be in one passage with the atom before it.
        ends: Whether a passage may end behind an atom.
    """
    merges = max_tokens is not None and k is not None
    limit = inf if max_tokens is None else max_tokens
    near = SHORT if k is None else -1
    taken = _Taken(pool, size, joins, ends, limit, inf if k is None else k, near)
    # Worse ones would widen the passages only because they are near.
    best = islice(ranking, max(SHORTLIST, 8 * k)) if k and merges else ranking
    for rank, (unit, run) in enumerate(units(pool, best, ends), start=1):
        if limit == inf and k is not None and not ends(run[1] - 1):
            continue  # it leads to a passage that stays apart
        more = taken.with_run(run, unit, rank)
        more = more.merged() if merges else more
        if more.fits:
            taken = more
        elif merges and len(more.passages) > taken.most:
            continue  # nothing is near; the next one may touch a passage
        else:
            # A part could join other passages than the whole; a larger budget would not contain it.
            if not merges or not taken.passages:
                taken = _with_part(taken, unit, run, rank)
            break
    return sorted(taken.passages, key=lambda passage: passage.rank)


def _with_part(taken: _Taken, unit: int, run: Run, rank: int) -> _Taken:
    """Also the atom and what is around it in its run.

    It ends where one more atom does not fit. It grows to the end that is nearer to the atom, so
    that what fits a budget is always a part of what fits a larger one.
    """
    first, stop = unit, unit + 1
    part = taken
    while True:
        more = taken.with_run((first, stop), unit, rank)
        if not more.fits:
            return part
        if not taken.passages or more.is_answer(unit):
            part = more
        if (first, stop) == run:
            return part
        behind_is_nearer = stop - unit - 1 <= unit - first
        if first == run[0] or (behind_is_nearer and stop < run[1]):
            stop += 1
        else:
            first -= 1


@dataclass(frozen=True, slots=True)
class _Taken:
    """The passages so far, in reading order. Passages that are near each other are joined."""

    pool: Pool
    size: Size
    joins: Callable[[int], bool]
    ends: Callable[[int], bool]
    limit: float  # tokens
    most: float  # passages
    near: int  # tokens between passages that become one
    passages: tuple[Passage, ...] = ()

    @property
    def fits(self) -> bool:
        tokens = sum(self.size(one.first, one.stop) for one in self.passages)
        return tokens <= self.limit and len(self.passages) <= self.most

    def is_answer(self, unit: int) -> bool:
        """Return True if the passage with `unit` is at least one complete sentence."""
        one = next(one for one in self.passages if one.first <= unit < one.stop)
        return self.ends(one.stop - 1) and self.size(one.first, one.stop) >= SHORT

    def with_run(self, run: Run, unit: int, rank: int) -> _Taken:
        """These passages and the run of a unit, in a copy."""
        passage = Passage(*run, unit, rank)
        passages = sorted((*self.passages, passage), key=lambda one: one.first)
        more = replace(self, passages=tuple(passages))
        at = passages.index(passage)
        for place in (at, at - 1):
            if 0 <= place < len(passages) - 1 and more._touch(place):
                more = more._joined(place)
        return more

    def merged(self) -> _Taken:
        """Join the nearest passages if there are too many and any are near."""
        places = range(len(self.passages) - 1)
        near = [place for place in places if self._may_join(place, NEAR)]
        if len(self.passages) <= self.most or not near:
            return self
        return self._joined(min(near, key=self._gap)).merged()

    def _touch(self, place: int) -> bool:
        """Return True if a passage and the next one are to be joined."""
        left, right = self.passages[place : place + 2]
        if not self.ends(left.stop - 1) and not self._gap(place):
            return True
        blocks = self.pool.blocks
        are_of_one = right.first < len(blocks) and (
            blocks[left.stop - 1] == blocks[right.first]
        )
        near = HOLE if are_of_one and self.near >= 0 else self.near
        return self._may_join(place, near)

    def _may_join(self, place: int, near: int) -> bool:
        left, right = self.passages[place : place + 2]
        between = range(left.stop, right.first + 1)
        return self._gap(place) <= near and all(map(self.joins, between))

    def _gap(self, place: int) -> int:
        """Count the tokens between a passage and the next one; -1 if they overlap."""
        left, right = self.passages[place : place + 2]
        if right.first < left.stop:
            return -1
        return int(self.pool.atoms.tokens[left.stop : right.first].sum())

    def _joined(self, place: int) -> _Taken:
        left, right = self.passages[place : place + 2]
        best = min(left, right, key=lambda one: one.rank)
        stop = max(left.stop, right.stop)
        whole = replace(best, first=left.first, stop=stop)
        passages = (*self.passages[:place], whole, *self.passages[place + 2 :])
        return replace(self, passages=passages)
