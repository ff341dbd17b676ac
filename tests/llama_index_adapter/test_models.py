"""LlamaIndex's models as the core's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from llama_index.core.bridge.pydantic import Field
from llama_index.core.llms import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    LLMMetadata,
    MessageRole,
)
from llama_index_fakes import HashEmbedding, ScriptedLLM

from llama_index_structrag import LlamaIndexEmbedder, LlamaIndexModel
from structrag import Index, read_text
from structrag.model_calls.usage import tokens_of


async def test_the_embedder_uses_batches_and_query_embeddings():
    model = HashEmbedding(calls=[], embed_batch_size=2)
    embedder = LlamaIndexEmbedder(model)
    vectors = embedder.embed(["a b", "c", "d"])
    assert vectors == [model._vector(text) for text in ("a b", "c", "d")]
    assert model.calls == ["batch of 2", "batch of 1"]
    assert embedder.embed(["c"], query=True) == [vectors[1]]
    assert await embedder.aembed(["a b", "c", "d"]) == vectors
    assert await embedder.aembed(["c", "a b"], query=True) == [vectors[1], vectors[0]]
    assert model.calls[2:] == [
        "query",
        "async batch of 2",
        "async batch of 1",
        "async query",
        "async query",
    ]
    assert embedder.embed([]) == []


class Chat(ScriptedLLM):
    """A model with a chat template: a bare completion is empty."""

    is_chat: bool = True
    api_base: str = "http://localhost:1/v1"
    generate_kwargs: dict[str, Any] = Field(default_factory=dict)
    presence_penalty: float = 0.0

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="chat-1", is_chat_model=self.is_chat)

    def complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponse:
        return CompletionResponse(text="" if self.is_chat else "completed")

    def chat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        self.prompts.append(messages[0].content)
        assert messages[0].role == MessageRole.USER
        return ChatResponse(message=ChatMessage(role="assistant", content=self.answer))

    async def achat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        self.async_calls += 1
        return self.chat(messages)


async def test_a_chat_model_is_asked_as_one():
    model = Chat(answer="An answer.")
    adapted = LlamaIndexModel(model)
    assert adapted.complete("p") == await adapted.acomplete("q") == "An answer."
    assert (model.prompts, model.async_calls) == (["p", "q"], 1)
    model.answer = None  # type: ignore[assignment]
    assert adapted.complete("p") == ""
    assert LlamaIndexModel(Chat(is_chat=False)).complete("p") == "completed"


@pytest.mark.parametrize(
    "reported",
    [
        {"additional_kwargs": {"prompt_tokens": 31, "completion_tokens": 4}},
        {"raw": {"usage": {"prompt_tokens": 31, "completion_tokens": 4}}},
        {
            "raw": SimpleNamespace(
                usage=SimpleNamespace(input_tokens=31, output_tokens=4)
            )
        },
    ],
)
async def test_tokens_that_a_provider_reports_come_with_the_answer(reported: Any):
    class Reporting(Chat):
        def chat(self, messages: Any, **kwargs: Any) -> ChatResponse:
            return ChatResponse(message=super().chat(messages).message, **reported)

        def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
            return CompletionResponse(text="completed", **reported)

        async def acomplete(
            self, prompt: str, formatted: bool = False, **kwargs: Any
        ) -> Any:
            return self.complete(prompt)

    for is_chat in (True, False):
        adapted = LlamaIndexModel(Reporting(answer="An answer.", is_chat=is_chat))
        for answer in (adapted.complete("p"), await adapted.acomplete("p")):
            assert tokens_of("p", answer) == (31, 4)


class WithOwnMethod(Chat):
    """Holds a bound method of itself, as HuggingFaceLLM does."""

    def model_post_init(self, context: Any) -> None:
        self.messages_to_prompt = self.templated
        self.completion_to_prompt = self.templated_text

    def templated(self, messages: Any) -> str:
        return ""

    def templated_text(self, text: str) -> str:
        return text


def test_a_model_that_holds_a_method_of_its_own_has_a_name():
    name = LlamaIndexModel(WithOwnMethod()).name
    assert name == LlamaIndexModel(WithOwnMethod()).name != LlamaIndexModel(Chat()).name
    assert name != LlamaIndexModel(WithOwnMethod(presence_penalty=0.5)).name


def test_a_tokenizer_that_is_named_counts_nothing() -> None:
    """OpenAILike has the name of one; a string has `encode` too."""

    class Like(ScriptedLLM):
        tokenizer: str = "Qwen/Qwen3-8B"

    assert LlamaIndexModel(Like()).count_tokens is None
    text = "# Pump\n\n" + "It moves water from one tank to another one. " * 40
    index = Index(llm=LlamaIndexModel(Like()))
    report = index.add([read_text(text)])
    assert report.usage["calls"] and report.usage["prompt_tokens"] > 0
