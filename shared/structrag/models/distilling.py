"""Static vectors out of any encoder, as model2vec makes them.

Every token is embedded once by itself. What the vectors share is taken out: their mean, and the
directions of most variance (Mu and Viswanath, "All-but-the-Top", 2018). The next `dimensions`
directions are kept. Frequent tokens weigh less (Arora et al., "SIF", 2017), their frequency guessed
from their rank (Zipf).

model2vec's own distillation reads models of transformers below 5.4 only, and none that is a
function; what is made here is a `model2vec.StaticModel` all the same.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import threading
import unicodedata
import warnings
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrag.asking.cache import cache_key
from structrag.asking.failures import raised_by
from structrag.asking.requests import Array, Progress
from structrag.asking.texts import check_vectors
from structrag.errors import InvalidParameter, check_at_least, require
from structrag.models.embedders import as_embedder
from structrag.models.static_files import load_model, save_model
from structrag.models.weights import weights_label

NAME = "structrag_name"  # where the configuration of a static model holds its name
VERSION = "1"  # changes when the same encoder would give other vectors
COMMON = 0.02  # share of the encoder's dimensions that is taken out
SIF = 1e-4  # a token of this relative frequency weighs one half
WORDS = 30_000  # most words of a vocabulary made of texts
BATCH = 1024
DISTILLING = "distilling the encoder"  # what `progress` is told
_UNUSED = re.compile(r"[\[<]unused_?\d+[\]>]")
_LOCK = threading.RLock()  # one distillation at a time


def distil(
    encoder: Any,
    tokenizer: Any = None,
    *,
    dimensions: int = 256,
    texts: Sequence[str] | None = None,
    cache: str | os.PathLike[str] | bool = True,
    progress: Progress | None = None,
) -> Any:
    """The static vectors of an encoder, as a `model2vec.StaticModel`.

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
        progress: Called with the tokens that are done.

    Raises:
        InvalidParameter: a setting is not allowed, or there is neither a tokenizer nor texts.
        InvalidAnswer: the encoder returned NaN, or another shape.
        MissingExtra: the package model2vec is not installed.
    """
    package: Any = require("model2vec", extra="static")
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
    bare = _vocabulary(model, tokenizer, texts)
    by_id = tokenizer is None and hasattr(
        getattr(getattr(model, "model", None), "tokenizer", None), "backend_tokenizer"
    )
    settings = (
        weights_label(getattr(model, "model", None)),
        bare.to_str(),
        str(dimensions),
        str(by_id),
    )
    key = cache_key("static", VERSION, model.name, *settings)
    place = _place(cache, model.name, key)
    with _LOCK:
        static = _from_cache(place)
        if static is None:
            table = _table(model, bare, by_id, dimensions, progress)
            size = bare.get_vocab_size(with_added_tokens=True)
            # A vocabulary may leave numbers out; model2vec then wants to be told of every row.
            mapping = None if len(table) == size else np.arange(len(table))
            name = f"static({model.name}, {dimensions}, {key[:12]})"
            static = package.StaticModel(
                table,
                bare,
                {"model_type": "model2vec", NAME: name},
                normalize=True,
                token_mapping=mapping,
                max_length=None,
            )
            _to_cache(static, place)
    return static


def own_tokenizer(model: Any) -> Any:
    """The fast tokenizer of an embedder or its model, or None."""
    for value in (model, getattr(model, "model", None)):
        tokenizer = getattr(value, "tokenizer", None)
        inner = getattr(tokenizer, "backend_tokenizer", tokenizer)
        if hasattr(inner, "encode_batch_fast"):
            return inner
    return None


def default_folder() -> Path:
    """Where distilled encoders are kept.

    The environment variable STRUCTRAG_CACHE, else `structrag` in the user's cache.
    """
    chosen = os.environ.get("STRUCTRAG_CACHE")
    if chosen:
        return Path(chosen)
    home = Path.home()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or home / ".cache"
    return Path(base) / "structrag"


def reduce(vectors: Array, dimensions: int) -> Array:
    """Vectors on their principal axes, without mean and most common directions.

    The vectors have the shape (n, d). Left out are 2 % of d, rounded, and at most 1 % of n; the
    next `dimensions` axes are kept. Axes come by falling variance, the sign so that the largest
    part is positive.
    """
    centred = vectors.astype(np.float64)
    centred -= centred.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    left_out = min(round(COMMON * vectors.shape[1]), len(vectors) // 100)
    axes = axes[:, ::-1][:, left_out : left_out + dimensions]
    largest = np.abs(axes).argmax(axis=0)
    axes = axes * np.sign(axes[largest, np.arange(axes.shape[1])])
    return np.asarray(centred @ axes, dtype=np.float32)


def sif_weights(tokens: Sequence[str]) -> NDArray[np.float64]:
    """The weights of tokens: those that are frequent weigh less (SIF).

    a / (a + p), with p the frequency that Zipf's law gives a token's place in the vocabulary.
    Vocabularies list single characters by code point in front of everything else, so these are
    ranked by themselves.
    """
    weights = np.ones(len(tokens))
    written = [re.sub("^(##|[\u2581\u0120])", "", token) for token in tokens]
    single = np.array([len(token) < 2 for token in written], dtype=bool)
    for group in (np.flatnonzero(single), np.flatnonzero(~single)):
        frequency = 1.0 / (np.arange(len(group)) + 2.0)
        weights[group] = SIF / (SIF + frequency / frequency.sum())
    return weights


def word_tokenizer(texts: Sequence[str]) -> Any:
    """A tokenizer of the texts' words, lower-cased, most frequent first.

    Ties are by alphabet. Other words are unknown. Raises InvalidParameter for fewer than two
    different words.
    """
    package: Any = require("tokenizers", extra="static")
    if isinstance(texts, str):
        raise InvalidParameter(
            "texts must be a sequence of texts; got one string. Put it in a list."
        )
    normaliser = package.normalizers.BertNormalizer(strip_accents=False, lowercase=True)
    splitter = package.pre_tokenizers.BertPreTokenizer()
    counts: Counter[str] = Counter()
    for text in texts:
        clean = normaliser.normalize_str(text.encode("utf-8", "replace").decode())
        counts.update(word for word, _ in splitter.pre_tokenize_str(clean))
    words = sorted(counts, key=lambda word: (-counts[word], word))[:WORDS]
    if len(words) < 2:
        raise InvalidParameter(
            f"texts must hold at least 2 different words; got {len(words)}."
        )
    # No word is "[UNK]": brackets stand by themselves.
    vocabulary = {word: i for i, word in enumerate(["[UNK]", *words])}
    tokenizer = package.Tokenizer(
        package.models.WordLevel(vocabulary, unk_token="[UNK]")
    )
    tokenizer.normalizer, tokenizer.pre_tokenizer = normaliser, splitter
    return tokenizer


def counting_tokens(tokenizer: Any) -> list[int]:
    """The ids of tokens that stand for text, ascending.

    None is special, unknown or unused.
    """
    left_out: set[int | None] = {
        i for i, token in tokenizer.get_added_tokens_decoder().items() if token.special
    }
    left_out.add(_unknown_token(tokenizer))
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    used = {i for token, i in vocabulary.items() if not _UNUSED.fullmatch(token)}
    return sorted(used - left_out)


def _vocabulary(model: Any, tokenizer: Any, texts: Sequence[str] | None) -> Any:
    """A tokenizer of our own that pads and truncates nothing.

    It is a copy, or one of the texts' words.
    """
    package: Any = require("tokenizers", extra="static")
    chosen = tokenizer if tokenizer is not None else own_tokenizer(model)
    if chosen is None:
        if not texts:
            raise InvalidParameter(
                f"tokenizer must be given for the encoder {model.name!r}, which has none of its "
                "own; or give texts=[...], samples of what will be split, and their words are "
                "taken."
            )
        return word_tokenizer(texts)
    inner = getattr(chosen, "backend_tokenizer", chosen)
    if not isinstance(inner, package.Tokenizer):
        raise InvalidParameter(
            "tokenizer must be a tokenizers.Tokenizer or a fast tokenizer of transformers; got "
            f"{type(chosen).__name__}."
        )
    copy = package.Tokenizer.from_str(inner.to_str())
    copy.no_padding()
    copy.no_truncation()
    return copy


def _table(
    model: Any, tokenizer: Any, by_id: bool, dimensions: int, progress: Progress | None
) -> Array:
    """A row for each token; zeros for those without text."""
    ids = counting_tokens(tokenizer)
    embed = _vectors_by_id if by_id else _vectors_by_text
    vectors: list[Array] = []
    for start in range(0, len(ids), BATCH):
        batch = ids[start : start + BATCH]
        vectors.append(embed(model, tokenizer, batch))
        if progress is not None:
            progress(DISTILLING, start + len(batch), len(ids))
    rows = reduce(np.concatenate(vectors), dimensions)
    size = 1 + max(tokenizer.get_vocab(with_added_tokens=True).values())
    table = np.zeros((size, rows.shape[1]), dtype=np.float32)
    weights = sif_weights([tokenizer.id_to_token(i) for i in ids])
    table[ids] = rows * weights[:, None]
    return table


def _vectors_by_id(encoder: Any, tokenizer: Any, ids: list[int]) -> Array:
    """Each token between the special tokens that surround a text."""
    torch: Any = require("torch", extra="models")
    sample = tokenizer.encode("a", add_special_tokens=True)
    inside = [i for i, special in enumerate(sample.special_tokens_mask) if not special]
    before: list[int] = []
    after: list[int] = []
    if inside:
        before, after = sample.ids[: inside[0]], sample.ids[inside[-1] + 1 :]
    model = encoder.model.eval()
    rows = torch.tensor([[*before, i, *after] for i in ids], device=model.device)
    with torch.inference_mode(), raised_by(f"embedder {encoder.name!r}"):
        output = model({"input_ids": rows, "attention_mask": torch.ones_like(rows)})
    vectors = output["sentence_embedding"].float().cpu().numpy()
    return check_vectors(
        vectors, [tokenizer.id_to_token(i) for i in ids], f"embedder {encoder.name!r}"
    )


def _vectors_by_text(encoder: Any, tokenizer: Any, ids: list[int]) -> Array:
    """Each token as it stands in a text."""
    texts = [_written(tokenizer.id_to_token(i)) for i in ids]
    with raised_by(f"embedder {encoder.name!r}"):
        vectors = encoder.embed(texts)
    return check_vectors(vectors, texts, f"embedder {encoder.name!r}")


def _written(token: str) -> str:
    return (
        token.removeprefix("##").replace("\u2581", " ").replace("\u0120", " ").strip()
        or token
    )


def _unknown_token(tokenizer: Any) -> int | None:
    """The id of the token for unknown words; None without one."""
    model = json.loads(tokenizer.to_str())["model"]
    if model.get("unk_token"):
        unknown: int | None = tokenizer.token_to_id(model["unk_token"])
        return unknown
    return model.get("unk_id")  # type: ignore[no-any-return]


def _place(cache: str | os.PathLike[str] | bool, name: str, key: str) -> Path | None:
    """The folder of one distilled encoder; None if it is not kept."""
    if cache is False:
        return None
    root = default_folder() if cache is True else Path(cache)
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", plain).strip("-.")[:60] or "encoder"
    return root / "static" / f"{slug}-{key[:24]}"


@lru_cache(maxsize=4)
def _loaded(place: Path) -> Any:
    return load_model(place)


def _from_cache(place: Path | None) -> Any:
    """The model in the cache; None if nothing whole is there."""
    if place is None or not place.is_dir():
        return None
    try:
        return _loaded(place)
    except InvalidParameter:
        return None


def _to_cache(static: Any, place: Path | None) -> None:
    if place is None or _from_cache(place) is not None:
        return
    shutil.rmtree(place, ignore_errors=True)
    try:
        save_model(static, place)
    except InvalidParameter as error:
        warnings.warn(
            f"The distilled encoder is not kept and will be made again next time: {error} Pass "
            "another cache=.",
            stacklevel=4,
        )
