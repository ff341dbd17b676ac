"""Whether a phrase is made of a text's words or close ones."""

from __future__ import annotations

from dataclasses import dataclass, field

from structrag.text.folding import fold
from structrag.text.terms import Tokenizer

_LEAST = 4  # letters that two forms of one word have in common at their beginning
_SHARE = 0.7  # of the shorter form's letters


@dataclass(frozen=True, slots=True)
class NearWords:
    """The words of a text, for phrases that may be in it.

    Example:
        >>> near = NearWords("The valves are cleaned once a year.", Tokenizer())
        >>> "cleaning the valve" in near, "Valve" in near, "pump" in near
        (True, True, False)

    A word is close if it is in the text, also as a part of another word, or has its beginning: at
    least four letters and 70 % of the shorter word. Case and stop words do not count, the order and
    the place of words neither. A phrase is in the text if more than half of its words are.
    """

    text: str
    tokenizer: Tokenizer
    _folded: str = field(init=False, repr=False)
    _terms: frozenset[str] = field(init=False, repr=False)
    _by_beginning: dict[str, list[str]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        terms = frozenset(self.tokenizer(self.text))
        beginnings: dict[str, list[str]] = {}
        for term in terms:
            beginnings.setdefault(term[:_LEAST], []).append(term)
        object.__setattr__(self, "_folded", fold(self.text))
        object.__setattr__(self, "_terms", terms)
        object.__setattr__(self, "_by_beginning", beginnings)

    def __contains__(self, phrase: str) -> bool:
        terms = self.tokenizer(phrase)
        if not terms:  # stop words or signs only
            return fold(phrase) in self._folded
        return sum(map(self._is_near, terms)) * 2 > len(terms)

    def _is_near(self, term: str) -> bool:
        if term in self._terms:
            return True
        if len(term) < _LEAST or not term.isalpha():
            return False
        if term in self._folded:
            return True
        return any(
            _alike(term, other) for other in self._by_beginning.get(term[:_LEAST], [])
        )


def _alike(one: str, other: str) -> bool:
    """Whether two words begin alike."""
    shorter = min(len(one), len(other))
    common = next((i for i in range(shorter) if one[i] != other[i]), shorter)
    return common >= _SHARE * shorter
