"""Models that score how relevant texts are to a question: MonoT5, and cross-encoders."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from structrag._locks import Lock
from structrag.errors import InvalidAnswer, InvalidParameter, check_at_least, require
from structrag.model_calls.calls import scorer_name
from structrag.models.loading import (
    batch_of,
    load_local,
    load_pair,
    pad_of,
    weights_settings,
)
from structrag.records import Block
from structrag.text.cutting import Cutter, Piece
from structrag.text.tokens import count_tokens

INPUT = "Query: {question} Document: {text} Relevant:"
ENDING = " Relevant:"
Window = TypeVar("Window", str, "tuple[int, ...]")


@dataclass(eq=False)
class MonoT5:
    """Scores texts by the probability that the model calls them relevant (Nogueira et al., 2020).

    Example:
        >>> scorer = MonoT5("castorini/monot5-base-msmarco-10k")  # doctest: +SKIP
        >>> best, worst = scorer.score("cats", ["Cats eat.", "It rains."])  # doctest: +SKIP

    A score is the natural logarithm of the probability of `true` against `false` as the first token
    of the answer. The input is `Query: {question} Document: {text} Relevant:`; one step of the
    decoder, whose logits of the two words alone go through log-softmax. A text too long for
    `max_tokens` is cut at sentence ends into windows, and its best window counts.

    Attributes:
        model, tokenizer: Objects of transformers, or the folder or name of a checkpoint for
            `from_pretrained`, such as "castorini/monot5-base-msmarco-10k". The name of the model,
            given as such, is the name of its tokenizer too. A name is that of a model downloaded
            before; nothing is downloaded.
        true, false: The words the checkpoint was trained to answer, each one token: ("true",
            "false"), ("yes", "no") for the mT5 checkpoints of mMARCO, ("sim", "não") for the
            Portuguese ones.
        batch_size: Most inputs in one forward pass; they are sorted by length.
        max_tokens: Most tokens of an input, its end token included.
        name: For cache keys; default: the model's name or path with the type of its numbers, a
            digest of its weights, the words and `max_tokens`. "", for a model that has no name: its
            scores are not cached.

    Raises:
        InvalidParameter: there is no such model on this machine, it is not an encoder-decoder, or a
            word is not a single token.
        MissingExtra: a name or folder was given and transformers is not installed.
    """

    model: Any
    tokenizer: Any = None
    true: str = "true"
    false: str = "false"
    batch_size: int = 16
    max_tokens: int = 512
    name: str = ""
    _words: tuple[int, int] = field(default=(0, 0), init=False, repr=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        check_at_least("batch_size", self.batch_size, 1)
        check_at_least("max_tokens", self.max_tokens, 32)
        what = "an encoder-decoder of transformers"
        self.model, self.tokenizer = load_pair(
            self.model, self.tokenizer, "AutoModelForSeq2SeqLM", what
        )
        config = getattr(self.model, "config", None)
        if not getattr(config, "is_encoder_decoder", False):
            raise InvalidParameter(
                f"model must be {what}, such as T5; got {type(self.model).__name__}. Load it with "
                "AutoModelForSeq2SeqLM, or pass its folder."
            )
        label = getattr(config, "_name_or_path", "")
        settings = (
            *weights_settings(self.model),
            self.true,
            self.false,
            self.max_tokens,
        )
        self.name = self.name or scorer_name(label, *settings)
        self._words = (self._word("false", self.false), self._word("true", self.true))
        if self._words[0] == self._words[1]:
            raise InvalidParameter(
                f"true and false must be different tokens; got {self.true!r} and {self.false!r}."
            )

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """log p(true) of each text, at most 0, in the order given. Equal texts have equal scores.
        No text gives none."""
        question = self._shortened(query)

        def log_true(inputs: Sequence[tuple[int, ...]]) -> list[float]:
            size = self.batch_size
            starts = range(0, len(inputs), size)
            return [p for i in starts for p in self._log_true(inputs[i : i + size])]

        return best_scores(texts, lambda text: self._windows(question, text), log_true)

    def _log_true(self, batch: Sequence[tuple[int, ...]]) -> list[float]:
        torch: Any = require("torch", extra="models")
        device = getattr(self.model, "device", "cpu")
        start = [[self.model.config.decoder_start_token_id or 0] for _ in batch]
        inputs = batch_of(batch, pad_of(self.tokenizer), device)
        with self._lock, torch.inference_mode():
            output = self.model(
                **inputs, decoder_input_ids=torch.tensor(start, device=device)
            )
            words = output.logits[:, 0, self._words]
            log_true = torch.log_softmax(words.double(), dim=-1)[:, 1]
            return [float(value) for value in log_true.cpu()]

    def _windows(self, question: str, text: str) -> list[tuple[int, ...]]:
        """The inputs that show the whole text."""
        whole = self._ids(question, text)
        if len(whole) <= self.max_tokens:
            return [tuple(whole)]

        def fits(piece: Piece) -> bool:
            return (
                len(self._ids(question, text[piece.start : piece.end]))
                <= self.max_tokens
            )

        room = max(8, self.max_tokens - len(self._ids(question, "")))
        windows = _windows_of(text, self._count, room, fits)
        return [
            tuple(self._cut_to_limit(self._ids(question, window))) for window in windows
        ]

    def _shortened(self, question: str) -> str:
        """The question, cut to leave half of the input to the text."""
        room = self.max_tokens // 2
        if self._count(question) <= room:
            return question
        return _windows_of(question, self._count, room)[0].strip()

    def _cut_to_limit(self, ids: list[int]) -> list[int]:
        """The ids without those too many in front of the ending. The answer depends on the ending,
        so it stays."""
        excess = len(ids) - self.max_tokens
        if excess <= 0:
            return ids
        ending = list(self.tokenizer.encode(ENDING))
        tail = 0  # tokens of the ending that close the input too
        while tail < len(ending) and ending[-tail - 1] == ids[-tail - 1]:
            tail += 1
        return ids[: len(ids) - tail - excess] + ids[len(ids) - tail :]

    def _ids(self, question: str, text: str) -> list[int]:
        shown = INPUT.format(question=question, text=text.strip())
        return list(self.tokenizer.encode(shown, truncation=False, verbose=False))

    def _count(self, text: str) -> int:
        return len(
            self.tokenizer.encode(
                text, add_special_tokens=False, truncation=False, verbose=False
            )
        )

    def _word(self, parameter: str, word: str) -> int:
        """The id of a word that is one token."""
        ids = list(self.tokenizer.encode(word, add_special_tokens=False))
        if len(ids) != 1:
            ids = [self.tokenizer.convert_tokens_to_ids(word)]
        unknown = getattr(self.tokenizer, "unk_token_id", None)
        if ids[0] is None or ids[0] == unknown:
            raise InvalidParameter(
                f"{parameter} must be a word that is one token of the tokenizer of "
                f"{self.name or type(self.model).__name__!r}; got {word!r}. Pass the two words "
                'that the checkpoint was trained to answer, such as true="yes", false="no".'
            )
        return int(ids[0])


def as_monot5(value: Any) -> Any:
    """A scorer from what a caller has.

    That is None, a folder or name, or an object with `score`.

    Raises:
        InvalidParameter: none of these, or the folder holds no such model.
    """
    if value is None or callable(getattr(value, "score", None)):
        return value
    if isinstance(value, str):
        return MonoT5(value)
    raise InvalidParameter(
        "monot5 must be a MonoT5, the folder or name of a checkpoint on this machine, or an object "
        f"with score(query, texts); got {type(value).__name__}."
    )


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
        return best_scores(
            texts, self._windows, lambda windows: self._predicted(query, windows)
        )

    def _predicted(self, query: str, windows: Sequence[str]) -> list[float]:
        if not windows:
            return []
        pairs = [(query, window) for window in windows]
        predicted = np.asarray(self.model.predict(pairs, **self._options()))
        if predicted.shape != (len(windows),):
            raise InvalidAnswer(
                f"cross_encoder must predict one number for each of {len(windows)} pairs; got an "
                f"array of shape {predicted.shape}. Use a model with one label."
            )
        scores: list[float] = predicted.astype(np.float64).tolist()
        return scores

    def _windows(self, text: str) -> list[str]:
        if count_tokens(text) <= self.window_tokens:
            return [text]
        windows = _windows_of(text, count_tokens, self.window_tokens)
        return [window.strip() for window in windows]

    def _options(self) -> dict[str, Any]:
        """Options of `predict`, for a model of sentence-transformers. No bar, our batch size, and
        probabilities whatever its configuration says."""
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
    """Make a scorer of None, an object with `score(query, texts)`, or what `CrossEncoderScorer`
    takes."""
    if value is None or callable(getattr(value, "score", None)):
        return value
    return CrossEncoderScorer(value)


def best_scores(
    texts: Sequence[str],
    windows_of: Callable[[str], Iterable[Window]],
    predict: Callable[[Sequence[Window]], Sequence[float]],
) -> list[float]:
    """Each text's score is that of its best window; each window is predicted once."""
    windows = {text: tuple(windows_of(text)) for text in dict.fromkeys(texts)}
    different = {window for of_text in windows.values() for window in of_text}
    ordered = sorted(different, key=lambda window: (len(window), window))
    scores = dict(zip(ordered, predict(ordered), strict=True))
    return [max(scores[window] for window in windows[text]) for text in texts]


def _windows_of(
    text: str,
    count: Callable[[str], int],
    room: int,
    fits: Callable[[Piece], bool] | None = None,
) -> list[str]:
    """A text cut at sentence ends."""
    block = Block("paragraph", 0, len(text))
    pieces = Cutter(count).cut(text, [block], room, fits=fits)
    return [text[piece.start : piece.end] for piece in pieces]
