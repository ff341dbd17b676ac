"""A causal language model of transformers that weighs two options by its logits (foundation,
section 7)."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from structrag._locks import Lock, cached_property
from structrag.errors import InvalidParameter, check_at_least, require
from structrag.models.loading import load_labelled, pad_of, weights_settings
from structrag.models.margins import (
    KEEP_OPTION,
    PROMPT,
    SPLIT_OPTION,
    Masses,
    TwoWay,
    check_prompt,
    two_way,
)
from structrag.models.prefix_reuse import PrefixReader, whole_logits
from structrag.text.tokens import without_surrogates


@dataclass(eq=False)
class TransformersMargin:
    """Margins (pA - pB) / (pA + pB) by one forward pass a prompt, in batches.

    Example:
        >>> margin = TransformersMargin("Qwen/Qwen2.5-1.5B-Instruct")  # doctest: +SKIP
        >>> margin.choose("Is water wet? Answer yes or no.", ("yes", "no"))  # doctest: +SKIP

    The prompts of a batch are of like length, padded at the right; on a processor prompts of 16-bit
    models share a pass only with those of their length, so that no margin depends on its batch. The
    logits of the options are made in float32 from the last hidden state, whatever the model's
    numbers. Pass it as `IDMSSplitter(margin=TransformersMargin(...))`; a language model, `llm=`,
    is `TransformersModel`. A chat template is used where the tokenizer has one. Nothing is
    truncated: a prompt above the positions of the model's configuration has no margin (None);
    without any, there is no limit.

    With `reuse_prefix` the model reads what prompts start with in common once: the template up to
    the first passage for a batch, the chunk so far too where prompts come one by one (context
    "chunk"). Margins are the same up to the rounding of the model's numbers. Threads wait for each
    other. The prefix is forgotten when the object is pickled; a model whose weights change needs a
    new object.

    Attributes:
        model, tokenizer: Objects of transformers, or names or folders for `from_pretrained`, or a
            GGUF file (extra `gguf`). The name of the model, given as such, is the name of its
            tokenizer too. A name is that of a model downloaded before; nothing is downloaded.
        name: For cache keys; default: the model's name or path with the type of its numbers and a
            digest of its weights.
        batch_size: Most prompts in one forward pass.
        prompt: The question about two passages, as in `IDMSSplitter`; None: the splitter's.
        reuse_prefix: Keep the keys and values of one prefix, at most one prompt long, and those of
            a batch while it is read; no effect on a model whose cache cannot be cropped, repeated
            or trusted (tried out once). False takes the least memory.
        masses: How much of the probability the options had together, over all margins so far. Near
            0 the model wanted to answer something else, and its margins say little.
    """

    model: Any
    tokenizer: Any = None
    name: str = ""
    batch_size: int = 8
    prompt: str | None = None
    reuse_prefix: bool = True
    masses: Masses = field(default_factory=Masses, init=False, repr=False)
    normalised: bool = field(default=True, init=False, repr=False)
    max_prompt_tokens: int | None = field(default=None, init=False, repr=False)
    _reader: PrefixReader = field(init=False, repr=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        check_at_least("batch_size", self.batch_size, 1)
        if self.prompt is not None:
            check_prompt(self.prompt)
        self.model, self.tokenizer, label = load_labelled(
            self.model, self.tokenizer, "AutoModelForCausalLM", "a transformers model"
        )
        self.max_prompt_tokens = getattr(
            self.model.config, "max_position_embeddings", None
        )
        self.name = self.name or "|".join((label, *weights_settings(self.model)))
        self._reader = PrefixReader(self.model, pad_of(self.tokenizer))

    @cached_property
    def unnormalised(self) -> TransformersMargin:
        """The same model with margins pA - pB, as in Meta-Chunking. Both count in `masses`."""
        if not self.normalised:
            return self
        other = copy.copy(self)
        other.normalised, other.name = False, f"{self.name}|not normalised"
        return other

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        """The margins of passages and what follows them, positive: they belong together."""
        template = self.prompt or PROMPT
        prompts = [
            template.format(
                left=left, right=right, first=SPLIT_OPTION, second=KEEP_OPTION
            )
            for left, right in pairs
        ]
        return self.choose_many(prompts, ("2", "1"))

    def choose(self, prompt: str, options: tuple[str, str]) -> float | None:
        """The margin of the first option over the second. Both are looked for as the next token
        after the prompt."""
        return self.choose_many([prompt], options)[0]

    def choose_many(
        self, prompts: Sequence[str], options: tuple[str, str]
    ) -> list[float | None]:
        """`choose` for every prompt, in batches."""
        weighed = self.weigh(prompts, options)
        return [None if both is None else both.margin for both in weighed]

    def count_tokens(self, text: str) -> int:
        """The model's tokens of a text, without special ones."""
        return len(self.tokenizer.encode(text, add_special_tokens=False))

    def weigh(
        self, prompts: Sequence[str], options: tuple[str, str]
    ) -> list[TwoWay | None]:
        """Margin and mass of the options for every prompt.

        None for a prompt that is too long, or has no token. Raises InvalidParameter for an option
        without a variant that is a single token, or is the same token as the other.
        """
        first, second = self.option_ids(options)
        ids = [tokens_of_prompt(self.tokenizer, prompt) for prompt in prompts]
        limit = self.max_prompt_tokens
        readable = [
            i
            for i, row in enumerate(ids)
            if row and (limit is None or len(row) <= limit)
        ]
        order = sorted(readable, key=lambda i: len(ids[i]))
        weighed: list[TwoWay | None] = [None] * len(ids)
        for start in range(0, len(order), self.batch_size):
            batch = order[start : start + self.batch_size]
            logs = self._last_log_probabilities(
                [ids[i] for i in batch], [*first, *second]
            )
            for i, row in zip(batch, logs, strict=True):
                both = two_way(
                    row[first].tolist(),
                    row[second].tolist(),
                    normalised=self.normalised,
                )
                weighed[i] = both
                if both is not None:
                    self.masses.add(both.mass)
        return weighed

    def option_ids(self, options: tuple[str, str]) -> tuple[list[int], list[int]]:
        """The ids of each option's variants: with and without space, any case. Raises
        InvalidParameter as `weigh` does."""
        variants: list[list[int]] = []
        for option in options:
            forms = dict.fromkeys(
                (option, option.lower(), option.upper(), option.capitalize())
            )
            encoded = [
                self.tokenizer.encode(space + form, add_special_tokens=False)
                for space in ("", " ")
                for form in forms
            ]
            unknown = getattr(self.tokenizer, "unk_token_id", None)
            single = {ids[0] for ids in encoded if len(ids) == 1}
            variants.append(sorted(single - {unknown}))
        first, second = variants
        if not first or not second or set(first) & set(second):
            raise InvalidParameter(
                f"options must be two different words that the tokenizer of {self.name!r} has as "
                f"single tokens; got {options!r}."
            )
        return first, second

    def _last_log_probabilities(
        self, rows: Sequence[Sequence[int]], exact: Sequence[int]
    ) -> Any:
        """Log-probabilities of the next token, shape (rows, vocabulary), as a NumPy array. Those of
        the tokens `exact` are made in float32."""
        torch: Any = require("torch", extra="models")
        if self._reader.model is not self.model:
            self._reader = PrefixReader(self.model, self._reader.pad)
        reader = self._reader
        with self._lock, torch.inference_mode(), exact_logits(self.model, exact):
            if self.reuse_prefix:
                logits = reader.last_logits(rows)
            else:
                logits = whole_logits(self.model, rows, reader.pad)
            return torch.log_softmax(logits.double(), dim=-1).cpu().numpy()


