"""What both adapters share of models: log-probabilities that are tried out, and held models."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from structrag.hosts.models import (
    PARAMETERS,
    JsonAnswers,
    LogProbabilities,
    attribute_text,
    other_settings,
    setting_text,
    settings_of,
    settings_text,
    transformer_of,
)

TOP = [("1", -0.1), ("2", -2.3)]


class Refused(Exception):
    status_code = 400


class Server:
    """Refuses prompts above 100 characters, and the parameters it does not know, alike."""

    def __init__(self, knows: bool = True, tells: bool = True) -> None:
        self.knows, self.tells = knows, tells
        self.calls: list[Mapping[str, Any]] = []

    def ask(self, prompt: str, parameters: Mapping[str, Any]) -> Any:
        self.calls.append(parameters)
        if len(prompt) > 100:
            raise Refused("request (400 tokens) exceeds the available context size")
        if parameters and not self.knows:
            raise Refused("unknown parameter: 'logprobs'")
        return TOP if parameters and self.tells else []


def margin(weighing: LogProbabilities, server: Server, prompt: str) -> float | None:
    return weighing.margin(
        ("1", "2"), lambda answer: answer, lambda parameters: server.ask(prompt, parameters)
    )


def test_a_first_prompt_that_is_too_long_does_not_turn_log_probabilities_off() -> None:
    weighing, server = LogProbabilities(), Server()
    with pytest.raises(Refused, match="context size"):
        margin(weighing, server, "x" * 101)
    assert weighing.works is None
    assert margin(weighing, server, "short") == pytest.approx(0.8, abs=0.01)
    assert weighing.works == 0
    with pytest.raises(Refused, match="context size"):
        margin(weighing, server, "x" * 101)
    assert margin(weighing, server, "short") is not None


async def test_it_is_so_on_an_event_loop_too() -> None:
    weighing, server = LogProbabilities(), Server()

    async def ask(parameters: Mapping[str, Any]) -> Any:
        return server.ask("x" * 101, parameters)

    with pytest.raises(Refused, match="context size"):
        await weighing.amargin(("1", "2"), lambda answer: answer, ask)
    assert weighing.works is None


def test_parameters_that_are_refused_turn_them_off_once() -> None:
    weighing, server = LogProbabilities(), Server(knows=False)
    assert margin(weighing, server, "short") is None
    assert weighing.works == -1 and server.calls == [*PARAMETERS]
    assert margin(weighing, server, "short") is None and len(server.calls) == len(PARAMETERS)


SCHEMA = {"type": "object", "properties": {"summary": {"type": "string"}}}


def test_a_schema_goes_with_every_call_of_a_model_that_takes_it() -> None:
    answers, server = JsonAnswers(), Server()
    for _ in range(2):
        assert answers.answer(SCHEMA, lambda parameters: server.ask("short", parameters)) == TOP
    shown = {"name": "answer", "schema": SCHEMA, "strict": True}
    expected = {"response_format": {"type": "json_schema", "json_schema": shown}}
    assert answers.takes and server.calls == [expected, expected]


async def test_a_schema_that_is_refused_is_not_given_again() -> None:
    answers, server = JsonAnswers(), Server(knows=False)

    async def ask(parameters: Mapping[str, Any]) -> Any:
        return server.ask("short", parameters)

    for count in (2, 3):
        assert await answers.aanswer(SCHEMA, ask) == []
        assert answers.takes is False and len(server.calls) == count
    assert server.calls[-1] == {}


def test_a_prompt_that_is_too_long_does_not_turn_schemas_off() -> None:
    answers, server = JsonAnswers(), Server()
    for takes in (None, True):
        with pytest.raises(Refused, match="context size"):
            answers.answer(SCHEMA, lambda parameters: server.ask("x" * 101, parameters))
        assert answers.takes is takes
        assert answers.answer(SCHEMA, lambda parameters: server.ask("short", parameters)) == TOP

    def fails(_: Mapping[str, Any]) -> Any:
        raise TimeoutError("too slow")

    answers = JsonAnswers()
    with pytest.raises(TimeoutError):
        answers.answer(SCHEMA, fails)
    assert answers.takes is None


class Causal:
    config = SimpleNamespace(is_encoder_decoder=False)

    def forward(self) -> None: ...


class Tokens:
    def encode(self, text: str) -> list[int]:
        return [1]


def test_models_of_transformers_are_found_where_hosts_keep_them() -> None:
    model, tokenizer = Causal(), Tokens()
    pipeline = SimpleNamespace(model=model, tokenizer=tokenizer)
    for host in (
        SimpleNamespace(pipeline=pipeline),
        SimpleNamespace(llm=SimpleNamespace(pipeline=pipeline)),
        SimpleNamespace(_model=model, _tokenizer=tokenizer),
    ):
        assert transformer_of(host) == (model, tokenizer)
    summariser = Causal()
    summariser.config = SimpleNamespace(is_encoder_decoder=True)
    for host in (
        SimpleNamespace(model="gpt", pipeline=None),
        SimpleNamespace(_model=summariser, _tokenizer=tokenizer),
        SimpleNamespace(_model=model, _tokenizer=None),
    ):
        assert transformer_of(host) == (None, None)


def test_of_attributes_without_a_name_only_steady_ones_are_shown() -> None:
    assert attribute_text(3) == "3"
    assert attribute_text([1, 2]) is None  # may be a list of calls
    assert attribute_text(SimpleNamespace(encode=str.encode)) is None
    assert attribute_text(SimpleNamespace(max_seq_length=256)) is None
    encoder = SimpleNamespace(encode=str.encode, max_seq_length=256)
    assert "256" in str(attribute_text(encoder))
    assert attribute_text(str.upper) == attribute_text(str.upper) is not None


class Plain:
    """A model of a host that is no Pydantic model."""

    def __init__(self, temperature: float, api_key: str, top_p: float | None = None) -> None:
        self.temperature = temperature
        self.api_key = api_key
        self._top_p = top_p
        self.calls = 7  # no argument: it may count
        self.base_url = "http://one"


def test_settings_are_arguments_and_what_is_no_number_without_secrets() -> None:
    assert settings_of(Plain(0.5, "secret")) == {"temperature": 0.5, "base_url": "http://one"}
    assert settings_of(Plain(0.0, "secret", 0.9)) == {
        "temperature": 0.0,
        "top_p": 0.9,
        "base_url": "http://one",
    }


def test_a_name_tells_settings_that_it_does_not_show_apart() -> None:
    names = [
        other_settings(Plain(temperature, key, top_p), ["base_url"])
        for temperature, key, top_p in ((0.5, "a", None), (0.5, "b", None), (0.5, "a", 0.9))
    ]
    assert names[0] == names[1] != names[2]
    assert other_settings(SimpleNamespace(url="", extra={}), []) == {}
    assert other_settings(SimpleNamespace(url="x"), ["url"]) == {}
    of_mappings = [
        other_settings(SimpleNamespace(extra=extra), [])
        for extra in ({"a": [1], "b": {2, 3}}, {"b": {3, 2}, "a": [1], "api_key": "k"}, {"a": [2]})
    ]
    assert of_mappings[0] == of_mappings[1] != of_mappings[2]


def test_numbers_stand_in_names_as_they_are_and_texts_as_digests() -> None:
    assert (setting_text(0.5), setting_text(True)) == ("0.5", "True")
    assert "http" not in setting_text("http://one") and setting_text("http://one") != setting_text(
        "http://two"
    )
    assert settings_text({"a": "1", "b": "2"}) == "a=1, b=2"
