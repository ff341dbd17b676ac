"""Evidence within a token budget for LangChain. A retriever, and a compressor of other retrievers'
results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict, Field

from langchain_structrag.conversion import document_with
from langchain_structrag.models import as_embedder
from langchain_structrag.options import KnownFields
from langchain_structrag.retrieving import IndexRetriever
from structrag.integrations.arguments import errors_of_models, in_host_words
from structrag.integrations.documents import file_of
from structrag.integrations.kinds import EVIDENCE, RetrieverKind
from structrag.integrations.metadata import CONTEXT_KEY, INDEX_KEY
from structrag.integrations.places import slice_places
from structrag.integrations.retrievers import check_limits, text_place
from structrag.records import Hit
from structrag.retrieval.evidence.retriever import EvidenceRetriever as CoreRetriever
from structrag.retrieval.evidence.shortening import Shortener, Slice, TextPlace


class EvidenceRetriever(IndexRetriever):
    """Finds the passages that answer a question, within a token budget.

    Example:
        >>> text = "# Pump\\n\\nIt moves water.\\n\\n## Cleaning\\n\\nRinse the filter every week."
        >>> retriever = EvidenceRetriever.from_texts([text], max_tokens=8)  # or with embeddings
        >>> (passage,) = retriever.invoke("How often do I rinse the filter?")
        >>> passage.page_content, passage.metadata["heading_path"]
        ('Rinse the filter every week.', 'Pump > Cleaning')

    Every sentence, table row and heading is scored by how well the words around it match those of
    the question; the best ones bring in their paragraphs until `max_tokens` is used. Create it with
    `from_documents`, `from_texts` or `load`, or from structrag's `EvidenceRetriever`.

    The tokens of the question are matched one by one, which finds most, with any of these: a
    structrag embedder of sentence-transformers as `embedding`, such an embedder as `token_encoder`,
    or `Embeddings` that hold a SentenceTransformer, such as `HuggingFaceEmbeddings`. Other
    embeddings use sentence vectors instead.

    `k`, `max_tokens`, `order` and `where` are also accepted by `invoke`, `ainvoke` and `batch`. A
    part of a table or list is preceded by its caption and header, or by the sentence before it, and
    a newline: `metadata["heading_context"]`. `context="all"` adds the heading path,
    `context="none"` adds nothing.

    Metadata of a result, all JSON: its document's, and `doc_id`, `heading_path`, `section_id`,
    `start_index` and `end_index` (characters of the source, exact), and `score`,
    `rank` and `score_parts` (what matched; they add up to the score).

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    KIND: ClassVar[RetrieverKind] = EVIDENCE

    index: CoreRetriever = Field(repr=False)
    """What is searched: documents and their sentences."""
    k: int | None = None
    """The largest number of passages; None: only the token budget limits them."""
    max_tokens: int | None = 1000
    """Most tokens of all passages together; with `k`, None is no limit, and else near passages are
    joined and widened until the tokens are used."""
    order: str = "rank"
    """Either "rank" for the best first, or "document" for reading order."""

    def model_post_init(self, context: Any, /) -> None:
        """Check now what a search would reject."""
        super().model_post_init(context)
        check_limits(self.order, self.k, self.max_tokens)

    def _document(self, hit: Hit) -> Document:
        document = super()._document(hit)
        document.metadata[INDEX_KEY] = self.index.handle
        return _with_context(hit.chunk.context, document)


class EvidenceCompressor(KnownFields, BaseDocumentCompressor):
    """Shortens the results of any retriever to the evidence in them.

    Example:
        >>> document = Document("Cats sleep all day. The blue pump leaks at the seal. Birds sing.")
        >>> compressor = EvidenceCompressor(max_tokens=10)  # or with an embedding
        >>> (short,) = compressor.compress_documents([document], "Which pump leaks?")
        >>> print(short.page_content)
        […]
        The blue pump leaks at the seal.

    Use it in `ContextualCompressionRetriever`, or on its own. Each result is an exact slice of one
    document's `page_content`, behind its context as in `EvidenceRetriever`. It has the document's
    metadata, `score` and `rank`. Positions in the metadata (`start_index`,
    `source_start` and their ends) are adjusted to the slice. If the document has an id, the slice
    has the id `ID:START-END`, with its span in `page_content`. Results of an `EvidenceRetriever`
    with the same models are not embedded again; other documents are embedded for every question,
    so pass about ten, not hundreds. Where documents overlap, each character is given once.

    Args:
        embedding: As in `EvidenceRetriever`; None: LSA over these documents.
        token_encoder: The encoder of token vectors, for an `embedding` that has none.
        max_tokens: The token budget of all slices together.
        order: "rank" for the best first, or "document" for the order of the input.
        context: What precedes a slice: "lead", "all" or "none", as in `EvidenceRetriever`.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(arbitrary_types_allowed=True)

    embedding: Any = Field(default=None, repr=False)
    """As in `EvidenceRetriever`."""
    token_encoder: Any = Field(default=None, repr=False)
    """As in `EvidenceRetriever`."""
    max_tokens: int = 1000
    """The token budget of all slices together."""
    order: str = "rank"
    """Either "rank" for the best first, or "document" for the order of the input."""
    context: str = "lead"
    """What stands in front of a slice: "lead", "all" or "none"."""

    def model_post_init(self, context: Any, /) -> None:
        """Check now what a question would reject."""
        super().model_post_init(context)
        self._shortener()

    def _shortener(self) -> Shortener:
        with in_host_words(embedder="embedding"):
            return Shortener(
                as_embedder(self.embedding),
                token_encoder=self.token_encoder,
                max_tokens=self.max_tokens,
                order=self.order,
                context=self.context,
            )

    def compress_documents(
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Callbacks | None = None,
    ) -> list[Document]:
        """The evidence for a question in these documents."""
        texts = [document.page_content for document in documents]
        places = [*map(_place, documents)]
        with errors_of_models():
            slices = self._shortener().shorten(texts, query, places)
        return [_shortened(documents[piece.text], piece) for piece in slices]

    async def acompress_documents(
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Callbacks | None = None,
    ) -> list[Document]:
        """`compress_documents` on an event loop."""
        texts = [document.page_content for document in documents]
        places = [*map(_place, documents)]
        with errors_of_models():
            shortener = self._shortener()
            slices = await shortener.arun(shortener.flow(texts, query, places))
        return [_shortened(documents[piece.text], piece) for piece in slices]


def _place(document: Document) -> TextPlace:
    """The place of a result in its source, or of a loader's page of it."""
    metadata = document.metadata
    page = None if "last_page" in metadata else metadata.get("page")
    file = file_of(metadata)
    source = metadata.get("doc_id") or (file and (file, page)) or None
    span = metadata.get("start_index"), metadata.get("end_index")
    return text_place(document.page_content, metadata, source, *span)


def _shortened(document: Document, piece: Slice) -> Document:
    content, start, end = document.page_content, piece.start, piece.end
    metadata = {
        **document.metadata,
        **slice_places(content, document.metadata, start, end),
        "score": piece.score,
        "rank": piece.rank,
    }
    name = None if document.id is None else f"{document.id}:{start}-{end}"
    return _with_context(
        piece.context, document_with(content[start:end], metadata, name)
    )


def _with_context(context: str, document: Document) -> Document:
    """The document with its context in front and in its metadata."""
    document.metadata[CONTEXT_KEY] = context
    if context:
        document.page_content = f"{context}\n{document.page_content}"
    return document
