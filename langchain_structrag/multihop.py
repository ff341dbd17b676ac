"""Several searches for one question, for LangChain: self-ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from functools import partial
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForChainRun,
    CallbackManagerForChainRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool
from pydantic import BaseModel
from typing_extensions import Unpack

from langchain_structrag.conversion import digest, document_id, document_with
from langchain_structrag.models import answering, as_language_model, inner_config
from langchain_structrag.tools import ToolRetriever, answering_tool
from structrag.errors import InvalidParameter, check_arguments
from structrag.index.selection import narrowed
from structrag.integrations.kinds import SelfAskOptions
from structrag.integrations.retrievers import (
    HostRetriever,
    passage,
    results_of,
    trace_notes,
)
from structrag.records import Chunk, Hit
from structrag.retrieval.multihop.agents import SelfAsk as CoreSelfAsk
from structrag.retrieval.multihop.hops import SelfAskResult
from structrag.retrieval.retriever import Retriever


def limits_of(retriever: Any, where: Any) -> Any:
    """A condition on documents with those of a retriever and of the one inside it."""
    while isinstance(retriever, ToolRetriever):
        where = narrowed(retriever.where, where)
        retriever = getattr(retriever, "retriever", None)
    return where


def stepped(retriever: BaseRetriever) -> tuple[Retriever, Callable[[Hit], Document]]:
    """A LangChain retriever as the core's, and how its hits become documents. Raises
    InvalidParameter for anything else."""
    if not isinstance(retriever, BaseRetriever):
        raise InvalidParameter(
            f"retriever must be a LangChain retriever; got {type(retriever).__name__}."
        )
    # This package's retrievers contain one of the core.
    inner = getattr(retriever, "_stepped", None)
    if inner is not None:
        return inner()  # type: ignore[no-any-return]
    host = HostRetriever(
        type(retriever).__name__,
        lambda question: retriever.invoke(question, inner_config()),
        lambda question: retriever.ainvoke(question, inner_config()),
        chunk_of,
    )
    return host, document_of


def chunk_of(document: Document) -> Chunk:
    """A result of another retriever as a chunk, whose context is the heading path in its
    metadata."""
    return passage(
        str(document.id or digest(document)),
        document_id(document),
        document.page_content,
        start=document.metadata.get("start_index"),
        path=document.metadata.get("heading_path"),
        extras={"id": document.id, "metadata": document.metadata},
    )


def document_of(hit: Hit) -> Document:
    """The document that `chunk_of` made the hit's chunk of."""
    extras = hit.chunk.extras
    return document_with(hit.chunk.text, deepcopy(extras["metadata"]), extras["id"])


