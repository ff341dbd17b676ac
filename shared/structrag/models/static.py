"""Static vectors: the mean of fixed vectors of a text's tokens.

They are a hundred times faster than an encoder and know nothing of word order or of context. What
they are good for is where a text changes its subject: the boundaries of `PICSplitter` and
`IDMSSplitter`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, ClassVar

import numpy as np

from structrag.asking.requests import Array, Embedder, Progress
from structrag.errors import InvalidParameter, require
from structrag.models.distilling import NAME, distil, own_tokenizer
from structrag.models.static_files import load_model, save_model
from structrag.text.tokens import without_lone_surrogates

BATCH = 256


@dataclass(frozen=True, eq=False)
class StaticEmbedder:
    """An embedder that takes the mean of its tokens' fixed vectors.

    Example:
        >>> from structrag import FunctionEmbedder
        >>> from structrag.models import StaticEmbedder
        >>> lengths = FunctionEmbedder(lambda words: [[len(w), 1.0] for w in words], "lengths")
        >>> static = StaticEmbedder.distil(lengths, texts=["one two three"], cache=False)
        >>> static.embed(["one three", ""]).shape
        (2, 2)

    Texts of any length are read whole. A text without a token that has a vector (an empty one, one
    of unknown characters) gets the zero vector. Queries are embedded as documents are. Equal texts
    get equal vectors on every run.

    Attributes:
        model: A `model2vec.StaticModel`.
        name: For cache keys and saved indexes; it must tell models apart. Default: the name it was
            saved with, else a checksum of its vectors.

    Raises:
        InvalidParameter: no static model, or one whose vectors are not finite or do not belong to
            its tokenizer.
        MissingExtra: the package model2vec is not installed.
    """

    model: Any
    name: str = ""
    max_tokens: ClassVar[None] = None
    instant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        package: Any = require("model2vec", extra="static")
        if not isinstance(self.model, package.StaticModel):
            raise InvalidParameter(
                f"model must be a model2vec.StaticModel; got {type(self.model).__name__}. Use "
                "StaticEmbedder.load for a folder and StaticEmbedder.distil for an encoder."
            )
        if not isinstance(self.name, str):
            raise InvalidParameter(f"name must be a string; got {self.name!r}.")
        _check_vectors(self.model)
        if not self.name:
            digest = sha256(self.model.embedding.tobytes())
            digest.update(
                b"" if self.model.weights is None else self.model.weights.tobytes()
            )
            name = self.model.config.get(NAME) or f"static/{digest.hexdigest()[:12]}"
            object.__setattr__(self, "name", str(name))

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return int(self.model.dim)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Array:
        """Vectors of shape (len(texts), dimension), float32."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        vectors = self.model.encode(
            [without_lone_surrogates(text) for text in texts],
            max_length=None,
            batch_size=BATCH,
            use_multiprocessing=False,
        )
        return np.asarray(vectors, dtype=np.float32)

    async def aembed(self, texts: Sequence[str], *, query: bool = False) -> Array:
        """`embed` in a worker thread."""
        return await asyncio.to_thread(self.embed, texts, query=query)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write a folder in model2vec's format.

        A static model that is there is replaced. Raises InvalidParameter if something else is
        there, or nothing can be written.
        """
        self.model.config[NAME] = self.name
        save_model(self.model, folder)

    @classmethod
    def load(cls, model: str | os.PathLike[str], *, name: str = "") -> StaticEmbedder:
        """A static model from a folder or the name of one.

        The folder is one in model2vec's format, so that its published models can be used too. A
        name is that of a model downloaded before; nothing is downloaded. `name`: as in the class.

        Raises:
            InvalidParameter: there is no such model, or its files are broken or do not fit
                together.
            MissingExtra: the package model2vec is not installed.
        """
        return cls(load_model(model), name)

    @classmethod
    def distil(
        cls,
        encoder: Any,
        tokenizer: Any = None,
        *,
        dimensions: int = 256,
        texts: Sequence[str] | None = None,
        cache: str | os.PathLike[str] | bool = True,
        progress: Progress | None = None,
    ) -> StaticEmbedder:
        """An encoder's static vectors: made once, then read from a folder.

        See `structrag.models.distilling.distil` for the arguments.
        """
        model = distil(
            encoder,
            tokenizer,
            dimensions=dimensions,
            texts=texts,
            cache=cache,
            progress=progress,
        )
        return cls(model)


def static_of(encoder: Embedder, *, progress: Progress | None = None) -> Embedder:
    """Static vectors of an encoder with a tokenizer, from the default folder.

    An encoder that is instant is returned as it is. Raises InvalidParameter for one without a
    tokenizer: what it costs to embed a vocabulary is for its owner to decide.
    """
    if getattr(encoder, "instant", False):
        return encoder
    if own_tokenizer(encoder) is None:
        raise InvalidParameter(
            "boundary_embedder can be 'static' with an encoder that has a tokenizer, such as a "
            f"SentenceTransformer; {encoder.name!r} has none. Pass "
            "boundary_embedder=StaticEmbedder.distil(encoder, texts=[...])."
        )
    return StaticEmbedder.distil(encoder, progress=progress)


def _check_vectors(model: Any) -> None:
    """Raises InvalidParameter unless every token of the tokenizer has a finite vector."""
    vectors, mapping, weights = model.embedding, model.token_mapping, model.weights
    if vectors.ndim != 2 or not vectors.size or not np.isfinite(vectors).all():
        raise InvalidParameter(
            "model must have finite vectors of shape (tokens, dimension), not empty; got shape "
            f"{vectors.shape}."
        )
    tokens = 1 + max(model.tokenizer.get_vocab(with_added_tokens=True).values())
    rows = len(vectors) if mapping is None else len(mapping)
    beyond = mapping is not None and mapping.max(initial=0) >= len(vectors)
    if beyond or min(rows, rows if weights is None else len(weights)) < tokens:
        raise InvalidParameter(
            f"model must have a vector for each of its tokenizer's {tokens} tokens; got {rows} "
            "rows, or a mapping or weights that do not fit. They belong to different models."
        )