def tokens_of_prompt(tokenizer: Any, prompt: str) -> list[int]:
    """The token ids of a prompt, in its chat template if any."""
    prompt = without_surrogates(prompt)
    if getattr(tokenizer, "chat_template", None):
        messages = [{"role": "user", "content": prompt}]
        prompt = tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=False
        )
        return list(tokenizer.encode(prompt, add_special_tokens=False))
    return list(tokenizer.encode(prompt))


@contextmanager
def exact_logits(model: Any, ids: Sequence[int]) -> Iterator[None]:
    """Let a 16-bit model make the logits of these tokens in float32.

    They are recomputed from the hidden states before its last layer: rounded to 16 bits two logits
    near 20 differ by nothing or by an eighth. What the model does with logits afterwards, it does
    in float32. Other models, and those whose last layer holds no plain weights, stay as they are.
    """
    torch: Any = require("torch", extra="models")
    last_layer: Any = getattr(model, "get_output_embeddings", lambda: None)()
    weight = getattr(last_layer, "weight", None)
    if getattr(weight, "dtype", None) not in (torch.float16, torch.bfloat16):
        yield
        return
    columns = sorted(set(ids))

    def in_float32(layer: Any, inputs: tuple[Any, ...], logits: Any) -> Any:
        exact = inputs[0].float() @ layer.weight[columns].float().T
        if getattr(layer, "bias", None) is not None:
            exact = exact + layer.bias[columns].float()
        logits = logits.float()
        logits[..., columns] = exact
        return logits

    hook = last_layer.register_forward_hook(in_float32)
    try:
        yield
    finally:
        hook.remove()
