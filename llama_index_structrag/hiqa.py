"""HiQA's hierarchical contextual augmentation as a node parser."""

from __future__ import annotations

from typing import Any, Literal

from llama_index.core.bridge.pydantic import Field
from llama_index.core.schema import TextNode
from typing_extensions import Self, Unpack

from llama_index_structrag.arguments import HiQAParserArguments
from llama_index_structrag.conversion import show_index_text, show_text
from llama_index_structrag.parsing import SectionNodeParser, Splitter
from llama_index_structrag.settings import NamedFunction
from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.hosts.segments import segment_notes
from structrag.hosts.splitters import UNLIMITED, defaults_of
from structrag.records import Chunk
from structrag.text.tokens import TokenCounter

_DEFAULTS = defaults_of(HiQASplitter)


class HiQANodeParser(SectionNodeParser):
    """Nodes are texts, tables and images, embedded under their titles (HiQA).

    Example:
        >>> from llama_index.core import Document
        >>> document = Document(text="# Sizes\\n\\n| part | mm |\\n|---|---|\\n| A | 1 |\\n")
        >>> (table,) = HiQANodeParser().get_nodes_from_documents([document])
        >>> table.metadata["hiqa_kind"], table.metadata["heading_path"]
        ('table', 'Sizes')

    For `HiQARetriever` nothing needs to be parsed before: it takes whole documents, and this as
    `node_parser` where its settings matter. See `ContentAwareNodeParser` for offsets, limits and
    metadata. A node's text is the passage as it stands, a table with all its cells. What is
    embedded (`MetadataMode.EMBED`) is the path, `heading_context`, and of a text the text; of a
    table its caption, headers and row labels, of an image alt text, caption and the sentences
    around it, both in the metadata `segment_index_text`. What language models see
    (`MetadataMode.LLM`) is always the text, with the titles above it once.

    Metadata that no model sees: `hiqa_kind`, "text", "table" or "image"; `hiqa_images`, for every
    image that the node refers to `file` and `alt` (and `title`), as a string of JSON, to be shown;
    `hiqa_caption`, `hiqa_description` (of the vision model), `hiqa_part` and `hiqa_parts`,
    `table_header` (header rows of a cut table), `hiqa_degraded` (the vision model failed). What
    does not apply is "", 0 or False.
    """

    chunk_size: int = Field(
        default=_DEFAULTS["max_tokens"],
        gt=0,
        description="Most tokens of a node's text as it is embedded, path included.",
    )
    metadata: Literal["path", "section", "none"] = Field(
        default=_DEFAULTS["metadata"],
        description="What is embedded with the text: the path, the section's own title, or "
        "nothing.",
    )
    table_cells: bool = Field(
        default=_DEFAULTS["table_cells"],
        description="Whether all cells of tables are embedded, not only their labels.",
    )
    describe_image: NamedFunction = Field(
        default=None,
        description="Vision model: a function from an image's address to a caption; None: none.",
    )

    @classmethod
    def class_name(cls) -> str:
        return "HiQANodeParser"

    @classmethod
    def paper(cls, **settings: Unpack[HiQAParserArguments]) -> Self:
        """As published: a section's text whole, however long, and tables never cut."""
        arguments: dict[str, Any] = {"chunk_size": UNLIMITED, **settings}
        return cls(**arguments)

    @classmethod
    def code(cls, **settings: Unpack[HiQAParserArguments]) -> Self:
        """With the limit of the published code, 8,000 tokens a node."""
        arguments: dict[str, Any] = {
            "chunk_size": HiQASplitter.code().max_tokens,
            **settings,
        }
        return cls(**arguments)

    def core_splitter(
        self, limit: int, counter: TokenCounter, *, context: bool = True
    ) -> Splitter:
        metadata = self.metadata if context and self.add_context else "none"
        settings = {
            **self.shared(HiQASplitter, self),
            "metadata": metadata,
            "max_tokens": limit,
            "counter": counter,
        }
        return HiQASplitter(**settings)

    def show(self, node: TextNode, chunk: Chunk) -> None:
        if chunk.kind != "text" or self.metadata != "path":
            show_index_text(node, chunk)
        else:
            show_text(node)

    def notes(self, chunk: Chunk) -> dict[str, Any]:
        return segment_notes(chunk, lists=self.metadata_lists)
