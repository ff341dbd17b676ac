"""Names of settings: equal in every process for what has one, for this object alone for others."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from structrag.model_calls.cache import Cache
from structrag.model_calls.naming import digest, has_name, setting_name
from structrag.model_calls.requests import Ask
from structrag.model_calls.runner import Runner
from structrag.models.embedders import FunctionEmbedder, as_embedder
from structrag.models.llm import FunctionModel, as_language_model
from structrag.text.tokens import count_tokens, huggingface_counter, tiktoken_counter


class Characters:
    def __init__(self, step: int = 1) -> None:
        self.step = step

    def __call__(self, text: str) -> int:
        return len(text) // self.step

    def count(self, text: str) -> int:
        return len(text) // self.step


@dataclass(frozen=True)
class Limit:
    tokens: int
    counter: Callable[[str], int] = count_tokens


def divided(by: int) -> Callable[[str], int]:
    return lambda text: len(text) // by


def power(text: str, n: int) -> int:
    return len(text) ** n


NAMED: list[Any] = [
    count_tokens,
    tiktoken_counter(),
    tiktoken_counter("o200k_base"),
    len,
    str.split,
    str.__len__,
    bytes.split,
    dict.fromkeys,
    np.add,
    Characters,
    Characters(),
    Characters(2),
    Characters().count,
    Characters(2).count,
    functools.partial(power, n=2),
    functools.partial(power, n=3),
    Limit(3),
    Limit(4),
    Limit(3, len),
    [1, "a", None],
    {"b": 1, "a": {2.5, "c"}},
]


def test_names_are_stable_and_tell_settings_apart() -> None:
    names = [setting_name(value) for value in NAMED]
    assert len(set(names)) == len(names) and all(map(has_name, names))
    assert not [name for name in names if "0x" in name]
    assert names[0] == "structrag.text.tokens.count_tokens"
    assert setting_name(Characters(2)) == names[NAMED.index(Characters) + 2]
    assert setting_name(str.split) == "builtins.str.split"
    assert setting_name({"a": {"c", 2.5}, "b": 1}) == names[-1]


def test_names_are_equal_in_another_process() -> None:
    script = (
        "from functools import partial\n"
        "from structrag.model_calls.naming import setting_name\n"
        "from structrag.text.tokens import *\n"
        "def double(text, by=2): return by * len(text)\n"
        "values = (count_tokens, tiktoken_counter(), double, partial(double, by=3), {'a', 'b'})\n"
        "print([setting_name(value) for value in values])"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] and outputs[0] == outputs[1]


def test_what_has_no_name_gets_one_for_itself_alone() -> None:
    third, other = divided(3), divided(3)
    name = setting_name(third)
    assert name == setting_name(third) != setting_name(other) and not has_name(name)
    assert setting_name(Limit(3, third)) == setting_name(Limit(3, third))
    assert setting_name(Limit(3, third)) != setting_name(Limit(3, other))
    assert not has_name(setting_name(functools.partial(third)))
    assert not has_name(digest(name)) and digest(name) == digest(name)


def test_a_tokenizer_goes_by_its_vocabulary() -> None:
    tokenizers = pytest.importorskip("tokenizers")

    def counter(*words: str) -> Any:
        vocabulary = {word: i for i, word in enumerate(("[UNK]", *words))}
        model = tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]")
        return huggingface_counter(tokenizers.Tokenizer(model))

    assert (
        setting_name(counter("a"))
        == setting_name(counter("a"))
        != setting_name(counter("b"))
    )


def test_a_model_without_a_name_is_asked_again_and_a_warning_says_so() -> None:
    prompts: list[str] = []

    def answer(prompt: str) -> str:
        prompts.append(prompt)
        return "yes"

    def ask() -> Any:
        answers = yield [Ask("question", component="test")]
        return answers[0]

    cache = Cache(":memory:")
    with pytest.warns(
        UserWarning, match="cache cannot keep answers of the llm .*name="
    ):
        runner = Runner(llm=as_language_model(answer), cache=cache)
    assert runner.run(ask()) == runner.run(ask()) == "yes"
    assert len(prompts) == 2 and len(cache) == 0
    with pytest.warns(UserWarning, match="of the embedder"):
        Runner(embedder=as_embedder(lambda texts: [[1.0]] * len(texts)), cache=cache)
    named = Runner(
        llm=FunctionModel(answer, name="answer"),
        embedder=FunctionEmbedder(lambda texts: [[1.0]] * len(texts), name="ones"),
        cache=cache,
    )
    assert named.run(ask()) == named.run(ask()) == "yes"
    assert len(prompts) == 3 and len(cache) == 1
