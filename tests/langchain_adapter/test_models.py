"""LangChain's models as structrag's."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from langchain_core.callbacks import BaseCallbackHandler, CallbackManager
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.language_models import LLM, FakeListChatModel, FakeListLLM
from langchain_fakes import Chat
from small_models import small_causal_model, small_tokenizer

from langchain_structrag import LangChainEmbedder, LangChainModel
from langchain_structrag.models import as_embedder, as_language_model, inner_callbacks
from structrag.errors import InvalidParameter
from structrag.model_calls.requests import Ask, Embed, Failed
from structrag.model_calls.runner import Runner
from structrag.model_calls.usage import CountedText, tokens_of
from structrag.models.transformers_margin import TransformersMargin


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


def test_names_tell_models_and_settings_apart_and_hold_no_key() -> None:
    names = {
        LangChainModel(Chat()).name,
        LangChainModel(Chat(model="chat-2")).name,
        LangChainModel(Chat(temperature=0.9)).name,
        LangChainModel(Chat().bind(temperature=0.5)).name,  # type: ignore[arg-type]
    }
    assert len(names) == 4
    assert "langchain_fakes.Chat(model='chat-1', temperature=0.2)" in names
    embedder = LangChainEmbedder(Named())
    assert embedder.name.endswith(".Named(model_name='e5', dimensions=2)")
    assert not any("secret" in name for name in [*names, embedder.name])
    assert (
        LangChainEmbedder(DeterministicFakeEmbedding(size=4)).name
        != LangChainEmbedder(DeterministicFakeEmbedding(size=5)).name
    )
    assert LangChainEmbedder(Named(), name="mine").name == "mine"


async def test_embedder_asks_documents_and_queries_apart() -> None:
    embedder = LangChainEmbedder(Named())
    assert embedder.embed(["a", "bb"]) == [[1.0, 1.0], [1.0, 2.0]]
    assert embedder.embed(["a", "bb"], query=True) == [[0.0, 1.0], [0.0, 2.0]]
    assert await embedder.aembed(["a", "bb"]) == embedder.embed(["a", "bb"])
    assert await embedder.aembed(["a", "bb"], query=True) == embedder.embed(
        ["a", "bb"], query=True
    )
    assert embedder.embed([]) == []


async def test_runner_drives_them() -> None:
    runner = Runner(llm=LangChainModel(Chat()), embedder=LangChainEmbedder(Named()))

    def steps() -> Any:
        return (yield [Ask("q"), Embed(("a", "bb"))])

    answer, matrix = runner.run(steps())
    assert answer == "an answer"
    assert matrix.shape == (2, 2)
    again = await runner.arun(steps())
    assert again[0] == answer
    assert (again[1] == matrix).all()


def test_a_model_that_raises_is_a_failed_call() -> None:
    runner = Runner(llm=LangChainModel(FakeListChatModel(responses=[])))

    def steps() -> Any:
        return (yield [Ask("q")])

    assert isinstance(runner.run(steps())[0], Failed)


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


def test_wrong_objects_are_named() -> None:
    with pytest.raises(InvalidParameter, match="embeddings"):
        LangChainEmbedder("text-embedding-3")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="model"):
        LangChainModel(len)  # type: ignore[arg-type]


def test_other_objects_are_left_for_the_core() -> None:
    assert as_embedder(None) is None
    assert as_language_model(len) is len
    assert isinstance(as_embedder(Named()), LangChainEmbedder)
    assert isinstance(as_language_model(Chat()), LangChainModel)


async def test_async_embedding_does_not_block_the_loop() -> None:
    class Slow(Named):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            import time

            time.sleep(0.2)
            return super().embed_documents(texts)

    waiting = asyncio.create_task(LangChainEmbedder(Slow()).aembed(["a"]))
    ticks = 0
    while not waiting.done():
        await asyncio.sleep(0.01)
        ticks += 1
    assert ticks >= 5


class Served(Chat):
    """A model behind a server, as ChatOpenAI."""

    base_url: str = "http://localhost:1/v1"
    presence_penalty: float | None = None
    answered_calls: int = 0


def test_the_server_and_how_answers_are_drawn_are_in_the_name() -> None:
    models = [
        Served(),
        Served(base_url="http://localhost:2/v1"),
        Served(base_url="http://user:secret@localhost:2/v1"),
        Served(presence_penalty=0.5),
    ]
    names = [LangChainModel(model).name for model in models]
    assert len(set(names)) == len(names)
    assert not any("secret" in name or "localhost" in name for name in names)
    assert LangChainModel(Served(base_url="http://localhost:1/v1")).name == names[0]
    assert LangChainModel(Served(answered_calls=7)).name == names[0]


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


def pipeline(seed: int = 0) -> Any:
    return SimpleNamespace(model=small_causal_model(seed), tokenizer=small_tokenizer())


async def test_a_model_of_transformers_gives_margins() -> None:
    pytest.importorskip("torch", reason="the extra 'models' is not installed")
    loaded = pipeline()
    adapted = LangChainModel(Pipeline(pipeline=loaded))
    expected = TransformersMargin(loaded.model, loaded.tokenizer).choose(
        "cats eat", ("1", "2")
    )
    assert adapted.choose("cats eat", ("1", "2")) == pytest.approx(expected)
    assert await adapted.achoose("cats eat", ("1", "2")) == pytest.approx(expected)
    raw = LangChainModel(Pipeline(pipeline=loaded), normalised=False)
    plain = TransformersMargin(loaded.model, loaded.tokenizer, normalised=False)
    assert raw.choose("cats eat", ("1", "2")) == plain.choose("cats eat", ("1", "2"))
    again, counted = adapted.unnormalised, adapted.masses.n
    assert again.choose("cats eat", ("1", "2")) == raw.choose("cats eat", ("1", "2"))
    assert (again.name, adapted.masses.n) == (raw.name, counted + 1)
    assert again is adapted.unnormalised and raw.unnormalised is raw
    assert raw.name == f"{adapted.name}|not normalised"
    assert adapted.name == LangChainModel(Pipeline(pipeline=pipeline())).name
    assert adapted.name != LangChainModel(Pipeline(pipeline=pipeline(1))).name
    assert "weights=float32#" in adapted.name


async def test_a_prompt_that_is_repeated_is_no_answer() -> None:
    def call_settings() -> Any:
        return (yield [Ask("Which animal barks at strangers, the cat or the dog?")])

    runner = Runner(llm=LangChainModel(Pipeline()))
    assert (
        runner.run(call_settings()) == await runner.arun(call_settings()) == ["Dogs."]
    )


def test_a_model_of_transformers_counts_its_own_tokens() -> None:
    counter = LangChainModel(Pipeline(pipeline=pipeline())).count_tokens
    assert counter is not None and counter("cats eat dogs .") == 4
    assert LangChainModel(FakeListLLM(responses=[])).count_tokens is None


async def test_a_chat_model_is_given_a_schema_until_it_refuses_one() -> None:
    class Held(Chat):
        def _generate(
            self, messages: Any, stop: Any = None, run_manager: Any = None, **kw: Any
        ):  # type: ignore[no-untyped-def]
            if "response_format" in kw and self.model == "refuses":
                raise TypeError("unexpected keyword argument 'response_format'")
            taken = kw.get("response_format", {}).get("type", "plain")
            return Chat(content=taken)._generate(messages)

    schema = {"type": "object"}
    takes, refuses = LangChainModel(Held()), LangChainModel(Held(model="refuses"))
    for model, expected in ((takes, "json_schema"), (refuses, "plain")):
        assert model.complete_json("p", schema) == expected
        assert await model.acomplete_json("p", schema) == expected
        assert tokens_of("p", model.complete_json("p", schema)) == (3, 2)
    chain = LangChainModel(FakeListLLM(responses=["plain"]))
    assert chain.complete_json("p", schema) == "plain"


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
