"""Base of the text splitters: sizes, exact offsets, metadata, ids."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from inspect import signature
from typing import Any, ClassVar, Literal, TypedDict

from langchain_core.documents import Document
from langchain_text_splitters import TextSplitter
from typing_extensions import Never, Self

from langchain_structrag.conversion import (
    as_documents,
    check_documents,
    page_notes,
    to_split,
)
from structrag.errors import InvalidParameter, check_arguments, check_at_least, require
from structrag.integrations.arguments import in_host_words
from structrag.integrations.documents import stable_uuid
from structrag.integrations.metadata import (
    CONTEXT_KEY,
    CONTEXT_KEYS,
    OVERSIZE_KEYS,
    SEGMENT_TEXT_KEY,
    chunk_notes,
    copied,
    heading_path,
    without_page_starts,
)
from structrag.integrations.places import REPLACED_KEYS, Origin, TrimmedLength, trimmed
from structrag.integrations.splitters import hints_of
from structrag.reading.formats import check_format
from structrag.records import Chunk
from structrag.records import Document as CoreDocument
from structrag.text.tokens import check_counter, huggingface_counter, tiktoken_counter

# The core's names of settings that have another name in LangChain -> advice.
SPLITTER_HINTS = hints_of(counter="length_function")

LengthFunction = Callable[[str], int]


class SplitterArguments(TypedDict, total=False):
    """Arguments of every splitter here and of LangChain, without its sizes."""

    keep_separator: bool | Literal["start", "end"]
    add_start_index: bool
    strip_whitespace: bool
    format: str
    metadata_lists: bool


def further_settings(
    owner: type, settings: Mapping[str, Any], known: type
) -> dict[str, Any]:
    """The further settings of a splitter or formatter. Raises UnknownArgument for a name that
    neither its arguments nor the typed dict `known` has."""
    arguments = [name for name in signature(owner).parameters if name != "settings"]
    check_arguments(
        owner.__name__, settings, [*arguments, *known.__annotations__], SPLITTER_HINTS
    )
    return dict(settings)


class StructureSplitter(TextSplitter):
    """Base of the splitters: sizes, offsets, metadata. Subclasses set `core`, the structrag
    splitter that does the work.

    Sizes are in units of `length_function`: characters by default, tokens after
    `from_tiktoken_encoder` or `from_huggingface_tokenizer`. `chunk_size` is a hard limit of
    `page_content`; only a single longer code point exceeds it, and its metadata then has
    `oversize`.

    Every chunk's metadata is a deep copy of its parent's, plus `start_index` and `end_index` (exact
    character offsets), `heading_path` (titles, outermost first, joined by " > "), `section_id`,
    `source_start` and `source_end` (the place in the file: of HTML in the markup), `table_header`
    (header rows of a cut table, else "") and `oversize`. All chunks have all of these as strings,
    numbers and bools, so every vector store accepts them. For HTML the offsets refer to the visible
    text, `structrag.read_text(html, format="html").text`. Chunks that are split again keep their
    positions and titles in the document; -1 is an unknown position.

    Ids are UUIDs derived from the parent's id (or source), the heading path and the text, so they
    are the same in every run, and an edit elsewhere in the document leaves them as they are. If a
    document occurs twice in one call, the second copy gets numbered ids. Empty and blank texts have
    no chunks. If a subclass defines `split_text`, LangChain makes the documents from its result,
    with only the parent's metadata and `start_index`.
    """

    OVERLAPS: ClassVar[bool] = False  # whether chunk_overlap may be above 0
    # A chunk's extras -> keys of metadata, as in `chunk_notes`.
    KEYS: ClassVar[Mapping[str, str]] = {}
    core: Any

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
        add_context: bool = False,
        metadata_lists: bool = False,
        **others: Never,
    ) -> None:
        *names, _ = signature(type(self)).parameters
        check_arguments(type(self).__name__, others, names, SPLITTER_HINTS)
        check_at_least("chunk_size", chunk_size, 1)
        check_at_least("chunk_overlap", chunk_overlap, 0)
        if chunk_overlap and not self.OVERLAPS:
            raise InvalidParameter(
                f"chunk_overlap must be 0 for {type(self).__name__}; got {chunk_overlap}."
            )
        with in_host_words(counter="length_function"):
            check_counter(length_function)
        super().__init__(
            chunk_size,
            min(chunk_overlap, chunk_size),
            length_function,
            keep_separator,
            add_start_index,
            strip_whitespace,
        )
        self._format = check_format(format)
        self._add_context = add_context
        self._metadata_lists = metadata_lists

    def _split(self, document: CoreDocument) -> list[Chunk]:
        """The chunks of a document, in order."""
        chunks: list[Chunk] = self.core.split(document)
        return chunks

    def _counter(self) -> LengthFunction:
        """The length function for chunks; chunks that are trimmed are measured before and after."""
        if self._strip_whitespace:
            return TrimmedLength(self._length_function)
        return self._length_function

    def split_text(self, text: str) -> list[str]:
        """The texts of the chunks, in order."""
        return [
            document.page_content
            for document in self._documents(Document(page_content=text))
        ]

    def create_documents(
        self, texts: list[str], metadatas: list[dict[Any, Any]] | None = None
    ) -> list[Document]:
        """The chunks of every text, with copies of the text's metadata."""
        if self._has_own_split_text():
            return super().create_documents(texts, metadatas)
        return self.split_documents(as_documents(texts, metadatas))

    def split_documents(self, documents: Iterable[Document]) -> list[Document]:
        """The chunks of every document, in order. The documents are not changed."""
        if self._has_own_split_text():
            return super().split_documents(check_documents(documents))
        names = ChunkNames()
        chunks: list[Document] = []
        for document in check_documents(documents):
            chunks += names.numbered(self._documents(document))
        return chunks

    def _has_own_split_text(self) -> bool:
        """Whether a subclass cuts otherwise; LangChain then makes its documents, without titles."""
        return type(self).split_text is not StructureSplitter.split_text

    def _documents(self, document: Document) -> list[Document]:
        source, parent = to_split(document, format=self._format)
        return self._chunk_documents(document, source, parent, self._split(source))

    def _chunk_documents(
        self,
        origin: Document,
        source: CoreDocument,
        parent: Origin,
        chunks: Sequence[Chunk],
    ) -> list[Document]:
        """A document's chunks as LangChain documents."""
        metadata = without_page_starts(origin.metadata)
        inherited = {
            name: value for name, value in metadata.items() if name not in REPLACED_KEYS
        }
        return [
            self._chunk_document(inherited, source, parent, chunk) for chunk in chunks
        ]

    def _chunk_document(
        self,
        inherited: dict[str, Any],
        source: CoreDocument,
        parent: Origin,
        chunk: Chunk,
    ) -> Document:
        """One chunk as a LangChain document."""
        if self._strip_whitespace:
            chunk = trimmed(chunk)
        content = chunk.text
        if self._add_context and chunk.context:
            content = f"{chunk.context}\n{content}"
        metadata = {
            **copied(inherited),
            **(
                self._place_notes(source, parent, chunk)
                if self._add_start_index
                else {}
            ),
            **page_notes(source.meta, chunk),
            **self._notes(parent.place(chunk)),
        }
        if self._has_index_text():
            metadata[SEGMENT_TEXT_KEY] = chunk.text
            reduced = chunk.extras.get("reduced")
            if reduced:  # what is embedded is not the passage itself
                content = chunk.index_text if self._add_context else reduced
        return Document(
            page_content=content, metadata=metadata, id=stable_uuid(chunk.id)
        )

    def _has_index_text(self) -> bool:
        """Whether what is embedded may be another text than the passage."""
        return False

    def _place_notes(
        self, source: CoreDocument, parent: Origin, chunk: Chunk
    ) -> dict[str, Any]:
        """The position of a chunk: the metadata that an edit elsewhere in the document may
        change."""
        start, end = parent.span(chunk)
        return {
            "start_index": start,
            "end_index": end,
            "section_id": chunk.section_id,
            **parent.source_notes(chunk, source),
        }

    def _notes(self, chunk: Chunk) -> dict[str, Any]:
        """Metadata fields other than position."""
        lists = self._metadata_lists
        # Without the heading path, the context is the header rows of a cut table.
        header = {CONTEXT_KEY if self._add_context else "table_header": chunk.context}
        keys = CONTEXT_KEYS if self._add_context else {}
        return {
            "heading_path": heading_path(chunk, lists=lists),
            **header,
            **chunk_notes(chunk, {**OVERSIZE_KEYS, **keys, **self.KEYS}, lists=lists),
        }

    @classmethod
    def from_tiktoken_encoder(
        cls,
        encoding_name: str = "gpt2",
        model_name: str | None = None,
        allowed_special: Literal["all"] | AbstractSet[str] | None = None,
        disallowed_special: Literal["all"] | Collection[str] = (),
        **kwargs: Any,
    ) -> Self:
        """A splitter whose sizes are tokens of a tiktoken encoding.

        `model_name` selects the encoding of a model. tiktoken itself downloads an encoding that is
        not on this machine, as in LangChain's own splitters, and raises its own errors. Special
        tokens in a text, such as an end-of-text marker, count as ordinary characters and never
        raise, whatever `allowed_special` and `disallowed_special` say.
        """
        tiktoken = require("tiktoken", extra="langchain")
        if model_name is not None:
            encoding_name = tiktoken.encoding_name_for_model(model_name)
        if encoding_name == "gpt2":
            encoding_name = "r50k_base"  # another name of the same encoding
        return cls(length_function=tiktoken_counter(encoding_name), **kwargs)

    @classmethod
    def from_huggingface_tokenizer(cls, tokenizer: Any, **kwargs: Any) -> Self:
        """A splitter whose sizes are tokens of a Hugging Face tokenizer.

        The tokenizer is from `transformers`, or a `tokenizers.Tokenizer`. Special tokens that a
        model adds around a text are not counted.
        """
        return cls(length_function=huggingface_counter(tokenizer), **kwargs)


class ChunkNames:
    """The ids of one call: those that came before are numbered."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def numbered(self, documents: list[Document]) -> list[Document]:
        """The documents, each with an id that none before it has."""
        for document in documents:
            name = str(document.id)
            number = self._seen[name] = self._seen.get(name, 0) + 1
            if number > 1:
                document.id = stable_uuid(name, number)
        return documents
