"""Static vectors out of an encoder: every token is embedded once by itself, as in model2vec, and
the rest is linear algebra.

What the vectors share is taken out: their mean, and the directions of most variance (Mu and
Viswanath, "All-but-the-Top", 2018). The next `dimensions` directions are kept. Frequent tokens
weigh less (Arora et al., "SIF", 2017), their frequency guessed from their rank (Zipf).
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import threading
import unicodedata
import warnings
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from structrag.asking.cache import cache_key
from structrag.asking.embedding_plan import check_vectors
from structrag.asking.requests import Array, Embedder, Progress
from structrag.errors import InvalidParameter, check_at_least, require
from structrag.models.embedders import as_embedder
from structrag.models.static import StaticEmbedder
from structrag.models.vocabulary import (
    bare_tokenizer,
    counting_tokens,
    sif_weights,
    word_tokenizer,
    written,
)

VERSION = "1"  # changes when the same encoder would give other vectors
COMMON = 0.02  # share of the encoder's dimensions that is taken out
BATCH = 1024
DISTILLING = "distilling the encoder"  # what `progress` is told
_LOCK = threading.RLock()  # one distillation at a time


def distil(
    encoder: Any,
    tokenizer: Any = None,
    *,
    dimensions: int = 256,
    texts: Sequence[str] | None = None,
    cache: str | os.PathLike[str] | bool = True,
    progress: Progress | None = None,
) -> StaticEmbedder:
    """The static vectors of an encoder.

    Args:
        encoder: What `as_embedder` takes, except None.
        tokenizer: Whose vocabulary is embedded: a `tokenizers.Tokenizer` or a fast tokenizer of
            transformers; None: the encoder's own.
        dimensions: Of the vectors, at least 2; at most what the encoder's dimensions and the number
            of tokens leave.
        texts: Samples of the user's texts, for an encoder without a tokenizer: their words, at most
            the 30,000 most frequent, are the vocabulary. Ignored where there is a tokenizer.
        cache: The folder where distilled encoders are kept; True: `default_folder()`; False: it is
            not kept. A folder that cannot be written is warned of. The key holds the encoder's
            name, its weights if it is a sentence-transformers model, the vocabulary and these
            settings.
        progress: Told of the tokens that are done.

    Raises:
        InvalidParameter: a setting is not allowed, or there is neither a tokenizer nor texts.
        InvalidAnswer: the encoder returned NaN, or another shape.
        MissingExtra: the packages tokenizers and safetensors are not installed.
    """
    check_at_least("dimensions", dimensions, 2)
    if encoder is None:
        raise InvalidParameter(
            "encoder must be a model, its name or folder, or a function; got None."
        )
    model = as_embedder(encoder)
    if hasattr(model, "fit"):
        raise InvalidParameter(
            f"encoder must be a model; the vectors of {model.name!r} change with the texts it is "
            "given."
        )
    given = tokenizer if tokenizer is not None else own_tokenizer(model)
    if given is None and not texts:
        raise InvalidParameter(
            f"tokenizer must be given for the encoder {model.name!r}, which has none of its own; "
            "or give texts=[...], samples of what "
            "will be split, and their words are taken."
        )
    bare = word_tokenizer(texts or ()) if given is None else bare_tokenizer(given)
    by_id = tokenizer is None and hasattr(
        getattr(getattr(model, "model", None), "tokenizer", None), "backend_tokenizer"
    )
    key = cache_key(
        "static",
        VERSION,
        model.name,
        _weights_print(model),
        bare.to_str(),
        str(dimensions),
        str(by_id),
    )
    name = f"static({model.name}, {dimensions}, {key[:12]})"
    root = default_folder() if cache is True else None if cache is False else Path(cache)
    place = None if root is None else root / "static" / f"{_slug(model.name)}-{key[:24]}"
    with _LOCK:
        known = _kept(place)
        if known is not None:
            return known
        ids = counting_tokens(bare)
        embed = _vectors_by_id if by_id else _vectors_by_text
        rows = reduce(embed(model, bare, ids, progress), dimensions)
        table = np.zeros(
            (1 + max(bare.get_vocab(with_added_tokens=True).values()), rows.shape[1]),
            dtype=np.float32,
        )
        table[ids] = rows * sif_weights([bare.id_to_token(i) for i in ids])[:, None]
        made = StaticEmbedder(table, bare, name)
        _keep(made, place)
        return made


def static_of(encoder: Embedder, *, progress: Progress | None = None) -> Embedder:
    """The static vectors of an encoder that has a tokenizer, from the default folder; itself if it
    is instant.

    Raises InvalidParameter for an encoder without a tokenizer: what it costs to embed a vocabulary
    is for its owner to decide.
    """
    if getattr(encoder, "instant", False):
        return encoder
    if own_tokenizer(encoder) is None:
        raise InvalidParameter(
            "boundary_embedder can be 'static' with an encoder that has a tokenizer, such as a "
            f"SentenceTransformer; {encoder.name!r} has "
            "none. Pass boundary_embedder=StaticEmbedder.distil(encoder, texts=[...])."
        )
    return distil(encoder, progress=progress)


def own_tokenizer(model: Any) -> Any:
    """The fast tokenizer of an embedder or of the model in it; None if it has none."""
    for value in (model, getattr(model, "model", None)):
        found = getattr(value, "tokenizer", None)
        inner = getattr(found, "backend_tokenizer", found)
        if hasattr(inner, "encode_batch_fast"):
            return inner
    return None


def default_folder() -> Path:
    """Where distilled encoders are kept: the environment variable STRUCTRAG_CACHE, else `structrag`
    in the user's cache folder."""
    given = os.environ.get("STRUCTRAG_CACHE")
    if given:
        return Path(given)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.join(
            os.path.expanduser("~"), "AppData", "Local"
        )
    elif sys.platform == "darwin":
        base = os.path.join(os.path.expanduser("~"), "Library", "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "structrag"


def reduce(vectors: Array, dimensions: int) -> Array:
    """The vectors (n, d) without their mean and their most common directions, on the next
    `dimensions` principal axes.

    Left out are 2 % of d, rounded, and at most 1 % of n. Axes come by falling variance, the sign so
    that the largest part is positive.
    """
    centred = vectors.astype(np.float64)
    centred -= centred.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    left_out = min(round(COMMON * vectors.shape[1]), len(vectors) // 100)
    kept = axes[:, ::-1][:, left_out : left_out + dimensions]
    kept = kept * np.sign(kept[np.abs(kept).argmax(axis=0), np.arange(kept.shape[1])])
    return np.asarray(centred @ kept, dtype=np.float32)


def _vectors_by_id(
    encoder: Any, tokenizer: Any, ids: list[int], progress: Progress | None
) -> Array:
    """Each token between the special tokens that the encoder puts around a text."""
    torch: Any = require("torch", extra="models")
    sample = tokenizer.encode("a", add_special_tokens=True)
    inside = [i for i, special in enumerate(sample.special_tokens_mask) if not special]
    before, after = (sample.ids[: inside[0]], sample.ids[inside[-1] + 1 :]) if inside else ([], [])
    model = encoder.model.eval()
    found = []
    for start in range(0, len(ids), BATCH):
        batch = ids[start : start + BATCH]
        rows = torch.tensor([[*before, i, *after] for i in batch], device=model.device)
        with torch.inference_mode():
            made = model({"input_ids": rows, "attention_mask": torch.ones_like(rows)})[
                "sentence_embedding"
            ]
        found.append(
            check_vectors(
                made.float().cpu().numpy(), [tokenizer.id_to_token(i) for i in batch], encoder.name
            )
        )
        _report(progress, start + len(batch), len(ids))
    return np.concatenate(found)


def _vectors_by_text(
    encoder: Embedder, tokenizer: Any, ids: list[int], progress: Progress | None
) -> Array:
    found = []
    for start in range(0, len(ids), BATCH):
        batch = [written(tokenizer, i) for i in ids[start : start + BATCH]]
        found.append(check_vectors(encoder.embed(batch), batch, encoder.name))
        _report(progress, start + len(batch), len(ids))
    return np.concatenate(found)


def _report(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress(DISTILLING, done, total)


def _weights_print(model: Any) -> str:
    """What tells two encoders of one name apart: the shapes and some values of all weights; "" for
    what has none."""
    inner: Any = getattr(model, "model", None)
    if not hasattr(inner, "state_dict"):
        return ""
    digest = sha256()
    for name, tensor in inner.state_dict().items():
        flat = tensor.detach().reshape(-1)
        some = flat[:: max(1, len(flat) // 64)].double().cpu().numpy()
        digest.update(f"{name} {tuple(tensor.shape)}".encode())
        digest.update(some.tobytes())
    return digest.hexdigest()


def _slug(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9.]+", "-", plain).strip("-.")[:60] or "encoder"


@lru_cache(maxsize=4)
def _loaded(place: Path) -> StaticEmbedder:
    return StaticEmbedder.load(place)


def _kept(place: Path | None) -> StaticEmbedder | None:
    """What is in the cache; None if there is nothing, or nothing whole."""
    if place is None or not place.is_dir():
        return None
    try:
        return _loaded(place)
    except InvalidParameter:
        return None


def _keep(made: StaticEmbedder, place: Path | None) -> None:
    if place is None or _kept(place) is not None:
        return
    shutil.rmtree(place, ignore_errors=True)
    try:
        made.save(place)
    except InvalidParameter as error:
        warnings.warn(
            f"The distilled encoder is not kept and will be made again next time: {error} Pass "
            "another cache=.",
            stacklevel=3,
        )
