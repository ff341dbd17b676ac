"""Embedders: sentence-transformers, functions, and the bundled model."""

from __future__ import annotations

import pickle
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder

from structrag import SentenceTransformerEmbedder
from structrag.errors import InvalidParameter, MissingExtra
from structrag.index.add_batch import split_windows
from structrag.models import LsaEmbedder
from structrag.models.embedders import as_embedder

# -- what callers pass


def local(texts: list[str]) -> Any:
    return np.ones((len(texts), 2))


def test_as_embedder_takes_what_callers_have(embedder: HashEmbedder) -> None:
    assert isinstance(as_embedder(None), LsaEmbedder)
    assert as_embedder(embedder) is embedder
    assert as_embedder(local).name.endswith("test_embedders.local")
    assert as_embedder(local).embed(("a", "b")).shape == (2, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["no-such-model", "some/such-model", "/no/such/folder", "."]
)
def test_a_model_that_is_not_on_this_machine_is_not_fetched(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    transformers = pytest.importorskip("sentence_transformers")
    asked: list[bool] = []
    load = transformers.SentenceTransformer

    def only_here(model: str, *, local_files_only: bool = False) -> Any:
        asked.append(local_files_only)
        return load(model, local_files_only=True)

    monkeypatch.setattr(transformers, "SentenceTransformer", only_here)
    with pytest.raises(InvalidParameter, match="structrag downloads nothing by itself"):
        as_embedder(name)
    assert asked == [True]


@pytest.mark.parametrize(
    "value",
    [
        3,
        [1.0],
        object(),
        {"model": "x"},
        SimpleNamespace(embed=len),
        SimpleNamespace(name="x"),
    ],
)
def test_as_embedder_refuses_the_rest(value: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"embedder must be None \(LSA\)"):
        as_embedder(value)


# -- sentence-transformers, with a stand-in


class FakeTransformer:
    max_seq_length = 16

    def __init__(self, prompts: dict[str, str] | None = None) -> None:
        self.prompts = prompts
        self.default_prompt_name: str | None = None
        self.calls: list[tuple[list[str], str | None]] = []

    def encode(
        self, texts: list[str], *, prompt: str | None = None, **options: Any
    ) -> Any:
        self.calls.append((texts, prompt))
        return np.ones((len(texts), 2))

    def tokenizer(self, text: str, **options: Any) -> dict[str, list[str]]:
        return {"input_ids": ["[CLS]", *text.split(), "[SEP]"]}


def test_lone_surrogates_do_not_reach_the_tokenizer() -> None:
    model = FakeTransformer()
    embedder = SentenceTransformerEmbedder(model)
    embedder.embed(["a \ud800 b", "smile \U0001f600"])
    assert model.calls[0][0] == ["a \ufffd b", "smile \U0001f600"]
    assert embedder.count_tokens("a \ud800 b") == 5


def test_prompts_of_the_model_and_of_the_caller() -> None:
    plain, own, given = (
        FakeTransformer(),
        FakeTransformer({"query": "query: ", "passage": "passage: "}),
        FakeTransformer({"query": "q"}),
    )
    for model, options in (
        (plain, {}),
        (own, {}),
        (given, {"query_prompt": "ask: ", "document_prompt": "doc: "}),
    ):
        embedder = SentenceTransformerEmbedder(model, **options)
        embedder.embed(["a"])
        embedder.embed(["b"], query=True)
    assert plain.calls == [(["a"], None), (["b"], None)]
    assert own.calls == [(["a"], "passage: "), (["b"], "query: ")]
    assert given.calls == [(["a"], "doc: "), (["b"], "ask: ")]


def test_the_name_tells_prompts_apart() -> None:
    names = {
        SentenceTransformerEmbedder(FakeTransformer(), query_prompt=prompt).name
        for prompt in ("", "query: ", "ask: ")
    }
    assert len(names) == 3
    assert SentenceTransformerEmbedder(FakeTransformer(), name="mine").name == "mine"


def test_counts_include_special_tokens_and_the_document_prompt() -> None:
    assert SentenceTransformerEmbedder(FakeTransformer()).count_tokens("a b") == 4
    prompted = SentenceTransformerEmbedder(
        FakeTransformer(), document_prompt="search document: "
    )
    assert prompted.count_tokens("a b") == 6 and prompted.max_tokens == 16
    windows = split_windows(
        " ".join(f"w{i}" for i in range(60)), prompted, overflow="windows"
    )
    assert len(windows) > 3 and all(
        prompted.count_tokens(window) <= 16 for window in windows
    )
    assert " ".join(windows).split() == [f"w{i}" for i in range(60)]


def test_lsa_goes_by_its_name_and_a_loaded_model_by_what_it_can() -> None:
    assert isinstance(as_embedder("lsa"), LsaEmbedder)
    model = FakeTransformer()
    embedder = as_embedder(model)
    assert isinstance(embedder, SentenceTransformerEmbedder)
    assert embedder.model is model and not embedder.gives_tokens
    assert embedder.token_counter() is None  # its tokenizer is no fast one


@pytest.mark.parametrize(
    ("prompts", "default", "query", "document"),
    [
        ({"document": "d: ", "passage": "p: "}, None, "", "d: "),
        ({"document": "", "passage": "p: "}, None, "", "p: "),
        ({"query": "q: ", "corpus": "c: "}, None, "q: ", "c: "),
        ({"query": "q: ", "text": "t: "}, None, "q: ", "t: "),  # as LlamaIndex sets it
        ({"query": "", "document": "", "sts": "s: "}, "sts", "s: ", "s: "),
        ({"query": "q: "}, "query", "q: ", ""),
        ({"query": "q: ", "passage": "p: "}, "passage", "q: ", "p: "),
        ({"passage": "p: "}, "passage", "", "p: "),
        ({}, None, "", ""),
    ],
)
def test_a_models_own_prompts_are_used_and_its_default_where_it_has_none(
    prompts: dict[str, str], default: str | None, query: str, document: str
) -> None:
    model = FakeTransformer(prompts)
    model.default_prompt_name = default
    embedder = SentenceTransformerEmbedder(model)
    assert (embedder.query_prompt, embedder.document_prompt) == (query, document)


def test_no_prompt_is_none_whatever_the_models_own() -> None:
    model = FakeTransformer({"document": "d: "})
    SentenceTransformerEmbedder(model, document_prompt="").embed(["a"])
    model.default_prompt_name = (
        "document"  # it would be put in front where none is given
    )
    SentenceTransformerEmbedder(model, document_prompt="").embed(["a"])
    assert model.calls == [(["a"], None), (["a"], "")]


# -- sentence-transformers, real


@pytest.mark.slow
def test_minilm(minilm: Any) -> None:
    assert minilm.name == "all-MiniLM-L6-v2" and minilm.max_tokens == 256
    assert minilm.count_tokens("hello world") == 4
    cats, kittens, stocks = minilm.embed(
        ["A cat sleeps.", "Kittens are napping.", "Stocks fell today."]
    )
    assert cats.shape == (384,) and cats @ kittens > cats @ stocks + 0.3
    unnamed = SentenceTransformerEmbedder(minilm.model).name
    assert unnamed.startswith("sentence-transformers/model||") and "float32#" in unnamed


# -- the bundled model


def test_tokens_are_counted_without_the_model_as_with_it(minilm: Any) -> None:
    minilm.embed(["a text " * 500])  # which leaves its tokenizer set to cut
    for prompt in ("", "passage: "):
        embedder = SentenceTransformerEmbedder(minilm.model, document_prompt=prompt)
        counter = pickle.loads(pickle.dumps(embedder.token_counter()))
        for text in (
            "",
            "One pump.",
            "word " * 3000,
            "a\ud800b",
            "\u5929\u6c14 <s> \u0301",
        ):
            assert counter(text) == embedder.count_tokens(text)


def test_a_model_by_name_without_the_package_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtra, match=r"pip install 'structrag\[models\]'"):
        as_embedder("intfloat/e5-small")
