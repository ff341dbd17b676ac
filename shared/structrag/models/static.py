"""Static vectors: the mean of fixed vectors of a text's tokens.

They are a hundred times faster than an encoder, but ignore word order and context. What they are
good for is where a text changes its subject: the boundaries of `PICSplitter` and `IDMSSplitter`.
model2vec distils them from an encoder.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from structrag.errors import InvalidParameter, require
from structrag.text.arrays import Array
from structrag.text.tokens import without_surrogates

BATCH = 256
_DISTILLED = (
    "model2vec distils one from an encoder: "
    "model2vec.distill.distill(encoder).save_pretrained(folder)."
)


@dataclass(frozen=True, eq=False)
class StaticEmbedder:
    """An embedder that takes the mean of its tokens' fixed vectors.

    Example:
        >>> static = StaticEmbedder.load("minilm.static")  # doctest: +SKIP
        >>> splitter = PICSplitter(boundary_embedder=static)  # doctest: +SKIP

    Texts of any length are read whole. A text without a token that has a vector (an empty one, one
    of unknown characters) gets the zero vector. Queries are embedded as documents are. Equal texts
    get equal vectors on every run.

    Attributes:
        model: A `model2vec.StaticModel`.
        name: For cache keys and saved indexes; it must tell models apart. Default: a checksum of
            the vectors.

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
                f"StaticEmbedder.load for a folder. {_DISTILLED}"
            )
        if not isinstance(self.name, str):
            raise InvalidParameter(f"name must be a string; got {self.name!r}.")
        _check_vectors(self.model)
        if not self.name:
            weights = self.model.weights
            digest = sha256(self.model.embedding.tobytes())
            digest.update(b"" if weights is None else weights.tobytes())
            object.__setattr__(self, "name", f"static/{digest.hexdigest()[:12]}")

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return int(self.model.dim)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Array:
        """Vectors of shape (len(texts), dimension), float32."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        vectors = self.model.encode(
            [without_surrogates(text) for text in texts],
            max_length=None,
            batch_size=BATCH,
            use_multiprocessing=False,
        )
        return np.asarray(vectors, dtype=np.float32)

    async def aembed(self, texts: Sequence[str], *, query: bool = False) -> Array:
        """`embed` in a worker thread."""
        return await asyncio.to_thread(self.embed, texts, query=query)

    @classmethod
    def load(cls, model: str | os.PathLike[str], *, name: str = "") -> StaticEmbedder:
        """A static model of model2vec, from a folder or by its name.

        A name is that of a model downloaded before; nothing is downloaded. `name`: as in the class.

        Raises:
            InvalidParameter: there is no such model, or its files are broken or do not fit
                together.
            MissingExtra: the package model2vec is not installed.
        """
        package: Any = require("model2vec", extra="static")
        folder = _folder_of(model)
        try:
            static = package.StaticModel.from_pretrained(folder, max_length=None)
            static.embedding = np.asarray(static.embedding, dtype=np.float32)
        except Exception as error:
            raise InvalidParameter(
                f"model must be the folder of a static model of model2vec; {str(folder)!r} cannot "
                f"be read: {error}. {_DISTILLED}"
            ) from error
        return cls(static, name)


def _folder_of(model: str | os.PathLike[str]) -> Path:
    """The folder itself, or where a hub's name was downloaded to."""
    if not isinstance(model, str | os.PathLike):
        raise InvalidParameter(
            f"model must be the folder or the name of a static model; got {type(model).__name__}. "
            f"{_DISTILLED}"
        )
    if Path(model).is_dir():
        return Path(model)
    # model2vec would download a name that is not on this machine.
    hub: Any = require("huggingface_hub", extra="static")
    try:
        return Path(hub.snapshot_download(os.fspath(model), local_files_only=True))
    except (OSError, ValueError) as error:
        raise InvalidParameter(
            "model must be a folder or the name of a static model on this machine; there is "
            f"none at {os.fspath(model)!r}, and nothing is downloaded here. {_DISTILLED}"
        ) from error


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
