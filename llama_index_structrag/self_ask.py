"""Self-ask for LlamaIndex: a question answered through follow-up questions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.response.schema import Response
from llama_index.core.callbacks import CallbackManager, CBEventType, EventPayload
from llama_index.core.callbacks.base import EventContext
from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType
from llama_index.core.schema import NodeWithScore, QueryBundle
from typing_extensions import Self

from llama_index_structrag.hosted import Stepped, stepped
from llama_index_structrag.indexing import prompt_of, template_of
from llama_index_structrag.models import core_model
from structrag.retrieval.multihop.answering import EVIDENCE_TOKENS
from structrag.retrieval.multihop.hops import SelfAskPrompts, SelfAskResult
from structrag.retrieval.multihop.selfask import SelfAsk

_PLACES = {
    "next": ("question", "history"),
    "answer": ("evidence", "question"),
    "final": ("evidence", "history", "question"),
}


class SelfAskQueryEngine(BaseQueryEngine):
    """Answers a question by follow-up questions, each retrieved and answered by itself (D3, section
    5.2).

        engine = SelfAskQueryEngine(D3Retriever.from_documents(documents, llm=llm), llm)
        response = engine.query("Who founded the company that made the X100?")

    The response is the answer ("Unanswerable" when nothing was found), and its `source_nodes` are
    the nodes of all hops in order of first use, each once. Its `metadata`, all JSON: `trace`, for
    each hop `follow_up`, `answer`, `evidence` (node ids) and `cost`; `stopped`, why no further
    follow-up was asked ("final_answer", "max_followups", "repeated_followup", "empty_answers",
    "token_budget" or "no_reply"); `cost`, stage -> calls, prompt_tokens, answer_tokens and scored;
    `failures`, calls that failed.

    Args:
        retriever: A retriever of this package, asked with its own settings and `where` (except for
            `max_tokens` of `HiQARetriever`: see `evidence_tokens`), or any LlamaIndex retriever.
        llm: A LlamaIndex LLM that asks and answers; None: the model of the retriever or its index.
        max_followups: Most follow-ups.
        token_budget: Tokens of all prompts and answers of a question; no new round begins that
            would reach beyond it. None: no limit.
        evidence_tokens: Tokens of evidence in one prompt.
        prompts: What the model is asked: a `structrag.retrieval.multihop.hops.SelfAskPrompts`;
            `update_prompts` changes them too.
        callback_manager: As for every query engine; None: the retriever's.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
        ModelFailed: from `query`: not one call of the model succeeded (NoModel: there is no model).
    """

    def __init__(
        self,
        retriever: BaseRetriever,
        llm: Any = None,
        *,
        max_followups: int = 4,
        token_budget: int | None = None,
        evidence_tokens: int = EVIDENCE_TOKENS,
        prompts: SelfAskPrompts | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        stepped(retriever)
        super().__init__(callback_manager or retriever.callback_manager)
        self.retriever = retriever
        self._settings: dict[str, Any] = {
            "llm": core_model(llm),
            "max_followups": max_followups,
            "token_budget": token_budget,
            "evidence_tokens": evidence_tokens,
        }
        self.prompts = prompts or SelfAskPrompts()
        self._agent()

    @classmethod
    def from_args(cls, retriever: BaseRetriever, llm: Any = None, **settings: Any) -> Self:
        """The same as calling the class."""
        return cls(retriever, llm, **settings)

    def retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """What the retriever finds for the question itself."""
        return self.retriever.retrieve(query_bundle)

    async def aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """`retrieve` on an event loop."""
        return await self.retriever.aretrieve(query_bundle)

    def _query(self, query_bundle: QueryBundle) -> Response:
        with self._event(query_bundle) as event:
            agent, over = self._agent()
            response = _response(agent.answer(query_bundle.query_str, where=over.where), over)
            event.on_end(payload={EventPayload.RESPONSE: response})
        return response

    async def _aquery(self, query_bundle: QueryBundle) -> Response:
        with self._event(query_bundle) as event:
            agent, over = self._agent()
            response = _response(
                await agent.aanswer(query_bundle.query_str, where=over.where), over
            )
            event.on_end(payload={EventPayload.RESPONSE: response})
        return response

    @contextmanager
    def _event(self, query_bundle: QueryBundle) -> Iterator[EventContext]:
        payload: dict[str, Any] = {EventPayload.QUERY_STR: query_bundle.query_str}
        with self.callback_manager.event(CBEventType.QUERY, payload=payload) as event:
            yield event

    def _agent(self) -> tuple[SelfAsk, Stepped]:
        over = stepped(self.retriever)
        return SelfAsk(over.core, **self._settings, prompts=self.prompts), over

    def _get_prompts(self) -> PromptDictType:
        return {
            f"{name}_prompt": prompt_of(getattr(self.prompts, name), places)
            for name, places in _PLACES.items()
        }

    def _update_prompts(self, prompts: PromptDictType) -> None:
        changes = {
            name: template_of(prompts[f"{name}_prompt"], places)
            for name, places in _PLACES.items()
            if f"{name}_prompt" in prompts
        }
        self.prompts = replace(self.prompts, **changes)

    def _get_prompt_modules(self) -> PromptMixinType:
        return {"retriever": self.retriever}


def _response(result: SelfAskResult, over: Stepped) -> Response:
    trace = [
        {
            "follow_up": hop.follow_up,
            "answer": hop.answer,
            "evidence": [hit.chunk.id for hit in hop.evidence],
            "cost": asdict(hop.cost),
        }
        for hop in result.trace
    ]
    told = {
        "trace": trace,
        "stopped": result.stopped,
        "cost": {stage: asdict(cost) for stage, cost in result.cost.items()},
        "failures": result.failures,
    }
    return Response(result.answer, source_nodes=over.nodes_of(result.evidence), metadata=told)
