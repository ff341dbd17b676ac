"""Calls of the language model: one class for each kind of request, and how they go out."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from structrag.errors import (
    InvalidAnswer,
    ModelFailed,
    NoModel,
    StructragError,
    TimedOut,
)
from structrag.model_calls.answer_parsing.stripping import (
    without_echo,
    without_thoughts,
)
from structrag.model_calls.cache import Cache, cache_key
from structrag.model_calls.calling import Calls, ModelCall
from structrag.model_calls.naming import has_name
from structrag.model_calls.requests import Ask, Choose, Failed, LanguageModel
from structrag.model_calls.usage import CallTokens, counted, tokens_of, told_tokens
from structrag.text.tokens import without_surrogates

CUT_OFF = (
    "the model's output ended inside its reasoning, before the answer. Allow more output tokens, "
    "or limit the reasoning"
)


class Call:
    """A call of the language model, and which requests it answers.

    Attributes:
        model: That of the request, else the runner's.
        unasked: Why no model can answer; None where one can.
        method, further: Of the model, and its arguments behind the prompt.
        shape: What the answer is held to, for the cache key.
        positions: Of the requests.
    """

    def __init__(
        self, request: Any, model: Any, method: str, further: tuple[Any, ...]
    ) -> None:
        self.request = request
        self.model = model
        self.method = method
        self.further = further
        self.shape: tuple[str, ...] = ()
        self.unasked: Failed | None = None
        self.positions: list[int] = []
        if model is None:
            error = NoModel("There is no language model; pass one as llm=...")
            self.unasked = Failed(error, asked=False)

    @property
    def who(self) -> str:
        return f"language model {self.model.name!r}"

    @property
    def key(self) -> str:
        """The cache key, of the model's name and everything in the request that decides the
        answer."""
        asked = (self.request.component, *self.shape, self.request.prompt)
        return cache_key("ask", self.model.name, *asked)

    @property
    def group(self) -> object:
        """Equal for calls that may go out together; None: this one goes alone."""
        many = can(self.model, f"{self.method}_many")
        return (id(self.model), self.further) if many else None

    def alone(self) -> ModelCall:
        """The call that answers the request."""
        arguments = (without_surrogates(self.request.prompt), *self.further)
        return ModelCall(self.who, self.model, self.method, arguments)

    def with_others(self, prompts: list[str]) -> ModelCall:
        """The call that answers several prompts of one group."""
        arguments = (list(map(without_surrogates, prompts)), *self.further)
        return ModelCall(self.who, self.model, f"{self.method}_many", arguments)

    def checked(self, answer: Any) -> Any:
        """The model's answer as the request promises it, else `Failed`."""
        raise NotImplementedError

    def cached(self, cache: Cache | None) -> tuple[Any] | None:
        """The answer that the cache holds; None without one, and for a damaged one."""
        may_hold = cache is not None and self.request.use_cache
        entry = cache.get(self.key) if cache is not None and may_hold else None
        if not isinstance(entry, dict) or "answer" not in entry:
            return None
        answer, tokens = entry["answer"], entry.get("tokens")
        answer = self.checked(answer)
        if isinstance(answer, Failed):
            return None
        return (counted(answer, CallTokens(*tokens) if tokens else None),)

    def keep(self, cache: Cache | None, answer: Any) -> None:
        """Keep an answer with its tokens, whether whoever asks can use it or not. Asking again
        would cost the same and mostly say the same. Failed calls are asked again."""
        may_keep = self.request.use_cache and not isinstance(answer, Failed)
        if cache is not None and may_keep and has_name(self.model.name):
            tokens = told_tokens(answer)
            token_counts = {} if tokens is None else {"tokens": tokens}
            cache.put(self.key, {"answer": answer, **token_counts})


class AskCall(Call):
    """A prompt, answered by a string without the prompt itself where the model repeats it."""

    def __init__(self, request: Ask, default: LanguageModel | None) -> None:
        model = default if request.llm is None else request.llm
        schema = request.schema
        if schema is not None and can(model, "complete_json"):
            super().__init__(request, model, "complete_json", (schema,))
        else:
            super().__init__(request, model, "complete", ())
        if schema is not None:
            self.shape = (json.dumps(schema, sort_keys=True),)

    def checked(self, answer: Any) -> Any:
        if isinstance(answer, str):
            prompt = self.request.prompt
            whole = without_echo(prompt, answer)
            text = without_thoughts(prompt, whole)
            if text is None:
                return Failed(InvalidAnswer(CUT_OFF))
            token_counts = told_tokens(answer)
            if token_counts is None and text != whole:  # thoughts cost tokens too
                token_counts = tokens_of(prompt, whole)
            return counted(text, token_counts)
        return Failed(
            InvalidAnswer(
                f"The language model must return a string; got {type(answer).__name__}."
            )
        )


class ChooseCall(Call):
    """A choice, answered by a margin from -1 to 1 or None."""

    def __init__(self, request: Choose, default: LanguageModel | None) -> None:
        other = (
            default if request.normalised else getattr(default, "unnormalised", None)
        )
        model = default if other is None else other
        super().__init__(request, model, "choose", (request.options,))
        self.shape = request.options
        if model is not None and not can(model, "choose"):
            error = ModelFailed(f"The {self.who} cannot weigh two options.")
            self.unasked = Failed(error, asked=False)

    def checked(self, answer: Any) -> Any:
        if answer is None:
            return None
        try:
            margin = float(answer)
        except (TypeError, ValueError, OverflowError):
            margin = math.nan
        if -1.0 <= margin <= 1.0:
            return counted(margin, told_tokens(answer))
        return Failed(
            InvalidAnswer(
                f"A choice must be answered by a margin from -1 to 1, or None; got {answer!r}."
            )
        )


CALLS: dict[type, Any] = {Ask: AskCall, Choose: ChooseCall}


def jobs_of(calls: Sequence[Call], most: int) -> list[list[Call]]:
    """The calls in lists of at most `most`, each sent to its model at once."""
    jobs: list[list[Call]] = []
    open_jobs: dict[object, list[Call]] = {}
    for call in calls:
        job = open_jobs.get(call.group)
        if call.group is None or job is None or len(job) == most:
            job = open_jobs[call.group] = []
            jobs.append(job)
        job.append(call)
    return jobs


def ask_models(job: Sequence[Call]) -> Calls[list[Any]]:
    """Ask the model; return an answer or `Failed` for each call.

    `Failed` stands for a call that raised or took too long. A job that fails as a whole, or gets
    another number of answers, is asked call by call. Errors raised on purpose pass through.
    """
    if len(job) > 1:
        prompts = [call.request.prompt for call in job]
        answers = yield from _answer(job[0].with_others(prompts))
        if isinstance(answers, Failed) and isinstance(answers.reason, TimedOut):
            return [answers] * len(job)
        if isinstance(answers, Sequence) and len(answers) == len(job):
            return list(answers)
    answers = []
    for call in job:
        answers.append((yield from _answer(call.alone())))
    return answers


def _answer(call: ModelCall) -> Calls[Any]:
    try:
        return (yield call)
    except TimedOut as error:
        return Failed(error)
    except StructragError:
        raise
    except Exception as error:  # noqa: BLE001 - what a host's model raises is a failed call
        return Failed(error)


def can(model: Any, method: str) -> bool:
    """Whether a model has a method, or its awaited form."""
    return hasattr(model, method) or hasattr(model, f"a{method}")
