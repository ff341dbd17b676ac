"""Answering one request for vectors: what to send, and checking what comes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from structrag.asking.cache import Cache, cache_key
from structrag.asking.naming import has_name
from structrag.asking.requests import Array, Embed, Embedder, TokenVectors, Usage
from structrag.errors import InvalidAnswer
from structrag.text.tokens import count_tokens

NO_VECTORS: Array = np.zeros((0, 0), dtype=np.float32)


class EmbeddingPlan:
    """Batches of one Embed request's missing texts; checks and caches their vectors.

    Each different text is sent once, the longest first, so that batches are of like length. What an
    `instant` embedder makes goes in one batch and is not kept: reading it would take longer.
    """

    def __init__(
        self,
        request: Embed,
        embedder: Embedder,
        cache: Cache | None,
        usage: Usage,
        batch_size: int,
    ) -> None:
        instant = getattr(embedder, "instant", False)
        self.request = request
        self.embedder = embedder
        self.name: str = embedder.name
        may_keep = not request.query and not instant and has_name(self.name)
        self.cache: Cache | None = cache if may_keep else None
        self.usage = usage
        self.batch_size: int = (
            max(batch_size, len(request.texts)) if instant else batch_size
        )
        self.done: int = 0  # of `missing`
        self.vectors: dict[str, Array] = {}
        self.missing: list[str] = sorted(
            dict.fromkeys(request.texts), key=len, reverse=True
        )
        if self.cache is not None:
            for text in self.missing:
                vector = self.cache.get_vector(self._key(text))
                if vector is not None:
                    self.vectors[text] = vector
            usage.cache_hits += len(self.vectors)
            self.missing = [text for text in self.missing if text not in self.vectors]

    def batches(self) -> list[list[str]]:
        """The texts to ask the embedder for, at most `batch_size` together."""
        return batches_of(self.missing, self.batch_size)

    def take(self, batch: list[str], answer: Any) -> None:
        """Check, count and keep the embedder's answer for one batch."""
        matrix = check_vectors(answer, batch, self.name)
        for text, vector in zip(batch, matrix, strict=True):
            self.vectors[text] = vector
        self.done += len(batch)
        self.usage.embedded += len(batch)
        self.usage.embedding_tokens += sum(map(count_tokens, batch))
        if self.cache is not None:
            self.cache.put_vectors(
                {self._key(text): self.vectors[text] for text in batch}
            )

    def result(self) -> Array:
        """The vectors of the request's texts, in their order."""
        widths = {vector.shape[0] for vector in self.vectors.values()}
        if len(widths) > 1:
            raise InvalidAnswer(
                f"The embedder {self.name!r} returned vectors of different dimensions "
                f"{sorted(widths)}; one model must always return the same. If its name stands for "
                "several models, give each its own cache."
            )
        return np.stack([self.vectors[text] for text in self.request.texts])

    def _key(self, text: str) -> str:
        return cache_key("embed", self.name, text)


def batches_of(texts: Sequence[str], size: int) -> list[list[str]]:
    """The texts in their order, `size` together.

    The last batch may have fewer.

    Example:
        >>> batches_of(["a", "b", "c"], 2)
        [['a', 'b'], ['c']]
    """
    return [list(texts[start : start + size]) for start in range(0, len(texts), size)]


def check_vectors(answer: Any, texts: Sequence[str], name: str) -> Array:
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
            f"The embedder {name!r} must return one vector of numbers a text; got "
            f"{type(answer).__name__}."
        ) from error
    if matrix.ndim != 2 or matrix.shape[0] != len(texts) or matrix.shape[1] == 0:
        raise InvalidAnswer(
            f"The embedder {name!r} must return {len(texts)} vectors for {len(texts)} texts; got "
            f"shape {matrix.shape}."
        )
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if bad.size:
        excerpt = texts[int(bad[0])][:60]
        raise InvalidAnswer(
            f"The embedder {name!r} returned NaN or infinite values for the text {excerpt!r}. "
            "Nothing was indexed."
        )
    return matrix


def check_tokens(answer: Any, texts: Sequence[str], name: str) -> list[TokenVectors]:
    """A token encoder's answer, checked: one `TokenVectors` a text.

    Raises:
        InvalidAnswer: another number of texts, arrays that do not fit together, spans outside the
            text or not ascending, NaN or infinite values.
    """
    tokens = list(answer)
    if len(tokens) != len(texts):
        raise InvalidAnswer(
            f"The token encoder {name!r} must return {len(texts)} answers for {len(texts)} texts; "
            f"got {len(tokens)}."
        )
    for text, one in zip(texts, tokens, strict=True):
        problem = _problem(one, text)
        if problem:
            raise InvalidAnswer(
                f"The token encoder {name!r} returned {problem} for the text {text[:60]!r}. "
                "Nothing was indexed."
            )
    return tokens


def _problem(tokens: TokenVectors, text: str) -> str:
    """What is wrong with the vectors of one text; "" for nothing."""
    n, d = len(tokens.ids), len(tokens.vector)
    if tokens.spans.shape != (n, 2) or tokens.vectors.shape != (n, d):
        return f"{n} ids, spans {tokens.spans.shape} and vectors {tokens.vectors.shape}"
    starts, ends = tokens.spans[:, 0], tokens.spans[:, 1]
    if n and (starts[0] < 0 or ends.max() > len(text) or (np.diff(starts) < 0).any()):
        return "spans that are not in order or not inside"
    if not (np.isfinite(tokens.vectors).all() and np.isfinite(tokens.vector).all()):
        return "NaN or infinite values"
    return ""
