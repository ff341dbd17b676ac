"""Two hops without a language model, for LlamaIndex."""

from __future__ import annotations

from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.prompts.mixin import PromptMixinType
from llama_index.core.schema import NodeWithScore, QueryBundle

from llama_index_structrag.hosted import Stepped, stepped
from structrag.errors import check_at_least
from structrag.hosts.metadata import ENTITIES_KEY
from structrag.retrieval.multihop.twohop import TwoHop, TwoHopResult
from structrag.text.names import EntityFinder, names_by_form


class TwoHopRetriever(BaseRetriever):
    """Searches twice: for the question, then for the question and the names found in the first
    nodes.

        retriever = TwoHopRetriever(D3Retriever.from_documents(documents))
        retriever.retrieve("Who founded the maker of the X100?")

    It needs no language model. Nodes of both hops come by turns, each once; `two_hop_entities` in
    their metadata, which no model sees, are the names that were added to the question.
    `SelfAskQueryEngine` takes it like any other retriever.

    Args:
        retriever: A retriever of this package, searched with its own settings and `where` (except
            for `max_tokens` of `HiQARetriever`), or any LlamaIndex retriever.
        similarity_top_k: Most nodes; None: all of both hops.
        max_entities: Most names added to the question.
        find_entities: Text -> names; default by their form.
        callback_manager, verbose: As for every LlamaIndex retriever; callback_manager None: the
            retriever's.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    def __init__(
        self,
        retriever: BaseRetriever,
        *,
        similarity_top_k: int | None = None,
        max_entities: int = 5,
        find_entities: EntityFinder = names_by_form,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
    ) -> None:
        stepped(retriever)
        if similarity_top_k is not None:
            check_at_least("similarity_top_k", similarity_top_k, 1)
        super().__init__(callback_manager or retriever.callback_manager, verbose=verbose)
        self.retriever = retriever
        self._settings: dict[str, Any] = {
            "k": similarity_top_k,
            "max_entities": max_entities,
            "find_entities": find_entities,
        }
        self._core()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        core, over = self._core()
        return _nodes(core.result(query_bundle.query_str, where=over.where), over)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        core, over = self._core()
        return _nodes(await core.aresult(query_bundle.query_str, where=over.where), over)

    def _core(self) -> tuple[TwoHop, Stepped]:
        over = stepped(self.retriever)
        return TwoHop(over.core, **self._settings), over

    def _get_prompt_modules(self) -> PromptMixinType:
        return {"retriever": self.retriever}


def _nodes(result: TwoHopResult, over: Stepped) -> list[NodeWithScore]:
    nodes = [found.model_copy(deep=True) for found in over.nodes_of(result.hits)]
    for node in (found.node for found in nodes):
        node.metadata[ENTITIES_KEY] = list(result.entities)
        node.excluded_embed_metadata_keys.append(ENTITIES_KEY)
        node.excluded_llm_metadata_keys.append(ENTITIES_KEY)
    return nodes
