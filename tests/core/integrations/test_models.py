"""What both adapters share of models: log-probabilities that are tried out, and held models."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fixture_cases import examples
from pydantic import BaseModel, ConfigDict, Field

from structrag.integrations.models import (
    PARAMETERS,
    JsonAnswers,
    LogProbabilities,
    tried,
)
from structrag.integrations.naming import (
    answer_counter,
    host_name,
    margin_model,
    transformer_of,
)
from structrag.model_calls.naming import has_name

TOP = [("1", -0.1), ("2", -2.3)]


class Refused(Exception):
    status_code = 400


SCHEMA = {"type": "object", "properties": {"summary": {"type": "string"}}}


def carrying(kind: type[Exception] = Exception, **facts: Any) -> Exception:
    error = kind("it is so")
    for name, value in facts.items():
        setattr(error, name, value)
    return error


class ReadTimeout(Exception):
    """As httpx has it."""


@pytest.mark.parametrize(
    ("error", "asked"),
    [
        (carrying(status_code=400), 2),
        (carrying(status_code=500), 2),
        (carrying(response=SimpleNamespace(status_code=422)), 2),
        (carrying(OSError, response=SimpleNamespace(status_code=400)), 2),
        (carrying(response={"ResponseMetadata": {"HTTPStatusCode": 400}}), 2),
        (carrying(response={}), 2),
        (carrying(code=400), 2),
        (carrying(code="invalid_request_error", status_code=400), 2),
        (carrying(code=lambda: 3), 2),
        (carrying(status="400"), 2),
        (carrying(), 2),
        (TypeError("unexpected keyword argument 'response_format'"), 2),
        (KeyError("choices"), 2),
        (carrying(status_code=429), 1),
        (carrying(ValueError, status_code=401), 1),
        (carrying(response=SimpleNamespace(status_code=503)), 1),
        (carrying(response={"ResponseMetadata": {"HTTPStatusCode": 429}}), 1),
        (ReadTimeout(), 1),
        (ConnectionResetError(), 1),
    ],
)
def test_a_schema_may_be_refused_in_any_form(error: Exception, asked: int) -> None:
    answers, calls = JsonAnswers(), []

    def ask(parameters: Mapping[str, Any]) -> str:
        calls.append(parameters)
        if parameters:
            raise error
        return "answer"

    if asked == 1:
        with pytest.raises(type(error)):
            tried(answers.flow(SCHEMA), ask)
        assert answers.takes is None
    else:
        assert tried(answers.flow(SCHEMA), ask) == "answer" and answers.takes is False
    assert len(calls) == asked
    works = JsonAnswers(takes=True)  # what worked before was not refused
    with pytest.raises(type(error)):
        tried(works.flow(SCHEMA), ask)


class Causal:
    config = SimpleNamespace(is_encoder_decoder=False)

    def forward(self) -> None: ...


class Tokens:
    def encode(self, text: str) -> list[int]:
        return [1]


class Tokenizer:
    """A token for each character; two more as an encoder has them."""

    def encode(self, text: str) -> list[str]:
        return list(text)

    def __call__(self, text: str, **options: Any) -> dict[str, list[str]]:
        assert options == {"truncation": False, "verbose": False}
        return {"input_ids": ["[CLS]", *text, "[SEP]"]}


ENCODER = SimpleNamespace(encode=list, max_seq_length=128, tokenizer=Tokenizer())


def test_tokens_are_counted_by_a_language_models_own_tokenizer() -> None:
    counter = answer_counter(SimpleNamespace(tokenizer=Tokenizer()))
    assert counter is not None and counter("abc") == 3
    assert answer_counter(SimpleNamespace(tokenizer="gpt-4")) is None
    assert answer_counter(SimpleNamespace()) is None


class Known:
    """Takes the parameters of some numbers, and raises for others."""

    def __init__(self, takes: set[int], error: Exception | None = None) -> None:
        self.takes, self.error = takes, error or Refused("unknown parameter")
        self.calls: list[int] = []

    def __call__(self, parameters: Mapping[str, Any]) -> Any:
        self.calls.append(PARAMETERS.index(dict(parameters)))
        if self.calls[-1] not in self.takes:
            raise self.error
        return TOP if parameters else []


def test_answers_without_either_option_have_no_margin() -> None:
    weighing = LogProbabilities()
    assert tried(weighing.flow(("1", "2"), lambda _: [("x", -0.1)]), Known({0})) is None
    assert weighing.works == 0


@examples
def test_only_refused_parameters_are_tried_otherwise(status: int, n: int) -> None:
    class Failed(Exception):
        status_code = status

    calls: list[Mapping[str, Any]] = []

    def call(parameters: Mapping[str, Any]) -> Any:
        calls.append(parameters)
        raise Failed("no")

    with pytest.raises(Failed):
        tried(LogProbabilities().flow(("1", "2"), lambda answer: answer), call)
    assert len(calls) == n


def test_a_model_without_a_transformer_in_it_weighs_nothing() -> None:
    assert margin_model(SimpleNamespace()) is None
    held = SimpleNamespace(_model=Causal(), _tokenizer=Tokens())
    assert margin_model(held) is not None
    unknown = SimpleNamespace(
        _model=SimpleNamespace(forward=print), _tokenizer=Tokens()
    )
    assert transformer_of(unknown) == (None, None)  # nothing says that it is causal


@examples
def test_a_margin_is_of_what_both_options_have_together(
    options: dict[str, bool], margin: float
) -> None:
    top = [("1", math.log(0.4)), ("2", math.log(0.1)), ("x", math.log(0.01))]
    weighing = LogProbabilities(**options)
    answer = tried(weighing.flow(("1", "2"), lambda _: top), Known({0}))
    assert answer == pytest.approx(margin)


class Plain:
    """A model of a host that is no Pydantic model."""

    def __init__(self, name: str, **settings: Any) -> None:
        self.model_name = name
        self.calls = 7
        vars(self).update(settings)


class Fields(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    model: str = ""
    part: Any = None
    hidden: Any = Field(default=None, exclude=True)


def test_names_tell_settings_apart_and_hold_no_secret() -> None:
    models = [
        Plain("a"),
        Plain("b"),
        Plain("a", base_url="http://one"),
        Plain("a", base_url="http://user:secret@two"),
        Plain("a", extra={"b": {2, 3}, "a": [1]}),
        Fields(model="a"),
        Fields(model="a", part={"inner": Fields(part=1)}),
        Fields(model="a", part={"inner": Fields(part=2)}),
        Fields(part=str),
    ]
    names = [host_name(model) for model in models]
    assert len(set(names)) == len(names) and all(map(has_name, names))
    assert not any("secret" in name or "http" in name for name in names)
    same = Plain("a", extra={"a": [1], "b": {3, 2}, "api_key": "k", "timeout": 3})
    assert host_name(same) == names[4]
    assert host_name(Plain("a", api_key="k", _token="t", calls=9)) == names[0]
    assert host_name(Fields(model="a", hidden=object())) == names[5]
    assert host_name(Fields(model="a"), {"top_p": 1}) != names[5]


def test_what_holds_something_untold_and_names_no_model_has_no_name() -> None:
    for part in (len, object(), Plain("", client=object()), {"key": lambda: 1}):
        one, other = Fields(part=part), Fields(part=part)
        assert not has_name(host_name(one))
        assert host_name(one) == host_name(one) != host_name(other)
    assert has_name(host_name(Fields(model="a", part=object())))
    assert not has_name(host_name(Fields(model="a", part=lambda: 1)))


def test_models_in_this_process_are_told_apart_by_weights_and_drawing(
    tmp_path: Path,
) -> None:
    weights = tmp_path / "model.onnx"

    def held(numbers: bytes, **drawing: Any) -> str:
        weights.write_bytes(numbers)
        model = Causal()
        model.model_path = str(weights)  # type: ignore[attr-defined]
        config = SimpleNamespace(to_diff_dict=lambda: dict(drawing))
        model.generation_config = config  # type: ignore[attr-defined]
        host = Plain("a", _tokenizer=Tokens())
        vars(host)["_model"] = model
        return host_name(host)

    first = held(b"one")
    assert "weights=" in first and held(b"other") != first != held(b"one", top_k=5)


def test_an_embedding_model_is_told_by_the_weights_of_its_encoder(
    tmp_path: Path,
) -> None:
    (tmp_path / "model.onnx").write_bytes(b"one")
    encoder = SimpleNamespace(
        encode=list, max_seq_length=128, model_path=str(tmp_path / "model.onnx")
    )
    assert "weights=" in host_name(SimpleNamespace(_client=encoder))
    assert "weights=" not in host_name(SimpleNamespace(_client=ENCODER))
