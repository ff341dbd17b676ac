"""The tokens of static vectors: which count, how much each weighs, and a vocabulary of words where
a model has none."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrag.errors import InvalidParameter, require

SIF = 1e-4  # a token of this relative frequency weighs one half
WORDS = 30_000  # most words of a vocabulary made of texts
_UNUSED = re.compile(r"[\[<]unused_?\d+[\]>]")


def bare_tokenizer(tokenizer: Any) -> Any:
    """A copy as `tokenizers.Tokenizer` that pads and truncates nothing. Raises InvalidParameter for
    what is no fast tokenizer."""
    package: Any = require("tokenizers", extra="models")
    inner = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not isinstance(inner, package.Tokenizer):
        raise InvalidParameter(
            "tokenizer must be a tokenizers.Tokenizer or a fast tokenizer of transformers; got "
            f"{type(tokenizer).__name__}."
        )
    copy = package.Tokenizer.from_str(inner.to_str())
    copy.no_padding()
    copy.no_truncation()
    return copy


def sif_weights(tokens: Sequence[str]) -> NDArray[np.float64]:
    """a / (a + p) with p the frequency that Zipf's law gives a token's rank: its place in the
    vocabulary.

    Vocabularies list single characters by code point in front of everything else, so these are
    ranked by themselves.
    """
    weights = np.ones(len(tokens))
    single = np.array(
        [len(re.sub("^(##|[\u2581\u0120])", "", token)) < 2 for token in tokens], dtype=bool
    )
    for group in (np.flatnonzero(single), np.flatnonzero(~single)):
        frequency = 1.0 / (np.arange(len(group)) + 2.0)
        weights[group] = SIF / (SIF + frequency / frequency.sum())
    return weights


def word_tokenizer(texts: Sequence[str]) -> Any:
    """A tokenizer of the words of the texts, lower-cased, most frequent first, ties by alphabet;
    other words are unknown."""
    package: Any = require("tokenizers", extra="models")
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
        raise InvalidParameter(f"texts must hold at least 2 different words; got {len(words)}.")
    vocabulary = {
        word: i for i, word in enumerate(["[UNK]", *(word for word in words if word != "[UNK]")])
    }
    tokenizer = package.Tokenizer(package.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normaliser, splitter
    return tokenizer


def counting_tokens(tokenizer: Any) -> list[int]:
    """The ids of the tokens that stand for text, ascending: not the special, the unknown and the
    unused ones."""
    special: set[int | None] = {
        i for i, token in tokenizer.get_added_tokens_decoder().items() if token.special
    }
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    special.add(unknown_token(tokenizer))
    return sorted(
        i for token, i in vocabulary.items() if i not in special and not _UNUSED.fullmatch(token)
    )


def written(tokenizer: Any, i: int) -> str:
    """A token as it stands in a text."""
    token: str = tokenizer.id_to_token(i)
    return token.removeprefix("##").replace("\u2581", " ").replace("\u0120", " ").strip() or token


def unknown_token(tokenizer: Any) -> int | None:
    """The id of the token that stands for what the vocabulary lacks; None if there is none."""
    model = json.loads(tokenizer.to_str())["model"]
    if model.get("unk_token"):
        found: int | None = tokenizer.token_to_id(model["unk_token"])
        return found
    return model.get("unk_id")  # type: ignore[no-any-return]
