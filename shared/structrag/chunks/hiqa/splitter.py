"""Hierarchical contextual augmentation (HiQA, section 3.2): every text, table and image of a
document is indexed under the path of its headings."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from structrag._locks import cached_property
from structrag.chunks.divisions import Division, divide, leading_path
from structrag.chunks.hiqa.segments import (
    BlockRun,
    Segmenter,
    Surroundings,
    TypedBlock,
    surroundings,
)
from structrag.chunks.hiqa.table_text import (
    Image,
    TextTable,
    index_line,
    row_runs,
    table_body,
)
from structrag.chunks.maker import MOST, ChunkMaker, IndexLimit, index_text
from structrag.errors import (
    InvalidAnswer,
    InvalidParameter,
    check_choice,
    check_optional,
)
from structrag.model_calls.requests import Failed
from structrag.reading.outline import Outline
from structrag.reading.settings import ReadingSettings, ReadOptions, changed
from structrag.records import Chunk, Document
from structrag.text.cutting import Cutter, Piece
from structrag.text.heading_path import Context, heading_context
from structrag.text.sentences import word_starts
from structrag.text.tokens import TokenCounter, count_tokens

if TYPE_CHECKING:
    from typing_extensions import Unpack


METADATA = ("path", "section", "none")


class HiQASplitterSettings(ReadingSettings, total=False):
    """The settings of `HiQASplitter` but for its limit, as keywords."""

    metadata: str
    path_tokens: int | None
    table_cells: bool
    describe_image: Callable[[str], str] | None


@dataclass(frozen=True, slots=True)
class HiQASplitter(ReadOptions):
    """Splits a document into texts, tables and images under their headings.

    Each kind has its own rule of what is indexed, after the titles above it.

    Example:
        >>> text = "# Nova\\n\\nA phone.\\n\\n| name | talk |\\n| --- | --- |\\n| Nova | 19 h |\\n"
        >>> chunks = HiQASplitter().split(Document(text, format="markdown"))
        >>> [chunk.kind for chunk in chunks], chunks[1].index_text
        (['text', 'table'], 'Nova\\nA phone.\\nname | talk\\nNova')

    The chunks tile the document: joined in order they are `document.text`, except for excluded
    sections. `chunk.kind` is "text", "table" or "image", and `chunk.text` the unchanged passage, a
    table with all its cells. The index text is `context` (the document title and headings),
    followed by

    - for a text: the text, cut at sentence ends if it is too long;
    - for a table (pipe rows or HTML): its caption, the line before it, the column headers, the row
      labels, cells of more than 10 tokens, and the first sentence after it. Other cells are left to
      the reader; `table_cells=True` indexes them too;
    - for an image on its own: alt text, title, caption, the description by `describe_image`, two
      sentences before it and two after.

    A table of more than `max_tokens` is cut between rows, and the index text of each part has the
    headers and the caption. Anything that fits no rule is treated as text, so nothing is dropped:
    rows that form no table, a single row, a row above the limit, an image inside a line of words.

    Extras: `index_tokens`; `reduced`, the body of the index text if it differs from the text;
    `part` and `parts` for a section's texts and for a cut table, whose later parts have the header
    rows in `header`; `caption`; `images`, with `file` and `alt` (and `title`) of every image in the
    chunk. An image chunk also has `file`, `alt` and `description`. If `describe_image` failed or
    returned nothing, it has `description_failures` (a count), `degraded`, and `failure`, the first
    error.

    Attributes:
        max_tokens: Hard limit of a chunk's index text in tokens of `counter`, and of the text of
            each part of a cut table; None: no limit. Only a single code point with more tokens may
            exceed it; such a chunk has `extras["oversize"]`.
        metadata: The text before the index text: "path", the document title and all headings;
            "section", the section's title; or "none". With "section" and "none", heading lines
            inside a text are not indexed.
        path_tokens: The token limit of these titles, at most a quarter of the chunk's limit; None:
            only that quarter (paper: the whole path).
        table_cells: Whether all cells of tables are indexed.
        describe_image: A function from an image's address, as written, to a description, such as a
            vision model of the host. Called once per image and document, for images on their own.
        exclude_titles, plain_headings, counter, language, sentence_splitter: As in `ReadOptions`.
    """

    max_tokens: int | None = 512
    metadata: str = "path"
    path_tokens: int | None = MOST
    table_cells: bool = False
    describe_image: Callable[[str], str] | None = None

    def __post_init__(self) -> None:
        ReadOptions.__post_init__(self)
        check_optional("max_tokens", self.max_tokens, 1)
        check_choice("metadata", self.metadata, METADATA)
        check_optional("path_tokens", self.path_tokens, 0)
        if self.describe_image is not None and not callable(self.describe_image):
            raise InvalidParameter(
                "describe_image must be a function from an image's address to a string; got "
                f"{self.describe_image!r}."
            )

    @classmethod
    def paper(
        cls,
        *,
        max_tokens: int | None = None,
        counter: TokenCounter = count_tokens,
        **changes: Unpack[HiQASplitterSettings],
    ) -> HiQASplitter:
        """As published: the whole path, whole section texts of any length, and uncut tables."""
        settings = {
            "max_tokens": max_tokens,
            "path_tokens": None,
            "counter": counter,
        }
        return changed(cls, settings, changes)

    def split(self, document: Document) -> list[Chunk]:
        """The chunks of a document, in reading order. A blank document has none."""
        return self.split_outline(self.outline(document))

    def split_outline(self, outline: Outline) -> list[Chunk]:
        """`split` for an existing section tree."""
        augmentor = Augmentor(
            outline,
            ChunkMaker(
                outline.document,
                self.counter,
                self.max_tokens,
                self.metadata == "path",
                self.path_tokens,
            ),
            self.cutter(),
            self.metadata,
            self.table_cells,
            self.describe_image,
        )
        divisions = divide(outline, self.exclude_titles)
        return [chunk for division in divisions for chunk in augmentor.chunks(division)]


DescribeImage = Callable[[str], str]
Lines = Sequence[str]


@dataclass(frozen=True)
class Augmentor:
    """Makes the chunks of one document's segments.

    Example:
        >>> from structrag.chunks.divisions import divide
        >>> from structrag.reading.sections import parse
        >>> from structrag.records import Document
        >>> from structrag.text.tokens import count_tokens
        >>> document = Document("# Nova\\n\\nA phone.\\n", format="markdown")
        >>> outline = parse(document)
        >>> maker = ChunkMaker(document, count_tokens, 512, True)
        >>> augmentor = Augmentor(outline, maker, Cutter(count_tokens), "path", False, None)
        >>> [chunk.kind for division in divide(outline) for chunk in augmentor.chunks(division)]
        ['text']

    Attributes:
        metadata: "path", "section" or "none", as in `HiQASplitter`.
        described: The vision model's description of each image, "" if it failed or said nothing.
            Filled as images are met.
        failures: Why it failed, by image.
    """

    outline: Outline
    maker: ChunkMaker
    cutter: Cutter
    metadata: str
    table_cells: bool
    describe_image: DescribeImage | None
    described: dict[str, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    @cached_property
    def segmenter(self) -> Segmenter:
        """Cuts divisions of the document into segments."""
        return Segmenter(self.outline)

    @cached_property
    def section_starts(self) -> list[int]:
        """The start of each section, in order."""
        return [section.start for section in self.outline.sections]

    @property
    def text(self) -> str:
        """The document's text."""
        return self.outline.document.text

    def chunks(self, division: Division) -> list[Chunk]:
        """Return the chunks of a division, in reading order. Text chunks are numbered if there are
        several."""
        chunks: list[Chunk] = []
        for segment in self.segmenter.segments(division):
            special = None
            if segment.kind == "table":
                special = self._table(division, segment)
            elif segment.kind == "image":
                special = self._image(division, segment)
            # A segment that no rule fits is text, so that nothing is dropped.
            chunks += self._texts(division, segment) if special is None else special
        texts = [i for i, chunk in enumerate(chunks) if chunk.kind == "text"]
        if len(texts) > 1:
            for number, i in enumerate(texts, start=1):
                extras = {**chunks[i].extras, "part": number, "parts": len(texts)}
                chunks[i] = replace(chunks[i], extras=extras)
        return chunks

    def _context(self, division: Division, *, leading: bool = False) -> Context:
        """Return the text in front of a chunk in the index. A `leading` text starts with the
        division's first heading and contains it."""
        if self.metadata == "section":
            return heading_context(
                "",
                division.section.path[-1:],
                self.maker.counter,
                limit=self.maker.room(self.maker.most),
            )
        path = (
            leading_path(self.outline, division) if leading else division.section.path
        )
        return self.maker.context(path, own=not leading)

    def _texts(self, division: Division, segment: BlockRun) -> Iterator[Chunk]:
        """The text chunks of a segment."""
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
            extras = self._images(segment, piece.start, piece.end)
            context = later if number else first
            chunk = self.maker.chunk(division.section, piece, context, extras=extras)
            body = None if self.metadata == "path" else self._without_headings(piece)
            yield chunk if body is None else self._indexed(chunk, body)

    def _images(self, segment: BlockRun, start: int, end: int) -> dict[str, Any]:
        """The images that a stretch of a segment refers to, as extras."""
        images = [
            image.as_json() for image in self.segmenter.images(segment, start, end)
        ]
        return {"images": images} if images else {}

    def _without_headings(self, piece: Piece) -> str | None:
        """Return the text of a piece without heading lines, for the ablations; None if it has none,
        or nothing else."""
        parts = []
        position = piece.start
        first = bisect_right(self.section_starts, piece.start) - 1
        for section in self.outline.sections[first:]:
            if section.start >= piece.end:
                break
            # Section 0 is the text before the first heading.
            if section.ordinal and section.body_start > piece.start:
                parts.append(self.text[position : max(section.start, piece.start)])
                position = min(section.body_start, piece.end)
        if not parts:
            return None
        body = "".join([*parts, self.text[position : piece.end]])
        return body if body.strip() else None

    def _indexed(
        self, chunk: Chunk, body: str, kind: str = "text", **extras: Any
    ) -> Chunk:
        """The chunk with another body of its index text."""
        tokens = self.maker.counter(index_text(chunk.context, body))
        notes: dict[str, Any] = {
            **chunk.extras,
            **extras,
            "index_tokens": tokens,
            "reduced": body,
        }
        notes.pop("oversize", None)
        if self.maker.limit is not None and tokens > self.maker.limit:
            notes["oversize"] = True
        return replace(chunk, kind=kind, extras=notes)

    def _fits(self, context: Context, body: str) -> bool:
        limit = self.maker.limit
        return (
            limit is None or self.maker.counter(index_text(context.text, body)) <= limit
        )

    def _titles(self, division: Division, segment: BlockRun) -> list[str]:
        """Titles in the segment's text that its path does not name. They belong to sections without
        a body."""
        if self.metadata != "path":
            return []
        first = bisect_left(self.section_starts, segment.start)
        last = bisect_left(self.section_starts, segment.end, lo=first)
        path = set(division.section.path)
        titles = [section.title for section in self.outline.sections[first:last]]
        return [title for title in titles if title not in path]

    def _around(self, segment: BlockRun) -> Surroundings:
        """Return a segment's caption and nearest sentences; a caption in its markup comes first."""
        around = surroundings(
            self.text, segment.kind, segment.before, segment.after, self.cutter
        )
        caption = segment.parts[0].caption
        return replace(around, caption=caption) if caption else around

    def _table(self, division: Division, segment: BlockRun) -> list[Chunk] | None:
        """The chunks of a table. None where headers and a row do not fit together, or a row is
        longer than the limit."""
        table = segment.parts[0].table
        if table is None:
            return None
        context = self._context(division)
        around = self._around(segment)
        titles = self._titles(division, segment)
        frames = [
            _Frame(table, (*titles, around.caption, *around.before), around.after),
            _Frame(table, (*titles, around.caption)),
            _Frame(table, titles),
        ]
        lines = [index_line(row, cells=self.table_cells) for row in table.rows]
        plan = self._table_plan(segment, lines, context, frames)
        if plan is None:
            return None
        frame, runs = plan
        starts = [
            segment.start,
            *(table.rows[first].start for first, _ in runs[1:]),
            segment.end,
        ]
        header = self.text[table.start : table.header_end].rstrip("\n")
        chunks = []
        for i, (first, last) in enumerate(runs):
            extras: dict[str, Any] = (
                {"caption": around.caption} if around.caption else {}
            )
            extras |= self._images(segment, starts[i], starts[i + 1])
            if len(runs) > 1:
                extras |= {"part": i + 1, "parts": len(runs)}
            if i:  # the first part has the header rows in its text
                extras["header"] = header
            chunk = self.maker.chunk(
                division.section, Piece(starts[i], starts[i + 1]), context
            )
            chunks.append(
                self._indexed(chunk, frame.body(lines[first:last]), "table", **extras)
            )
        return chunks

    def _table_plan(
        self,
        segment: BlockRun,
        lines: Lines,
        context: Context,
        frames: Sequence[_Frame],
    ) -> tuple[_Frame, list[tuple[int, int]]] | None:
        """Return the frame of the rows in the index, and the runs. The first frame is taken that
        leaves half the room for rows, else the last."""
        limit = self.maker.limit
        if limit is None or (
            self._tokens(segment.start, segment.end) <= limit
            and self._fits(context, frames[0].body(lines))
        ):
            return frames[0], [(0, len(lines))]
        table = frames[0].table
        texts = [self._tokens(row.start, row.end) for row in table.rows]
        if not texts or max(texts) > limit:
            return None
        header = self._tokens(segment.start, table.header_end)
        count = self.maker.counter
        indexed = [count(line + "\n") for line in lines]
        for frame in frames:
            room = limit - count(index_text(context.text, frame.body(())) + "\n")
            if room >= max(indexed) and (room * 2 >= limit or frame is frames[-1]):
                runs = row_runs(
                    list(zip(texts, indexed, strict=True)), (limit, room), header
                )
                halved = self._halved(runs, lines, context, frame)
                return (frame, halved) if halved else None
        return None

    def _tokens(self, start: int, end: int) -> int:
        """The tokens of a stretch of the document."""
        return self.maker.counter(self.text[start:end])

    def _halved(
        self,
        runs: Sequence[tuple[int, int]],
        lines: Lines,
        context: Context,
        frame: _Frame,
    ) -> list[tuple[int, int]]:
        """Runs of rows, halved until each fits. The counts of rows may add up to less than the
        count of all. None is left if a single row does not fit."""
        waiting = list(reversed(runs))
        fitting = []
        while waiting:
            first, last = waiting.pop()
            if self._fits(context, frame.body(lines[first:last])):
                fitting.append((first, last))
            elif last - first == 1:
                return []
            else:
                middle = (first + last) // 2
                waiting += [(middle, last), (first, middle)]
        return fitting

    def _image(self, division: Division, segment: BlockRun) -> list[Chunk] | None:
        """The chunk of an image, None where not a word fits."""
        part = segment.parts[0]
        around = self._around(segment)
        descriptions, failed = self._descriptions(part)
        lines = self._titles(division, segment)
        for image in part.images:
            lines += [image.alt, image.title]
        lines += [around.caption, *descriptions, *around.before, *around.after]
        context = self._context(division)
        # Where nothing says what the image shows, the names of files have to.
        lines = list(filter(None, dict.fromkeys(lines))) or _file_names(part.images)
        body = self._leading(lines, context)
        if not body:
            return None
        extras: dict[str, Any] = {**part.images[0].as_json()}
        extras["images"] = [image.as_json() for image in part.images]
        if around.caption:
            extras["caption"] = around.caption
        if descriptions:
            extras["description"] = "\n".join(descriptions)
        if failed:
            extras |= {
                "description_failures": failed,
                "degraded": True,
                **self._failure(part),
            }
        chunk = self.maker.chunk(
            division.section, Piece(segment.start, segment.end), context
        )
        return [self._indexed(chunk, body, "image", **extras)]

    def _failure(self, part: TypedBlock) -> dict[str, str]:
        """The first error of the vision model, as extras."""
        reasons = [
            self.failures[image.file]
            for image in part.images
            if image.file in self.failures
        ]
        return {"failure": reasons[0]} if reasons else {}

    def _leading(self, lines: Lines, context: Context) -> str:
        """Return as many lines as fit; the last one is cut between words."""
        body = ""
        for line in lines:
            longer = f"{body}\n{line}" if body else line
            if not self._fits(context, longer):
                offset = len(longer) - len(line)
                ends = [offset + place for place in word_starts(line)]
                fitting = bisect_left(
                    ends, True, key=lambda end: not self._fits(context, longer[:end])
                )
                return longer[: ends[fitting - 1]].rstrip() if fitting else body
            body = longer
        return body

    def _descriptions(self, part: TypedBlock) -> tuple[list[str], int]:
        """Describe images with the vision model, each once a document, and count failures."""
        if self.describe_image is None:
            return [], 0
        for image in part.images:
            if image.file and image.file not in self.described:
                answer = _asked(self.describe_image, image.file)
                self.described[image.file] = (
                    "" if isinstance(answer, Failed) else answer
                )
                if isinstance(answer, Failed):
                    self.failures[image.file] = str(answer)
        answers = [self.described[image.file] for image in part.images if image.file]
        return [answer for answer in answers if answer], answers.count("")


def _file_names(images: Sequence[Image]) -> list[str]:
    files = [image.file for image in images if not image.file.startswith("data:")]
    return [file.partition("?")[0].rpartition("/")[2] for file in files]


@dataclass(frozen=True, slots=True, eq=False)
class _Frame:
    """The text around the rows of a table in the index."""

    table: TextTable
    lead: Lines
    trail: Lines = ()

    def body(self, lines: Lines) -> str:
        """The body of the index text with these rows."""
        return table_body(self.lead, self.table, lines, self.trail)


def _asked(describe_image: DescribeImage, reference: str) -> str | Failed:
    """The description on one line, or that the model failed."""
    try:
        answer: Any = describe_image(reference)
    except Exception as error:  # noqa: BLE001 - what a model raises costs this description only
        return Failed(error)
    if isinstance(answer, str):
        return " ".join(answer.split())
    wrong = type(answer).__name__
    return Failed(InvalidAnswer(f"A description must be a string; got {wrong}."))
