"""Answering requests: one class for each kind, which says what is sent and checks what comes back.
Calls of the language model go out together, texts in batches."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from structrag.errors import (
    InvalidAnswer,
    ModelFailed,
    NoModel,
    StructragError,
    TimedOut,
)
from structrag.model_calls.cache import Cache, cache_key
from structrag.model_calls.calling import (
    AT_A_QUESTION,
    WHILE_ADDING,
    Calls,
    ModelCall,
    raised_by,
)
from structrag.model_calls.naming import has_name
from structrag.model_calls.requests import (
    Ask,
    Choose,
    Embed,
    EmbedTokens,
    Failed,
    LanguageModel,
    Progress,
    Score,
    T,
    TokenVectors,
)
from structrag.model_calls.stripping import (
    without_echo,
    without_thoughts,
)
from structrag.model_calls.usage import (
    CallTokens,
    Usage,
    counted,
    tokens_of,
    told_tokens,
)
from structrag.text.arrays import Array
from structrag.text.tokens import count_tokens, without_surrogates

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


NO_VECTORS: Array = np.zeros((0, 0), dtype=np.float32)


def batches_of(texts: Sequence[T], size: int) -> list[list[T]]:
    """The texts, or what else there is many of, in their order, `size` together.

    The last batch may have fewer.

    Example:
        >>> batches_of(["a", "b", "c"], 2)
        [['a', 'b'], ['c']]
    """
    return [list(texts[start : start + size]) for start in range(0, len(texts), size)]


def check_vectors(answer: Any, texts: Sequence[str], who: str) -> Array:
    """An embedder's answer as a float32 array of shape (len(texts), dimension).

    Raises:
        InvalidAnswer: another shape, or NaN or infinite values; the message names the model and the
            text.
    """
    try:
        with np.errstate(over="ignore"):
            matrix = np.asarray(answer, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidAnswer(
            f"The {who} must return one vector of numbers per text; got {type(answer).__name__}."
        ) from error
    if matrix.ndim != 2 or matrix.shape[0] != len(texts) or matrix.shape[1] == 0:
        raise InvalidAnswer(
            f"The {who} must return {len(texts)} vectors for {len(texts)} texts; got "
            f"shape {matrix.shape}."
        )
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if bad.size:
        excerpt = texts[int(bad[0])][:60]
        raise InvalidAnswer(
            f"The {who} returned NaN or infinite values for the text {excerpt!r}. "
            "Nothing was indexed."
        )
    return matrix


def check_tokens(answer: Any, texts: Sequence[str], who: str) -> list[TokenVectors]:
    """A token encoder's answer, checked: one `TokenVectors` a text.

    Raises:
        InvalidAnswer: another number of texts, arrays that do not fit together, spans outside the
            text or not ascending, NaN or infinite values.
    """
    tokens = list(answer)
    if len(tokens) != len(texts):
        raise InvalidAnswer(
            f"The {who} must return {len(texts)} answers for {len(texts)} texts; "
            f"got {len(tokens)}."
        )
    for text, one in zip(texts, tokens, strict=True):
        problem = _problem(one, text)
        if problem:
            raise InvalidAnswer(
                f"The {who} returned {problem} for the text {text[:60]!r}. "
                "Nothing was indexed."
            )
    return tokens


def _problem(tokens: TokenVectors, text: str) -> str:
    """Describe the problem with the vectors of one text; "" for none."""
    n, d = len(tokens.ids), len(tokens.vector)
    if tokens.spans.shape != (n, 2) or tokens.vectors.shape != (n, d):
        return f"{n} ids, spans {tokens.spans.shape} and vectors {tokens.vectors.shape}"
    starts, ends = tokens.spans[:, 0], tokens.spans[:, 1]
    if n and (starts[0] < 0 or ends.max() > len(text) or (np.diff(starts) < 0).any()):
        return "spans that are not in order or not inside"
    if not (np.isfinite(tokens.vectors).all() and np.isfinite(tokens.vector).all()):
        return "NaN or infinite values"
    return ""


def check_scores(answer: Any, texts: Sequence[str], who: str) -> list[float]:
    """A scorer's answer as one float a text.

    Raises:
        InvalidAnswer: their number is wrong, or one is not a finite number.
    """
    n = len(texts)
    try:
        scores = [float(score) for score in answer]
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidAnswer(
            f"The {who} must give one number for each of the {n} texts; {error}."
        ) from error
    if len(scores) != n or not all(map(math.isfinite, scores)):
        raise InvalidAnswer(
            f"The {who} must give one finite number for each of the {n} texts; got {len(scores)}: "
            f"{scores[:5]}."
        )
    return scores


def scorer_name(label: Any, *settings: object) -> str:
    """A scorer's name for cache keys; "" if its model has none. It is the model's name, followed by
    the settings."""
    return "|".join(map(str, (label, *settings))) if label else ""


def _plain(texts: Sequence[str]) -> list[str]:
    return list(map(without_surrogates, texts))


class TextWork:
    """A request's different texts in batches, those apart that the cache holds. This is the work of
    `EmbedTokens`. None of its vectors is kept: they are a thousand times the size of their text."""

    role: ClassVar[str] = "token encoder"
    method: ClassVar[str] = "embed_tokens"

    def __init__(
        self,
        request: Any,
        model: Any,
        cache: Cache | None,
        usage: Usage,
        batch_size: int,
    ) -> None:
        self.request = request
        self.model = model
        self.usage = usage
        self.batch_size = batch_size
        self.name = str(getattr(model, "name", "") or "")
        self.who = f"{self.role} {(self.name or type(model).__name__)!r}"
        keeps = self.name and has_name(self.name) and self.may_keep()
        self.cache: Cache | None = cache if keeps else None
        self.values: dict[str, Any] = {}
        texts = list(dict.fromkeys(request.texts))
        if self.cache is not None:
            held = {text: self.read(self.cache, self.key(text)) for text in texts}
            self.values = {t: value for t, value in held.items() if value is not None}
            usage.cache_hits += len(self.values)
        self.missing = [text for text in texts if text not in self.values]

    @property
    def stage(self) -> str:
        """The name of the stage for `progress`."""
        return f"embedding {self.request.of}"

    def may_keep(self) -> bool:
        """Whether answers may be kept in a cache."""
        return False

    def key(self, text: str) -> str:
        """Under which the cache keeps the answer to a text."""
        return cache_key("embed", self.name, text)

    def read(self, cache: Cache, key: str) -> Any:
        """Read a value from the cache; None if it is missing or damaged."""
        return cache.get_vector(key)

    def keep(self, cache: Cache, values: dict[str, Any]) -> None:
        """Put values into the cache by their keys."""
        cache.put_vectors(values)

    def call(self, batch: list[str]) -> ModelCall:
        """The call that answers a batch."""
        query = {"query": self.request.query}
        return ModelCall(self.who, self.model, self.method, (_plain(batch),), query)

    def check(self, answer: Any, batch: list[str]) -> Any:
        """One value a text of the batch; InvalidAnswer for anything else."""
        return check_tokens(answer, batch, self.who)

    def count(self, texts: Sequence[str]) -> None:
        """Count what was sent."""
        self.usage.embedded += len(texts)
        self.usage.embedding_tokens += sum(map(count_tokens, texts))

    def result(self) -> Any:
        """The answer to the request, once all values are there."""
        return [self.values[text] for text in self.request.texts]

    def calls(self, report: Progress) -> Calls[Any]:
        """Ask for the missing texts, `batch_size` at once. Errors name the model."""
        # Only texts that are no question are being added.
        cure = WHILE_ADDING if self.request.query is False else AT_A_QUESTION
        done = 0
        for batch in batches_of(self.missing, self.batch_size):
            with raised_by(self.who, cure):
                answer = yield self.call(batch)
            checked = self.check(answer, batch)
            values = dict(zip(batch, checked, strict=True))
            self.values |= values
            self.count(batch)
            if self.cache is not None:
                self.keep(self.cache, {self.key(t): v for t, v in values.items()})
            done += len(batch)
            if self.request.query is not True:
                report(self.stage, done, len(self.missing))
        return self.result()


class VectorWork(TextWork):
    """The work of `Embed`: the longest texts first, so that batches are of like length. Texts of an
    `instant` embedder go in one batch and are not cached, since reading would take longer."""

    role = "embedder"
    method = "embed"

    def __init__(self, request: Embed, model: Any, *settings: Any) -> None:
        self.is_instant = getattr(model, "instant", False)
        super().__init__(request, model, *settings)
        self.missing.sort(key=len, reverse=True)
        if self.is_instant:
            self.batch_size = max(self.batch_size, len(self.missing))

    def may_keep(self) -> bool:
        return not self.request.query and not self.is_instant

    def check(self, answer: Any, batch: list[str]) -> Array:
        return check_vectors(answer, batch, self.who)

    def result(self) -> Array:
        widths = {len(vector) for vector in self.values.values()}
        if len(widths) > 1:
            raise InvalidAnswer(
                f"The {self.who} returned vectors of different dimensions {sorted(widths)}; one "
                "model must always return the same. If its name stands for several models, give "
                "each its own cache."
            )
        return np.stack(super().result()) if self.values else NO_VECTORS


class ScoreWork(TextWork):
    """The work of `Score`. Scores of a scorer without a `name` are not kept."""

    role = "scorer"
    method = "score"
    stage = "scoring"

    def may_keep(self) -> bool:
        return True

    def key(self, text: str) -> str:
        return cache_key("score", self.name, self.request.query, text)

    def read(self, cache: Cache, key: str) -> Any:
        score = cache.get(key)
        return score if isinstance(score, float) and math.isfinite(score) else None

    def keep(self, cache: Cache, values: dict[str, Any]) -> None:
        cache.put_all(values)

    def call(self, batch: list[str]) -> ModelCall:
        arguments = (without_surrogates(self.request.query), _plain(batch))
        return ModelCall(self.who, self.model, self.method, arguments)

    def check(self, answer: Any, batch: list[str]) -> list[float]:
        return check_scores(answer, batch, self.who)

    def count(self, texts: Sequence[str]) -> None:
        self.usage.scored += len(texts)


WORKS: dict[type, type[TextWork]] = {
    Embed: VectorWork,
    EmbedTokens: TextWork,
    Score: ScoreWork,
}
