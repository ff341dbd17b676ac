"""A local causal model of transformers as a language model."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from structrag._locks import Lock, cached_property
from structrag.errors import InvalidParameter, check_at_least, require, warn_user
from structrag.model_calls.usage import CallTokens, counted
from structrag.models.loading import batch_of, load_labelled, pad_of, weights_settings
from structrag.models.margins import Masses, TwoWay, two_way
from structrag.models.prefix_reuse import PrefixReader
from structrag.models.transformers_margin import (
    TransformersMargin,
    exact_logits,
    tokens_of_prompt,
)
from structrag.text.numbers import pluralise
from structrag.text.tokens import without_surrogates

CUT_MARK = "\n[...]\n"  # stands where the middle of a prompt was left out
LEAST_WINDOW = 16


@dataclass(slots=True)
class Cuts:
    """Counts prompts that were cut because they were longer than a model's window.

    Example:
        >>> cuts = Cuts()
        >>> cuts.add(1200)
        >>> print(cuts)
        1 prompt cut, 1,200 tokens left out
    """

    prompts: int = 0
    tokens: int = 0  # of the model, left out of all prompts together

    def add(self, tokens: int) -> None:
        """Count one more prompt that was cut."""
        self.prompts += 1
        self.tokens += tokens

    def __str__(self) -> str:
        prompts, tokens = (
            pluralise(self.prompts, "prompt"),
            pluralise(self.tokens, "token"),
        )
        return f"{prompts} cut, {tokens} left out"


@dataclass(eq=False)
class TransformersModel:
    """A local causal model that answers, weighs options and rates texts.

    Example:
        >>> llm = TransformersModel("Qwen/Qwen2.5-1.5B-Instruct")  # doctest: +SKIP
        >>> llm.complete("What moves water? One word.")  # doctest: +SKIP
        'Pumps.'
        >>> llm.choose("What moves water?", ("a pump", "a heron")) > 0  # doctest: +SKIP
        True

    Pass it as `llm=` wherever one is taken, in the core and in both frameworks. Answers are the
    most likely ones, token by token, and go through the model in batches. A chat template is used
    where the tokenizer has one. On a processor in 16 bits an answer can depend on its batch, since
    padding moves the logits a little; margins and likelihoods do not.

    A prompt that leaves no room for its answer loses its middle, `[...]` in its place: what is
    asked stands at the beginning or the end. `cuts` counts them, and the first one warns. Threads
    wait for each other.

    Attributes:
        model, tokenizer: Objects of transformers, or a name or folder for `from_pretrained`, or a
            GGUF file (extra `gguf`). Nothing is downloaded.
        name: For cache keys; default: the model's name or path with the type of its numbers, a
            digest of its weights and the limits below.
        batch_size: Most prompts in one forward pass.
        window: Tokens of prompt and answer together. Default: the positions the model's
            configuration gives; without any, 4,096. At least 16.
        max_new_tokens: Most tokens of an answer; of a window below twice that, half of it.
        cuts: Prompts that were cut so far.
        masses: How much of the probability the options of `choose` had together so far. Near 0 the
            model wanted to answer something else.

    Raises:
        InvalidParameter: there is no such model on this machine, or a number is too small.
        MissingExtra: a name was given and transformers is not installed.
    """

    model: Any
    tokenizer: Any = None
    name: str = ""
    batch_size: int = 8
    window: int | None = None
    max_new_tokens: int = 256
    cuts: Cuts = field(default_factory=Cuts, init=False, repr=False)
    normalised: bool = field(default=True, init=False, repr=False)
    _margin: TransformersMargin = field(init=False, repr=False)
    _reader: PrefixReader = field(init=False, repr=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        check_at_least("batch_size", self.batch_size, 1)
        check_at_least("max_new_tokens", self.max_new_tokens, 1)
        self.model, self.tokenizer, label = load_labelled(
            self.model, self.tokenizer, "AutoModelForCausalLM", "a transformers model"
        )
        if self.window is None:
            self.window = (
                getattr(self.model.config, "max_position_embeddings", None) or 4096
            )
        check_at_least("window", self.window, LEAST_WINDOW)
        self.max_new_tokens = min(self.max_new_tokens, self.window // 2)
        limits = f"window={self.window}, max_new_tokens={self.max_new_tokens}"
        self.name = self.name or "|".join(
            (label, *weights_settings(self.model), limits)
        )
        self._margin = TransformersMargin(
            self.model,
            self.tokenizer,
            name=self.name,
            batch_size=self.batch_size,
        )
        # Prompts are cut to `window`, which may be more than the configuration's positions.
        self._margin.max_prompt_tokens = self.window
        self._reader = PrefixReader(self.model, pad_of(self.tokenizer))

    @property
    def masses(self) -> Masses:
        """The probability that the options of `choose` had together so far."""
        return self._margin.masses

    @cached_property
    def unnormalised(self) -> TransformersModel:
        """The same model with margins pA - pB, as IDMS prints them. Both count in `masses`."""
        if not self.normalised:
            return self
        other = copy.copy(self)
        other.normalised, other.name = False, f"{self.name}|not normalised"
        other._margin = self._margin.unnormalised
        return other

    def count_tokens(self, text: str) -> int:
        """The model's tokens of a text, without special ones."""
        return len(self._encode(text))

    # -- answers

    def complete(self, prompt: str) -> str:
        """The most likely answer, at most `max_new_tokens` tokens."""
        return self.complete_many([prompt])[0]

    def complete_many(self, prompts: Sequence[str]) -> list[str]:
        """One answer a prompt, in their order. Prompts of like length share a pass."""
        rows = [self._prompt_ids(prompt, self.max_new_tokens) for prompt in prompts]
        answers = [""] * len(rows)
        order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
        for start in range(0, len(order), self.batch_size):
            batch = order[start : start + self.batch_size]
            written = self._generate([rows[i] for i in batch])
            for i, answer in zip(batch, written, strict=True):
                answers[i] = answer
        return answers

    def _generate(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """The answers to prompts. Prompts are padded at the left, so that all answers begin at one
        place."""
        torch: Any = require("torch", extra="models")
        width = max(map(len, rows))
        pad = self._reader.pad
        device = getattr(self.model, "device", "cpu")
        with self._lock, torch.inference_mode():
            written = self.model.generate(
                **batch_of(rows, pad, device, left=True),
                max_new_tokens=self.max_new_tokens,
                do_sample=False,
                pad_token_id=pad,
            )
        answers = []
        for row, ids in zip(rows, written[:, width:].tolist(), strict=True):
            text = str(self.tokenizer.decode(ids, skip_special_tokens=True))
            answers.append(
                counted(text, CallTokens(len(row), self._written_tokens(ids)))
            )
        return answers

    def _written_tokens(self, ids: Sequence[int]) -> int:
        """The tokens of an answer, its end counted, padding not."""
        ends = set(self._end_ids())
        return next(
            (i for i, token in enumerate(ids, start=1) if token in ends), len(ids)
        )

    # -- options

    def choose(self, prompt: str, options: tuple[str, str]) -> float | None:
        """The margin of the first option over the second, within [-1, 1]. Options may have any
        length."""
        return self.choose_many([prompt], options)[0]

    def choose_many(
        self, prompts: Sequence[str], options: tuple[str, str]
    ) -> list[float | None]:
        """`choose` for every prompt.

        Options of one token each are weighed as `TransformersMargin` does, in batches, all
        spellings of an option added up; longer ones by the probability that the model
        says just that and ends.

        Raises:
            InvalidParameter: the options are equal or blank.
        """
        _check_options(options)
        try:
            self._margin.option_ids(options)
        except InvalidParameter:
            weighed = [self._weigh(prompt, options) for prompt in prompts]
            return [None if both is None else both.margin for both in weighed]
        # The margin makes the prompt again from the text.
        texts = [self._fitting(prompt, 1) for prompt in prompts]
        with self._lock:
            return self._margin.choose_many(texts, options)

    def _weigh(self, prompt: str, options: tuple[str, str]) -> TwoWay | None:
        first, second = self.score(prompt, options, whole=True)
        both = two_way([first], [second], normalised=self.normalised)
        if both is not None:
            self.masses.add(both.mass)
        return both

    # -- likelihoods

    def score(
        self,
        prompt: str,
        continuations: Sequence[str],
        *,
        whole: bool = False,
    ) -> list[float]:
        """The log-likelihood of each continuation after the prompt, natural, at most 0.

        The prompt is read once. A continuation is turned into tokens by itself; one that leaves the
        prompt less than half of the window is cut at its end, and counted in `cuts`. "" has 0.

        Args:
            whole: The answer is to end there: the probability of an end token is added.
        """
        if not continuations:
            return []
        torch: Any = require("torch", extra="models")
        rows = [self._continuation_ids(text) for text in continuations]
        prefix = self._prompt_ids(prompt, 1 + max(map(len, rows)))
        ends = self._end_ids() if whole else []
        exact = {token for row in rows for token in row} | set(ends)
        scores: list[float] = []
        with (
            self._lock,
            torch.inference_mode(),
            exact_logits(self.model, sorted(exact)),
        ):
            for start in range(0, len(rows), self.batch_size):
                batch = rows[start : start + self.batch_size]
                scores += self._reader.likelihoods(prefix, batch, ends).tolist()
        return [score if math.isfinite(score) else -math.inf for score in scores]

    def _continuation_ids(self, text: str) -> list[int]:
        ids = self._encode(text)
        most = (self.window or 0) // 2
        if len(ids) > most:
            self._note_cut(len(ids) - most)
        return ids[:most]

    def _end_ids(self) -> list[int]:
        """The tokens that end an answer; [] where none is known."""
        ends = getattr(
            getattr(self.model, "generation_config", None), "eos_token_id", None
        )
        ends = getattr(self.tokenizer, "eos_token_id", None) if ends is None else ends
        if ends is None:
            return []
        return [ends] if isinstance(ends, int) else list(ends)

    # -- prompts

    def _prompt_ids(self, prompt: str, room: int) -> list[int]:
        """The tokens of a prompt that leaves `room` tokens to its answer. There is always one token
        at least."""
        ids = tokens_of_prompt(self.tokenizer, self._fitting(prompt, room))
        return ids or [self._beginning()]

    def _beginning(self) -> int:
        """Return the token that begins a text."""
        ids = (
            getattr(self.tokenizer, f"{name}_token_id", None)
            for name in ("bos", "eos", "pad")
        )
        return next((token for token in ids if token is not None), 0)

    def _fitting(self, prompt: str, room: int) -> str:
        """The prompt, without its middle where it would not leave that room."""
        most = (self.window or 0) - room
        surplus = len(tokens_of_prompt(self.tokenizer, prompt)) - most
        if surplus <= 0:
            return prompt
        ids = self._encode(prompt)
        keep = len(ids) - surplus - len(self._encode(CUT_MARK))
        text = ""
        # Pieces put together can have more tokens than they had, so less is taken until it fits.
        while keep > 0:
            head, tail = ids[: (keep + 1) // 2], ids[len(ids) - keep // 2 :]
            parts = [str(self.tokenizer.decode(part)) for part in (head, tail)]
            text = CUT_MARK.join(parts)
            over = len(tokens_of_prompt(self.tokenizer, text)) - most
            if over <= 0:
                break
            keep -= over
        self._note_cut(len(ids) - max(0, keep))
        return text if keep > 0 else ""

    def _note_cut(self, tokens: int) -> None:
        with self._lock:
            self.cuts.add(tokens)
            is_first = self.cuts.prompts == 1
        if is_first:
            warn_user(
                f"A prompt exceeds the context window of {self.name!r}, {self.window} tokens: "
                f"{tokens} tokens were removed from its middle. `cuts` counts further cases. Use "
                "smaller pieces, or a model with a larger window.",
            )

    def _encode(self, text: str) -> list[int]:
        text = without_surrogates(text)
        return list(self.tokenizer.encode(text, add_special_tokens=False))


def _check_options(options: Iterable[str]) -> None:
    texts = [option.strip() for option in options]
    if len(texts) < 2 or len(set(texts)) < len(texts) or not all(texts):
        raise InvalidParameter(
            f"options must be at least 2 different non-blank strings; got {list(options)!r}."
        )
