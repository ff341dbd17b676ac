"""Words broken at line ends: whether the hyphen belongs to the word."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

SIGNS = ("-", "\u2010", "\u00ad")  # the last one, the soft hyphen, never belongs to the word
_COMPOUND = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_PREFIXES = frozenset(["self", "well", "non", "cross", "ex", "all", "semi", "multi"])
_SUSPENDED = frozenset(
    ["and", "or", "to", "und", "oder", "bis", "bzw", "sowie", "et", "ou", "och", "en"]
)


@dataclass
class Hyphens:
    """Tells how a word that is broken at a line end is written: as the rest of the document writes
    it, else as its parts suggest."""

    known: Counter[
        str
    ]  # how often the document has a word, casefolded, not counting first halves at line ends
    guessed: list[str] = field(default_factory=list)  # words where nothing decided

    @classmethod
    def of(cls, lines: Iterable[str]) -> Hyphens:
        """One that knows the words of a document's lines."""
        known: Counter[str] = Counter()
        for line in lines:
            words = _COMPOUND.findall(line.casefold())
            known.update(words[:-1] if line.rstrip().endswith(SIGNS) else words)
        return cls(known)

    def keep(self, first: str, second: str) -> bool:
        """Whether the hyphen between the end of a line and the first word of the next, both without
        it, stays.

        It does behind compounds, numbers and prefixes such as "self". Else the way that alone is
        found elsewhere decides. A guess is noted: it stays where both parts are words of their own.
        """
        a, b = first.casefold(), second.casefold()
        if "-" in a or any(map(str.isdigit, a)) or a in _PREFIXES:
            return True
        whole, compound = self.known[a + b], self.known[f"{a}-{b}"]
        if (whole > 0) != (compound > 0):
            return compound > 0
        self.guessed.append(f"{first}-{second}")
        return self.known[a] > 1 and self.known[b] > 1

    def is_suspended(self, first: str, second: str) -> bool:
        """Whether the hyphen stands for the rest of a later word, as in "pre- and post-war":
        nothing is to be joined there."""
        return second in _SUSPENDED and not self.known[f"{first}{second}".casefold()]
