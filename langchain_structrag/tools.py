"""Retrievers and chains as tools of agents."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel

from structrag.index.selection import narrowed
from structrag.integrations.tools import (
    ANSWER,
    SEARCH,
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
    """The documents that are searched: a dict such as {"year": [2020, 2021]}, or a function of a
    document's metadata. A `where` of `invoke` narrows them further."""

    def as_tool(
        self,
        args_schema: type[BaseModel] | None = None,
        *,
        name: str | None = None,
        description: str | None = None,
        arg_types: dict[str, type] | None = None,
        where: Any = None,
        where_argument: bool = False,
    ) -> BaseTool:
        """A tool with the argument `query` that returns passages for citation.

        Its content is text: each passage follows its source, heading path and character range. Its
        artifact is the documents. With `args_schema` or `arg_types` it is LangChain's own tool.

        Args:
            name: By default "search_documents". A warning says so if a tool over other documents
                has the same name; a default name is then numbered.
            description: The description that the model reads; say what the documents are about.
            where: Limits the tool to documents, as in `invoke`, such as those of one tenant.
            where_argument: Whether the agent may limit a search further, by an argument `where`.
                Say in `description` which metadata the documents have.
        """
        if args_schema is not None or arg_types is not None:
            return super().as_tool(
                args_schema, name=name, description=description, arg_types=arg_types
            )
        limited = self
        if where is not None:
            limited = self.model_copy(update={"where": narrowed(self.where, where)})
        searching = _Searching(limited)
        return StructuredTool.from_function(
            searching.search,
            searching.asearch,
            name=tool_name("search", limited, name),
            description=description or SEARCH,
            args_schema=LimitedSearchInput if where_argument else SearchInput,
            response_format="content_and_artifact",
        )


def answering_tool(
    chain: Runnable[Any, dict[str, Any]], name: str | None, description: str | None
) -> BaseTool:
    """A tool of a chain with `answer` and `evidence`. It answers a question."""
    return StructuredTool.from_function(
        _Answering(chain).answer,
        _Answering(chain).aanswer,
        name=tool_name("answer_from", chain, name),
        description=description or ANSWER,
        args_schema=QuestionInput,
        response_format="content_and_artifact",
    )


# Methods, not functions within functions, so that a tool can be pickled.
@dataclass(frozen=True, slots=True)
class _Searching:
    retriever: ToolRetriever

    def search(
        self, query: str, config: RunnableConfig, where: Any = None
    ) -> tuple[str, list[Document]]:
        return _with_documents(self.retriever.invoke(query, config, where=where))

    async def asearch(
        self, query: str, config: RunnableConfig, where: Any = None
    ) -> tuple[str, list[Document]]:
        found = await self.retriever.ainvoke(query, config, where=where)
        return _with_documents(found)


@dataclass(frozen=True, slots=True)
class _Answering:
    chain: Runnable[Any, dict[str, Any]]

    def answer(
        self, question: str, config: RunnableConfig
    ) -> tuple[str, dict[str, Any]]:
        return _with_evidence(self.chain.invoke(question, config))

    async def aanswer(
        self, question: str, config: RunnableConfig
    ) -> tuple[str, dict[str, Any]]:
        return _with_evidence(await self.chain.ainvoke(question, config))


def _with_documents(documents: list[Document]) -> tuple[str, list[Document]]:
    return _cited(documents), documents


def _with_evidence(output: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return f"{output['answer']}\n\n{_cited(output['evidence'])}", output


def _cited(documents: Iterable[Document]) -> str:
    return shown_citations(
        citation_of(
            document.page_content,
            document.metadata,
            document.metadata.get("start_index"),
            document.metadata.get("end_index"),
        )
        for document in documents
    )
