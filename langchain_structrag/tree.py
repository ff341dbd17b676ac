"""Search in a tree of sections for LangChain."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from langchain_core.documents import Document
from pydantic import Field
from typing_extensions import Self

from langchain_structrag.conversion import as_documents
from langchain_structrag.models import as_language_model
from langchain_structrag.options import TreeFields, TreeOptions
from langchain_structrag.retrieving import IndexRetriever, load_index, make_index
from structrag.hosts.metadata import score_notes, tree_notes
from structrag.index.index import Index
from structrag.records import Hit
from structrag.retrieval.tree.index import TreeIndex
from structrag.retrieval.tree.retriever import TreeRetriever as CoreRetriever
from structrag.retrieval.tree.walking import WALK_PROMPT

if TYPE_CHECKING:
    from typing_extensions import Unpack


class TreeRetriever(IndexRetriever):
    """Finds chunks, and whole sections where most of one is found.

    Above the chunks stands a tree of sections with summaries, made from their children's. Made by
    `from_documents`, `from_texts` or `load`, or from a structrag `TreeIndex`.

    Example:
        >>> text = "# Pump\\n\\nIt moves water.\\n\\n## Cleaning\\n\\nRinse the filter."
        >>> retriever = TreeRetriever.from_texts([text], "lsa", k=1)
        >>> (chunk,) = retriever.invoke("How do I rinse the filter?")
        >>> chunk.page_content, chunk.metadata["tree_merged"]
        ('## Cleaning\\n\\nRinse the filter.', [])

    `k` and `where` are also taken by `invoke`, `ainvoke` and `batch`. Metadata of a result is that
    of `MultiViewRetriever` without `views_hit`, and all JSON: `tree_merged` (ids of the chunks
    found in a section; [] for a chunk), `tree_summary` of a section, and with `llm` `tree_walk`
    (the titles chosen on the way down) and `tree_failure` (why it ended early, where it failed).

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    SETTINGS: ClassVar[tuple[str, ...]] = (
        "k", "max_tokens", "levels", "level_weight", "merge_share", "merge_tokens", "routes", "llm",
        "walk_prompt",
    )  # fmt: skip

    OPTIONS: ClassVar[type] = TreeOptions

    index: TreeIndex = Field(repr=False)
    """What is searched."""
    k: int = 5
    """Most chunks, of which some may become one section."""
    max_tokens: int | None = None
    """Most tokens of all results together, but always one; None: no limit."""
    levels: bool = True
    """Whether the summaries above a chunk add to its score."""
    level_weight: float = 0.25
    """Of the summaries, beside 1 for the chunk."""
    merge_share: float | None = 0.5
    """A section takes the place of its chunks where more than this share is found; None: never."""
    merge_tokens: int = 1000
    """A section of more tokens never does."""
    routes: Sequence[str] | None = None
    """Some of "dense" and "bm25"; None: both."""
    llm: Any = Field(default=None, repr=False)
    """A chat model or LLM that walks down the tree first; None: there is no walk."""
    walk_prompt: str = WALK_PROMPT
    """What it is asked, with {options} and {question}."""

    if TYPE_CHECKING:

        def __init__(
            self, *, index: TreeIndex, **fields: Unpack[TreeFields]
        ) -> None: ...

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Document],
        embedding: Any = None,
        **options: Unpack[TreeOptions],
    ) -> Self:
        """Index whole documents, and return a retriever over them.

        Not chunks. A document's id is its own, else its source (and page or row), else derived from
        its content.

        Args:
            embedding: LangChain `Embeddings`, or what structrag's `Index` takes; "lsa", which needs
                no model. None is LSA too, with a warning. Where the object does not tell how much
                the model reads of a text: `LangChainEmbedder(embeddings, max_tokens=512)`.
            options: The fields of this class; `summariser` (a LangChain model or chain that writes
                the summaries; None: extractive; default the `llm`), `fan_out`, `summary_tokens` and
                `summary_prompt` as in structrag's `TreeIndex`, `vectorstore` (a LangChain
                `VectorStore` that keeps and embeds the chunks; `store_filter` and `max_results` as
                in `langchain_structrag.stores.LangChainDenseStore`), `splitter` (one of this
                package, which then always indexes the heading path and counts it to its limit, or
                one of structrag), and the other arguments of structrag's `Index`.

        Raises:
            UnknownArgument: there is no such option (a TypeError); it says which there are.
            InvalidParameter: a setting is not allowed (a ValueError).
            ModelFailed, InvalidAnswer: the embedding model or the store raised, or gave no usable
                vectors. No retriever comes back, and only the `cache` is kept; `from_documents([],
                ...)` and `add_documents` keep the documents that were finished.
            BudgetExceeded: `max_calls` is reached; likewise.
        """
        return cls._from_documents(documents, embedding, options)

    @classmethod
    async def afrom_documents(
        cls,
        documents: Iterable[Document],
        embedding: Any = None,
        **options: Unpack[TreeOptions],
    ) -> Self:
        """`from_documents` on an event loop."""
        return await cls._afrom_documents(documents, embedding, options)

    @classmethod
    def from_texts(
        cls,
        texts: Sequence[str],
        embedding: Any = None,
        metadatas: Sequence[Mapping[str, Any]] | None = None,
        **options: Unpack[TreeOptions],
    ) -> Self:
        """`from_documents` for strings; `metadatas` is one mapping per text."""
        return cls._from_documents(as_documents(texts, metadatas), embedding, options)

    @classmethod
    async def afrom_texts(
        cls,
        texts: Sequence[str],
        embedding: Any = None,
        metadatas: Sequence[Mapping[str, Any]] | None = None,
        **options: Unpack[TreeOptions],
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
        **options: Unpack[TreeOptions],
    ) -> Self:
        """A retriever over an index that `save` wrote.

        With the models it was built with; `options` as for `from_documents`. `verify=True` checks
        all bytes now.
        """
        return cls._load(path, embedding, options)

    def _make_core(self, settings: dict[str, Any]) -> CoreRetriever:
        settings["llm"] = as_language_model(settings["llm"])
        return CoreRetriever(self.index, **settings)

    def _document(self, hit: Hit) -> Document:
        document = super()._document(hit)
        document.metadata.update({**tree_notes(hit.chunk), **score_notes(hit)})
        return document

    @classmethod
    def _shared_options(cls) -> tuple[str, ...]:
        return ("llm",)

    @classmethod
    def _new_index(cls, *, llm: Any = None, **options: Any) -> Index:
        """A `TreeIndex`.

        `summariser` is who writes its summaries: a model, None (extractive); default the `llm`.
        """
        return make_index(TreeIndex, llm=options.pop("summariser", llm), **options)

    @classmethod
    def _opened_index(
        cls, path: str | os.PathLike[str], *, llm: Any = None, **options: Any
    ) -> Index:
        return load_index(
            path, TreeIndex, llm=options.pop("summariser", llm), **options
        )
