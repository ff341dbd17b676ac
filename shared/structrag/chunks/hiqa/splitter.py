"""Hierarchical contextual augmentation (HiQA, section 3.2). Every text, table and image of a
document stands under the path of its headings."""

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

    Each is indexed by its own rule under the titles that lead to it.

    Example:
        >>> text = "# Nova\\n\\nA phone.\\n\\n| name | talk |\\n| --- | --- |\\n| Nova | 19 h |\\n"
        >>> chunks = HiQASplitter().split(Document(text, format="markdown"))
        >>> [chunk.kind for chunk in chunks], chunks[1].index_text
        (['text', 'table'], 'Nova\\nA phone.\\nname | talk\\nNova')

    The chunks tile the document: joined in order they are `document.text`, except for excluded
    sections. `chunk.kind` is "text", "table" or "image", and `chunk.text` the passage as it stands,
    a table with all its cells. What is indexed is `context`, the document title and headings, and
    then

    - of a text: the text, cut at sentence ends where it is too long;
    - of a table (pipe rows or HTML): its caption, the line before it, the column headers, the row
      labels, cells that are passages of more than 10 tokens, and the first sentence behind it.
      Values are for the reader, and `table_cells=True` indexes them too;
    - of an image that stands alone: alt text, title, caption, what `describe_image` says of it, two
      sentences before and two behind.

    A table that counts more than `max_tokens` is cut between rows, headers and caption in the index
    text of each part. What the rules do not fit is text, and nothing is dropped: rows that are no
    table or a single row, a row that alone is above the limit, an image in a line of words.

    Extras: `index_tokens`; `reduced`, the body of the index text where it is not the text; `part`
    and `parts` of a section's texts or of a cut table, whose later parts have the header rows in
    `header`; `caption`; `images`, for every image that the chunk refers to `file` and `alt` (and
    `title`). An image has `file`, `alt`, `description` of its own too, and where `describe_image`
    failed or said nothing `description_failures`, how often, and `degraded`; `failure`, the first
    error.

    Attributes:
        max_tokens: Hard limit of a chunk's index text in tokens of `counter`, and of the text of a
            part of a table; None: no limit. Only a single code point that counts more may exceed
            it; such a chunk has `extras["oversize"]`.
        metadata: What stands in front for indexing: "path", the document title and all headings;
            "section", the section's own title; "none". With the latter two, heading lines inside a
            text are not indexed.
        path_tokens: Most tokens of these titles, and at most a quarter of the limit; None: that
            alone (paper: the whole path).
        table_cells: Whether all cells of tables are indexed.
        describe_image: A vision model of the host: gets an image's address as it is written and
            returns a caption. Called once an image and document, for images that stand alone.
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
        """As published: the whole path, a section's text whole, however long, and tables never
        cut."""
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
        """With the limit of the published code, 8,000 tokens a segment. Where that cuts, and what
        it drops, is not repeated."""
        return cls.paper(max_tokens=max_tokens, counter=counter, **changes)

    def split(self, document: Document) -> list[Chunk]:
        """The chunks of a document, in reading order. A blank one has none."""
        return self.split_outline(self.outline(document))

    def split_outline(self, outline: Outline) -> list[Chunk]:
        """`split` for a section tree that is there already."""
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
