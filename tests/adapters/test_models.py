"""Models of both frameworks as the core's: names, calls, tokens, margins, and back."""

from __future__ import annotations

import math
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder
from frameworks import Chat
from small_models import small_causal_model, small_tokenizer

from structrag.errors import InvalidParameter
from structrag.model_calls.requests import Ask, Embed, Failed
from structrag.model_calls.runner import Runner
from structrag.model_calls.usage import tokens_of
from structrag.models import LsaEmbedder
from structrag.models.transformers_model import TransformersMargin

NAP = "Passage A:\nCats nap.\nPassage B:\nCats nap."
TEXTS = ["a pump", "a valve", "a seal"]


def lengths(texts: list[str]) -> list[list[float]]:
    """A function as an embedder, at the top level so that it can be pickled."""
    return [[1.0, float(len(text))] for text in texts]


# -- embedding models


async def test_documents_are_embedded_in_batches_and_queries_one_by_one(
    framework: Any,
) -> None:
    embedder = framework.embedder(framework.embedding())
    vectors = embedder.embed(TEXTS)
    assert len(vectors) == 3 and embedder.embed([]) == []
    assert await embedder.aembed(TEXTS) == vectors
    queries = embedder.embed(TEXTS[:2], query=True)
    assert await embedder.aembed(TEXTS[:2], query=True) == queries
    with pytest.raises(InvalidParameter, match=r"embed\w+ must be a .*; got str"):
        framework.embedder("text-embedding-3")


def test_names_tell_models_apart_and_hold_no_key(framework: Any) -> None:
    embedders = [
        framework.embedder(model).name for model in framework.different_embeddings()
    ]
    models = [
        framework.language(Chat(framework, **settings)).name
        for settings in ({}, {"model": "chat-2"}, {"temperature": 0.9}, {"seed": 5})
    ]
    servers = [
        framework.language(Chat(framework, server=f"http://{place}/v1")).name
        for place in ("localhost:1", "localhost:2", "user:secret@localhost:2")
    ]
    for names in (embedders, [*models, *servers[1:]]):
        assert len(set(names)) == len(names)
        assert not any(
            word in name for name in names for word in ("secret", "sk-", "localhost")
        )
    assert framework.language(Chat(framework)).name == models[0]
    assert framework.embedder(framework.embedding(), name="mine").name == "mine"


def asked(*prompts: str) -> Any:
    return (yield [Ask(prompt) for prompt in prompts])


class Encoder:
    """As much of a SentenceTransformer as is looked at."""

    max_seq_length = 20

    def tokenizer(self, text: str, **options: Any) -> dict[str, list[int]]:
        return {"input_ids": [0, *range(len(text.split())), 1]}

    def encode(self, texts: list[str]) -> Any:
        raise NotImplementedError


def test_how_much_a_model_reads_is_taken_from_its_encoder(framework: Any) -> None:
    embedder = framework.embedder(framework.with_encoder(Encoder()))
    assert embedder.max_tokens == 20
    assert embedder.count_tokens("three short words") == 5
    held = framework.with_encoder(Encoder())
    assert framework.embedder(held, max_tokens=12).max_tokens == 12
    assert framework.embedder(framework.embedding()).max_tokens is None
    with pytest.raises(InvalidParameter, match="max_tokens"):
        framework.embedder(framework.embedding(), max_tokens=0)
    text = "# Long\n\n" + "Five words are said here. " * 12
    limited = framework.embedder(framework.embedding(), name="bag", max_tokens=30)
    counts = []
    for model in (framework.embedding(), limited):
        options = {"embedding": model, "views": ["raw"]}
        index = framework.index(
            "MultiView", [framework.document(text)], **options
        ).index
        counts.append(index.usage.embedded)
    assert counts[0] == 1 < counts[1]


# -- the core's embedders as the framework's


class Awaited(HashEmbedder):
    """Tells queries from documents, and whether it was awaited."""

    awaited = 0

    def embed(self, texts: Any, *, query: bool = False) -> np.ndarray:
        return super().embed(texts) * (2 if query else 1)

    async def aembed(self, texts: Any, *, query: bool = False) -> np.ndarray:
        self.awaited += 1
        assert threading.current_thread() is threading.main_thread()
        return self.embed(texts, query=query)


async def test_vectors_are_the_embedders_own_and_queries_are_told_apart(
    framework: Any,
) -> None:
    embedder = Awaited(dimensions=8)
    hosted = framework.hosted(embedder)
    expected = HashEmbedder(dimensions=8).embed(TEXTS)
    assert np.allclose(framework.vectors(hosted, TEXTS), expected)
    assert np.allclose(framework.query_vector(hosted, TEXTS[0]), 2 * expected[0])
    assert np.allclose(await framework.avectors(hosted, TEXTS), expected)
    assert embedder.awaited == 1
    assert framework.vectors(hosted, []) == []
    seen: list[threading.Thread] = []

    def embed(texts: list[str]) -> list[list[float]]:
        seen.append(threading.current_thread())
        return lengths(texts)

    assert await framework.avectors(framework.hosted(embed), ["a"]) == [[1.0, 1.0]]
    assert seen[0] is not threading.main_thread()
    again = pickle.loads(pickle.dumps(framework.hosted(lengths)))
    assert framework.vectors(again, ["abc"]) == [[1.0, 3.0]]


