"""HiQA's hierarchical contextual augmentation as a LangChain document transformer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from langchain_structrag.options import (
    HiQAArguments,
    HiQAPaperArguments,
    further_settings,
)
from langchain_structrag.splitting import LengthFunction, StructureSplitter
from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.integrations.segments import segment_notes
from structrag.integrations.splitters import UNLIMITED, take_settings
from structrag.records import Chunk
from structrag.text.tokens import count_tokens

if TYPE_CHECKING:
    from typing_extensions import Unpack


class HiQATransformer(StructureSplitter):
    """Splits documents into texts, tables and images under their titles (HiQA).

    Example:
        >>> from langchain_core.documents import Document
        >>> document = Document("# Sizes\\n\\n| part | mm |\\n|---|---|\\n| A | 1 |\\n")
        >>> (table,) = HiQATransformer(add_context=True).transform_documents([document])
        >>> table.metadata["hiqa_kind"], table.page_content  # the table as it is to be indexed
        ('table', 'Sizes\\npart | mm\\nA')

    It is a `TextSplitter` too, so `split_documents`, `create_documents`, `split_text` and
    `from_tiktoken_encoder` work. `HiQARetriever` takes whole documents, not chunks; pass this class
    as its `splitter` to change settings.

    Metadata is that of `ContentAwareTextSplitter`, and `hiqa_kind` ("text", "table" or "image");
    `hiqa_images`, a JSON string (a list with `metadata_lists`) with `file` and `alt` (and `title`)
    of every image in the segment, for display; `hiqa_caption`, `hiqa_description` (by the vision
    model), `hiqa_part` and `hiqa_parts`, `hiqa_degraded` (the vision model failed). Keys that do
    not apply are "", 0 or False.

    Args:
        chunk_size: Hard limit of a segment's index text, including the heading path, and of the
            text of each part of a cut table. An image in a data URL may be longer.
        length_function: The function that measures sizes: estimated tokens by default, of which the
            heading path takes at most 64.
        add_context: True: `page_content` is the index text: the heading path, then for a table its
            caption, headers and row labels, for an image its alt text, caption and the sentences
            around it; `segment_text` in the metadata is then the unchanged passage. False:
            `page_content` is the passage, an exact slice.
        settings: The other settings of `structrag.HiQASplitter`: metadata, path_tokens,
            table_cells, describe_image (a function, or an `ImageDescriber`), exclude_titles,
            plain_headings, language, sentence_splitter. `format`, `strip_whitespace` and
            `metadata_lists` as in `ContentAwareTextSplitter`, and the arguments of every LangChain
            splitter; there is no overlap.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    def __init__(
        self,
        *,
        chunk_size: int = 512,
        chunk_overlap: int = 0,
        length_function: LengthFunction = count_tokens,
        add_context: bool = False,
        **settings: Unpack[HiQAArguments],
    ) -> None:
        others = further_settings(HiQATransformer, settings, HiQAArguments)
        core_settings = take_settings(HiQASplitter, others)
        super().__init__(
            chunk_size,
            chunk_overlap,
            length_function,
            add_context=add_context,
            **others,
        )
        self.core: Any = HiQASplitter(
            max_tokens=chunk_size, counter=self._counter(), **core_settings
        )

    @classmethod
    def paper(cls, **settings: Unpack[HiQAPaperArguments]) -> HiQATransformer:
        """As published: the whole path, whole section texts of any length, and uncut tables."""
        return cls._preset(UNLIMITED, settings)

    @classmethod
    def code(cls, **settings: Unpack[HiQAPaperArguments]) -> HiQATransformer:
        """With the limit of the published code, 8,000 tokens."""
        return cls._preset(HiQASplitter.code().max_tokens, settings)

    @classmethod
    def _preset(
        cls, chunk_size: int | None, settings: Mapping[str, Any]
    ) -> HiQATransformer:
        preset: dict[str, Any] = {"chunk_size": chunk_size, "path_tokens": None}
        return cls(**{**preset, **settings})

    def _has_index_text(self) -> bool:
        return self._add_context

    def _notes(self, chunk: Chunk) -> dict[str, Any]:
        return {
            **super()._notes(chunk),
            **segment_notes(chunk, lists=self._metadata_lists),
        }
