"""What a list of English stems (see `english_stems_LICENSE.txt`) decides: whether the hyphen of a
word broken at a line end belongs to the word, and which ligature a word lacks."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from itertools import product

import Stemmer

from structrag._locks import cached_property

# The last one, the soft hyphen, never belongs to the word.
SIGNS = ("-", "\u2010", "\u00ad")
_COMPOUND = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_PREFIXES = frozenset(["self", "well", "non", "cross", "ex", "all", "semi", "multi"])
_LEAST_LETTERS = 4  # of words that tell the language, and
_ENGLISH = 0.6  # of them in the dictionary: the text is English
_SUSPENDED = frozenset(
    ["and", "or", "to", "und", "oder", "bis", "bzw", "sowie", "et", "ou", "och", "en"]
)


@dataclass
class Hyphens:
    """Tells how a word broken at a line end is written. It is written as in the rest of the
    document, else as its parts suggest."""

    # How often the document has a word, casefolded; first halves at line ends do not count.
    counts: Counter[str]
    guessed: list[str] = field(default_factory=list)  # words where nothing decided

    @classmethod
    def of(cls, lines: Iterable[str]) -> Hyphens:
        """One that knows the words of a document's lines."""
        counts: Counter[str] = Counter()
        for line in lines:
            words = _COMPOUND.findall(line.casefold())
            counts.update(words[:-1] if line.rstrip().endswith(SIGNS) else words)
        return cls(counts)

    def keep(self, first: str, second: str) -> bool:
        """Whether the hyphen between two parts of a word stays.

        Both are given without it: the end of a line and the next word. It stays behind compounds,
        numbers and single letters. Else the way that alone is found elsewhere decides, then a
        dictionary of English, then prefixes such as "self", behind which it stays. A guess is
        noted: it stays in English text, and where both parts are words of their own.
        """
        a, b = first.casefold(), second.casefold()
        if len(a) == 1 or "-" in a or any(map(str.isdigit, a)):
            return True
        whole, compound = self.counts[a + b], self.counts[f"{a}-{b}"]
        if (whole > 0) != (compound > 0):
            return compound > 0
        if are_english([a + b])[0]:
            return False
        if a in _PREFIXES:
            return True
        self.guessed.append(f"{first}-{second}")
        return self._is_english or (self.counts[a] > 1 and self.counts[b] > 1)

    @cached_property
    def _is_english(self) -> bool:
        words = [word for word in self.counts if len(word) >= _LEAST_LETTERS]
        total = sum(self.counts[word] for word in words)
        known = zip(words, are_english(words), strict=True)
        return sum(self.counts[word] for word, is_known in known if is_known) > (
            _ENGLISH * total
        )

    def is_suspended(self, first: str, second: str) -> bool:
        """Whether the hyphen stands for the rest of a later word. As in "pre- and post-war":
        nothing is to be joined there."""
        return second in _SUSPENDED and not self.counts[f"{first}{second}".casefold()]


UNNAMED = re.compile("[\x01\x03-\x08\x0e-\x1f]")
_LACKING = re.compile(
    rf"[A-Za-z]{{0,30}}{UNNAMED.pattern}(?:[A-Za-z]|{UNNAMED.pattern}){{0,30}}"
)
_LIGATURES = ("fi", "fl", "ff", "ffi", "ffl")


def named_ligatures(text: str) -> dict[int, str]:
    """What control characters in words stand for, by their places: the one ligature that makes the
    word English, else the usual one of such words, else U+FFFD."""
    names = {sign.start(): "\ufffd" for sign in UNNAMED.finditer(text)}
    usual: Counter[tuple[str, str]] = Counter()
    words = [word for word in _LACKING.finditer(text) if len(word[0]) > 1]
    for word in words:
        signs = sorted(set(UNNAMED.findall(word[0])))[:2]
        tables = [
            str.maketrans(dict(zip(signs, way, strict=True)))
            for way in product(_LIGATURES, repeat=len(signs))
        ]
        known = are_english([word[0].lower().translate(table) for table in tables])
        if known.count(True) == 1:
            table = tables[known.index(True)]
            usual.update((sign, table[ord(sign)]) for sign in signs)
            for sign in UNNAMED.finditer(text, *word.span()):
                names[sign.start()] = table[ord(sign[0])]
    best = {sign: ligature for (sign, ligature), _ in reversed(usual.most_common())}
    for word in words:
        for sign in UNNAMED.finditer(text, *word.span()):
            if names[sign.start()] == "\ufffd":
                names[sign.start()] = best.get(sign[0], "\ufffd")
    return names


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
    packed = (files("structrag.reading.pdf") / "english_stems.txt.gz").read_bytes()
    return frozenset(gzip.decompress(packed).decode("ascii").split("\n"))
