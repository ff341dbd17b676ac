"""MonoT5, which scores how relevant a text is to a question.

Nogueira et al., 2020.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from structrag.asking.texts import scorer_name
from structrag.errors import InvalidParameter, check_at_least, require
from structrag.models.loading import load_pair
from structrag.models.weights import weights_settings
from structrag.records import Block
from structrag.text.cutting import Cutter, Piece

INPUT = "Query: {question} Document: {text} Relevant:"
ENDING = " Relevant:"


@dataclass(eq=False)
class MonoT5:
    """Scores texts by the probability that the model calls them relevant.

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
        InvalidParameter: there is no such model on this machine, it is no encoder-decoder, or a
            word is not one token.
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
    _lock: Any = field(default_factory=threading.Lock, init=False, repr=False)

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
        if self.tokenizer is None:
            raise InvalidParameter(
                "tokenizer must be given with a model object; got None."
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
        """log p(true) of each text, at most 0, in the order given.

        Equal texts have equal scores. No text gives none.
        """
        question = self._shortened(query)
        windows = {text: self._windows(question, text) for text in dict.fromkeys(texts)}
        different = {ids for of_text in windows.values() for ids in of_text}
        inputs = sorted(different, key=lambda ids: (len(ids), ids))
        scores: dict[tuple[int, ...], float] = {}
        for start in range(0, len(inputs), self.batch_size):
            batch = inputs[start : start + self.batch_size]
            scores.update(zip(batch, self._log_true(batch), strict=True))
        return [max(scores[ids] for ids in windows[text]) for text in texts]

    def _log_true(self, batch: Sequence[tuple[int, ...]]) -> list[float]:
        torch: Any = require("torch", extra="models")
        longest = max(map(len, batch))
        pad = getattr(self.tokenizer, "pad_token_id", None) or 0
        device = getattr(self.model, "device", "cpu")
        ids, mask = [], []
        for row in batch:
            missing = longest - len(row)
            ids.append([*row, *[pad] * missing])
            mask.append([1] * len(row) + [0] * missing)
        start = [[self.model.config.decoder_start_token_id or 0] for _ in batch]
        inputs = {"input_ids": ids, "attention_mask": mask, "decoder_input_ids": start}
        with self._lock, torch.inference_mode():
            tensors = {
                name: torch.tensor(rows, device=device) for name, rows in inputs.items()
            }
            output = self.model(**tensors)
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
        pieces = Cutter(self._count).cut(
            text, [Block("paragraph", 0, len(text))], room, fits=fits
        )
        return [
            tuple(
                self._cut_to_limit(self._ids(question, text[piece.start : piece.end]))
            )
            for piece in pieces
        ]

    def _shortened(self, question: str) -> str:
        """The question, cut to leave half of the input to the text."""
        if self._count(question) <= self.max_tokens // 2:
            return question
        pieces = Cutter(self._count).cut(
            question, [Block("paragraph", 0, len(question))], self.max_tokens // 2
        )
        return question[pieces[0].start : pieces[0].end].strip()

    def _cut_to_limit(self, ids: list[int]) -> list[int]:
        """The ids without those too many in front of the ending.

        The answer depends on the ending, so it stays.
        """
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
                f"{self._label()!r}; got {word!r}. Pass the two words that the checkpoint was "
                'trained to answer, such as true="yes", false="no".'
            )
        return int(ids[0])

    def _label(self) -> str:
        return self.name or type(self.model).__name__

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())


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
