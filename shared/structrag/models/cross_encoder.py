"""Cross-encoders, and what else predicts how relevant texts are."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structrag.asking.texts import scorer_name
from structrag.errors import InvalidAnswer, InvalidParameter, check_at_least, require
from structrag.models.loading import load_local
from structrag.models.weights import weights_settings
from structrag.records import Block
from structrag.text.cutting import Cutter
from structrag.text.tokens import count_tokens


@dataclass(eq=False)
class CrossEncoderScorer:
    """Scores texts by a cross-encoder.

    Example:
        >>> class SharedWords:
        ...     def predict(self, pairs):
        ...         return [len(set(a.split()) & set(b.split())) for a, b in pairs]
        >>> CrossEncoderScorer(SharedWords()).score("cats eat", ["cats eat fish", "it rains"])
        [2.0, 0.0]

    Scores are probabilities from 0 to 1 for a `CrossEncoder` of sentence-transformers, else what
    the model predicts. A text above `window_tokens` is cut at sentence ends into windows, and its
    best window counts.

    Attributes:
        model: A loaded `CrossEncoder`, the folder or name of one that was downloaded before
            (nothing is downloaded), or any object whose `predict` turns a list of (question, text)
            into one number each.
        batch_size: Most pairs in one pass; for a model of sentence-transformers.
        window_tokens: Estimated tokens of a text that the model reads beside a question.
        name: For cache keys; default: the model's name or folder with `window_tokens`. "", for a
            model that has none: its scores are not cached.

    Raises:
        InvalidParameter: there is no such model on this machine, or it cannot predict.
        MissingExtra: a name or folder was given and sentence-transformers is not installed.
    """

    model: Any
    batch_size: int = 16
    window_tokens: int = 300
    name: str = ""

    def __post_init__(self) -> None:
        check_at_least("batch_size", self.batch_size, 1)
        check_at_least("window_tokens", self.window_tokens, 16)
        if isinstance(self.model, str):
            package: Any = require("sentence_transformers", extra="models")
            self.model = load_local(
                "cross_encoder", package.CrossEncoder, self.model, "a cross-encoder"
            )
        if not callable(getattr(self.model, "predict", None)):
            raise InvalidParameter(
                "cross_encoder must be a CrossEncoder of sentence-transformers, the folder or name "
                "of one on this machine, or an object with predict(pairs); got "
                f"{type(self.model).__name__}."
            )
        config = getattr(self.model, "config", None)
        label = getattr(config, "_name_or_path", "") or getattr(self.model, "name", "")
        settings = (*weights_settings(self.model), self.window_tokens)
        self.name = self.name or scorer_name(label, *settings)

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score for each text, in the order given. No text gives none.

        Raises:
            InvalidAnswer: the model did not predict one number for each pair.
        """
        windows = {text: self._windows(text) for text in dict.fromkeys(texts)}
        different = {window for of_text in windows.values() for window in of_text}
        shown = sorted(different, key=lambda text: (len(text), text))
        if not shown:
            return []
        pairs = [(query, window) for window in shown]
        predicted = np.asarray(self.model.predict(pairs, **self._options()))
        if predicted.shape != (len(shown),):
            raise InvalidAnswer(
                f"cross_encoder must predict one number for each of {len(shown)} pairs; got an "
                f"array of shape {predicted.shape}. Take a model with one label."
            )
        scores = dict(zip(shown, predicted.astype(np.float64).tolist(), strict=True))
        return [max(scores[window] for window in windows[text]) for text in texts]

    def _windows(self, text: str) -> list[str]:
        if count_tokens(text) <= self.window_tokens:
            return [text]
        pieces = Cutter(count_tokens).cut(
            text, [Block("paragraph", 0, len(text))], self.window_tokens
        )
        return [text[piece.start : piece.end].strip() for piece in pieces]

    def _options(self) -> dict[str, Any]:
        """Options of `predict`, for a model of sentence-transformers.

        No bar, our batch size, and probabilities whatever its configuration says.
        """
        if not type(self.model).__module__.startswith("sentence_transformers"):
            return {}
        torch: Any = require("torch", extra="models")
        accepted = inspect.signature(self.model.predict).parameters
        activation = (
            "activation_fn" if "activation_fn" in accepted else "activation_fct"
        )
        return {
            "batch_size": self.batch_size,
            "show_progress_bar": False,
            activation: torch.nn.Sigmoid(),
        }


def as_cross_encoder(value: Any) -> Any:
    """A scorer from what a caller has.

    That is None, an object with `score(query, texts)`, or what `CrossEncoderScorer` takes.
    """
    if value is None or callable(getattr(value, "score", None)):
        return value
    return CrossEncoderScorer(value)
