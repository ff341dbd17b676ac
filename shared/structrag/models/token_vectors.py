"""Vectors of a text's tokens, from the pass of an encoder that also makes the text's vector, or
from a ColBERT model, which was trained to match tokens one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, repeat
from pathlib import Path
from typing import Any

import numpy as np

from structrag.errors import InvalidParameter, check_at_least, require
from structrag.model_calls.requests import TokenEncoder, TokenVectors
from structrag.models.loading import (
    batch_of,
    load_labelled,
    pad_of,
    pooling_mode,
    weights_settings,
)
from structrag.text.arrays import Array, Int32Array
from structrag.text.tokens import without_surrogates

_PROBE = "a"  # any text, to see which special tokens a tokenizer puts around it
_LONGEST = 512  # tokens of a part, for models that name no limit

# Rows of tokens -> hidden states (batch, tokens, d) and text vectors (batch, d) or None.
Forward = Callable[[Sequence[list[int]]], tuple[Array, Array | None]]


@dataclass(frozen=True, slots=True)
class TokenReader:
    """How a model reads texts token by token. Texts longer than `limit` are read in
    parts of equal length. Special tokens are put around each part and left out of the answer."""

    tokenizer: Any  # a fast one of transformers
    forward: Forward
    limit: int  # tokens of a part, the special ones included
    batch_size: int

    def read(self, texts: Sequence[str], prompt: str = "") -> list[TokenVectors]:
        """The token vectors of texts; a prompt's in front are left out."""
        if not texts:
            return []
        prefix, suffix = self._specials()
        room = max(1, self.limit - len(prefix) - len(suffix))
        encoded = self.tokenizer(
            [without_surrogates(prompt + text) for text in texts],
            add_special_tokens=False,
            return_offsets_mapping=True,
            truncation=False,
            padding=False,
            verbose=False,
        )
        parts = [_parts(ids, room) for ids in encoded["input_ids"]]
        states = iter(
            self._states([[*prefix, *part, *suffix] for of in parts for part in of])
        )
        read = []
        for text, of_text, offsets in zip(
            texts, parts, encoded["offset_mapping"], strict=True
        ):
            ids = np.array(
                [token for part in of_text for token in part], dtype=np.int32
            )
            spans = np.array(offsets, dtype=np.int32).reshape(-1, 2) - len(prompt)
            rows, vectors = zip(*islice(states, len(of_text)), strict=True)
            lengths = list(map(len, of_text))
            hidden = np.concatenate(
                [
                    row[len(prefix) : len(prefix) + length]
                    for row, length in zip(rows, lengths, strict=True)
                ]
            )
            vector = _text_vector(hidden, vectors, lengths)
            shown = spans[:, 1] > np.maximum(spans[:, 0], 0)
            spans = _without_blanks(text, np.maximum(spans[shown], 0))
            read.append(TokenVectors(ids[shown], spans, hidden[shown], vector))
        return read

    def _states(self, rows: Sequence[list[int]]) -> list[tuple[Array, Array | None]]:
        """The hidden states of each row, and its text vector if the model gives one."""
        states: dict[int, tuple[Array, Array | None]] = {}
        # rows of like length go together, as all of a batch are padded to the longest
        order = sorted(range(len(rows)), key=lambda i: len(rows[i]), reverse=True)
        for start in range(0, len(order), self.batch_size):
            batch = order[start : start + self.batch_size]
            hidden, vectors = self.forward([rows[i] for i in batch])
            pooled = repeat(None) if vectors is None else vectors
            states.update(zip(batch, zip(hidden, pooled, strict=False), strict=True))
        return [states[i] for i in range(len(rows))]

    def _specials(self) -> tuple[list[int], list[int]]:
        """The special tokens in front of a text and behind it."""
        (plain,) = self.tokenizer([_PROBE], add_special_tokens=False)["input_ids"]
        (whole,) = self.tokenizer([_PROBE])["input_ids"]
        at = next(
            (i for i in range(len(whole)) if whole[i : i + len(plain)] == plain),
            len(whole),
        )
        return whole[:at], whole[at + len(plain) :]


