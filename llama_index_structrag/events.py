"""Events besides LlamaIndex's own ones of retrieval, embedding and language models."""

from __future__ import annotations

from typing import Any

from llama_index.core.instrumentation.events import BaseEvent


class IndexBuildStartEvent(BaseEvent):
    """Documents are about to be added to an index.

    Example:
        >>> IndexBuildStartEvent(n_documents=2).n_documents
        2
    """

    n_documents: int

    @classmethod
    def class_name(cls) -> str:
        return "IndexBuildStartEvent"


class IndexBuildEndEvent(BaseEvent):
    """Documents were added: their number and the cost.

    Example:
        >>> usage = {"llm_calls": 0}
        >>> event = IndexBuildEndEvent(added=1, replaced=0, unchanged=1, chunks=3, usage=usage)
        >>> event.chunks
        3
    """

    added: int
    replaced: int
    unchanged: int
    chunks: int
    usage: dict[str, Any]

    @classmethod
    def class_name(cls) -> str:
        return "IndexBuildEndEvent"


class RetrievalCostEvent(BaseEvent):
    """`D3Retriever` has answered a question: the cost.

    Example:
        >>> stage = {"calls": 1, "prompt_tokens": 90, "answer_tokens": 4, "scored": 0}
        >>> event = RetrievalCostEvent(question="Who?", cost={"route": stage}, degraded=0)
        >>> event.cost["route"]["calls"]
        1

    `cost` is the cost of each stage, `degraded` the number of failed calls that scores replaced.
    """

    question: str
    # Stage -> calls, prompt_tokens, answer_tokens, scored.
    cost: dict[str, dict[str, int]]
    degraded: int

    @classmethod
    def class_name(cls) -> str:
        return "RetrievalCostEvent"
