"""What instrumentation handlers are told besides LlamaIndex's own retrieval, embedding and
language-model events."""

from __future__ import annotations

from typing import Any

from llama_index.core.instrumentation.events import BaseEvent


class IndexBuildStartEvent(BaseEvent):
    """Documents are about to be added to an index."""

    n_documents: int

    @classmethod
    def class_name(cls) -> str:
        return "IndexBuildStartEvent"


class IndexBuildEndEvent(BaseEvent):
    """Documents were added: how many, and what it cost."""

    added: int
    replaced: int
    unchanged: int
    chunks: int
    usage: dict[str, Any]

    @classmethod
    def class_name(cls) -> str:
        return "IndexBuildEndEvent"


class RetrievalCostEvent(BaseEvent):
    """A question was retrieved for by `D3Retriever`: what each stage took, and how many calls
    failed and were replaced by scores."""

    question: str
    cost: dict[str, dict[str, int]]  # stage -> calls, prompt_tokens, answer_tokens, scored
    degraded: int

    @classmethod
    def class_name(cls) -> str:
        return "RetrievalCostEvent"
