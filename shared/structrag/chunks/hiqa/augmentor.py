"""From segments to chunks: what is indexed of a text, a table, an image (HiQA, section 3.2)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from structrag.chunks.divisions import Division, leading_path
from structrag.chunks.hiqa.segments import Part, Segment, Segmenter
from structrag.chunks.hiqa.surroundings import Surroundings, surroundings
from structrag.chunks.hiqa.table_text import Table, index_line, row_runs, table_body
from structrag.chunks.maker import ChunkMaker, IndexLimit, index_text
from structrag.reading.outline import Outline
from structrag.records import Chunk
from structrag.text.cutting import Cutter, Piece
from structrag.text.heading_path import Context, heading_context
from structrag.text.sentences import word_starts

DescribeImage = Callable[[str], str]


@dataclass(frozen=True)
class Augmentor:
    """Makes the chunks of one document's segments.

    Attributes:
        metadata: "path", "section" or "none", as in `HiQASplitter`.
        described: What the vision model said of each image, "" where it failed; filled as images
            are met.
    """

    outline: Outline
    maker: ChunkMaker
    cutter: Cutter
    metadata: str
    table_cells: bool
    describe_image: DescribeImage | None
    described: dict[str, str] = field(default_factory=dict)

    @cached_property
    def segmenter(self) -> Segmenter:
        """Tells the segments of the document."""
        return Segmenter(self.outline)

    @cached_property
    def section_starts(self) -> list[int]:
        """Where the sections begin, in order."""
        return [section.start for section in self.outline.sections]

    @property
    def text(self) -> str:
        """The document's text."""
        return self.outline.document.text

    def chunks(self, division: Division) -> list[Chunk]:
        """The chunks of a division, in reading order; text chunks are numbered where there are
        several."""
        chunks: list[Chunk] = []
        for segment in self.segmenter.segments(division):
            made = None
            if segment.kind == "table":
                made = self._table(division, segment)
            elif segment.kind == "image":
                made = self._image(division, segment)
            chunks += made if made is not None else self._texts(division, segment)
        texts = [i for i, chunk in enumerate(chunks) if chunk.kind == "text"]
        if len(texts) > 1:
            for number, i in enumerate(texts, start=1):
                extras = {**chunks[i].extras, "part": number, "parts": len(texts)}
                chunks[i] = replace(chunks[i], extras=extras)
        return chunks

    def _context(self, division: Division, *, leading: bool = False) -> Context:
        """What stands in front; `leading` for a text that starts with the division's first heading."""
        if self.metadata == "section":
            limit = self.maker.limit
            room = 64 if limit is None else min(64, limit // 4)
            return heading_context("", division.section.path[-1:], self.maker.counter, limit=room)
        path = leading_path(self.outline, division) if leading else division.section.path
        return self.maker.context(path, own=not leading)

    def _texts(self, division: Division, segment: Segment) -> Iterator[Chunk]:
        first = self._context(division, leading=segment.start == division.start)
        later = self._context(division)
        pieces = [Piece(segment.start, segment.end)]
        if self.maker.limit is not None:
            contexts = (first.text, later.text)
            within = IndexLimit(
                self.text, segment.start, contexts, self.maker.limit, self.maker.counter
            )
            if not within.fits(pieces[0]):
                pieces = within.cut(self.cutter, segment.blocks, segment.tail)
        for number, piece in enumerate(pieces):
            images = [
                image.as_json() for image in self.segmenter.images(segment, piece.start, piece.end)
            ]
            extras = {"images": images} if images else {}
            chunk = self.maker.chunk(
                division.section, piece, later if number else first, extras=extras
            )
            body = None if self.metadata == "path" else self._without_headings(piece)
            yield chunk if body is None else self._indexed(chunk, body)

    def _without_headings(self, piece: Piece) -> str | None:
        """The text of a piece without the heading lines in it, for the ablations; None where there
        are none, or nothing else."""
        edges = [piece.start]
        for ordinal in range(
            max(bisect_right(self.section_starts, piece.start) - 1, 0), len(self.section_starts)
        ):
            section = self.outline.sections[ordinal]
            if section.start >= piece.end:
                break
            if section.ordinal and section.body_start > piece.start:
                edges += [max(section.start, piece.start), min(section.body_start, piece.end)]
        kept = "".join(self.text[a:b] for a, b in list(pairwise([*edges, piece.end]))[::2])
        return kept if len(edges) > 1 and kept.strip() else None

    def _indexed(self, chunk: Chunk, body: str, kind: str = "text", **extras: Any) -> Chunk:
        """The chunk with another body of its index text."""
        tokens = self.maker.counter(index_text(chunk.context, body))
        notes: dict[str, Any] = {**chunk.extras, **extras, "index_tokens": tokens, "reduced": body}
        notes.pop("oversize", None)
        if self.maker.limit is not None and tokens > self.maker.limit:
            notes["oversize"] = True
        return replace(chunk, kind=kind, extras=notes)

    def _fits(self, context: Context, body: str) -> bool:
        limit = self.maker.limit
        return limit is None or self.maker.counter(index_text(context.text, body)) <= limit

    def _titles(self, division: Division, segment: Segment) -> list[str]:
        """Titles of headings in the segment's text that its path does not name: sections without a
        body."""
        if self.metadata != "path":
            return []
        first = bisect_left(self.section_starts, segment.start)
        last = bisect_left(self.section_starts, segment.end, lo=first)
        named = set(division.section.path)
        return [
            section.title
            for section in self.outline.sections[first:last]
            if section.title not in named
        ]

    def _around(self, segment: Segment) -> Surroundings:
        found = surroundings(self.text, segment.kind, segment.before, segment.after, self.cutter)
        own = segment.parts[0].caption
        return replace(found, caption=own) if own else found

    def _table(self, division: Division, segment: Segment) -> list[Chunk] | None:
        """The chunks of a table; None where headers and a row do not fit together, or a row is
        longer than the limit."""
        table = segment.parts[0].table
        if table is None:
            return None
        context = self._context(division)
        around = self._around(segment)
        lines = [index_line(row, cells=self.table_cells) for row in table.rows]
        titles = self._titles(division, segment)
        before, after = around.before, around.after
        leads = [
            ((*titles, around.caption, *before), after),
            ((*titles, around.caption), ()),
            (tuple(titles), ()),
        ]
        plan = self._table_plan(segment, table, lines, context, leads)
        if plan is None:
            return None
        (lead, trail), runs = plan
        bodies = [table_body(lead, table, lines[a:b], trail) for a, b in runs]
        starts = [segment.start, *(table.rows[a].start for a, _ in runs[1:]), segment.end]
        header = self.text[table.start : table.header_end].rstrip("\n")
        chunks = []
        for i, body in enumerate(bodies):
            extras: dict[str, Any] = {"caption": around.caption} if around.caption else {}
            images = self.segmenter.images(segment, starts[i], starts[i + 1])
            if images:
                extras["images"] = [image.as_json() for image in images]
            if len(bodies) > 1:
                extras |= {"part": i + 1, "parts": len(bodies), **({"header": header} if i else {})}
            chunk = self.maker.chunk(division.section, Piece(starts[i], starts[i + 1]), context)
            chunks.append(self._indexed(chunk, body, "table", **extras))
        return chunks

    def _table_plan(
        self,
        segment: Segment,
        table: Table,
        lines: Sequence[str],
        context: Context,
        leads: Sequence[tuple[Sequence[str], Sequence[str]]],
    ) -> tuple[tuple[Sequence[str], Sequence[str]], list[tuple[int, int]]] | None:
        """What stands around the rows in the index, the most that leaves half the room for rows,
        and the runs of rows."""
        limit, counter = self.maker.limit, self.maker.counter
        everything = [(0, len(lines))]
        if limit is None or (
            counter(self.text[segment.start : segment.end]) <= limit
            and self._fits(context, table_body(leads[0][0], table, lines, leads[0][1]))
        ):
            return leads[0], everything
        sizes = [
            (counter(self.text[row.start : row.end]), counter(line + "\n"))
            for row, line in zip(table.rows, lines, strict=True)
        ]
        if not sizes or max(text for text, _ in sizes) > limit:
            return None
        longest = max(index for _, index in sizes)
        head = counter(self.text[segment.start : table.header_end])
        for number, (lead, trail) in enumerate(leads, start=1):
            frame = counter(index_text(context.text, table_body(lead, table, (), trail)) + "\n")
            room = limit - frame
            if room >= longest and (room * 2 >= limit or number == len(leads)):
                runs = row_runs(sizes, (limit, room), head)

                def body(first: int, end: int, lead: Sequence[str] = lead, trail: Sequence[str] = trail) -> str:
                    return table_body(lead, table, lines[first:end], trail)

                checked = self._checked(runs, body, context)
                return ((lead, trail), checked) if checked else None
        return None

    def _checked(
        self, runs: Sequence[tuple[int, int]], body: Callable[[int, int], str], context: Context
    ) -> list[tuple[int, int]]:
        """The runs, halved where counts of rows add up to less than the count of all; none if a
        single row does not fit."""
        waiting = list(reversed(runs))
        kept = []
        while waiting:
            first, last = waiting.pop()
            if self._fits(context, body(first, last)):
                kept.append((first, last))
            elif last - first == 1:
                return []
            else:
                middle = (first + last) // 2
                waiting += [(middle, last), (first, middle)]
        return kept

    def _image(self, division: Division, segment: Segment) -> list[Chunk] | None:
        """The chunk of an image; None where not even its first words fit."""
        part = segment.parts[0]
        around = self._around(segment)
        descriptions, failed = self._descriptions(part)
        named = [words for image in part.images for words in (image.alt, image.title)]
        lines = [
            *self._titles(division, segment),
            *named,
            around.caption,
            *descriptions,
            *around.before,
            *around.after,
        ]
        lines = [line for line in dict.fromkeys(lines) if line]
        if not lines:
            lines = [
                image.file.partition("?")[0].rpartition("/")[2]
                for image in part.images
                if image.file[:5] != "data:"
            ]
        context = self._context(division)
        body = self._leading(lines, context)
        if not body:
            return None
        first = part.images[0]
        extras: dict[str, Any] = {
            **first.as_json(),
            "images": [image.as_json() for image in part.images],
        }
        extras |= {
            name: value
            for name, value in self._notes(around.caption, descriptions, failed).items()
            if value
        }
        chunk = self.maker.chunk(division.section, Piece(segment.start, segment.end), context)
        return [self._indexed(chunk, body, "image", **extras)]

    @staticmethod
    def _notes(caption: str, descriptions: Sequence[str], failed: int) -> Mapping[str, Any]:
        return {
            "caption": caption,
            "description": "\n".join(descriptions),
            "description_failures": failed,
            "degraded": failed > 0,
        }

    def _leading(self, lines: Sequence[str], context: Context) -> str:
        """As many lines as fit, the last one cut between words; "" if not even a word does."""
        body = ""
        for line in lines:
            longer = f"{body}\n{line}" if body else line
            if not self._fits(context, longer):
                words = word_starts(line)
                fitting = bisect_left(
                    words,
                    True,
                    key=lambda end: (
                        not self._fits(context, longer[: len(longer) - len(line) + end])
                    ),
                )
                return (
                    longer[: len(longer) - len(line) + words[fitting - 1]].rstrip()
                    if fitting
                    else body
                )
            body = longer
        return body

    def _descriptions(self, part: Part) -> tuple[list[str], int]:
        """What the vision model says of the part's images, and for how many it failed. An image is
        described once a document."""
        if self.describe_image is None:
            return [], 0
        for image in part.images:
            if image.file and image.file not in self.described:
                self.described[image.file] = _asked(self.describe_image, image.file)
        said = [self.described[image.file] for image in part.images if image.file]
        return [words for words in said if words], said.count("")


def _asked(describe_image: DescribeImage, reference: str) -> str:
    """The description on one line; "" where the model raised or gave no words."""
    try:
        answer = describe_image(reference)
    except Exception:  # noqa: BLE001 - whatever a host's model raises costs this description only
        return ""
    return " ".join(answer.split()) if isinstance(answer, str) else ""
