"""LlamaIndex's models as the core's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from llama_index.core import MockEmbedding
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.llms import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    LLMMetadata,
    MessageRole,
    MockLLM,
)
from llama_index_fakes import HashEmbedding, ScriptedLLM
from small_models import small_causal_model, small_tokenizer

from llama_index_structrag import LlamaIndexEmbedder, LlamaIndexModel
from structrag import Index, read_text
from structrag.errors import InvalidParameter
from structrag.model_calls.usage import tokens_of
from structrag.models.transformers_margin import TransformersMargin


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


async def test_the_language_model_completes():
    model = ScriptedLLM(prompts=[])
    adapted = LlamaIndexModel(model)
    assert adapted.complete("p") == await adapted.acomplete("q") == model.answer
    assert (model.prompts, model.async_calls) == (["p", "q"], 1)
    assert LlamaIndexModel(MockLLM()).complete("echo") == "echo"


def test_names_tell_models_and_settings_apart_and_hold_no_key():
    names = [
        LlamaIndexEmbedder(HashEmbedding()).name,
        LlamaIndexEmbedder(HashEmbedding(dimensions=8)).name,
        LlamaIndexEmbedder(HashEmbedding(model_name="other")).name,
        LlamaIndexEmbedder(MockEmbedding(8)).name,
        LlamaIndexEmbedder(MockEmbedding(9)).name,
        LlamaIndexModel(ScriptedLLM()).name,
        LlamaIndexModel(ScriptedLLM(temperature=1.0)).name,
    ]
    assert len(set(names)) == len(names)
    assert not any("secret" in name for name in names)
    assert LlamaIndexEmbedder(HashEmbedding(api_key="sk-other")).name == names[0]
    assert "scripted-1" in names[5]


def test_other_objects_are_refused():
    with pytest.raises(
        InvalidParameter,
        match="embed_model must be a LlamaIndex BaseEmbedding; got str",
    ):
        LlamaIndexEmbedder("model")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="llm must be a LlamaIndex LLM; got str"):
        LlamaIndexModel("model")  # type: ignore[arg-type]


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


def test_the_server_and_how_answers_are_drawn_are_in_the_name():
    models = [
        Chat(),
        Chat(api_base="http://localhost:2/v1"),
        Chat(api_base="http://user:secret@localhost:2/v1"),
        Chat(presence_penalty=0.5),
        Chat(generate_kwargs={"top_k": 5}),
    ]
    names = [LlamaIndexModel(model).name for model in models]
    assert len(set(names)) == len(names)
    assert not any("secret" in name or "localhost" in name for name in names)
    assert LlamaIndexModel(Chat(api_base="http://localhost:1/v1")).name == names[0]
    models[0].async_calls = 7  # what a model counts tells nothing of its answers
    assert LlamaIndexModel(models[0]).name == names[0]


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


class Local(Chat):
    """Keeps a model of transformers where HuggingFaceLLM does."""

    _model: Any = PrivateAttr()
    _tokenizer: Any = PrivateAttr()

    def __init__(self, model: Any, tokenizer: Any) -> None:
        super().__init__()
        self._model, self._tokenizer = model, tokenizer


async def test_a_model_of_transformers_gives_margins():
    pytest.importorskip("torch", reason="the extra 'models' is not installed")
    model, tokenizer = small_causal_model(), small_tokenizer()
    adapted = LlamaIndexModel(Local(model, tokenizer))
    expected = TransformersMargin(model, tokenizer).choose("cats eat .", ("1", "2"))
    assert adapted.choose("cats eat .", ("1", "2")) == pytest.approx(expected)
    assert await adapted.achoose("cats eat .", ("1", "2")) == pytest.approx(expected)
    raw = LlamaIndexModel(Local(model, tokenizer), normalised=False)
    plain = TransformersMargin(model, tokenizer, normalised=False)
    assert raw.choose("cats eat .", ("1", "2")) == plain.choose(
        "cats eat .", ("1", "2")
    )
    again, counted = adapted.unnormalised, adapted.masses.n
    assert again.choose("cats eat .", ("1", "2")) == raw.choose(
        "cats eat .", ("1", "2")
    )
    assert (again.name, adapted.masses.n) == (raw.name, counted + 1)
    assert again is adapted.unnormalised and raw.unnormalised is raw
    assert raw.name == f"{adapted.name}|not normalised"
    assert adapted.name != LlamaIndexModel(Local(small_causal_model(1), tokenizer)).name
    assert "weights=float32#" in adapted.name


def test_a_model_of_transformers_counts_its_own_tokens():
    pytest.importorskip("torch", reason="the extra 'models' is not installed")
    counter = LlamaIndexModel(
        Local(small_causal_model(), small_tokenizer())
    ).count_tokens
    assert counter is not None and counter("cats eat dogs .") == 4
    assert LlamaIndexModel(MockLLM()).count_tokens is None


async def test_a_chat_model_is_given_a_schema_until_it_refuses_one():
    class Held(Chat):
        refuses: bool = False

        def chat(self, messages: Any, **kwargs: Any) -> ChatResponse:
            if "response_format" in kwargs and self.refuses:
                raise TypeError("unexpected keyword argument 'response_format'")
            taken = kwargs.get("response_format", {}).get("type", "plain")
            return ChatResponse(message=ChatMessage(role="assistant", content=taken))

        async def achat(self, messages: Any, **kwargs: Any) -> ChatResponse:
            return self.chat(messages, **kwargs)

    schema = {"type": "object"}
    for model, expected in (
        (Held(answer=""), "json_schema"),
        (Held(answer="", refuses=True), "plain"),
    ):
        adapted = LlamaIndexModel(model)
        assert adapted.complete_json("p", schema) == expected
        assert await adapted.acomplete_json("p", schema) == expected
    bare = LlamaIndexModel(Chat(answer="", is_chat=False))
    assert (
        bare.complete_json("p", schema)
        == await bare.acomplete_json("p", schema)
        == "completed"
    )


def test_a_tokenizer_that_is_named_counts_nothing() -> None:
    """OpenAILike has the name of one; a string has `encode` too."""

    class Like(ScriptedLLM):
        tokenizer: str = "Qwen/Qwen3-8B"

    assert LlamaIndexModel(Like()).count_tokens is None
    text = "# Pump\n\n" + "It moves water from one tank to another one. " * 40
    index = Index(llm=LlamaIndexModel(Like()))
    report = index.add([read_text(text)])
    assert report.usage["calls"] and report.usage["prompt_tokens"] > 0
