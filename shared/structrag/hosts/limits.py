"""How much of a text a host framework's embedding model reads, where its object tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from structrag.errors import check_at_least
from structrag.text.tokens import TokenCounter, count_tokens

_HELD = ("client", "_client", "model", "_model")  # where hosts keep the encoder


@dataclass(frozen=True, slots=True)
class EncoderCounter:
    """Counts tokens as a SentenceTransformer does, its special tokens included."""

    encoder: Any

    def __call__(self, text: str) -> int:
        text = text.encode("utf-16", "surrogatepass").decode(
            "utf-16", "replace"
        )  # tokenizers refuse lone surrogates
        return len(self.encoder.tokenizer(text, truncation=False, verbose=False)["input_ids"])


def reading_limit(model: Any, given: int | None = None) -> tuple[int | None, TokenCounter]:
    """The tokens that the model reads of a text, None if nothing tells, and what counts them: its
    tokenizer, or an estimate.

    Told by `max_seq_length` or `max_length` of the object itself, or `max_seq_length` of the
    SentenceTransformer that it holds. `given` is taken instead; it raises InvalidParameter unless
    it is a number from 1.
    """
    encoder = _encoder(model)
    counter: TokenCounter = count_tokens if encoder is None else EncoderCounter(encoder)
    if given is not None:
        check_at_least("max_tokens", given, 1)
        return given, counter
    told = [getattr(model, "max_seq_length", None), getattr(model, "max_length", None)]
    told.append(getattr(encoder, "max_seq_length", None))
    return next((limit for limit in told if _is_limit(limit)), None), counter


def _encoder(model: Any) -> Any:
    """The SentenceTransformer that the model holds, or None."""
    held = [getattr(model, name, None) for name in _HELD]
    return next(
        (
            each
            for each in held
            if hasattr(each, "encode") and _is_limit(getattr(each, "max_seq_length", None))
        ),
        None,
    )


def _is_limit(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