class SelfAsk(Runnable[Any, dict[str, Any]]):
    """Answers a question by follow-up questions (D3, section 5.2).

    Each follow-up gets its own retrieval and its own answer.

    Example:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> from langchain_structrag import MultiViewRetriever
        >>> retriever = MultiViewRetriever.from_texts(["Acme makes the X100. Jane founded Acme."])
        >>> replies = ["Follow up: Who makes the X100?", "Acme", "So the final answer is: Jane"]
        >>> chain = SelfAsk(retriever, FakeListChatModel(responses=replies))  # or ChatOpenAI()
        >>> chain.invoke("Who founded the maker of the X100?")["answer"]
        'Jane'

    The input is a question, or a dict with "question" (and "where"); `where` is also accepted by
    `invoke`, `ainvoke` and `batch`. The output is a dict: `question`; `answer` ("Unanswerable" when
    nothing was found); `evidence`, the documents of all hops, each once; `trace`, a dict for each
    hop with `follow_up`, `answer`, `evidence` and `cost`; `stopped`, why no further follow-up was
    asked ("final_answer", "max_followups", "repeated_followup", "empty_answers", "token_budget" or
    "no_reply"); `cost`, stage -> calls, prompt_tokens, answer_tokens and scored; `failures`, calls
    that failed.

    Calls of the model, and searches by a retriever of another package, are child runs of the
    chain's run.

    Args:
        retriever: A retriever of this package, with its own settings (except for `max_tokens` of
            `HiQARetriever`: see `evidence_tokens`), or any LangChain retriever.
        llm: A chat model or LLM that asks and answers; None: the model of the retriever or its
            index.
        max_followups: The largest number of follow-ups, default 4.
        min_followups: A final answer before this number of follow-ups (default 1) is rejected, and
            the question itself is looked up instead. 0: a model may answer from memory.
        token_budget: The limit for the tokens of all prompts and answers of a question; no new
            round starts that would exceed it. None: no limit.
        evidence_tokens: The token limit of the evidence in one prompt, default 3,000.
        prompts: What the model is asked: a `structrag.retrieval.multihop.hops.SelfAskPrompts`.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    def __init__(
        self,
        retriever: BaseRetriever,
        llm: Any = None,
        **settings: Unpack[SelfAskOptions],
    ) -> None:
        check_arguments(type(self).__name__, settings, SelfAskOptions.__annotations__)
        self.retriever = retriever
        self._llm = as_language_model(llm)
        self._settings = settings
        self._agent()  # refuses now what an answer would refuse

    def invoke(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        where: Any = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """The answer to a question.

        Raises:
            InvalidParameter: the input is not a question.
            ModelFailed: no call of the model succeeded (NoModel: there is no model).
        """
        return self._call_with_config(
            partial(self._answer, where=where),
            input,
            config,
            run_type="chain",
            **kwargs,
        )

    async def ainvoke(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        where: Any = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """`invoke` on an event loop."""
        return await self._acall_with_config(
            partial(self._aanswer, where=where),
            input,
            config,
            run_type="chain",
            **kwargs,
        )

    def as_tool(
        self,
        args_schema: type[BaseModel] | None = None,
        *,
        name: str | None = None,
        description: str | None = None,
        arg_types: dict[str, type] | None = None,
    ) -> BaseTool:
        """A tool that answers a `question` with its evidence.

        Its only argument is `question`. Its content is text: the answer, followed by the passages
        it is based on, each with its source, heading path and character range. Its artifact is the
        chain's output. With `args_schema` or `arg_types` it is LangChain's own tool.

        Args:
            name: By default "answer_from_documents", numbered as those of retrievers.
            description: The description that the model reads; say what the documents are about.
        """
        if args_schema is not None or arg_types is not None:
            return super().as_tool(
                args_schema, name=name, description=description, arg_types=arg_types
            )
        return answering_tool(self, name, description)

    def _answer(
        self, input: Any, run_manager: CallbackManagerForChainRun, *, where: Any
    ) -> dict[str, Any]:
        question, where = _read(input, where)
        core, document = self._agent()
        where = limits_of(self.retriever, where)
        with answering(run_manager):
            return _output(core.answer(question, where=where), document)

    async def _aanswer(
        self, input: Any, run_manager: AsyncCallbackManagerForChainRun, *, where: Any
    ) -> dict[str, Any]:
        question, where = _read(input, where)
        core, document = self._agent()
        where = limits_of(self.retriever, where)
        with answering(run_manager):
            return _output(await core.aanswer(question, where=where), document)

    def _agent(self) -> tuple[CoreSelfAsk, Callable[[Hit], Document]]:
        """The core's self-ask, and how hits become documents. Made anew for each question, over the
        retriever as it is then."""
        retriever, document = stepped(self.retriever)
        return CoreSelfAsk(retriever, self._llm, **self._settings), document


def _output(
    result: SelfAskResult, document: Callable[[Hit], Document]
) -> dict[str, Any]:
    def shown(hits: Iterable[Hit]) -> list[Document]:
        return list(results_of(hits, document))

    return {
        "question": result.question,
        "answer": result.answer,
        "evidence": shown(result.evidence),
        **trace_notes(result, shown),
    }


def _read(input: Any, where: Any) -> tuple[str, Any]:
    """The question and the condition on documents."""
    question = input
    if isinstance(input, Mapping):
        where = input.get("where") if where is None else where
        question = input.get("question")
    if not isinstance(question, str):
        raise InvalidParameter(
            f"input must be a question, or a dict with a string under 'question'; got {input!r}."
        )
    return question, where
