"""Static vectors: a text's vector is the mean of fixed vectors of its tokens, a hundred times
faster than an encoder.

They know nothing of word order or of context. What they are good for is where a text changes its
subject: the boundaries of `PICSplitter` and `IDMSSplitter`. A folder is one in model2vec's format,
so that its published models can be used too.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

import numpy as np

from structrag.asking.requests import Array, Progress
from structrag.errors import InvalidParameter, require
from structrag.models.static_files import (
    CONFIG,
    TABLES,
    TOKENIZER,
    WEIGHTS,
    folder_of,
    read_config,
    read_tokenizer,
    read_vectors,
)
from structrag.models.vocabulary import bare_tokenizer, unknown_token


@dataclass(frozen=True, eq=False)
class StaticEmbedder:
    """An embedder that looks up a vector for each token and takes the mean. Texts of any length are
    read whole.

    A text without a token that has a vector (an empty one, one of unknown characters) gets the zero
    vector. Queries are embedded as documents are. Equal texts get equal vectors on every run.

    Attributes:
        vectors: Shape (tokens, dimension), float32: row i belongs to token i of the tokenizer, its
            weight multiplied in. A row of zeros is a token that does not count.
        tokenizer: A `tokenizers.Tokenizer` or a fast tokenizer of transformers. A copy is used,
            which pads and truncates nothing.
        name: For cache keys and saved indexes; it must tell models apart.
        normalise: Whether vectors are scaled to length 1.

    Raises:
        InvalidParameter: another shape, values that are not finite, no tokenizer, or one with
            tokens that have no row.
        MissingExtra: the package tokenizers is not installed.
    """

    vectors: Array
    tokenizer: Any
    name: str
    normalise: bool = True
    max_tokens: ClassVar[None] = None
    instant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        try:
            vectors = np.asarray(self.vectors, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise InvalidParameter(
                f"vectors must be an array of numbers; got {type(self.vectors).__name__}."
            ) from error
        if vectors.ndim != 2 or not vectors.size or not np.isfinite(vectors).all():
            raise InvalidParameter(
                "vectors must be finite numbers of shape (tokens, dimension), not empty; got "
                f"shape {vectors.shape}."
            )
        tokenizer = bare_tokenizer(self.tokenizer)
        largest = max(tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)
        if largest >= len(vectors):
            raise InvalidParameter(
                f"vectors must have a row for each of the tokenizer's {largest + 1} tokens; got "
                f"{len(vectors)} rows. They belong to "
                "different models."
            )
        if not isinstance(self.name, str) or not self.name:
            raise InvalidParameter(f"name must be a string that is not empty; got {self.name!r}.")
        object.__setattr__(self, "vectors", vectors)
        object.__setattr__(self, "tokenizer", tokenizer)

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return int(self.vectors.shape[1])

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Array:
        """Vectors of shape (len(texts), dimension), float32."""
        from scipy.sparse import csr_matrix

        encodings = self.tokenizer.encode_batch_fast(
            [_encodable(text) for text in texts], add_special_tokens=False
        )
        rows = [encoding.ids for encoding in encodings]
        ends = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
        ids = np.fromiter((i for row in rows for i in row), dtype=np.int64, count=int(ends[-1]))
        counts = csr_matrix(
            (np.ones(len(ids), dtype=np.float32), ids, ends), shape=(len(rows), len(self.vectors))
        )
        sums: Array = np.asarray(counts @ self.vectors, dtype=np.float32)
        if self.normalise:
            sizes = np.linalg.norm(sums, axis=1, keepdims=True)
        else:
            sizes = (counts @ self.vectors.any(axis=1).astype(np.float32))[:, None]
        means: Array = np.divide(sums, sizes, out=np.zeros_like(sums), where=sizes > 0)
        return means

    async def aembed(self, texts: Sequence[str], *, query: bool = False) -> Array:
        """`embed` in a worker thread."""
        return await asyncio.to_thread(self.embed, texts, query=query)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the folder, in model2vec's format: beside its place, then moved there. A static
        model that is there is replaced.

        Raises InvalidParameter if something else is there, or nothing can be written.
        """
        package: Any = require("safetensors.numpy", extra="models")
        place = Path(folder)
        if (
            place.exists()
            and not (place / WEIGHTS).is_file()
            and not (place.is_dir() and not any(place.iterdir()))
        ):
            raise InvalidParameter(
                f"folder must be new, empty or hold a static model; {str(place)!r} holds something "
                "else."
            )
        config = {
            "model_type": "model2vec",
            "normalize": self.normalise,
            "structrag_name": self.name,
        }
        aside = place.parent / f".{place.name}-{uuid4().hex}"
        outdated = aside.with_name(f"{aside.name}-old")
        try:
            aside.mkdir(parents=True)
            package.save_file({TABLES[0]: np.ascontiguousarray(self.vectors)}, aside / WEIGHTS)
            (aside / TOKENIZER).write_text(self.tokenizer.to_str(), encoding="utf-8")
            (aside / CONFIG).write_text(json.dumps(config, indent=1), encoding="utf-8")
            if place.exists():
                place.rename(outdated)
            aside.rename(place)
        except OSError as error:
            raise InvalidParameter(
                f"folder must be one that can be written; {str(place)!r} fails: {error}."
            ) from error
        finally:
            shutil.rmtree(aside, ignore_errors=True)
            shutil.rmtree(outdated, ignore_errors=True)

    @classmethod
    def load(cls, model: str | os.PathLike[str], *, name: str = "") -> StaticEmbedder:
        """A static model from a folder, or by the name of one that was downloaded before; nothing
        is downloaded.

        The folder holds `model.safetensors` with a tensor "embeddings", `tokenizer.json`, and may
        hold `config.json`. `name`: default the name it was saved with, else the folder's with a
        checksum of its vectors.

        Raises:
            InvalidParameter: there is no such model, or its files are broken or do not fit
                together.
            MissingExtra: the packages tokenizers and safetensors are not installed.
        """
        folder = folder_of(model)
        tokenizer = read_tokenizer(folder / TOKENIZER)
        config = read_config(folder / CONFIG)
        vectors = read_vectors(folder / WEIGHTS)
        if not name:
            digest = sha256(vectors.tobytes()).hexdigest()[:12]
            name = str(config.get("structrag_name") or f"static/{Path(model).name}-{digest}")
        unknown = unknown_token(tokenizer)
        if unknown is not None and unknown < len(vectors):
            vectors[unknown] = 0.0
        return cls(vectors, tokenizer, name, bool(config.get("normalize", True)))

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
        """The static vectors of an encoder: made once, then read from a folder; see
        `structrag.models.distilling.distil`."""
        from structrag.models.distilling import distil

        return distil(
            encoder, tokenizer, dimensions=dimensions, texts=texts, cache=cache, progress=progress
        )


def _encodable(text: str) -> str:
    """The text with lone surrogates, which tokenizers refuse, replaced by U+FFFD."""
    return (
        text
        if text.isascii()
        else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    )
