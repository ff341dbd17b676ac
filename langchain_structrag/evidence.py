"""Evidence within a token budget for LangChain.

A retriever, and a compressor of other retrievers' results.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.runnables import run_in_executor
from pydantic import ConfigDict, Field, PrivateAttr
from typing_extensions import Self

from langchain_structrag.conversion import as_documents
from langchain_structrag.models import as_embedder
from langchain_structrag.options import EvidenceFields, EvidenceOptions, KnownFields
from langchain_structrag.retrieving import IndexRetriever
from structrag.errors import check_at_least, check_choice
from structrag.hosts.metadata import CONTEXT_KEY, score_notes
from structrag.hosts.places import slice_places
from structrag.records import Chunk, Hit
from structrag.retrieval.evidence.limits import ORDERS
from structrag.retrieval.evidence.retriever import EvidenceRetriever as CoreRetriever
from structrag.retrieval.evidence.shortening import Shortener, Slice

if TYPE_CHECKING:
    from typing_extensions import Unpack


class EvidenceRetriever(IndexRetriever):
    """Finds the passages that answer a question, within a reader's tokens.

    Example:
        >>> text = "# Pump\\n\\nIt moves water.\\n\\n## Cleaning\\n\\nRinse the filter every week."
        >>> retriever = EvidenceRetriever.from_texts([text], max_tokens=8)  # or with embeddings
        >>> (passage,) = retriever.invoke("How often do I rinse the filter?")
        >>> passage.page_content, passage.metadata["heading_path"]
        ('Rinse the filter every week.', 'Pump > Cleaning')

    Every sentence, table row and heading is scored by how well the words around it match those of
    the question; the best bring their paragraphs, until `max_tokens` are used up. Made by
    `from_documents`, `from_texts` or `load`, or from structrag's `EvidenceRetriever`.

    With `embedding` a structrag embedder of sentence-transformers, or `token_encoder` one of them
    beside LangChain's `Embeddings`, the tokens of the question are matched one by one, which is
    what finds most. With plain `Embeddings` the sentences' vectors are used instead.

    `k`, `max_tokens`, `order` and `where` are also taken by `invoke`, `ainvoke` and `batch`.
    A part of a table or list comes with the caption and header, or the sentence before it, in front
    of its slice and a newline: `metadata["heading_context"]`. `context="all"` puts the heading path
    there too, `context="none"` nothing.

    Metadata of a result, all JSON: its document's, and `doc_id`, `heading_path`, `section_id`,
    `start_index` and `end_index` (characters of the source, exact), `score`, `rank` and
    `score_parts` (what matched; they add up to the score).

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    OPTIONS: ClassVar[type] = EvidenceOptions

    index: CoreRetriever = Field(repr=False)
    """What is searched: documents and their sentences."""
    k: int | None = None
    """Most passages; None: no limit but the tokens."""
    max_tokens: int | None = 1000
    """Most tokens of all passages together; with `k`, None is no limit, and else near passages are
    joined and widened until the tokens are used."""
    order: str = "rank"
    """Either "rank" for the best first, or "document" for reading order."""

    if TYPE_CHECKING:

        def __init__(
            self, *, index: CoreRetriever, **fields: Unpack[EvidenceFields]
        ) -> None: ...

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Document],
        embedding: Any = None,
        **options: Unpack[EvidenceOptions],
    ) -> Self:
        """Index whole documents, and return a retriever over them.

        Ids, `embedding` and errors are those of `MultiViewRetriever.from_documents`.

        Args:
            options: The fields of this class, and the other arguments of structrag's
                `EvidenceRetriever`: token_encoder, context, reading and so on.
        """
        return cls._from_documents(documents, embedding, options)

    @classmethod
    async def afrom_documents(
        cls,
        documents: Iterable[Document],
        embedding: Any = None,
        **options: Unpack[EvidenceOptions],
    ) -> Self:
        """`from_documents` on an event loop."""
        return await cls._afrom_documents(documents, embedding, options)

    @classmethod
    def from_texts(
        cls,
        texts: Sequence[str],
        embedding: Any = None,
        metadatas: Sequence[Mapping[str, Any]] | None = None,
        **options: Unpack[EvidenceOptions],
    ) -> Self:
        """`from_documents` for strings; `metadatas` is one mapping per text."""
        return cls._from_documents(as_documents(texts, metadatas), embedding, options)

    @classmethod
    async def afrom_texts(
        cls,
        texts: Sequence[str],
        embedding: Any = None,
        metadatas: Sequence[Mapping[str, Any]] | None = None,
        **options: Unpack[EvidenceOptions],
    ) -> Self:
        """`from_texts` on an event loop."""
        return await cls._afrom_documents(
            as_documents(texts, metadatas), embedding, options
        )

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        embedding: Any = None,
        **options: Unpack[EvidenceOptions],
    ) -> Self:
        """A retriever over an index that `save` wrote.

        With the models it was built with; `options` as for `from_documents`. `verify=True` checks
        all bytes now.
        """
        return cls._load(path, embedding, options)

    def model_post_init(self, context: Any, /) -> None:
        """Refuse now what a search would refuse."""
        super().model_post_init(context)
        check_choice("order", self.order, ORDERS)
        for name in ("k", "max_tokens"):
            if getattr(self, name) is not None:
                check_at_least(name, getattr(self, name), 1)

    def _core(self) -> CoreRetriever:
        return self.index

    def _search(
        self,
        query: str,
        k: float | None = None,
        where: Any = None,
        *,
        max_tokens: int | None = None,
        order: str | None = None,
    ) -> list[Hit]:
        return self.index.search(
            query, where=where, **self._limits(k, max_tokens, order)
        )

    async def _asearch(
        self,
        query: str,
        k: float | None = None,
        where: Any = None,
        *,
        max_tokens: int | None = None,
        order: str | None = None,
    ) -> list[Hit]:
        return await self.index.asearch(
            query, where=where, **self._limits(k, max_tokens, order)
        )

    def _limits(
        self, k: float | None, max_tokens: int | None, order: str | None
    ) -> dict[str, Any]:
        """The limits of one search; by default those of the fields."""
        return {
            "k": self.k if k is None else k,
            "max_tokens": self.max_tokens if max_tokens is None else max_tokens,
            "order": self.order if order is None else order,
        }

    def _beside(self, chunk: Chunk) -> tuple[Chunk | None, Chunk | None]:
        return self.index.neighbours(chunk)

    def _chunks(self, doc_id: str) -> list[Chunk]:
        return self.index.blocks(doc_id)

    def _document(self, hit: Hit) -> Document:
        document = super()._document(hit)
        document.metadata.update(score_notes(hit))
        return _with_context(hit.chunk.context, document)

    @classmethod
    def _new_index(cls, *, embedding: Any = None, **options: Any) -> CoreRetriever:
        return CoreRetriever(as_embedder(embedding), **_encoder_options(options))

    @classmethod
    def _opened_index(
        cls, path: str | os.PathLike[str], *, embedding: Any = None, **options: Any
    ) -> CoreRetriever:
        return CoreRetriever.load(
            path, as_embedder(embedding), **_encoder_options(options)
        )


