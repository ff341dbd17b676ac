"""LangChain's models as structrag's."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from langchain_core.callbacks import BaseCallbackHandler, CallbackManager
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import LLM, FakeListLLM
from langchain_fakes import Chat

from langchain_structrag import LangChainEmbedder, LangChainModel
from langchain_structrag.models import as_embedder, as_language_model, inner_callbacks
from structrag.model_calls.requests import Ask
from structrag.model_calls.runner import Runner
from structrag.model_calls.usage import CountedText, tokens_of


class Recorder(BaseCallbackHandler):
    def __init__(self) -> None:
        self.started: list[UUID | None] = []
        self.tokens = 0

    def on_chat_model_start(
        self, *args: Any, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        self.started.append(parent_run_id)

    def on_llm_end(self, response: Any, **kwargs: Any) -> None:
        self.tokens += response.generations[0][0].message.usage_metadata["total_tokens"]


class Named(Embeddings):
    model_name = "e5"
    dimensions = 2
    openai_api_key = "sk-secret"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, float(len(text))] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [0.0, float(len(text))]


BLOCKS = [
    {"type": "text", "text": "two "},
    {"type": "tool_use", "id": "1", "name": "t", "input": {}},
    {"type": "text", "text": "parts"},
]


@pytest.mark.parametrize(
    ("content", "text"), [("an answer", "an answer"), (BLOCKS, "two parts"), ("", "")]
)
async def test_answer_is_the_text_of_the_message(content: Any, text: str) -> None:
    model = LangChainModel(Chat(content=content))
    assert model.complete("question") == text
    assert await model.acomplete("question") == text
    # And no text of LangChain's own class.
    assert type(model.complete("question")) is CountedText
    assert tokens_of("", model.complete("question")) == (3, 2)


async def test_completion_models_answer_too() -> None:
    model = LangChainModel(FakeListLLM(responses=["plain", "again"]))
    assert model.complete("q") == "plain"
    assert await model.acomplete("q") == "again"


async def test_callbacks_reach_calls_from_threads_and_tasks() -> None:
    recorder = Recorder()
    manager = CallbackManager([recorder])
    runner = Runner(llm=LangChainModel(Chat()))

    def steps() -> Any:
        return (yield [Ask(f"q{i}") for i in range(5)])

    with inner_callbacks(manager):
        runner.run(steps())
        await runner.arun(steps())
    assert len(recorder.started) == 10
    runner.run(steps())
    assert len(recorder.started) == 10
    assert recorder.tokens == 50


def test_own_config_is_used() -> None:
    recorder = Recorder()
    LangChainModel(Chat(), config={"callbacks": [recorder]}).complete("q")
    assert len(recorder.started) == 1


def test_other_objects_are_left_for_the_core() -> None:
    assert as_embedder(None) is None
    assert as_language_model(len) is len
    assert isinstance(as_embedder(Named()), LangChainEmbedder)
    assert isinstance(as_language_model(Chat()), LangChainModel)


class Pipeline(LLM):
    """Holds a pipeline of transformers and repeats the prompt, as HuggingFacePipeline does."""

    pipeline: Any = None
    model_id: str = "small"

    @property
    def _llm_type(self) -> str:
        return "pipeline"

    def _call(
        self, prompt: str, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> str:
        return f"{prompt} Dogs."


async def test_a_prompt_that_is_repeated_is_no_answer() -> None:
    def call_settings() -> Any:
        return (yield [Ask("Which animal barks at strangers, the cat or the dog?")])

    runner = Runner(llm=LangChainModel(Pipeline()))
    assert (
        runner.run(call_settings()) == await runner.arun(call_settings()) == ["Dogs."]
    )


def test_a_schema_goes_beside_what_else_is_in_the_body_of_a_request() -> None:
    class WithBody(Chat):
        extra_body: Any = None

        def _generate(
            self, messages: Any, stop: Any = None, run_manager: Any = None, **kw: Any
        ):  # type: ignore[no-untyped-def]
            return Chat(content=",".join(sorted(kw.get("extra_body", ()))))._generate(
                messages
            )

    for body, expected in (
        (None, "response_format"),
        ({"top_k": 1}, "response_format,top_k"),
    ):
        model = LangChainModel(WithBody(extra_body=body))
        assert model.complete_json("p", {"type": "object"}) == expected
