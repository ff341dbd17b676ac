"""Self-ask for LangChain: a question answered through follow-up questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableConfig

from langchain_structrag.callbacks import inner_callbacks
from langchain_structrag.hosted import stepped
from langchain_structrag.models import as_language_model
from structrag.errors import InvalidParameter
from structrag.records import Hit
from structrag.retrieval.multihop.hops import Hop, SelfAskPrompts, SelfAskResult
from structrag.retrieval.multihop.selfask import SelfAsk as CoreSelfAsk


class SelfAsk(Runnable[Any, dict[str, Any]]):
    """Answers a question by follow-up questions, each retrieved and answered by itself (D3, section
    5.2).

        chain = SelfAsk(D3Retriever.from_documents(documents, llm=llm), llm)
        chain.invoke("Who founded the company that made the X100?")["answer"]

    The input is a question, or a dict with "question" (and "where"); `where` is also taken by
    `invoke`, `ainvoke` and `batch`. The output is a dict: `question`; `answer` ("Unanswerable" when
    nothing was found); `evidence`, the documents of all hops, each once; `trace`, a dict for each
    hop with `follow_up`, `answer`, `evidence` and `cost`; `stopped`, why no further follow-up was
    asked ("final_answer", "max_followups", "repeated_followup", "empty_answers", "token_budget" or
    "no_reply"); `cost`, stage -> calls, prompt_tokens, answer_tokens and scored; `failures`, calls
    that failed.

    Calls of the model and searches of another package's retriever are child runs of the chain's
    run.

    Args:
        retriever: A retriever of this package, asked with its own settings (except for `max_tokens`
            of `HiQARetriever`: see `evidence_tokens`), or any LangChain retriever.
        llm: A chat model or LLM that asks and answers; None: the model of the retriever or its
            index.
        max_followups: Most follow-ups.
        token_budget: Tokens of all prompts and answers of a question; no new round begins that
            would reach beyond it. None: no limit.
        evidence_tokens: Tokens of evidence in one prompt.
        prompts: What the model is asked: a `structrag.retrieval.multihop.hops.SelfAskPrompts`.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    def __init__(
        self,
        retriever: BaseRetriever,
        llm: Any = None,
        *,
        max_followups: int = 4,
        token_budget: int | None = None,
        evidence_tokens: int = 3000,
        prompts: SelfAskPrompts | None = None,
    ) -> None:
        self.retriever = retriever
        self._settings: dict[str, Any] = {
            "llm": as_language_model(llm),
            "max_followups": max_followups,
            "token_budget": token_budget,
            "evidence_tokens": evidence_tokens,
            "prompts": prompts,
        }
        self._made()  # refuses now what an answer would refuse

    def invoke(
        self, input: Any, config: RunnableConfig | None = None, *, where: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        """The answer to a question.

        Raises:
            InvalidParameter: the input is no question.
            ModelFailed: not one call of the model succeeded (NoModel: there is no model).
        """
        return self._call_with_config(
            partial(self._answer, where=where), input, config, run_type="chain", **kwargs
        )

    async def ainvoke(
        self, input: Any, config: RunnableConfig | None = None, *, where: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        """`invoke` on an event loop."""
        return await self._acall_with_config(
            partial(self._aanswer, where=where), input, config, run_type="chain", **kwargs
        )

    def _answer(
        self, input: Any, run_manager: CallbackManagerForChainRun, *, where: Any
    ) -> dict[str, Any]:
        question, where = _read(input, where)
        core, document = self._made()
        with inner_callbacks(run_manager.get_child()):
            return _told(core.answer(question, where=where), document)

    async def _aanswer(
        self, input: Any, run_manager: AsyncCallbackManagerForChainRun, *, where: Any
    ) -> dict[str, Any]:
        question, where = _read(input, where)
        core, document = self._made()
        with inner_callbacks(run_manager.get_child()):
            return _told(await core.aanswer(question, where=where), document)

    def _made(self) -> tuple[CoreSelfAsk, Callable[[Hit], Document]]:
        """The core's self-ask over the retriever as it is now, and how hits become documents."""
        retriever, document = stepped(self.retriever)
        return CoreSelfAsk(retriever, **self._settings), document


def _told(result: SelfAskResult, document: Callable[[Hit], Document]) -> dict[str, Any]:
    return {
        "question": result.question,
        "answer": result.answer,
        "evidence": [document(hit) for hit in result.evidence],
        "trace": [_hop(hop, document) for hop in result.trace],
        "stopped": result.stopped,
        "cost": {stage: asdict(cost) for stage, cost in result.cost.items()},
        "failures": result.failures,
    }


def _hop(hop: Hop, document: Callable[[Hit], Document]) -> dict[str, Any]:
    return {
        "follow_up": hop.follow_up,
        "answer": hop.answer,
        "evidence": [document(hit) for hit in hop.evidence],
        "cost": asdict(hop.cost),
    }


def _read(input: Any, where: Any) -> tuple[str, Any]:
    """The question and the condition on documents."""
    if isinstance(input, Mapping):
        where = input.get("where") if where is None else where
        input = input.get("question")
    if not isinstance(input, str):
        raise InvalidParameter(
            "input must be a question, or a dict with a string under 'question'; got "
            f"{type(input).__name__}."
        )
    return input, where
