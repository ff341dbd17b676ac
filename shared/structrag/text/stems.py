"""Terms cut to their stems by Snowball, and as numbers. The numbers are equal in every process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from structrag.text.arrays import Int32Array
from structrag.text.terms import tokenizer_for

Keys = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class StemCounts:
    """How often each stem occurs in each of some texts.

    Example:
        >>> counts = count_stems(["Pumps pump water.", "A pump."])
        >>> counts.texts.tolist(), counts.counts.tolist(), counts.lengths.tolist()
        ([0, 0, 1], [2, 1, 1], [3, 1])
    """

    keys: Keys  # (p,) of the stems, in the order of `texts`
    texts: Int32Array  # (p,) which text, ascending
    counts: Int32Array  # (p,) how often
    lengths: Int32Array  # (texts,) stems of each text, repeats counted


def stems(text: str, *, language: str = "english") -> list[str]:
    """The stems of a text's terms in order, with repeats.

    A language that Snowball does not know keeps its terms whole. Stop words are left out: they are
    those of the language where there is a list, else none are left out.

    Example:
        >>> stems("The pumps are running")
        ['pump', 'run']
    """
    return _stemmed([text], language)[0]


def count_stems(texts: Sequence[str], *, language: str = "english") -> StemCounts:
    """The stems of several texts, counted."""
    rows: list[int] = []
    keys: list[int] = []
    counts: list[int] = []
    lengths: list[int] = []
    for row, of_text in enumerate(_stemmed(texts, language)):
        lengths.append(len(of_text))
        for stem, count in Counter(of_text).items():
            rows.append(row)
            keys.append(_key(stem))
            counts.append(count)
    return StemCounts(
        np.array(keys, dtype=np.uint64),
        np.array(rows, dtype=np.int32),
        np.array(counts, dtype=np.int32),
        np.array(lengths, dtype=np.int32),
    )


def stem_keys(words: Iterable[str]) -> Keys:
    """Stems as 64 bits of their hash, which need no vocabulary."""
    return np.array([_key(word) for word in words], dtype=np.uint64)


def _stemmed(texts: Sequence[str], language: str) -> list[list[str]]:
    tokenizer = tokenizer_for(language, stems=True)
    return [tokenizer(text) for text in texts]


def _key(word: str) -> int:
    digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")