def test_our_retrievers_use_the_embedder_inside(framework: Any) -> None:
    embedder = HashEmbedder(max_tokens=20)
    document = framework.document(" ".join(f"Pump {i} moves." for i in range(40)))
    retriever = framework.index(
        "MultiView", [document], embedding=framework.hosted(embedder), views=("raw",)
    )
    assert retriever.index.embedder is embedder
    assert len(embedder.texts) > len(retriever.index)  # windows, not truncation


REFUSED = [
    (
        None,
        "stay the same when documents are added; LSA.*, which None stands for, is fitted",
    ),
    (LsaEmbedder(), "stay the same when documents are added; LSA"),
    (3, "embedder must be None .LSA., the name or folder"),
    ("no/such-model", "cannot be loaded"),
]


@pytest.mark.parametrize(("embedder", "sentence"), REFUSED)
def test_what_is_no_embedder_is_refused(
    framework: Any, embedder: Any, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        framework.hosted(embedder)


# -- language models


async def test_answers_are_text_with_the_tokens_that_were_reported(
    framework: Any,
) -> None:
    model = framework.language(Chat(framework, answer="an answer", tokens=(3, 2)))
    for answer in (model.complete("q"), await model.acomplete("q")):
        assert answer == "an answer" and tokens_of("q", answer) == (3, 2)
    runner = Runner(llm=model, embedder=framework.embedder(framework.embedding()))

    def steps() -> Any:
        return (yield [Ask("q"), Embed(("a", "bb"))])

    answer, matrix = runner.run(steps())
    assert answer == "an answer" and matrix.shape[0] == 2
    again = await runner.arun(steps())
    assert again[0] == answer and (again[1] == matrix).all()
    with pytest.raises(InvalidParameter, match=r"(model|llm) must be"):
        framework.language(len)


def test_a_model_that_raises_is_a_failed_call(framework: Any) -> None:
    def fail(prompt: str) -> str:
        raise RuntimeError("down")

    (answer,) = Runner(llm=framework.language(framework.model(fail))).run(asked("q"))
    assert isinstance(answer, Failed)


async def test_log_probabilities_give_margins(framework: Any) -> None:
    model = framework.language(Chat(framework, logprobs={"2": -0.1, "1": -2.4}))
    margin = math.tanh(2.3 / 2)
    assert model.choose(NAP, ("2", "1")) == pytest.approx(margin)
    assert await model.achoose(NAP, ("1", "2")) == pytest.approx(-margin)
    assert model.choose(NAP, ("yes", "no")) is None


TRIES = [
    ({}, (1, 2)),
    ({"refuses": "max_tokens"}, (2, 3)),
    ({"logprobs": None}, (1, 1)),
]


@pytest.mark.parametrize(("settings", "counts"), TRIES)
def test_what_a_model_takes_is_tried_out_once(
    framework: Any, settings: dict[str, Any], counts: tuple[int, int]
) -> None:
    chat = Chat(framework, **{"logprobs": {"2": -0.1, "1": -2.4}, **settings})
    model = framework.language(chat)
    for count in counts:
        model.choose(NAP, ("2", "1"))
        assert len(chat.parameters) == count


async def test_a_chat_model_is_given_a_schema_until_it_refuses_one(
    framework: Any,
) -> None:
    schema = {"type": "object"}
    for refuses, kinds in (
        ("", ["json_schema"] * 2),
        ("response_format", ["plain"] * 2),
    ):
        chat = Chat(framework, refuses=refuses)
        model = framework.language(chat)
        model.complete_json("p", schema)
        await model.acomplete_json("p", schema)
        told = [
            given.get("response_format", {}).get("type", "plain")
            for given in chat.taken
        ]
        assert told == kinds


@pytest.mark.xdist_group("torch")
async def test_a_model_of_transformers_gives_margins_and_counts(framework: Any) -> None:
    pytest.importorskip("torch", reason="the extra 'models' is not installed")
    transformer, tokenizer = small_causal_model(), small_tokenizer()
    make: Callable[..., Any] = framework.transformers_model
    adapted = framework.language(make(transformer, tokenizer))
    options = ("1", "2")
    expected = TransformersMargin(transformer, tokenizer).choose("cats eat", options)
    assert adapted.choose("cats eat", options) == pytest.approx(expected)
    assert await adapted.achoose("cats eat", options) == pytest.approx(expected)
    plain = TransformersMargin(transformer, tokenizer).unnormalised
    again, counted = adapted.unnormalised, adapted.masses.n
    assert again.choose("cats eat", options) == plain.choose("cats eat", options)
    assert adapted.masses.n == counted + 1
    assert again.name == f"{adapted.name}|not normalised"
    assert "weights=float32#" in adapted.name
    other = framework.language(make(small_causal_model(1), tokenizer))
    assert adapted.name != other.name
    assert adapted.count_tokens("cats eat dogs .") == 4