class EvidenceCompressor(KnownFields, BaseDocumentCompressor):
    """Shortens the results of any retriever to the evidence in them.

    Example:
        >>> document = Document("Cats sleep all day. The blue pump leaks at the seal. Birds sing.")
        >>> compressor = EvidenceCompressor(max_tokens=10)  # or with an embedding
        >>> (short,) = compressor.compress_documents([document], "Which pump leaks?")
        >>> short.page_content
        'The blue pump leaks at the seal.'

    For `ContextualCompressionRetriever`, or on its own. Each result is an exact slice of the
    `page_content` of one document, behind its context as in `EvidenceRetriever`, with its
    metadata, `score` and `rank`; places that the document has (`start_index`, `source_start` and
    their ends) are the slice's own. Where the document has an id, the slice's is that, a colon and
    its span in `page_content`: `ID:START-END`.
    The documents are embedded for every question, so give it some ten, not hundreds.

    Args:
        embedding: As in `EvidenceRetriever`; None: LSA over the documents at hand.
        token_encoder: Gives vectors of tokens beside an `embedding` that has none.
        max_tokens: Most tokens of all slices together.
        order: "rank" for the best first, or "document" for the order in which they came.
        context: What stands in front of a slice: "lead", "all" or "none", as in
            `EvidenceRetriever`.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(arbitrary_types_allowed=True)

    embedding: Any = Field(default=None, repr=False)
    """As in `EvidenceRetriever`."""
    token_encoder: Any = Field(default=None, repr=False)
    """As in `EvidenceRetriever`."""
    max_tokens: int = 1000
    """Most tokens of all slices together."""
    order: str = "rank"
    """Either "rank" for the best first, or "document" for the order in which they came."""
    context: str = "lead"
    """What stands in front of a slice: "lead", "all" or "none"."""

    _shortener: Shortener = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Refuse now what a question would refuse."""
        super().model_post_init(context)
        self._shortener = Shortener(
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
        """The evidence for a question in some documents."""
        slices = self._shortener.shorten(
            [document.page_content for document in documents], query
        )
        return [_shortened(documents[piece.text], piece) for piece in slices]

    async def acompress_documents(
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Callbacks | None = None,
    ) -> list[Document]:
        """`compress_documents` in a worker thread."""
        return await run_in_executor(None, self.compress_documents, documents, query)


def _encoder_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options with a `token_encoder` of the core."""
    encoder = options.get("token_encoder")
    return (
        options
        if encoder is None
        else {**options, "token_encoder": as_embedder(encoder)}
    )


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
        piece.context, Document(content[start:end], metadata=metadata, id=name)
    )


def _with_context(context: str, document: Document) -> Document:
    """The document with its context in front and in its metadata."""
    document.metadata[CONTEXT_KEY] = context
    if context:
        document.page_content = f"{context}\n{document.page_content}"
    return document
