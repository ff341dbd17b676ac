"""Static vectors of a text's tokens.

The fast mode of matching tokens one by one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structrag.asking.requests import Array, TokenVectors
from structrag.errors import InvalidParameter
from structrag.models.static import StaticEmbedder

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, eq=False)
class StaticTokens:
    """Token vectors out of a table, without an encoder.

    Example:
        >>> from structrag import FunctionEmbedder
        >>> from structrag.models import StaticEmbedder, StaticTokens
        >>> lengths = FunctionEmbedder(lambda words: [[len(w), 1.0] for w in words], "lengths")
        >>> static = StaticEmbedder.distil(lengths, texts=["one two three"], cache=False)
        >>> (tokens,) = StaticTokens(static).embed_tokens(["one three"])
        >>> tokens.spans.tolist()
        [[0, 3], [4, 9]]

    The same word has the same vector everywhere, whatever is around it. Documents are indexed as
    fast as they are read; what it loses is in docs/evidence.md. Tokens that the table does not know
    are left out.

    Attributes:
        embedder: Whose table is taken.

    Raises:
        InvalidParameter: something else was given.
    """

    embedder: StaticEmbedder

    def __post_init__(self) -> None:
        if not isinstance(self.embedder, StaticEmbedder):
            raise InvalidParameter(
                f"embedder must be a StaticEmbedder; got {type(self.embedder).__name__}."
            )

    @property
    def name(self) -> str:
        """The embedder's name, as that of token vectors."""
        return f"tokens/{self.embedder.name}"

    def embed_tokens(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[TokenVectors]:
        """The token vectors of each text; questions are read as documents are."""
        model = self.embedder.model
        # Lone surrogates have no UTF-8 form; replaced one by one, so that no offset moves.
        read = [_SURROGATE.sub("\ufffd", text) for text in texts]
        encodings = model.tokenizer.encode_batch(read, add_special_tokens=False)
        return [self._tokens(encoding) for encoding in encodings]

    def _tokens(self, encoding: Any) -> TokenVectors:
        model = self.embedder.model
        ids = np.array(encoding.ids, dtype=np.int64)
        spans = np.array(encoding.offsets, dtype=np.int32).reshape(-1, 2)
        rows = ids if model.token_mapping is None else model.token_mapping[ids]
        vectors: Array = model.embedding[rows].astype(np.float32)
        if model.weights is not None:
            vectors = vectors * model.weights[ids].astype(np.float32)[:, None]
        has_vector = (
            (ids != _unknown(model)) & vectors.any(axis=1) & (spans[:, 1] > spans[:, 0])
        )
        ids, spans, vectors = ids[has_vector], spans[has_vector], vectors[has_vector]
        width = self.embedder.dimension
        mean = (
            vectors.mean(axis=0) if len(vectors) else np.zeros(width, dtype=np.float32)
        )
        return TokenVectors(
            ids.astype(np.int32), spans, vectors.reshape(-1, width), mean
        )


def _unknown(model: Any) -> int:
    """The id of the token for unknown words, or -1."""
    unknown = getattr(model, "unk_token_id", None)
    return -1 if unknown is None else int(unknown)
