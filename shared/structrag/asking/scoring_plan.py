"""Answering one request for scores: what to send, and checking what comes."""

from __future__ import annotations

import math
from typing import Any

from structrag.asking.cache import Cache, cache_key
from structrag.asking.embedding_plan import batches_of
from structrag.asking.naming import has_name
from structrag.asking.requests import Score, Usage
from structrag.errors import InvalidAnswer


class ScoringPlan:
    """Batches of one Score request's missing texts; checks and caches their scores.

    The answers of a scorer without a `name` are not kept: nothing tells it from others.
    """

    def __init__(
        self, request: Score, cache: Cache | None, usage: Usage, batch_size: int
    ) -> None:
        self.request = request
        self.name: str = str(getattr(request.scorer, "name", "") or "")
        self.label: str = self.name or type(request.scorer).__name__
        self.cache: Cache | None = cache if self.name and has_name(self.name) else None
        self.usage = usage
        self.batch_size = batch_size
        self.done: int = 0  # of `missing`
        self.scores: dict[str, float] = {}
        self.missing: list[str] = list(dict.fromkeys(request.texts))
        if self.cache is not None:
            for text in self.missing:
                score = self.cache.get(self._key(text))
                # A damaged value is asked for again.
                if isinstance(score, float) and math.isfinite(score):
                    self.scores[text] = score
            usage.cache_hits += len(self.scores)
            self.missing = [text for text in self.missing if text not in self.scores]

    def batches(self) -> list[list[str]]:
        """The texts to ask the scorer for, at most `batch_size` together."""
        return batches_of(self.missing, self.batch_size)

    def take(self, batch: list[str], answer: Any) -> None:
        """Check, count and keep the scorer's answer for one batch."""
        scores = dict(
            zip(batch, check_scores(answer, len(batch), self.label), strict=True)
        )
        self.scores.update(scores)
        self.done += len(batch)
        self.usage.scored += len(batch)
        if self.cache is not None:
            self.cache.put_all(
                {self._key(text): score for text, score in scores.items()}
            )

    def result(self) -> list[float]:
        """The scores of the request's texts, in their order."""
        return [self.scores[text] for text in self.request.texts]

    def _key(self, text: str) -> str:
        return cache_key("score", self.name, self.request.query, text)


def check_scores(answer: Any, n: int, name: str) -> list[float]:
    """A scorer's answer as `n` floats.

    Raises:
        InvalidAnswer: another number of them, or one that is no finite number.
    """
    try:
        scores = [float(score) for score in answer]
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidAnswer(
            f"The scorer {name!r} must give one number for each of the {n} texts; {error}."
        ) from error
    if len(scores) != n or not all(map(math.isfinite, scores)):
        raise InvalidAnswer(
            f"The scorer {name!r} must give one finite number for each of the {n} texts; got "
            f"{len(scores)}: {scores[:5]}."
        )
    return scores


def scorer_name(label: Any, *settings: object) -> str:
    """A scorer's name for cache keys; "" if its model has none.

    It is the model's name, followed by the settings.
    """
    return "|".join(map(str, (label, *settings))) if label else ""
