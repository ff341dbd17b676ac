"""Two hops without a language model, for LangChain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from langchain_structrag.callbacks import inner_callbacks
from langchain_structrag.hosted import stepped
from structrag.hosts.metadata import ENTITIES_KEY
from structrag.records import Hit
from structrag.retrieval.multihop.twohop import TwoHop, TwoHopResult


class TwoHopRetriever(BaseRetriever):
    """Searches twice: for the question, then for the question and the names found in the first
    results.

        TwoHopRetriever(retriever=D3Retriever.from_documents(documents)).invoke("Who founded the
        maker of the X100?")

    It needs no language model. Results of both hops come by turns, each once; `two_hop_entities` in
    their metadata are the names that were added to the question, `rank` is the place among the
    results. `SelfAsk` takes it like any other retriever. `k` and `where` are also taken by
    `invoke`, `ainvoke` and `batch`.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    retriever: BaseRetriever = Field(repr=False)
    """Any LangChain retriever; `where` only with those of this package."""
    k: int | None = None
    """Most results; None: all of both hops."""
    max_entities: int = 5
    """Most names added to the question."""
    find_entities: Any = None
    """Text -> names; None: by their form."""

    def model_post_init(self, context: Any, /) -> None:
        """Refuse now what a search would refuse."""
        super().model_post_init(context)
        self._stepped()

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        where: Any = None,
    ) -> list[Document]:
        core, document = self._stepped()
        with inner_callbacks(run_manager.get_child()):
            return _documents(core.result(query, k, where=where), document)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        where: Any = None,
    ) -> list[Document]:
        core, document = self._stepped()
        with inner_callbacks(run_manager.get_child()):
            return _documents(await core.aresult(query, k, where=where), document)

    def _stepped(self) -> tuple[TwoHop, Callable[[Hit], Document]]:
        """The core's two hops, and how hits become documents."""
        retriever, document = stepped(self.retriever)
        finder = {} if self.find_entities is None else {"find_entities": self.find_entities}
        return TwoHop(retriever, k=self.k, max_entities=self.max_entities, **finder), document


def _documents(result: TwoHopResult, document: Callable[[Hit], Document]) -> list[Document]:
    documents = []
    for hit in result.hits:
        one = document(hit)
        one.metadata.update({"rank": hit.rank, ENTITIES_KEY: list(result.entities)})
        documents.append(one)
    return documents
