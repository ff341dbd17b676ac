"""Words broken at line ends: whether the hyphen belongs to the word."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

# The last one, the soft hyphen, never belongs to the word.
SIGNS = ("-", "\u2010", "\u00ad")
_COMPOUND = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_PREFIXES = frozenset(["self", "well", "non", "cross", "ex", "all", "semi", "multi"])
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
        numbers, single letters and prefixes such as "self". Else the way that alone is found
        elsewhere decides. A guess is noted: it stays where both parts are words of their own.
        """
        a, b = first.casefold(), second.casefold()
        if len(a) == 1 or "-" in a or any(map(str.isdigit, a)) or a in _PREFIXES:
            return True
        whole, compound = self.counts[a + b], self.counts[f"{a}-{b}"]
        if (whole > 0) != (compound > 0):
            return compound > 0
        self.guessed.append(f"{first}-{second}")
        return self.counts[a] > 1 and self.counts[b] > 1

    def is_suspended(self, first: str, second: str) -> bool:
        """Whether the hyphen stands for the rest of a later word. As in "pre- and post-war":
        nothing is to be joined there."""
        return second in _SUSPENDED and not self.counts[f"{first}{second}".casefold()]
