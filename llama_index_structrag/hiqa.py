"""HiQA's hierarchical contextual augmentation as a node parser, and a model that describes its
images."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from llama_index.core.bridge.pydantic import Field
from llama_index.core.llms import LLM, ChatMessage, ImageBlock, TextBlock
from llama_index.core.schema import TextNode
from typing_extensions import Self, Unpack

from llama_index_structrag.conversion import show_index_text, show_text
from llama_index_structrag.models import LlamaIndexModel
from llama_index_structrag.parsing import ParserArguments, StructureNodeParser
from llama_index_structrag.settings import with_settings
from structrag.chunks.hiqa.splitter import HiQASplitter, HiQASplitterSettings
from structrag.integrations.images import PROMPT, open_image
from structrag.integrations.metadata import HIQA_KEYS
from structrag.integrations.splitters import UNLIMITED
from structrag.model_calls.stripping import without_thoughts
from structrag.records import Chunk

if TYPE_CHECKING:
    _Fields = StructureNodeParser
else:
    _Fields = with_settings(StructureNodeParser, HiQASplitter)


class HiQAParserArguments(HiQASplitterSettings, ParserArguments, total=False):
    """The fields of `HiQANodeParser`."""


class HiQANodeParser(_Fields):
    """Nodes are texts, tables and images, embedded under their titles (HiQA).

    Example:
        >>> from llama_index.core import Document
        >>> document = Document(text="# Sizes\\n\\n| part | mm |\\n|---|---|\\n| A | 1 |\\n")
        >>> (table,) = HiQANodeParser().get_nodes_from_documents([document])
        >>> table.metadata["hiqa_kind"], table.metadata["heading_path"]
        ('table', 'Sizes')

    `HiQARetriever` takes whole documents, not nodes; pass this class as its `node_parser` to change
    settings. See `ContentAwareNodeParser` for offsets, limits and metadata. A node's text is the
    unchanged passage, a table with all its cells. The embedded text (`MetadataMode.EMBED`) is the
    path, `heading_context`, followed by the text; for a table by its caption, headers and row
    labels, and for an image by alt text, caption and the sentences around it (both in the metadata
    `segment_index_text`). Language models (`MetadataMode.LLM`) always see the text, with the titles
    above it once.

    Metadata that no model sees: `hiqa_kind`, "text", "table" or "image"; `hiqa_images`, a JSON
    string with `file` and `alt` (and `title`) of every image in the node, for display;
    `hiqa_caption`, `hiqa_description` (by the vision model), `hiqa_part` and `hiqa_parts`,
    `table_header` (header rows of a cut table), `hiqa_degraded` (the vision model failed). Keys
    that do not apply are "", 0 or False.
    """

    CORE: ClassVar[Any] = HiQASplitter
    KEYS: ClassVar[Mapping[str, str]] = HIQA_KEYS

    chunk_size: int = Field(
        default=512,
        gt=0,
        description="The token limit of a node's embedded text, including its heading path.",
    )

    def __init__(self, **settings: Unpack[HiQAParserArguments]) -> None:
        super().__init__(**settings)

    @classmethod
    def class_name(cls) -> str:
        return "HiQANodeParser"

    @classmethod
    def paper(cls, **settings: Unpack[HiQAParserArguments]) -> Self:
        """As published: the whole path, whole section texts of any length, and uncut tables."""
        preset: dict[str, Any] = {"chunk_size": UNLIMITED, "path_tokens": None}
        return cls(**{**preset, **settings})

    def _sizes(self, limit: int, titles: bool) -> dict[str, Any]:
        return {} if titles else {"metadata": "none"}

    def show(self, node: TextNode, chunk: Chunk) -> None:
        if chunk.kind != "text" or self.metadata != "path":
            show_index_text(node, chunk)
        else:
            show_text(node)


@dataclass(frozen=True)
class ImageDescriber:
    """Describes images by a chat model, for HiQA's nodes.

    Example:
        >>> from llama_index.core.llms import MockLLM
        >>> describe = ImageDescriber(MockLLM(), folder="docs")  # or OpenAI(model="gpt-4o")
        >>> describe("data:image/png;base64,AAAA")[:27]  # the mock says what it was asked
        'user: Describe this picture'

    `HiQANodeParser(describe_image=describe)` takes it. Web addresses are passed on for the model's
    provider to fetch; images in data URLs are sent. Addresses come from documents, which may be
    untrusted, so files are read only from `folder` and below it; without a folder no files are
    read.

    Attributes:
        llm: A LlamaIndex LLM that accepts images.
        prompt: The prompt for each image.
        folder: The folder that relative addresses refer to.
    """

    llm: LLM
    prompt: str = PROMPT
    folder: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        LlamaIndexModel(self.llm)

    @property
    def name(self) -> str:
        """For cache keys and the fingerprints of an index: the model with its settings (never an
        API key) and the prompt."""
        return f"{LlamaIndexModel(self.llm).name}: {self.prompt}"

    def __call__(self, address: str) -> str:
        """The description of the image at an address.

        Raises:
            InvalidDocument: the address is a file outside `folder`, or the file cannot be read.
        """
        message = ChatMessage(
            role="user", blocks=[TextBlock(text=self.prompt), self._block(address)]
        )
        text = self.llm.chat([message]).message.content or ""
        return without_thoughts(self.prompt, text) or ""

    def _block(self, address: str) -> ImageBlock:
        image = open_image(address, self.folder)
        if image.url:
            return ImageBlock(url=image.url)
        return ImageBlock(image=image.data, image_mimetype=image.media_type or None)
