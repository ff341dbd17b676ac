"""Calls of the language model: which requests share one, what key its answer is kept under, whether it can be used."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from structrag.cache import cache_key
from structrag.errors import InvalidAnswer
from structrag.requests import Ask, Choose, Failed, LanguageModel


@dataclass(slots=True)
class Call:
    """A call of the language model, and the positions of the requests that it answers."""

    request: Ask | Choose
    key: str
    positions: list[int] = field(default_factory=list)


def model_for(request: Ask | Choose, own: LanguageModel | None) -> LanguageModel | None:
    """The model that answers a request: the one it names, else the runner's own."""
    return own if isinstance(request, Choose) or request.llm is None else request.llm


def fill_in(answers: list[Any], call: Call, answer: Any) -> None:
    """Put the answer of a call where its requests stand."""
    for position in call.positions:
        answers[position] = answer


def ask_key(model: str, request: Ask | Choose) -> str:
    """The cache key of an answer: it changes with the model's name and everything in the request."""
    options = request.options if isinstance(request, Choose) else ()
    return cache_key("ask", model, request.component, *options, request.prompt)


def usable_answer(request: Ask | Choose, answer: Any) -> Any:
    """The model's answer as the request promises it: a string, or a margin from -1 to 1 or None; else `Failed`."""
    if isinstance(request, Ask):
        if isinstance(answer, str):
            return answer
        return Failed(InvalidAnswer(f"The language model must return a string; got {type(answer).__name__}."))
    try:
        margin = None if answer is None else float(answer)
    except (TypeError, ValueError):
        margin = math.nan
    if margin is None or -1.0 <= margin <= 1.0:
        return margin
    return Failed(InvalidAnswer(f"A choice must be answered by a margin from -1 to 1, or None; got {answer!r}."))


def is_cached(request: Ask | Choose) -> bool:
    """Whether equal requests may share one answer."""
    return not isinstance(request, Ask) or request.use_cache
