"""Margins by what a passage tells of the next.

Measured by a language model's likelihoods.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from structrag.errors import check_at_least
from structrag.models.likelihood_gain import check_gives_likelihoods


@dataclass(frozen=True, slots=True)
class InformationMargin:
    """Margins by mutual information.

    That is how much likelier a passage makes what follows it.

    Example:
        >>> from structrag import IDMSSplitter
        >>> class Model:
        ...     name = "toy"
        ...     def count_tokens(self, text):
        ...         return len(text.split())
        ...     def score(self, prompt, continuations, *, chat):
        ...         shared = set(prompt.split())
        ...         return [-9.0 + len(shared & set(c.split())) for c in continuations]
        >>> margin = InformationMargin(Model())
        >>> [round(value, 2) for value in margin([("cats purr", "cats sleep"), ("a", "b")])]
        [0.46, 0.0]

    The margin is tanh((log p(next | before) - log p(next)) / tokens of next), from -1 to 1 and
    natural logarithms; it hardly ever is below 0, so the threshold that follows recent margins does
    the telling. A blank side has None. Unlike a question with two options it needs no instruction
    that the model has to understand, so very small models can give it. Two passes a gap:
    `IDMSSplitter(margin=InformationMargin(TransformersModel(...)))`. Ours; no paper's.

    `with_vectors` puts it together with the similarity of the sentences around a gap, which sees
    more of the text: both are brought to like spread within a document, and the margin is their
    mean.

    Attributes:
        model: A `TransformersModel`, or an object with its `score`, `count_tokens` and `name`.
        before_tokens: Most tokens of the passage before that are read, its end; estimated by
            characters where the passage is far longer.
        name: For fingerprints; default: the model's.
        with_vectors: Whether `IDMSSplitter` puts the similarity of sentences beside it; not with
            its `context="chunk"`, which has no windows to compare.

    Raises:
        InvalidParameter: the model gives no likelihoods.
    """

    model: Any = field(repr=False)
    before_tokens: int = 256
    name: str = ""
    with_vectors: bool = False

    def __post_init__(self) -> None:
        check_gives_likelihoods("model", self.model)
        check_at_least("before_tokens", self.before_tokens, 1)
        name = self.name or f"information|{self.model.name}|{self.before_tokens}"
        name += "|with vectors" if self.with_vectors else ""
        object.__setattr__(self, "name", name)

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        """The margins of passages and what follows them, positive: they belong together."""
        behind = [text.strip() for _, text in pairs]
        plain = self._plain(behind)
        margins: list[float | None] = []
        for (before, _), text in zip(pairs, behind, strict=True):
            if not text or not before.strip():
                margins.append(None)
                continue
            (likelihood,) = self.model.score(
                self._end(before), [f" {text}"], chat=False
            )
            gain = (likelihood - plain[text]) / max(1, self.model.count_tokens(text))
            margins.append(math.tanh(gain) if math.isfinite(gain) else None)
        return margins

    def _plain(self, texts: Sequence[str]) -> dict[str, float]:
        """The log-likelihood of each text with nothing before it."""
        different = list(dict.fromkeys(filter(None, texts)))
        scores = self.model.score("", [f" {text}" for text in different], chat=False)
        return dict(zip(different, scores, strict=True))

    def _end(self, text: str) -> str:
        """The end of a passage, cut at a blank."""
        text = text.strip()[-8 * self.before_tokens :]
        while self.model.count_tokens(text) > self.before_tokens:
            shorter = text[len(text) // 4 + 1 :]
            text = shorter.partition(" ")[2] or shorter
        return text
