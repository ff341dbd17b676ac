"""Node parsers that follow a document's structure, in place of `SentenceSplitter`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from llama_index.core.bridge.pydantic import Field, model_validator
from typing_extensions import Self, Unpack

from llama_index_structrag.parsing import ParserArguments, StructureNodeParser
from llama_index_structrag.settings import with_settings
from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.fixed import FixedSplitter
from structrag.integrations.metadata import SECTION_KEYS
from structrag.integrations.splitters import UNLIMITED, overlap_within
from structrag.reading.settings import ReadingSettings
from structrag.text.sentences import SentenceSplitter

if TYPE_CHECKING:
    _ContentAware = StructureNodeParser
    _Fixed = StructureNodeParser
else:
    _ContentAware = with_settings(StructureNodeParser, ContentAwareSplitter, "context")
    _Fixed = with_settings(
        StructureNodeParser,
        FixedSplitter,
        "context",
        "exclude_titles",
        "plain_headings",
    )


class ContentAwareParserArguments(ReadingSettings, ParserArguments, total=False):
    """The fields of `ContentAwareNodeParser`."""

    chunk_overlap: int
    flat_chunk_size: int | None
    min_chunk_size: int


class ContentAwareNodeParser(_ContentAware):
    """Nodes are the smallest titled divisions of a document (MC-indexing, section 3).

    Larger divisions are cut.

    Example:
        >>> from llama_index.core import Document
        >>> text = "# Pump\\n\\nIt moves water.\\n\\n## Cleaning\\n\\nRinse the filter."
        >>> parser = ContentAwareNodeParser(chunk_size=24)
        >>> for node in parser.get_nodes_from_documents([Document(text=text)]):
        ...     print(node.metadata["heading_path"], repr(node.text))
        Pump '# Pump\\n\\nIt moves water.'
        Pump > Cleaning '## Cleaning\\n\\nRinse the filter.'

    A replacement for `SentenceSplitter(chunk_size=..., chunk_overlap=...)`. A node's text is a
    slice of the document's text; with `strip=False` and no overlap the nodes tile it. Blank
    documents have no nodes. The titles above the text are in the metadata `heading_context`, which
    embedding models and language models see.

    No embedded text (`MetadataMode.EMBED`) has more than `chunk_size` tokens, except for a single
    code point that exceeds it; that node has the metadata `oversize`. Document metadata that would
    take more than half of `chunk_size` is not embedded; `metadata_not_embedded` names its keys.
    """

    CORE: ClassVar[Any] = ContentAwareSplitter
    KEYS: ClassVar[Mapping[str, str]] = SECTION_KEYS

    chunk_overlap: int = Field(
        default=0,
        ge=0,
        description=(
            "The overlap in tokens, in whole sentences, between the parts of a divided section; "
            "at most half of chunk_size is used."
        ),
    )
    flat_chunk_size: int | None = Field(
        default=None,
        gt=0,
        description="The chunk_size of documents without headings; None: chunk_size.",
    )
    min_chunk_size: int = Field(
        default=0,
        ge=0,
        description=(
            "Sections with fewer tokens share a node with neighbours under the same parent, whose "
            "path it has; section_paths in its metadata has those of all. 0: never."
        ),
    )

    def __init__(self, **settings: Unpack[ContentAwareParserArguments]) -> None:
        super().__init__(**settings)

    @classmethod
    def class_name(cls) -> str:
        return "ContentAwareNodeParser"

    @classmethod
    def paper(cls, **settings: Unpack[ContentAwareParserArguments]) -> Self:
        """As published (MC-indexing, section 3.1): whole sections of any length, without the titles
        above. A document without headings, a case that the paper does not mention, is cut at 300
        tokens."""
        published: dict[str, Any] = {
            "chunk_size": UNLIMITED,
            "flat_chunk_size": ContentAwareSplitter.paper().flat_max_tokens,
            "add_context": False,
        }
        return cls(**{**published, **settings})

    @model_validator(mode="after")
    def _check_overlap(self) -> Self:
        overlap_within(self.chunk_overlap, self.chunk_size)
        return self

    def _sizes(self, limit: int, titles: bool) -> dict[str, Any]:
        return {
            "flat_max_tokens": self.flat_chunk_size,
            "min_tokens": self.min_chunk_size,
            "overlap": min(self.chunk_overlap, limit // 2),
            "context": titles,
        }


class FixedParserArguments(ParserArguments, total=False):
    """The fields of `FixedNodeParser`."""

    within_sections: bool
    language: str
    sentence_splitter: SentenceSplitter | None


class FixedNodeParser(_Fixed):
    """Nodes are runs of whole sentences packed up to `chunk_size`.

    The baseline of the papers (FLC-100, 200, 300).

    Example:
        >>> from llama_index.core import Document
        >>> document = Document(text="It moves water. Rinse it. Oil the shaft.")
        >>> parser = FixedNodeParser(chunk_size=12)
        >>> [node.text for node in parser.get_nodes_from_documents([document])]
        ['It moves water. Rinse it.', 'Oil the shaft.']
    """

    CORE: ClassVar[Any] = FixedSplitter

    chunk_size: int = Field(
        default=300, gt=0, description="The token limit of a node's embedded text."
    )
    add_context: bool = Field(
        default=False,
        description="With within_sections: whether nodes carry their heading path.",
    )

    def __init__(self, **settings: Unpack[FixedParserArguments]) -> None:
        super().__init__(**settings)

    @classmethod
    def class_name(cls) -> str:
        return "FixedNodeParser"

    def _sizes(self, limit: int, titles: bool) -> dict[str, Any]:
        return {"context": titles}
