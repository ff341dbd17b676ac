"""Hierarchical contextual augmentation (HiQA, section 3.2): every text, table and image of a
document is indexed under the path of its headings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from structrag.chunks.divisions import divide
from structrag.chunks.hiqa.augmentor import Augmentor
from structrag.chunks.maker import MOST, ChunkMaker
from structrag.errors import InvalidParameter, check_at_least, check_choice
from structrag.reading.outline import Outline
from structrag.reading.settings import ReadingSettings, ReadOptions, changed
from structrag.records import Chunk, Document
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
        if self.max_tokens is not None:
            check_at_least("max_tokens", self.max_tokens, 1)
        check_choice("metadata", self.metadata, METADATA)
        if self.path_tokens is not None:
            check_at_least("path_tokens", self.path_tokens, 0)
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

    @classmethod
    def code(
        cls,
        *,
        max_tokens: int | None = 8000,
        counter: TokenCounter = count_tokens,
        **changes: Unpack[HiQASplitterSettings],
    ) -> HiQASplitter:
        """With the limit of the published code, 8,000 tokens per segment, but not its cutting
        points or its losses."""
        return cls.paper(max_tokens=max_tokens, counter=counter, **changes)

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
