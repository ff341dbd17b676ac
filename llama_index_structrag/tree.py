"""Search in a tree of sections for LlamaIndex."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.schema import BaseNode
from typing_extensions import Self

from llama_index_structrag.models import core_model
from llama_index_structrag.options import (
    RetrieverArguments,
    TreeArguments,
    TreeOptions,
    read_options,
)
from llama_index_structrag.retrieving import (
    IndexRetriever,
    index_options,
    prompt_of,
    template_of,
)
from structrag.hosts.metadata import tree_notes
from structrag.records import Hit
from structrag.retrieval.tree.index import TreeIndex
from structrag.retrieval.tree.retriever import TreeRetriever as CoreRetriever
from structrag.retrieval.tree.walking import PLACES, WALK_PROMPT

if TYPE_CHECKING:
    from typing_extensions import Unpack


class TreeRetriever(IndexRetriever):
    """Finds chunks, and whole sections where most of one is found.

    Above the chunks stands a tree of sections with summaries, made from their children's. Made by
    `from_documents` or `load`, or from a structrag `TreeIndex`.

    Example:
        >>> from llama_index.core import Document, MockEmbedding
        >>> text = "# Pump\\n\\nIt moves water.\\n\\n## Cleaning\\n\\nRinse the filter."
        >>> options = {"embed_model": MockEmbedding(embed_dim=8), "similarity_top_k": 1}
        >>> retriever = TreeRetriever.from_documents([Document(text=text)], **options)
        >>> (node,) = retriever.retrieve("How do I rinse the filter?")
        >>> node.metadata["heading_path"]
        'Pump > Cleaning'

    Nodes are as those of `MultiViewRetriever`. In place of `views_hit` their metadata has
    `tree_merged` (ids of the chunks found in a section; [] for a chunk), `tree_summary` of a
    section, and with `llm` `tree_walk` (the titles chosen on the way down) and `tree_failure` (why
    it ended early, where it failed). No model sees them.

    Args:
        index: The structrag `TreeIndex` to search.
        similarity_top_k: Most chunks, of which some may become one section.
        llm: A LlamaIndex LLM that walks down the tree first; None: there is no walk.
        max_tokens, levels, level_weight, merge_share, merge_tokens, routes, walk_prompt: As for
            structrag's `TreeRetriever`.
        options: `where`, `filters`, `format`, `callback_manager` and so on, as for
            `MultiViewRetriever`.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    OPTIONS: ClassVar[type] = TreeOptions
    SHARED_OPTIONS: ClassVar[tuple[str, ...]] = ("llm",)

    def __init__(
        self,
        index: TreeIndex,
        *,
        similarity_top_k: int = 5,
        max_tokens: int | None = None,
        levels: bool = True,
        level_weight: float = 0.25,
        merge_share: float | None = 0.5,
        merge_tokens: int = 1000,
        routes: Sequence[str] | None = None,
        llm: Any = None,
        walk_prompt: str = WALK_PROMPT,
        **options: Unpack[RetrieverArguments],
    ) -> None:
        super().__init__(index, **options)
        self.similarity_top_k: int = similarity_top_k
        self.retriever: Any = CoreRetriever(
            index,
            k=similarity_top_k,
            max_tokens=max_tokens,
            levels=levels,
            level_weight=level_weight,
            merge_share=merge_share,
            merge_tokens=merge_tokens,
            routes=routes,
            llm=core_model(llm),
            walk_prompt=walk_prompt,
        )

    @classmethod
    def from_index(cls, index: TreeIndex, **arguments: Unpack[TreeArguments]) -> Self:
        """The same as calling the class."""
        return cls(index, **read_options(cls.__name__, arguments, TreeArguments))

    @classmethod
    def from_documents(
        cls, documents: Sequence[BaseNode], **options: Unpack[TreeOptions]
    ) -> Self:
        """Index whole documents, and return a retriever over them.

        Not chunks. Their `doc_id` is their identity.

        Args:
            options: The retriever's arguments, and `embed_model` (a LlamaIndex embedding model or
                what structrag's `Index` takes; None: that of LlamaIndex's `Settings`, and where
                none is set LSA, with a warning; "lsa" says that LSA is meant; where its object does
                not tell how much the model reads of a text, `LlamaIndexEmbedder(embed_model,
                max_tokens=512)`), `summariser` (writes the summaries; None: extractive; default the
                `llm`), `fan_out`, `summary_tokens` and `summary_prompt` as in structrag's
                `TreeIndex`, `vector_store` (a LlamaIndex vector store that keeps the vectors),
                `node_parser` (the heading path is indexed unless it has `add_context=False`), and
                other arguments of structrag's `Index`. `k`, `splitter` and `show_progress` are
                other names of `similarity_top_k`, `node_parser` and `progress`.

        Raises:
            UnknownArgument: there is no such option (a TypeError); it says which there are.
            InvalidParameter: a setting is not allowed (a ValueError).
            ModelFailed, InvalidAnswer: the embedding model or the store raised, or gave no usable
                vectors. No retriever comes back, and only the `cache` is kept; `from_documents([],
                ...)` and `add` keep the documents that were finished.
            BudgetExceeded: `max_calls` is reached; likewise.
        """
        return cls._from_documents(documents, options)

    @classmethod
    async def afrom_documents(
        cls, documents: Sequence[BaseNode], **options: Unpack[TreeOptions]
    ) -> Self:
        """`from_documents` on an event loop."""
        return await cls._afrom_documents(documents, options)

    @classmethod
    def load(
        cls, persist_dir: str | os.PathLike[str], **options: Unpack[TreeOptions]
    ) -> Self:
        """A retriever over an index that `save` wrote.

        With the models it was built with; `options` as for `from_documents`. `verify=True` checks
        all bytes now.
        """
        return cls._load(persist_dir, options)

    def _notes(self, hit: Hit) -> dict[str, Any]:
        return {**tree_notes(hit.chunk), **super()._notes(hit)}

    @classmethod
    def _new_index(cls, *, llm: Any = None, **options: Any) -> TreeIndex:
        """A `TreeIndex`.

        `summariser` is who writes its summaries: a model, None (extractive); default the `llm`.
        """
        return TreeIndex(**index_options(llm=options.pop("summariser", llm), **options))

    @classmethod
    def _opened_index(
        cls, persist_dir: str | os.PathLike[str], *, llm: Any = None, **options: Any
    ) -> TreeIndex:
        summariser = options.pop("summariser", llm)
        return TreeIndex.load(persist_dir, **index_options(llm=summariser, **options))

    def _get_prompts(self) -> PromptDictType:
        return {"walk_prompt": prompt_of(self.retriever.walk_prompt, PLACES)}

    def _update_prompts(self, prompts: PromptDictType) -> None:
        if "walk_prompt" in prompts:
            self.retriever.walk_prompt = template_of(prompts["walk_prompt"], PLACES)
