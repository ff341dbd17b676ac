"""Chunks from spans of a document, with heading path, token counts and an id by content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from structrag.reading.markup.code import SUFFIXES
from structrag.records import Block, Chunk, Document, Section, chunk_id
from structrag.text.cutting import Cutter, Piece
from structrag.text.heading_path import (
    SEPARATOR,
    Context,
    heading_context,
    title_beside,
)
from structrag.text.tokens import TokenCounter

MOST = 64  # tokens of a heading path
# A long path, below MOST for every counter of tokens or words; a counter of smaller units, such as
# `len`, allows as many as this counts.
LONG_PATH = (
    "Installation and maintenance of the water pump in the building > How the filter of the pump "
    "is replaced after some weeks of use > "
    "What to do when the new filter does not fit into the housing of the old pump at all or leaks"
)


@dataclass(frozen=True, slots=True)
class ChunkMaker:
    """Makes the chunks of one document.

    Attributes:
        limit: Most tokens of an index text; a chunk above it gets `extras["oversize"]`. None: no
            limit.
        with_context: Whether chunks carry their heading path.
        most: Most tokens of it (64 are 222 characters, for a counter of these), and at most a
            quarter of the limit; None: the whole path.
    """

    document: Document
    counter: TokenCounter
    limit: int | None
    with_context: bool
    most: int | None = MOST
    # How many chunks so far have an id, apart from the number among equal ones.
    _equal: Counter[str] = field(
        default_factory=Counter, init=False, repr=False, compare=False
    )
    # The heading paths so far: the pieces of a long section all have the same.
    _contexts: dict[tuple[tuple[str, ...], bool], Context] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def context(self, path: tuple[str, ...], *, own: bool) -> Context:
        """The heading path for a text. With `own=False` the text starts with the path's last
        heading itself."""
        if not self.with_context:
            return Context("", False)
        context = self._contexts.get((path, own))
        if context is None:
            context = self._contexts[path, own] = self._context(path, own)
        return context

    def _context(self, path: tuple[str, ...], own: bool) -> Context:
        """`context`, computed again."""
        title = title_beside(self.document.title, path)
        titles = path if own else path[:-1]
        if self.document.format in SUFFIXES:  # a module may be called as its class
            title, titles = "", (self.document.title, *titles)
        room = self.room(self.most)
        context = heading_context(title, titles, self.counter, limit=room)
        if not context.shortened or self.most is None:
            return context
        room = self.room(max(self.most, self.counter(LONG_PATH)))
        return heading_context(title, titles, self.counter, limit=room)

    def room(self, most: int | None) -> int | None:
        """`most`, but at most a quarter of the limit."""
        sizes = (most, None if self.limit is None else self.limit // 4)
        return min((size for size in sizes if size is not None), default=None)

    def beside(
        self, context: Context, start: int, end: int
    ) -> tuple[Context, int] | None:
        """Return as much of a heading path as fits beside a whole text, and their tokens; None if
        the text alone is too long."""
        titles = context.text.split(SEPARATOR)
        while True:
            shorter = Context(SEPARATOR.join(titles), shortened=True)
            tokens = self.count(shorter, start, end)
            if self.limit is None or tokens <= self.limit:
                return shorter, tokens
            if not titles:
                return None
            short = titles[0].partition(": ")[0]  # the name of the module
            titles[:1] = [short] if short != titles[0] else []

    def with_signatures(self, context: Context, signatures: Iterable[str]) -> Context:
        """A heading path with the signatures around a text, its own first, as many as a quarter of
        the limit holds. A long one has its first line."""
        lines = ""
        for signature in signatures if self.with_context else ():
            for shown in (signature, signature.partition("\n")[0]):
                longer = index_text(shown, lines) if lines else shown
                if self.limit is None or self.counter(longer) <= self.limit // 4:
                    lines = longer
                    break
        if not lines:
            return context
        return Context(index_text(context.text, lines), context.shortened)

    def count(self, context: Context, start: int, end: int) -> int:
        """Tokens of the index text of a span."""
        return self.counter(index_text(context.text, self.document.text[start:end]))

    def chunk(
        self,
        section: Section,
        piece: Piece,
        context: Context,
        *,
        extras: Mapping[str, Any] | None = None,
        index_tokens: int | None = None,
    ) -> Chunk:
        """The chunk of a span. A piece of a cut table repeats the header rows in its context.
        `index_tokens` is what `count` gave for the span, if it is known already."""
        header = self.document.text[piece.header[0] : piece.header[1]].rstrip("\n")
        if header:
            context = Context(index_text(context.text, header), context.shortened)
        text = self.document.text[piece.start : piece.end]
        if index_tokens is None:
            index_tokens = self.counter(index_text(context.text, text))
        # Without a context the index text is the text, and need not be counted again.
        n_tokens = self.counter(text) if context.text else index_tokens
        notes: dict[str, Any] = {"index_tokens": index_tokens, **(extras or {})}
        if context.shortened:
            notes["context_shortened"] = True
        if self.limit is not None and index_tokens > self.limit:
            notes["oversize"] = True
        name = chunk_id(self.document.id, section.path, text)
        self._equal[name] += 1
        if (number := self._equal[name]) > 1:
            name = chunk_id(self.document.id, section.path, text, number)
        return Chunk(
            id=name,
            doc_id=self.document.id,
            section_id=section.id,
            start=piece.start,
            end=piece.end,
            text=text,
            context=context.text,
            n_tokens=n_tokens,
            path=section.path,
            extras=notes,
            body_start=self._body_start(section, piece),
        )

    def _body_start(self, section: Section, piece: Piece) -> int:
        """Return the place after the heading that a piece starts with, if a body follows."""
        body_start = section.body_start
        starts_inside = piece.start < body_start < piece.end
        if starts_inside and self.document.text[body_start : piece.end].strip():
            return body_start
        return piece.start


def index_text(context: str, text: str) -> str:
    """The context, a newline and the text, as `Chunk.index_text` puts them together."""
    return f"{context}\n{text}" if context else text


@dataclass(frozen=True, slots=True)
class IndexLimit:
    """The hard limit of the index texts of one run of blocks.

    Attributes:
        text: The document's text.
        start: The start of the run; the piece that starts there has the first of the `contexts`,
            later pieces the second.
        limit: Most tokens of context, repeated table header and text together.
        counted: Tokens of the index texts of pieces that were looked at, but those with a header,
            whose line end is not that of the index text.
    """

    text: str
    start: int
    contexts: tuple[str, str]
    limit: int
    counter: TokenCounter
    counted: dict[Piece, int] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def fits(self, piece: Piece, spare: int = 0) -> bool:
        """Return True if the index text of a piece keeps the limit. Pieces after the first leave
        `spare` tokens free."""
        later = piece.start > self.start
        tokens = self.counted.get(piece)
        if tokens is None:
            text = (
                self.text[piece.header[0] : piece.header[1]]
                + self.text[piece.start : piece.end]
            )
            tokens = self.counter(index_text(self.contexts[later], text))
            if piece.header[0] == piece.header[1]:
                self.counted[piece] = tokens
        return tokens + spare * later <= self.limit

    def cut(
        self, cutter: Cutter, blocks: Sequence[Block], tail: int | None, spare: int = 0
    ) -> list[Piece]:
        """Pieces that tile the blocks, each within the limit. `tail`, and what a piece may exceed,
        are those of `Cutter.cut`."""
        longest = max(
            self.counter(context + "\n") if context else 0 for context in self.contexts
        )
        room = max(1, self.limit - longest - spare)
        return cutter.cut(
            self.text,
            blocks,
            room,
            fits=lambda piece: self.fits(piece, spare),
            tail=tail,
        )
