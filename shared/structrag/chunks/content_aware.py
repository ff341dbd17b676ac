"""Content-aware chunks: the smallest titled division of a document, whole (MC-indexing, section 3).

Too long a section is cut at paragraphs, then sentences, then words. The limit counts the index text, heading path included.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from structrag.chunks.cutting import Cutter, Piece, SentenceSplitter
from structrag.context import Context, heading_context, is_same_title
from structrag.errors import InvalidParameter, check_at_least
from structrag.records import Block, Chunk, Document, Section
from structrag.sections import Outline, parse
from structrag.tokens import TokenCounter, count_tokens


@dataclass(frozen=True, slots=True)
class Division:
    """A span that makes one chunk if it fits: a section's heading and own body, with body-less headings beside it."""

    start: int
    end: int
    section: Section  # whose body it is
    first: Section  # whose heading the text starts with


@dataclass(frozen=True, slots=True)
class ContentAwareSplitter:
    """Splits a document into its smallest titled divisions.

    Without overlap the chunks tile the document: joined in order they are `document.text`, except for excluded sections.
    A heading without a body travels with the first chunk below it, or else with the chunk before it. An empty or blank
    document has no chunk. Settings are checked when the splitter is made.

    Attributes:
        max_tokens: Hard limit of a chunk's index text (context and text) in tokens of `counter`; None: no limit. Only a
            single character that counts more than the limit may exceed it; such a chunk has `extras["oversize"]`.
        flat_max_tokens: The limit for a document in which no section was found (MC's FLC-300); None: `max_tokens`.
        min_tokens: A chunk whose text counts less joins the chunk of the previous section under the same parent where both fit
            `max_tokens`; 0: never.
        overlap: Tokens of whole sentences that a later piece of a cut section repeats from the piece before; 0: none.
        context: Whether chunks carry their heading path (at most 64 tokens, and at most a quarter of the limit).
        exclude_titles: Titles (any case) of sections left out with everything below them.
        plain_headings: Whether headings are looked for in plain text.
        counter: Token counter, `str -> int`.
        language: Of the sentences, an English name such as "german".
        sentence_splitter: Replaces the built-in sentence rules, `str -> [(start, end), ...]`.
    """

    max_tokens: int | None = 2000
    flat_max_tokens: int | None = 300
    min_tokens: int = 0
    overlap: int = 0
    context: bool = True
    exclude_titles: Sequence[str] = ()
    plain_headings: bool = True
    counter: TokenCounter = count_tokens
    language: str = "english"
    sentence_splitter: SentenceSplitter | None = None

    def __post_init__(self) -> None:
        for name in ("max_tokens", "flat_max_tokens"):
            if getattr(self, name) is not None:
                check_at_least(name, getattr(self, name), 1)
        check_at_least("min_tokens", self.min_tokens, 0)
        check_at_least("overlap", self.overlap, 0)
        limit = self._limit(flat=False)
        if limit is not None and self.overlap * 2 > limit:
            raise InvalidParameter(f"overlap must be at most half of max_tokens ({limit}); got {self.overlap}.")
        if isinstance(self.exclude_titles, str):
            raise InvalidParameter(
                f"exclude_titles must be a sequence of titles; got the string {self.exclude_titles!r}."
            )

    def split(self, document: Document) -> list[Chunk]:
        """The chunks of a document, in reading order."""
        return self.split_outline(parse(document, plain_headings=self.plain_headings))

    def split_outline(self, outline: Outline) -> list[Chunk]:
        """`split` for a section tree that is there already."""
        limit = self._limit(flat=len(outline.sections) == 1)
        divisions = divide(outline, self.exclude_titles)
        if self.min_tokens:
            divisions = self._join_small(outline, divisions, limit)
        return [chunk for division in divisions for chunk in self._chunks(outline, division, limit)]

    def _limit(self, *, flat: bool) -> int | None:
        limits = [limit for limit in (self.max_tokens, self.flat_max_tokens if flat else None) if limit is not None]
        return min(limits, default=None)

    def _join_small(self, outline: Outline, divisions: list[Division], limit: int | None) -> list[Division]:
        joined: list[Division] = []
        text = outline.document.text
        for division in divisions:
            before = joined[-1] if joined else None
            if (
                before is not None
                and before.end == division.start
                and before.section.parent == division.section.parent
                and before.section.parent is not None
                and min(self.counter(text[d.start : d.end]) for d in (before, division)) < self.min_tokens
                and (limit is None or self._index_tokens(outline, before.start, division.end, before) <= limit)
            ):
                joined[-1] = Division(before.start, division.end, before.section, before.first)
            else:
                joined.append(division)
        return joined

    def _index_tokens(self, outline: Outline, start: int, end: int, division: Division) -> int:
        context = self._context(outline.document, division.first.path, None, own=False).text
        return self.counter(_index_text(context, outline.document.text[start:end]))

    def _context(self, document: Document, path: tuple[str, ...], limit: int | None, *, own: bool) -> Context:
        """The heading path for a text; `own=False` for one that starts with the path's last heading itself."""
        if not self.context:
            return Context("", False)
        title = "" if is_same_title(document.title, path[:1]) else document.title
        room = 64 if limit is None else min(64, limit // 4)
        return heading_context(title, path if own else path[:-1], self.counter, limit=room)

    def _chunks(self, outline: Outline, division: Division, limit: int | None) -> Iterator[Chunk]:
        document = outline.document
        text = document.text[division.start : division.end]
        first = self._context(document, division.first.path, limit, own=False)
        total = self.counter(_index_text(first.text, text))
        if limit is None or total <= limit:
            yield self._chunk(document, division, Piece(division.start, division.end), first, total, limit)
            return
        later = self._context(document, division.section.path, limit, own=True)
        for number, piece in enumerate(self._pieces(outline, division, limit, (first.text, later.text))):
            context = later if number else first
            if number and self.overlap:
                piece = self._with_overlap(document.text, piece, division)
            header = document.text[piece.header[0] : piece.header[1]].rstrip("\n")
            if header:
                context = Context(f"{context.text}\n{header}" if context.text else header, context.shortened)
            tokens = self.counter(_index_text(context.text, document.text[piece.start : piece.end]))
            yield self._chunk(document, division, piece, context, tokens, limit)

    def _pieces(self, outline: Outline, division: Division, limit: int, contexts: tuple[str, str]) -> list[Piece]:
        """Pieces whose index texts fit, the longest context and the overlap counted; tighter where counts do not add up."""
        text = outline.document.text
        cutter = Cutter(self.counter, self.language, self.sentence_splitter)
        blocks = division_blocks(outline, division)
        reserve = max(self.counter(context + "\n") if context else 0 for context in contexts) + self.overlap
        budget = max(1, limit - reserve)
        while True:
            pieces = _without_blank(text, cutter.cut(text, blocks, budget))
            fits = all(
                self.counter(_index_text(contexts[min(i, 1)], text[p.header[0] : p.header[1]] + text[p.start : p.end]))
                + self.overlap * (i > 0)
                <= limit
                for i, p in enumerate(pieces)
            )
            if fits or budget == 1:
                return pieces
            budget = max(1, budget - max(1, budget // 8))

    def _with_overlap(self, text: str, piece: Piece, division: Division) -> Piece:
        """The piece with whole sentences from before it, as many as `overlap` tokens hold."""
        start = piece.start
        window = max(division.start, piece.start - 40 * self.overlap)
        cutter = Cutter(self.counter, self.language, self.sentence_splitter)
        for sentence, _ in reversed(cutter.sentences(text, window, piece.start)):
            if (
                (sentence == window
                and window != division.start)
                or self.counter(text[sentence : piece.start]) > self.overlap
            ):
                break
            start = sentence
        return Piece(start, piece.end, piece.header if start == piece.start else (0, 0))

    def _chunk(
        self, document: Document, division: Division, piece: Piece, context: Context, tokens: int, limit: int | None
    ) -> Chunk:
        text = document.text[piece.start : piece.end]
        extras: dict[str, Any] = {"index_tokens": tokens}
        if context.shortened:
            extras["context_shortened"] = True
        if limit is not None and tokens > limit:
            extras["oversize"] = True
        return Chunk(
            id=f"{document.id}:{piece.start}-{piece.end}",
            doc_id=document.id,
            section_id=division.section.id,
            start=piece.start,
            end=piece.end,
            text=text,
            context=context.text,
            n_tokens=self.counter(text),
            path=division.section.path,
            extras=extras,
        )


def divide(outline: Outline, exclude_titles: Sequence[str] = ()) -> list[Division]:
    """The smallest divisions of a document, in order; they tile it except for excluded subtrees. Blank text has none."""
    text = outline.document.text
    filled = _filled(outline)
    excluded = _excluded(outline, exclude_titles)
    divisions: list[Division] = []
    waiting: Section | None = None  # the first of the headings that wait for a body below them
    for section in outline.sections:
        if section.ordinal in excluded:
            _close(divisions, waiting, section.start, text)
            waiting = None
            continue
        if _has_body(section, text):
            first = waiting or section
            divisions.append(Division(first.start, section.body_end, section, first))
            waiting = None
        elif waiting is None:
            before = divisions[-1] if divisions and divisions[-1].end == section.start else None
            if before is not None and not filled[section.ordinal]:
                divisions[-1] = Division(before.start, section.body_end, before.section, before.first)
            else:
                waiting = section
    _close(divisions, waiting, len(text), text)
    return divisions


def _close(divisions: list[Division], waiting: Section | None, end: int, text: str) -> None:
    """Give headings that found no body to the division before them, or make them one."""
    if waiting is None or waiting.start == end:
        return
    if divisions and divisions[-1].end == waiting.start:
        before = divisions[-1]
        divisions[-1] = Division(before.start, end, before.section, before.first)
    elif text[waiting.start : end].strip():
        divisions.append(Division(waiting.start, end, waiting, waiting))


def _has_body(section: Section, text: str) -> bool:
    return bool(text[section.body_start : section.body_end].strip())


def _filled(outline: Outline) -> list[bool]:
    """For every section, whether it or one below it has a body."""
    text = outline.document.text
    filled = [_has_body(section, text) for section in outline.sections]
    for section in reversed(outline.sections):
        if section.parent is not None and filled[section.ordinal]:
            filled[section.parent] = True
    return filled


def _excluded(outline: Outline, titles: Sequence[str]) -> set[int]:
    unwanted = {" ".join(title.split()).casefold() for title in titles}
    excluded: set[int] = set()
    if not unwanted:
        return excluded
    for section in outline.sections[1:]:
        if section.parent in excluded or " ".join(section.title.split()).casefold() in unwanted:
            excluded.add(section.ordinal)
    return excluded


def division_blocks(outline: Outline, division: Division) -> list[Block]:
    """Blocks that tile a division; a heading belongs to the block behind it, so that no cut falls between them."""
    blocks: list[Block] = []
    start = division.start
    inside = range(division.first.ordinal, len(outline.sections))
    for ordinal in inside:
        section = outline.sections[ordinal]
        if section.start >= division.end:
            break
        if section.ordinal == 0 and section.body_start > 0 and start == 0:
            blocks.append(_lines(outline.document.text, 0, section.body_start))
            start = section.body_start
        for block in outline.blocks(section):
            if not outline.document.text[start : block.end].strip():
                continue
            header_start = block.start if block.header_start is None else block.header_start
            blocks.append(Block(block.kind, start, block.end, block.cuts, block.header_end, header_start))
            start = block.end
    if start < division.end and not blocks:
        return [_lines(outline.document.text, start, division.end)]
    if start < division.end:
        blocks.append(_lines(outline.document.text, start, division.end))
    return blocks


def _lines(text: str, start: int, end: int) -> Block:
    """Headings without a body, or front matter: cut between lines."""
    cuts = []
    position = text.find("\n", start, end)
    while 0 <= position < end - 1:
        cuts.append(position + 1)
        position = text.find("\n", position + 1, end)
    return Block("other", start, end, tuple(cuts))


def _without_blank(text: str, pieces: list[Piece]) -> list[Piece]:
    """Blank pieces join the one before, at the start the one after."""
    kept: list[Piece] = []
    start: int | None = None
    for piece in pieces:
        if text[piece.start : piece.end].strip():
            kept.append(piece if start is None else Piece(start, piece.end))
            start = None
        elif kept:
            kept[-1] = Piece(kept[-1].start, piece.end, kept[-1].header)
        elif start is None:
            start = piece.start
    return kept


def _index_text(context: str, text: str) -> str:
    return f"{context}\n{text}" if context else text
