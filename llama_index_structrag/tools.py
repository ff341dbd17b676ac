"""Retrievers and query engines as tools of agents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import MetadataMode, NodeWithScore
from llama_index.core.tools import FunctionTool
from pydantic import BaseModel, Field

from structrag.integrations.tools import (
    ANSWER,
    SEARCH,
    Citation,
    citation_of,
    shown_citations,
    tool_name,
)


class SearchInput(BaseModel):
    """Arguments of a tool that searches."""

    query: str = Field(description="A question or search words.")


class QuestionInput(BaseModel):
    """Arguments of a tool that answers."""

    question: str = Field(description="A self-contained question.")


class ToolRetriever(BaseRetriever):
    """Base of the retrievers: adds `as_tool` for agents."""

    def as_tool(
        self, name: str | None = None, description: str | None = None
    ) -> FunctionTool:
        """A tool with one argument, `query`, that returns passages for citation.

        Its output is text: each passage follows its source, heading path and character range. The
        retriever gets the query unchanged; LlamaIndex's `RetrieverTool` would send "query is ...".

        Args:
            name: Derived from the documents by default, such as "search_ovens". A warning says so
                if a tool over other documents has the same name.
            description: The description that the model reads; say what the documents are about.
        """

        def search(query: str) -> str:
            return _cited(self.retrieve(query))

        async def asearch(query: str) -> str:
            return _cited(await self.aretrieve(query))

        return FunctionTool.from_defaults(
            search,
            async_fn=asearch,
            name=tool_name("search", self, name),
            description=description or SEARCH,
            fn_schema=SearchInput,
        )


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
