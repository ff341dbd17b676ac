"""What LlamaIndex's models are called, so that different ones share no cache entry, and how much of
a text they read."""

from __future__ import annotations

from typing import Any

from llama_index.core import ChatPromptTemplate, PromptTemplate
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import Field
from llama_index.core.llms import (
    ChatMessage,
)
from llama_index_fakes import HashEmbedding, ScriptedLLM

from llama_index_structrag import (
    LlamaIndexEmbedder,
    LlamaIndexModel,
)


class Unnamed(BaseEmbedding):
    """Called "unknown", as LlamaIndex calls what names itself not."""

    folder: str = "a"
    api_key: str = "sk-secret"
    calls: list[str] = Field(default_factory=list)
    base: Any = None

    def _get_text_embedding(self, text: str) -> list[float]:
        self.calls.append(text)
        return [float(len(self.folder)), 1.0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


class Other(Unnamed):
    pass


class Provider(ScriptedLLM):
    additional_kwargs: dict[str, Any] = Field(default_factory=dict)


def test_embedding_models_called_unknown_are_told_apart():
    names = [
        LlamaIndexEmbedder(model).name
        for model in (
            Unnamed(),
            Unnamed(folder="b"),
            Other(),
            Unnamed(base=Unnamed(folder="b")),
            Unnamed(base=HashEmbedding()),
            Unnamed(base=HashEmbedding(dimensions=8)),
            Unnamed(model_name="e5"),
            Other(model_name="e5"),
        )
    ]
    assert len(set(names)) == len(names)
    assert not any("unknown" in name or "sk-" in name for name in names)
    used = Unnamed(api_key="sk-other", embed_batch_size=3)
    used.get_text_embedding("x")
    assert LlamaIndexEmbedder(used).name == names[0]
    assert LlamaIndexEmbedder(used, name="mine").name == "mine"


def test_what_changes_answers_is_in_the_name():
    models = [
        Provider(),
        Provider(additional_kwargs={"seed": 1}),
        Provider(additional_kwargs={"seed": 2}),
        Provider(system_prompt="Be brief."),
        Provider(query_wrapper_prompt=PromptTemplate("<s>{query_str}")),
        Provider(query_wrapper_prompt=PromptTemplate("<t>{query_str}")),
        Provider(
            query_wrapper_prompt=ChatPromptTemplate([ChatMessage("a {query_str}")])
        ),
        Provider(
            query_wrapper_prompt=ChatPromptTemplate([ChatMessage("b {query_str}")])
        ),
        Provider(completion_to_prompt=lambda text: f"<s>{text}"),
        Provider(completion_to_prompt=lambda text: f"<t>{text}"),
    ]
    names = [LlamaIndexModel(model).name for model in models]
    assert len(set(names)) == len(names)
    assert (
        LlamaIndexModel(Provider(additional_kwargs={"api_key": "sk-1"})).name
        == LlamaIndexModel(Provider(additional_kwargs={"api_key": "sk-2"})).name
    )
