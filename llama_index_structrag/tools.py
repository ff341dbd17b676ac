"""Retrievers and query engines as tools of agents."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import MetadataMode, NodeWithScore
from llama_index.core.tools import FunctionTool

from structrag.index.selection import narrowed
from structrag.integrations.tools import (
    ANSWER,
    SEARCH,
    Citation,
    LimitedSearchInput,
    QuestionInput,
    SearchInput,
    citation_of,
    shown_citations,
    tool_name,
)


class ToolRetriever(BaseRetriever):
    """Base of the retrievers: adds `as_tool` for agents."""

    where: Any = None

    def as_tool(
        self,
        name: str | None = None,
        description: str | None = None,
        *,
        where: Any = None,
        where_argument: bool = False,
    ) -> FunctionTool:
        """A tool with the argument `query` that returns passages for citation.

        Its output is text: each passage follows its source, heading path and character range. The
        retriever gets the query unchanged; LlamaIndex's `RetrieverTool` would send "query is ...".

        Args:
            name: By default "search_documents". A warning says so if a tool over other documents
                has the same name; a default name is then numbered.
            description: The description that the model reads; say what the documents are about.
            where: Limits the tool to documents, as in the retriever, such as those of one tenant.
            where_argument: Whether the agent may limit a search further, by an argument `where`.
                Say in `description` which metadata the documents have.
        """
        limited = self._narrowed(where)

        def search(query: str, where: Any = None) -> str:
            return _cited(limited._narrowed(where).retrieve(query))

        async def asearch(query: str, where: Any = None) -> str:
            searched = limited._narrowed(where)
            return _cited(await searched.aretrieve(query))

        return FunctionTool.from_defaults(
            search,
            async_fn=asearch,
            name=tool_name("search", limited, name),
            description=description or SEARCH,
            fn_schema=LimitedSearchInput if where_argument else SearchInput,
        )

    def _narrowed(self, where: Any) -> ToolRetriever:
        """This retriever, limited to documents."""
        if where is None:
            return self
        other = copy(self)
        other.where = narrowed(self.where, where)
        return other


def answering_tool(
    engine: BaseQueryEngine, name: str | None, description: str | None
) -> FunctionTool:
    """A tool of an engine that answers a question from nodes."""

    def answer(question: str) -> str:
        return _answered(engine.query(question))

    async def aanswer(question: str) -> str:
        return _answered(await engine.aquery(question))

    return FunctionTool.from_defaults(
        answer,
        async_fn=aanswer,
        name=tool_name("answer_from", engine, name),
        description=description or ANSWER,
        fn_schema=QuestionInput,
    )


def _answered(response: Any) -> str:
    return f"{response.response}\n\n{_cited(response.source_nodes)}"


def _cited(nodes: Iterable[NodeWithScore]) -> str:
    return shown_citations(map(_citation, nodes))


def _citation(scored: NodeWithScore) -> Citation:
    node = scored.node
    return citation_of(
        node.get_content(metadata_mode=MetadataMode.NONE),
        node.metadata,
        getattr(node, "start_char_idx", None),
        getattr(node, "end_char_idx", None),
    )
