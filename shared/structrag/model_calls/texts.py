"""Answering requests of texts: one class for each kind, which says what is sent and checks it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from structrag.errors import InvalidAnswer
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
    Embed,
    EmbedTokens,
    Progress,
    Score,
    T,
    TokenVectors,
)
from structrag.model_calls.usage import Usage
from structrag.text.arrays import Array
from structrag.text.tokens import count_tokens, without_surrogates

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
