"""Whether a word is English, by a list of stems (see `english_stems_LICENSE.txt`)."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files

import Stemmer


def are_english(words: Sequence[str]) -> list[bool]:
    """Which of some words in small letters a dictionary of English has, in any form.

    Example:
        >>> are_english(["pumps", "maintained", "pricedetermining"])
        [True, True, False]
    """
    stems = _stems()
    return [stem in stems for stem in Stemmer.Stemmer("english").stemWords(words)]


@lru_cache(maxsize=1)
def _stems() -> frozenset[str]:
    packed = (files("structrag.text") / "english_stems.txt.gz").read_bytes()
    return frozenset(gzip.decompress(packed).decode("ascii").split("\n"))