def in_torch(
    forward: Callable[[Mapping[str, Any]], tuple[Any, Any]], tokenizer: Any, device: Any
) -> Forward:
    """Rows through a model of PyTorch, from its features to tensors of a `Forward`."""
    torch: Any = require("torch", extra="models")

    def read(rows: Sequence[list[int]]) -> tuple[Array, Array | None]:
        features = batch_of(rows, pad_of(tokenizer), device)
        if "token_type_ids" in getattr(tokenizer, "model_input_names", ()):
            features["token_type_ids"] = features["input_ids"] * 0
        with torch.inference_mode():
            hidden, vectors = forward(features)
        if vectors is not None:
            vectors = vectors.float().cpu().numpy()
        return hidden.float().cpu().numpy(), vectors

    return read


def _parts(ids: list[int], room: int) -> list[list[int]]:
    """Runs of equal length, of at most `room` tokens; one run of nothing for nothing."""
    count = max(1, -(-len(ids) // room))
    bounds = [i * len(ids) // count for i in range(count + 1)]
    return [ids[first:last] for first, last in pairwise(bounds)]


def _without_blanks(text: str, spans: Int32Array) -> Int32Array:
    """Spans of tokens without the blanks that many tokenizers count to the word behind them."""
    is_ink = np.fromiter((not c.isspace() for c in text), dtype=bool, count=len(text))
    ink = np.append(np.flatnonzero(is_ink), len(text)).astype(np.int32)
    starts = ink[np.searchsorted(ink, spans[:, 0])]
    starts = np.where(starts < spans[:, 1], starts, spans[:, 0])  # blank: as it was
    return np.stack([starts, spans[:, 1]], axis=1)


def _text_vector(
    hidden: Array, pooled: Sequence[Array | None], lengths: Sequence[int]
) -> Array:
    """The vector of a text. The model's own, averaged over its parts by their lengths; else the
    mean of its tokens. Zeros for a text without a token whose model has none of its own."""
    of_parts = [vector for vector in pooled if vector is not None]
    vector: Any
    if len(of_parts) == len(pooled):
        weights = [max(1, length) for length in lengths]
        vector = np.average(np.stack(of_parts), axis=0, weights=weights)
    else:
        vector = hidden.mean(axis=0) if len(hidden) else np.zeros(hidden.shape[1])
    result: Array = vector.astype(np.float32)
    return result


def reader_of(model: Any, batch_size: int) -> TokenReader | None:
    """How a SentenceTransformer reads tokens; None where it has no fast tokenizer.

    The vector of a text is the model's own where that is the mean of its tokens, which sums of
    token vectors can be compared with. Else it is that mean.
    """
    tokenizer = getattr(model, "tokenizer", None)
    if not getattr(tokenizer, "is_fast", False) or not hasattr(model, "forward"):
        return None
    pools_by_mean = _pools_by_mean(model)

    def forward(features: Mapping[str, Any]) -> tuple[Any, Any]:
        model.eval()
        states = model(dict(features))
        vectors = states["sentence_embedding"] if pools_by_mean else None
        return states["token_embeddings"], vectors

    limit = int(getattr(model, "max_seq_length", None) or _LONGEST)
    device = getattr(model, "device", "cpu")
    return TokenReader(
        tokenizer, in_torch(forward, tokenizer, device), limit, batch_size
    )


def _pools_by_mean(model: Any) -> bool:
    """Whether a text's vector points as the mean of its tokens' does."""
    names = [type(module).__name__ for module in model]
    if names not in (
        ["Transformer", "Pooling"],
        ["Transformer", "Pooling", "Normalize"],
    ):
        return False
    return pooling_mode(model[1]) == "mean"


@dataclass(eq=False)
class TransformersTokens:
    """Token vectors of an encoder of transformers, such as BERT.

    Example:
        >>> encoder = TransformersTokens("answerdotai/ModernBERT-base")  # doctest: +SKIP
        >>> (tokens,) = encoder.embed_tokens(["Pumps move water."])  # doctest: +SKIP

    They are those of the last layer, without special tokens. The vector of a text is their mean. A
    text longer than the model reads is read in parts of equal length.

    Attributes:
        model, tokenizer: Objects of transformers, or names or folders for `from_pretrained`. The
            name of the model, given as such, is the name of its tokenizer too. Nothing is
            downloaded. The tokenizer must be a fast one, as the others give no offsets.
        name: Of the model; default: its name or folder name. The prompts, the type of its numbers
            and a digest of its weights are added.
        max_tokens: What the model reads at once; default: the positions its configuration gives.
        batch_size: Most texts in one pass of the model.
        query_prompt, document_prompt: Put in front of queries and documents; their tokens are left
            out.

    Raises:
        InvalidParameter: there is no such model on this machine, or the tokenizer reports no
            offsets.
        MissingExtra: a name or folder was given and transformers is not installed.
    """

    model: Any
    tokenizer: Any = None
    name: str = ""
    max_tokens: int | None = None
    batch_size: int = 16
    query_prompt: str = ""
    document_prompt: str = ""

    def __post_init__(self) -> None:
        check_at_least("batch_size", self.batch_size, 1)
        if self.max_tokens is not None:
            check_at_least("max_tokens", self.max_tokens, 8)
        if isinstance(self.model, str):
            self.name = self.name or Path(self.model).name
        self.model, self.tokenizer, label = load_labelled(
            self.model, self.tokenizer, "AutoModel", "a transformers encoder"
        )
        if not getattr(self.tokenizer, "is_fast", False):
            raise InvalidParameter(
                "tokenizer must be a fast one of transformers, which reports token offsets; got "
                f"{type(self.tokenizer).__name__}. Load it with use_fast=True."
            )
        config = self.model.config
        if self.max_tokens is None:
            self.max_tokens = (
                getattr(config, "max_position_embeddings", None) or _LONGEST
            )
        parts = (
            self.name or label,
            self.query_prompt,
            self.document_prompt,
            *weights_settings(self.model),
        )
        self.name = f"tokens/{'|'.join(parts)}"

    def embed_tokens(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[TokenVectors]:
        """The token vectors of each text."""
        device = getattr(self.model, "device", "cpu")
        limit = self.max_tokens or _LONGEST
        forward = in_torch(self._forward, self.tokenizer, device)
        reader = TokenReader(self.tokenizer, forward, limit, self.batch_size)
        return reader.read(texts, self.query_prompt if query else self.document_prompt)

    def _forward(self, features: Mapping[str, Any]) -> tuple[Any, None]:
        return self.model(**features).last_hidden_state, None


def as_token_encoder(value: Any) -> TokenEncoder | None:
    """A token encoder from what a caller has, or None.

    None is for what gives no vectors of tokens. A token encoder is any object with `embed_tokens`
    and `name`: a `TransformersTokens`, or an embedder of a sentence-transformers model with a fast
    tokenizer.
    """
    if not hasattr(value, "embed_tokens") or not hasattr(value, "name"):
        return None
    if getattr(value, "gives_tokens", True):
        return value  # type: ignore[no-any-return]
    return None


@dataclass(eq=False)
class ColbertTokens:
    """Token vectors of a ColBERT model that PyLate has loaded.

    Example:
        >>> from pylate.models import ColBERT  # doctest: +SKIP
        >>> encoder = ColbertTokens(ColBERT("models/GTE-ModernColBERT-v1"))  # doctest: +SKIP
        >>> retriever = EvidenceRetriever(encoder)  # doctest: +SKIP

    Questions are encoded and filled up as the model says. Vectors of markers and special tokens are
    left out, as they stand for no words; a filler counts as one more token of the kind that it is
    nearest to. Texts longer than the model's `document_length`, and questions longer than its
    `query_length`, are read in parts.

    Args:
        model: A `pylate.models.ColBERT` with a fast tokenizer.
        name: Default: "colbert". A digest of the weights is added.
        batch_size: Most texts in one pass of the model.

    Raises:
        InvalidParameter: the model is something else.
    """

    model: Any
    name: str = ""
    batch_size: int = 16

    def __post_init__(self) -> None:
        check_at_least("batch_size", self.batch_size, 1)
        model = self.model
        is_fast = getattr(getattr(model, "tokenizer", None), "is_fast", False)
        if not is_fast or not hasattr(model, "skiplist"):
            raise InvalidParameter(
                "model must be a pylate.models.ColBERT with a fast tokenizer; got "
                f"{type(model).__name__}. Load it with PyLate: ColBERT(folder)."
            )
        settings = (model.do_query_expansion, model.query_length, model.document_length)
        parts = (self.name or "colbert", *settings, *weights_settings(model))
        self.name = f"colbert/{'|'.join(map(str, parts))}"

    def embed_tokens(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[TokenVectors]:
        """The token vectors of each text, of length 1."""
        model = self.model
        prompt = model.query_prefix if query else model.document_prefix
        forward = in_torch(self._forward, model.tokenizer, model.device)
        reader = TokenReader(
            model.tokenizer, forward, model.document_length, self.batch_size
        )
        read = reader.read(texts, prompt)
        if query and texts and model.do_query_expansion:
            read = list(map(self._filled_up, texts, read, self._encoded(texts)))
        if not query:
            return [_chosen(of, ~np.isin(of.ids, model.skiplist)) for of in read]
        return [_chosen(of, slice(None)) for of in read]

    def _forward(self, features: Mapping[str, Any]) -> tuple[Any, None]:
        torch: Any = require("torch", extra="models")
        states = self.model.eval()(dict(features))["token_embeddings"]
        return torch.nn.functional.normalize(states.float(), dim=-1), None

    def _encoded(self, questions: Sequence[str]) -> list[Array]:
        """A row for each token of a question as PyLate reads it, those that fill it up too."""
        encoded: list[Array] = self.model.encode(
            list(map(without_surrogates, questions)),
            is_query=True,
            batch_size=self.batch_size,
            show_progress_bar=False,
        )
        return encoded

    def _filled_up(self, text: str, tokens: TokenVectors, rows: Array) -> TokenVectors:
        """A question's tokens, each followed by the fillers that are nearest to it."""
        read = without_surrogates(text).lstrip()  # as PyLate does
        encoded = self.model.tokenizer(read.rstrip(), return_offsets_mapping=True)
        ids = np.array(encoded["input_ids"], dtype=np.int32)
        spans = np.array(encoded["offset_mapping"], dtype=np.int32).reshape(-1, 2)
        if self.model.query_prefix:  # the marker stands behind the first token
            ids, spans = np.insert(ids, 1, 0), np.insert(spans, 1, 0, axis=0)
        words = np.flatnonzero(spans[:, 1] > spans[:, 0])
        fillers = rows[len(ids) :]
        if not len(fillers) or not len(words):
            return tokens
        nearest = (fillers @ rows[words].T).argmax(axis=1)
        order = np.argsort(
            np.concatenate([np.arange(len(words)), nearest]), kind="stable"
        )
        of = np.concatenate([words, words[nearest]])[order]
        vectors = np.concatenate([rows[words], fillers])[order]
        shift = np.int32(len(text) - len(read))
        return TokenVectors(ids[of], spans[of] + shift, vectors, tokens.vector)


def _chosen(tokens: TokenVectors, chosen: Any) -> TokenVectors:
    """Some of the tokens, with their own mean as the vector of the text; zeros without any."""
    vectors = np.ascontiguousarray(tokens.vectors[chosen], dtype=np.float32)
    mean = vectors.sum(axis=0) / np.float32(max(1, len(vectors)))
    return TokenVectors(tokens.ids[chosen], tokens.spans[chosen], vectors, mean)
