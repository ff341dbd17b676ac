"""Several searches for one question, for LlamaIndex: self-ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.response.schema import Response
from llama_index.core.callbacks import CallbackManager, CBEventType, EventPayload
from llama_index.core.callbacks.base import EventContext
from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
from llama_index.core.tools import FunctionTool
from typing_extensions import Self, Unpack

from llama_index_structrag.models import core_model
from llama_index_structrag.retrieving import (
    IndexRetriever,
    aretrieved,
    bundle_flow,
    prompts_of,
    updated_prompts,
)
from llama_index_structrag.tools import answering_tool
from structrag.errors import InvalidParameter, check_arguments
from structrag.integrations.arguments import errors_of_models
from structrag.integrations.kinds import SelfAskOptions
from structrag.integrations.metadata import CONTEXT_KEY
from structrag.integrations.retrievers import HostRetriever, passage, trace_notes
from structrag.records import Chunk, Hit
from structrag.retrieval.multihop.agents import SelfAsk
from structrag.retrieval.multihop.hops import SelfAskPrompts, SelfAskResult
from structrag.retrieval.retriever import Retriever


@dataclass(frozen=True)
class Stepped:
    """A LlamaIndex retriever, taken apart for several searches."""

    core: Retriever
    where: Any  # the condition on documents that it was made with
    nodes_of: Callable[[Sequence[Hit]], list[NodeWithScore]]  # from its hits to nodes


def stepped(retriever: Any) -> Stepped:
    """A LlamaIndex retriever, taken apart. One of this package by the core's, another by its own
    calls. InvalidParameter if it is none."""
    if isinstance(retriever, IndexRetriever):
        return Stepped(retriever.retriever, retriever.where, retriever.nodes_of)
    if not isinstance(retriever, BaseRetriever):
        raise InvalidParameter(
            f"retriever must be a LlamaIndex retriever; got {type(retriever).__name__}."
        )
    host = HostRetriever(
        type(retriever).__name__,
        retriever.retrieve,
        lambda question: aretrieved(retriever, question),
        chunk_of,
    )
    return Stepped(host, None, lambda hits: [_node_of(hit) for hit in hits])


def chunk_of(scored: NodeWithScore) -> Chunk:
    """A result of another retriever as a chunk, whose context is the heading path in its
    metadata."""
    node = scored.node
    return passage(
        node.node_id,
        node.ref_doc_id or node.node_id,
        node.get_content(metadata_mode=MetadataMode.NONE),
        start=getattr(node, "start_char_idx", None),
        context=str(node.metadata.get(CONTEXT_KEY, "")),
        extras={"node": scored},
    )


def _node_of(hit: Hit) -> NodeWithScore:
    """The node that `chunk_of` made the hit's chunk of."""
    node: NodeWithScore = hit.chunk.extras["node"]
    return node


_PLACES = {
    "next": ("question", "history"),
    "answer": ("evidence", "question"),
    "final": ("evidence", "history", "question"),
}


