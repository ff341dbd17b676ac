"""Calls of the language model, and which of their answers are kept."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from structrag.asking.cache import Cache, cache_key
from structrag.asking.counted import CallTokens, counted, told_tokens
from structrag.asking.replies.echo import without_echo
from structrag.asking.requests import (
    Ask,
    Calls,
    Choose,
    Failed,
    LanguageModel,
    ModelCall,
)
from structrag.errors import (
    InvalidAnswer,
    ModelFailed,
    NoModel,
    StructragError,
    TimedOut,
)


@dataclass(slots=True)
class Call:
    """A call of the language model, and which requests it answers."""

    request: Ask | Choose
    key: str
    named: bool  # whether its model has a name, so that the answer can be kept
    positions: list[int] = field(default_factory=list)


def model_for(
    request: Ask | Choose, default: LanguageModel | None
) -> LanguageModel | Failed:
    """The model that answers a request, or `Failed` where none can.

    It is the one that the request names, else the default.
    """
    llm = request.llm if isinstance(request, Ask) else None
    llm = default if llm is None else llm
    if llm is None:
        return Failed(
            NoModel("There is no language model; pass one as llm=..."), asked=False
        )
    if isinstance(request, Choose) and not (
        hasattr(llm, "choose") or hasattr(llm, "achoose")
    ):
        error = ModelFailed(
            f"The language model {llm.name!r} cannot weigh two options."
        )
        return Failed(error, asked=False)
    if isinstance(request, Choose) and not request.normalised:
        return getattr(llm, "unnormalised", llm)
    return llm


def cached_entry(
    cache: Cache | None, key: str, request: Ask | Choose
) -> dict[str, Any] | None:
    """The cache's entry for a request, or None without one.

    Under "answer" it holds the model's answer. An entry that is damaged counts as none.
    """
    entry = cache.get(key) if cache is not None and is_cached(request) else None
    if not isinstance(entry, dict) or "answer" not in entry:
        return None
    if isinstance(usable_answer(request, entry["answer"]), Failed):
        return None
    tokens = entry.get("tokens")
    return {"answer": counted(entry["answer"], CallTokens(*tokens) if tokens else None)}


def entry_of(answer: Any) -> dict[str, Any]:
    """What the cache keeps of an answer: it, and its tokens."""
    tokens = told_tokens(answer)
    return (
        {"answer": answer} if tokens is None else {"answer": answer, "tokens": tokens}
    )


def fill_in(answers: list[Any], job: Sequence[Call], of_calls: Sequence[Any]) -> None:
    """Put the answer of each call where its requests stand."""
    for call, answer in zip(job, of_calls, strict=True):
        for position in call.positions:
            answers[position] = answer


def ask_key(model: str, request: Ask | Choose) -> str:
    """The cache key of an answer to a request.

    It is made of the model's name and of everything in the request that the answer depends on.
    """
    shape: Sequence[str] = ()
    if isinstance(request, Choose):
        shape = request.options
    elif request.schema is not None:
        shape = [json.dumps(request.schema, sort_keys=True)]
    return cache_key("ask", model, request.component, *shape, request.prompt)


def usable_answer(request: Ask | Choose, answer: Any) -> Any:
    """The model's answer as the request promises it, else `Failed`.

    To a prompt a string, without the prompt itself where the model repeats it; to a choice a margin
    from -1 to 1 or None.
    """
    if isinstance(request, Ask):
        if isinstance(answer, str):
            return counted(without_echo(request.prompt, answer), told_tokens(answer))
        return Failed(
            InvalidAnswer(
                f"The language model must return a string; got {type(answer).__name__}."
            )
        )
    try:
        margin = None if answer is None else float(answer)
    except (TypeError, ValueError, OverflowError):
        margin = math.nan
    if margin is None:
        return None
    if -1.0 <= margin <= 1.0:
        return counted(margin, told_tokens(answer))
    return Failed(
        InvalidAnswer(
            f"A choice must be answered by a margin from -1 to 1, or None; got {answer!r}."
        )
    )


def is_cached(request: Ask | Choose) -> bool:
    """Whether equal requests may share one answer."""
    return not isinstance(request, Ask) or request.use_cache


def is_kept(request: Ask | Choose, answer: Any) -> bool:
    """Whether equal requests of later runs are given this answer.

    Every answer is kept, whether whoever asks can use it or not: asking again would cost the same
    and mostly say the same. Failed calls are asked again.
    """
    return is_cached(request) and not isinstance(answer, Failed)


def jobs_of(
    calls: Sequence[Call], default: LanguageModel | None, most: int
) -> list[list[Call]]:
    """The calls in lists, each sent to its model at once.

    Prompts for a model with `complete_many`, and choices between equal options for one with
    `choose_many`, go at most `most` together. All others go alone.
    """
    jobs: list[list[Call]] = []
    open_jobs: dict[Any, list[Call]] = {}
    for call in calls:
        model = model_for(call.request, default)
        together = hasattr(model, _method_for_many(call.request))
        if takes_schema(model, call.request) or not together:
            jobs.append([call])
            continue
        options = call.request.options if isinstance(call.request, Choose) else None
        group = (id(model), options)
        job = open_jobs.get(group)
        if job is None or len(job) == most:
            job = open_jobs[group] = []
            jobs.append(job)
        job.append(call)
    return jobs


def takes_schema(model: Any, request: Ask | Choose) -> bool:
    """Whether a request is answered by the model's `complete_json`."""
    can = hasattr(model, "complete_json") or hasattr(model, "acomplete_json")
    return isinstance(request, Ask) and request.schema is not None and can


def _method_for_many(request: Ask | Choose) -> str:
    return "choose_many" if isinstance(request, Choose) else "complete_many"


def asking(job: Sequence[Call], default: LanguageModel | None) -> Calls[list[Any]]:
    """What the model answers to each call, or `Failed`.

    `Failed` stands for a call that raised or took too long. A job that fails as a whole, or gets
    another number of answers, is asked call by call. Errors raised on purpose pass through.
    """
    if len(job) > 1:
        try:
            answers = list((yield _together(job, default)))
        except TimedOut as error:
            return [Failed(error)] * len(job)
        except StructragError:
            raise
        except Exception:  # noqa: BLE001 - what a host's model raises is a failed call, no crash
            answers = []
        if len(answers) == len(job):
            return answers
    answers = []
    for call in job:
        try:
            answers.append((yield _alone(call, default)))
        except TimedOut as error:
            answers.append(Failed(error))
        except StructragError:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            answers.append(Failed(error))
    return answers


def _alone(call: Call, default: LanguageModel | None) -> ModelCall:
    """The call of the model's method that answers one request."""
    request = call.request
    model: Any = model_for(request, default)
    by = partial(ModelCall, _who(model), model)
    if isinstance(request, Choose):
        return by("choose", (request.prompt, request.options))
    if takes_schema(model, request):
        return by("complete_json", (request.prompt, request.schema))
    return by("complete", (request.prompt,))


def _together(job: Sequence[Call], default: LanguageModel | None) -> ModelCall:
    """The call that answers a job of several."""
    first = job[0].request
    model: Any = model_for(first, default)
    prompts = [call.request.prompt for call in job]
    arguments = (prompts, first.options) if isinstance(first, Choose) else (prompts,)
    return ModelCall(_who(model), model, _method_for_many(first), arguments)


def _who(model: LanguageModel) -> str:
    return f"language model {model.name!r}"
