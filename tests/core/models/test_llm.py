"""Language models from what callers have."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from structrag import (
    FunctionModel,
)
from structrag.errors import InvalidParameter
from structrag.model_calls.calling import acall
from structrag.models.llm import as_language_model


async def test_a_function_as_language_model() -> None:
    model = FunctionModel(str.upper, name="upper")
    assert model.complete("a") == await acall(model, "complete", "a") == "A"
    assert as_language_model(model) is model and as_language_model(None) is None


def test_a_plain_function_is_named_by_its_module_and_name() -> None:
    model = as_language_model(str.upper)
    assert model is not None and model.complete("a") == "A"
    assert model.name == "builtins.str.upper"
    with pytest.raises(InvalidParameter, match="answer_llm must be None, a function"):
        as_language_model(3, "answer_llm")


@pytest.mark.parametrize(
    "value",
    [
        3,
        "gpt",
        object(),
        type("Host", (), {"invoke": 1, "__call__": lambda self: 0})(),
        SimpleNamespace(complete=str.upper),
        SimpleNamespace(name="upper"),
    ],
)
def test_as_language_model_refuses_the_rest(value: Any) -> None:
    with pytest.raises(InvalidParameter, match="llm must be None, a function"):
        as_language_model(value)
