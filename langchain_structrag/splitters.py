"""LangChain text splitters that follow the document's own structure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from typing_extensions import Never, Self

from langchain_structrag.splitting import LengthFunction, StructureSplitter
from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.fixed import FixedSplitter
from structrag.errors import check_at_least
from structrag.integrations.metadata import SECTION_KEYS
from structrag.integrations.splitters import UNLIMITED, overlap_within
from structrag.text.sentences import SentenceSplitter
from structrag.text.tokens import count_tokens


class ContentAwareTextSplitter(StructureSplitter):
    """Splits into sections: whole if they fit, else cut between blocks.

    Sections are the smallest titled divisions. A drop-in replacement for
    `RecursiveCharacterTextSplitter`.

    Example:
        >>> from langchain_core.documents import Document
        >>> text = "# Pump\\n\\nIt moves water.\\n\\n## Cleaning\\n\\nRinse the filter."
        >>> splitter = ContentAwareTextSplitter(chunk_size=40, chunk_overlap=10)
        >>> for chunk in splitter.split_documents([Document(text)]):
        ...     print(chunk.metadata["heading_path"], repr(chunk.page_content))
        Pump '# Pump\\n\\nIt moves water.'
        Pump > Cleaning '## Cleaning\\n\\nRinse the filter.'

    Args:
        chunk_size: Hard limit of `page_content`, including the heading path with `add_context`.
        chunk_overlap: The overlap, in whole sentences, between the pieces of a divided section; at
            most half of `chunk_size` is used. Sections never overlap.
        length_function: The function that measures sizes.
        keep_separator: Accepted without effect: no text is ever left out.
        add_start_index: Whether metadata has positions: `start_index`, `end_index`, `section_id`,
            `source_start` and `source_end`. Use False with record managers: an unchanged chunk then
            keeps the same metadata when text before it changes.
        strip_whitespace: Whether to strip blank lines before a chunk and white space after it; its
            first line keeps its indentation, and offsets are adjusted. False: without overlap, the
            chunks of a document join to the document.
        format: "markdown", "html", "text" or "auto": detected from the metadata (a media type such
            as `mimetype`, or the suffix of `source`, `file_path` or `file_name`) or from the text.
        exclude_titles: Titles (any case) of sections to leave out with everything below them.
        flat_chunk_size: The `chunk_size` of documents without headings; None: `chunk_size`.
        min_chunk_size: Smaller sections share a chunk with neighbours under the same parent if all
            fit; 0: never. Its `heading_path` is the parent's; `section_paths` has those of all.
        plain_headings: Whether to look for headings in plain text.
        language: The language of the sentences, by its English name.
        sentence_splitter: Replaces the built-in sentence rules: a function from a text to [(start,
            end), ...].
        add_context: Whether `page_content` begins with the heading path and a newline;
            `start_index` still refers to the source. False: `page_content` is an exact slice and
                the path is in the metadata alone.
        metadata_lists: Whether `heading_path` and `section_paths` are lists, which some stores
            reject.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    OVERLAPS: ClassVar[bool] = True
    KEYS: ClassVar[Mapping[str, str]] = SECTION_KEYS

    def __init__(
        self,
        chunk_size: int = 4000,
        chunk_overlap: int = 0,
        length_function: LengthFunction = len,
        keep_separator: bool | Literal["start", "end"] = True,
        add_start_index: bool = True,
        strip_whitespace: bool = True,
        *,
        format: str = "auto",
        exclude_titles: Sequence[str] = (),
        flat_chunk_size: int | None = None,
        min_chunk_size: int = 0,
        plain_headings: bool = True,
        language: str = "english",
        sentence_splitter: SentenceSplitter | None = None,
        add_context: bool = False,
        metadata_lists: bool = False,
        **others: Never,
    ) -> None:
        super().__init__(
            chunk_size,
            chunk_overlap,
            length_function,
            keep_separator,
            add_start_index,
            strip_whitespace,
            format=format,
            add_context=add_context,
            metadata_lists=metadata_lists,
            **others,
        )
        check_at_least("min_chunk_size", min_chunk_size, 0)
        if flat_chunk_size is not None:
            check_at_least("flat_chunk_size", flat_chunk_size, 1)
        self.core: ContentAwareSplitter = ContentAwareSplitter(
            max_tokens=chunk_size,
            flat_max_tokens=flat_chunk_size,
            min_tokens=min_chunk_size,
            overlap=overlap_within(chunk_overlap, chunk_size),
            context=add_context,
            exclude_titles=exclude_titles,
            plain_headings=plain_headings,
            counter=self._counter(),
            language=language,
            sentence_splitter=sentence_splitter,
        )

    @classmethod
    def paper(cls, **settings: Any) -> Self:
        """As published (MC-indexing, section 3.1): whole sections of any length. A document without
        headings, a case that the paper does not mention, is cut at 300 tokens of `count_tokens`."""
        published = {
            "chunk_size": UNLIMITED,
            "flat_chunk_size": ContentAwareSplitter.paper().flat_max_tokens,
            "length_function": count_tokens,
        }
        return cls(**{**published, **settings})


class FixedTextSplitter(StructureSplitter):
    """Packs sentences until the next one would exceed `chunk_size`.

    The baseline of the papers, for comparison.

    Example:
        >>> FixedTextSplitter(chunk_size=30).split_text("It moves water. Rinse it. Oil the shaft.")
        ['It moves water. Rinse it.', 'Oil the shaft.']

    Arguments as in `ContentAwareTextSplitter`; there is no overlap. `within_sections` ends chunks
    at section borders.
    """

    def __init__(
        self,
        chunk_size: int = 4000,
        chunk_overlap: int = 0,
        length_function: LengthFunction = len,
        keep_separator: bool | Literal["start", "end"] = True,
        add_start_index: bool = True,
        strip_whitespace: bool = True,
        *,
        format: str = "auto",
        within_sections: bool = False,
        language: str = "english",
        sentence_splitter: SentenceSplitter | None = None,
        metadata_lists: bool = False,
        **others: Never,
    ) -> None:
        super().__init__(
            chunk_size,
            chunk_overlap,
            length_function,
            keep_separator,
            add_start_index,
            strip_whitespace,
            format=format,
            metadata_lists=metadata_lists,
            **others,
        )
        self.core: FixedSplitter = FixedSplitter(
            max_tokens=chunk_size,
            within_sections=within_sections,
            counter=self._counter(),
            language=language,
            sentence_splitter=sentence_splitter,
        )