class SelfAskQueryEngine(BaseQueryEngine):
    """Answers a question by follow-up questions (D3, section 5.2).

    Each follow-up gets its own retrieval and its own answer.

    Example:
        >>> from llama_index.core import Document
        >>> from llama_index_structrag import MultiViewRetriever
        >>> document = Document(text="Acme makes the X100. Jane founded Acme.")
        >>> replies = ["Follow up: Who makes the X100?", "Acme", "So the final answer is: Jane"]
        >>> def llm(prompt):  # or Settings.llm
        ...     return replies.pop(0)
        >>> engine = SelfAskQueryEngine(MultiViewRetriever.from_documents([document]), llm)
        >>> engine.query("Who founded the maker of the X100?").response
        'Jane'

    The response is the answer ("Unanswerable" when nothing was found), and its `source_nodes` are
    the nodes of all hops in order of first use, each once. Its `metadata`, all JSON: `trace`, for
    each hop `follow_up`, `answer`, `evidence` (node ids) and `cost`; `stopped`, why no further
    follow-up was asked ("final_answer", "max_followups", "repeated_followup", "empty_answers",
    "token_budget" or "no_reply"); `cost`, stage -> calls, prompt_tokens, answer_tokens and scored;
    `failures`, calls that failed.

    Args:
        retriever: A retriever of this package, with its own settings and `where` (except for
            `max_tokens` of `HiQARetriever`: see `evidence_tokens`), or any LlamaIndex retriever.
        llm: A LlamaIndex LLM that asks and answers; None: the model of the retriever or its index.
        max_followups: The largest number of follow-ups, default 4.
        min_followups: A final answer before this number of follow-ups (default 1) is rejected, and
            the question itself is looked up instead. 0: a model may answer from memory.
        token_budget: The limit for the tokens of all prompts and answers of a question; no new
            round starts that would exceed it. None: no limit.
        evidence_tokens: The token limit of the evidence in one prompt, default 3,000.
        prompts: What the model is asked: a `structrag.retrieval.multihop.hops.SelfAskPrompts`;
            `update_prompts` changes them too.
        callback_manager: As for every query engine; None: the retriever's.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
        ModelFailed: from `query`: no call of the model succeeded (NoModel: there is no model).
    """

    def __init__(
        self,
        retriever: BaseRetriever,
        llm: Any = None,
        *,
        callback_manager: CallbackManager | None = None,
        **settings: Unpack[SelfAskOptions],
    ) -> None:
        check_arguments(type(self).__name__, settings, SelfAskOptions.__annotations__)
        stepped(retriever)
        super().__init__(callback_manager or retriever.callback_manager)
        self.retriever = retriever
        self._llm = core_model(llm)
        self.prompts: SelfAskPrompts = settings.pop("prompts", None) or SelfAskPrompts()
        self._settings = settings
        self._agent()

    @classmethod
    def from_args(
        cls, retriever: BaseRetriever, llm: Any = None, **settings: Any
    ) -> Self:
        """The same as calling the class."""
        return cls(retriever, llm, **settings)

    def retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """The nodes that the retriever finds for the question itself."""
        return self.retriever.retrieve(query_bundle)

    async def aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """`retrieve` on an event loop."""
        return await self.retriever.aretrieve(query_bundle)

    def as_tool(
        self, name: str | None = None, description: str | None = None
    ) -> FunctionTool:
        """A tool that answers a `question` with its evidence.

        Its only argument is `question`. Its output is text: the answer, followed by the passages it
        is based on, each with its source, heading path and character range.

        Args:
            name: By default "answer_from_documents", numbered as those of retrievers.
            description: The description that the model reads; say what the documents are about.
        """
        return answering_tool(self, name, description)

    def _query(self, query_bundle: QueryBundle) -> Response:
        with self._event(query_bundle) as event:
            agent, over = self._agent()
            flow = bundle_flow(query_bundle, agent.flow, where=over.where)
            with errors_of_models():
                result = agent.retriever.run(flow)
            response = _response(result, over)
            event.on_end(payload={EventPayload.RESPONSE: response})
        return response

    async def _aquery(self, query_bundle: QueryBundle) -> Response:
        with self._event(query_bundle) as event:
            agent, over = self._agent()
            flow = bundle_flow(query_bundle, agent.flow, where=over.where)
            with errors_of_models():
                result = await agent.retriever.arun(flow)
            response = _response(result, over)
            event.on_end(payload={EventPayload.RESPONSE: response})
        return response

    @contextmanager
    def _event(self, query_bundle: QueryBundle) -> Iterator[EventContext]:
        payload: dict[str, Any] = {EventPayload.QUERY_STR: query_bundle.query_str}
        with self.callback_manager.event(CBEventType.QUERY, payload=payload) as event:
            yield event

    def _agent(self) -> tuple[SelfAsk, Stepped]:
        over = stepped(self.retriever)
        settings: SelfAskOptions = {**self._settings, "prompts": self.prompts}
        return SelfAsk(over.core, self._llm, **settings), over

    def _get_prompts(self) -> PromptDictType:
        return prompts_of(self.prompts, _PLACES)

    def _update_prompts(self, prompts: PromptDictType) -> None:
        self.prompts = updated_prompts(self.prompts, _PLACES, prompts)

    def _get_prompt_modules(self) -> PromptMixinType:
        return {"retriever": self.retriever}


def _response(result: SelfAskResult, over: Stepped) -> Response:
    def ids(hits: Sequence[Hit]) -> list[str]:
        return [scored.node.node_id for scored in over.nodes_of(hits)]

    metadata = trace_notes(result, ids)
    nodes = over.nodes_of(result.evidence)
    return Response(result.answer, source_nodes=nodes, metadata=metadata)
