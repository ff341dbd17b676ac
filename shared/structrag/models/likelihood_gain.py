"""How much likelier a text becomes after a prompt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from structrag.errors import InvalidParameter

LEAST = -1e6  # of a text that the model holds impossible


@dataclass(frozen=True, slots=True)
class LikelihoodGain:
    """Scores texts by how much likelier a prompt makes them.

    Example:
        >>> class Model:
        ...     name = "toy"
        ...     def count_tokens(self, text):
        ...         return len(text.split())
        ...     def score(self, prompt, continuations, *, chat):
        ...         return [-9.0 + 3 * (text.strip() in prompt) for text in continuations]
        >>> LikelihoodGain(Model()).score("Pumps move water. Keywords:", ["water", "cats"])
        [3.0, 0.0]

    The score is (log p(text | prompt) - log p(text)) / tokens of text: natural logarithms, as plain
    text that runs on. What is likely everywhere gains nothing, so common words do not win. A text
    that the model holds impossible has -1,000,000.

    Attributes:
        model: A `TransformersModel`, or an object with its `score`, `count_tokens` and `name`.
        name: For cache keys; default: the model's.

    Raises:
        InvalidParameter: the model gives no likelihoods.
    """

    model: Any = field(repr=False)
    name: str = ""

    def __post_init__(self) -> None:
        check_gives_likelihoods("model", self.model)
        object.__setattr__(
            self, "name", self.name or f"likelihood gain|{self.model.name}"
        )

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """The score of each text after a prompt."""
        following = [f" {text}" for text in texts]
        after = self.model.score(query, following, chat=False)
        alone = self.model.score("", following, chat=False)
        lengths = [max(1, self.model.count_tokens(text)) for text in following]
        gains = [(a - b) / n for a, b, n in zip(after, alone, lengths, strict=True)]
        return [gain if math.isfinite(gain) else LEAST for gain in gains]


def check_gives_likelihoods(parameter: str, model: Any) -> None:
    """Raise InvalidParameter unless a model gives likelihoods."""
    if not (hasattr(model, "score") and hasattr(model, "count_tokens")):
        raise InvalidParameter(
            f"{parameter} must give likelihoods by score(prompt, continuations, chat=False), as "
            f"TransformersModel does; got {type(model).__name__}."
        )
