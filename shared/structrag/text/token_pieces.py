"""How many tokens a word has at least: the fewest pieces of a vocabulary that make it up.

The pieces are those of cl100k_base (of tiktoken, see `token_pieces_LICENSE.txt`) without the space
in front: the most frequent of ASCII and all others, as characters of Latin-1, one a line.
`python benchmarks/token_estimate.py --pieces` writes the file.
"""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files

LONGEST_PIECE = 20  # bytes
_REMEMBERED = 100_000  # words
_LONG = 64  # characters of a word that is not remembered


class Remembered(dict[str, float]):
    """What a function gave for words so far. Forgets all when full."""

    def __init__(self, function: Callable[[str], float]) -> None:
        self._function = function

    def __missing__(self, word: str) -> float:
        tokens = self._function(word)
        if len(word) <= _LONG:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[word] = tokens
        return tokens


def fewest_pieces(word: str) -> int:
    """The fewest pieces that `word` can be cut into."""
    pieces, lengths = _vocabulary()
    word = _as_bytes(word)
    if word in pieces:
        return 1
    size = len(word)
    # Up to each place. Every byte is a piece; what is written behind the end is not read.
    fewest = list(range(size + LONGEST_PIECE + 1))
    for start in range(size):
        tokens = fewest[start] + 1
        if tokens < fewest[start + 1]:
            fewest[start + 1] = tokens
        if tokens < fewest[start + 2] and word[start : start + 2] in pieces:
            fewest[start + 2] = tokens
        for length in lengths.get(word[start : start + 3], ()):
            end = start + length
            if tokens < fewest[end] and word[start:end] in pieces:
                fewest[end] = tokens
    return fewest[size]


def goes_with_space(character: str) -> bool:
    """Whether a piece holds a space and the character, or its first bytes."""
    pieces, code = _vocabulary()[0], _as_bytes(character)
    return any(f" {code[:end]}" in pieces for end in range(1, len(code) + 1))


def _as_bytes(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogatepass").decode("latin-1")


@lru_cache(maxsize=1)
def _vocabulary() -> tuple[frozenset[str], dict[str, list[int]]]:
    """The pieces, and how long those are that begin with the same three characters."""
    packed = (files("structrag.text") / "token_pieces.txt.gz").read_bytes()
    pieces = frozenset(gzip.decompress(packed).decode("latin-1").split("\n"))
    lengths: defaultdict[str, set[int]] = defaultdict(set)
    for piece in pieces:
        if len(piece) > 2:
            lengths[piece[:3]].add(len(piece))
    return pieces, {start: sorted(found) for start, found in lengths.items()}
