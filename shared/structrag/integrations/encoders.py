"""Encoders, transformers models and tokenizers inside a host framework's models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from structrag.errors import check_at_least
from structrag.models.embedders import SentenceTransformerEmbedder
from structrag.models.transformers_margin import TransformersMargin
from structrag.text.tokens import TokenCounter, count_tokens, without_surrogates

_HELD = (
    "client",
    "_client",
    "model",
    "_model",
)  # attributes in which hosts keep the encoder


@dataclass(frozen=True, slots=True)
class EncoderCounter:
    """Counts tokens as a SentenceTransformer does, its special tokens included."""

    encoder: Any

    def __call__(self, text: str) -> int:
        read = without_surrogates(text)
        return len(
            self.encoder.tokenizer(read, truncation=False, verbose=False)["input_ids"]
        )


def reading_limit(
    model: Any, max_tokens: int | None = None
) -> tuple[int | None, TokenCounter]:
    """How many tokens an embedding model reads, and what counts them.

    The limit is `max_seq_length` or `max_length` of the object itself, or `max_seq_length` of the
    SentenceTransformer that it holds; None if nothing tells. The counter is its tokenizer, or an
    estimate.

    Args:
        max_tokens: The limit in place of what the object tells.

    Raises:
        InvalidParameter: `max_tokens` is not a number from 1.
    """
    encoder = encoder_of(model)
    counter: TokenCounter = count_tokens if encoder is None else EncoderCounter(encoder)
    if max_tokens is not None:
        check_at_least("max_tokens", max_tokens, 1)
        return max_tokens, counter
    limits = [
        getattr(model, "max_seq_length", None),
        getattr(model, "max_length", None),
        getattr(encoder, "max_seq_length", None),
    ]
    return next((limit for limit in limits if _is_limit(limit)), None), counter


def encoder_of(model: Any) -> Any:
    """The SentenceTransformer that the model holds, or None."""
    for name in _HELD:
        candidate = getattr(model, name, None)
        if hasattr(candidate, "encode") and _is_limit(
            getattr(candidate, "max_seq_length", None)
        ):
            return candidate
    return None


def token_reader(model: Any, name: str) -> SentenceTransformerEmbedder | None:
    """The vectors of tokens of the SentenceTransformer that the model holds, with the model's
    instructions; None where it holds none with a fast tokenizer."""
    encoder = encoder_of(model)
    if not hasattr(encoder, "tokenizer") or not hasattr(encoder, "modules"):
        return None
    settings = getattr(model, "encode_kwargs", None) or {}
    of_query = getattr(model, "query_encode_kwargs", None) or settings
    embedder = SentenceTransformerEmbedder(
        encoder,
        getattr(model, "query_instruction", None) or of_query.get("prompt"),
        getattr(model, "text_instruction", None) or settings.get("prompt"),
        name,
    )
    return embedder if embedder.gives_tokens else None


def _is_limit(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def margin_model(model: Any) -> TransformersMargin | None:
    """Weighs options by the transformers model within the host's model.

    Such models are in HuggingFacePipeline, ChatHuggingFace and HuggingFaceLLM. None where there is
    none, or it is no causal one.
    """
    transformer, tokenizer = transformer_of(model)
    if transformer is None:
        return None
    return TransformersMargin(transformer, tokenizer)


def transformer_of(model: Any) -> tuple[Any, Any]:
    """The causal transformers model of a host's model, and its tokenizer. Both None where it holds
    none."""
    pipeline = pipeline_of(model)
    pairs = [
        (getattr(model, "_model", None), getattr(model, "_tokenizer", None)),
        (getattr(pipeline, "model", None), getattr(pipeline, "tokenizer", None)),
    ]
    for transformer, tokenizer in pairs:
        is_encoder_decoder = getattr(
            getattr(transformer, "config", None), "is_encoder_decoder", True
        )
        if hasattr(transformer, "forward") and hasattr(tokenizer, "encode"):
            return (None, None) if is_encoder_decoder else (transformer, tokenizer)
    return None, None


def pipeline_of(model: Any) -> Any:
    """The transformers pipeline in a host's model, or one level deeper."""
    holder = getattr(model, "llm", None)
    return getattr(model, "pipeline", None) or getattr(holder, "pipeline", None)


def answer_counter(model: Any) -> TokenCounter | None:
    """Counts tokens by the tokenizer of a host's language model.

    The tokenizer is that of a transformers model it holds, or its `tokenizer` with `encode`. None
    without either, or if `tokenizer` is a name, as in LlamaIndex's OpenAILike. Counting functions
    of the host are not used, since some would download a tokenizer.
    """
    _, held = transformer_of(model)
    tokenizer = held or getattr(model, "tokenizer", None)
    has_tokenizer = hasattr(tokenizer, "encode") and not isinstance(tokenizer, str)
    return AnswerCounter(tokenizer) if has_tokenizer else None


@dataclass(frozen=True, slots=True)
class AnswerCounter:
    """Counts tokens by a tokenizer's `encode`."""

    tokenizer: Any

    def __call__(self, text: str) -> int:
        return len(self.tokenizer.encode(text))
