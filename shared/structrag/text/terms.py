"""Text to BM25 terms.

A term is a run of letters, marks and digits after NFKC and case folding, without soft hyphens,
joiners and the vowel points of Hebrew and Arabic. `-`, `_` and `/` inside such a run, and `.` or
`,` between digits, stay in the term; a term with `-`, `_` or `/` is given whole and then in its
parts of two or more characters. Runs of scripts written without spaces become overlapping pairs of
characters.
"""

from __future__ import annotations

import json
import re
import threading
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import regex
from Stemmer import Stemmer, algorithms

from structrag.errors import InvalidParameter, check_choice
from structrag.text.scripts import SPACELESS

STEM_LANGUAGES = tuple(sorted(algorithms()))  # those that Snowball knows

# Languages with a list in stopwords.json, which holds the lists of bm25s 0.3.16.
STOPWORD_LANGUAGES = (
    "chinese",
    "danish",
    "dutch",
    "english",
    "french",
    "german",
    "italian",
    "korean",
    "norwegian",
    "portuguese",
    "russian",
    "spanish",
    "swedish",
    "turkish",
)

_WORD = r"[\p{L}\p{M}\p{N}]+"
_OTHER_WORD = rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{SPACELESS}]]+"
_INNER = r"(?:[-_/]{word}|(?<=\p{{Nd}})[.,](?=\p{{Nd}}){word})*"
_ANY_RUN = regex.compile(_WORD + _INNER.format(word=_WORD))
_MIXED_RUN = regex.compile(
    rf"([{SPACELESS}][{SPACELESS}\p{{M}}]*)|({_OTHER_WORD}{_INNER.format(word=_OTHER_WORD)})",
    regex.VERSION1,
)
_HAS_SPACELESS = regex.compile(f"[{SPACELESS}]")
_ASCII_RUN = re.compile(
    r"[a-z0-9]+(?:[-_/][a-z0-9]+|(?<=[0-9])[.,](?=[0-9])[a-z0-9]+)*"
)
# Latin, Greek, Cyrillic and common signs have no marks once composed, so that the faster `re` cuts
# them alike.
_EUROPEAN = (
    "\\x00-\u02ff\u0370-\u0482\u048a-\u052f\u2010-\u205e\u20a0-\u20bf\u2190-\u22ff"
)
_NOT_EUROPEAN = re.compile(f"[^{_EUROPEAN}]")
_EUROPEAN_RUN = re.compile(r"[^\W_]+(?:[-_/][^\W_]+|(?<=\d)[.,](?=\d)[^\W_]+)*")
_CONNECTOR = re.compile("[-_/]")
# Inside words, and none of them: soft hyphens, joiners, marks of direction and variation; the vowel
# points of Hebrew and Arabic, which most texts leave out, and Arabic's stretched line.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff"
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed]"
)


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """How an index and its queries are cut into terms. Calling it on a text gives the terms, stop
    words removed."""

    language: str = "english"  # whose stop words are removed when `stopwords` is None
    # None: the list for the language; (): none are removed
    stopwords: tuple[str, ...] | None = None
    # Whether terms are cut to their stems by Snowball, in a language that it knows
    stems: bool = False

    def __post_init__(self) -> None:
        if self.stopwords is None:
            _check_language(self.language)
        else:
            object.__setattr__(self, "stopwords", tuple(self.stopwords))

    def __call__(self, text: str) -> list[str]:
        stop = _stop_set(self.language, self.stopwords)
        terms = [term for term in _all_terms(text) if term not in stop]
        if not self.stems or self.language not in STEM_LANGUAGES:
            return terms
        stemmed: list[str] = _stemmer(self.language).stemWords(terms)
        return stemmed

    def to_json(self) -> dict[str, Any]:
        """The settings with the stop words spelled out. So another list, of a later version,
        changes nothing."""
        return {
            "language": self.language,
            "stopwords": sorted(_stop_set(self.language, self.stopwords)),
            "stems": self.stems,
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Tokenizer:
        """The tokenizer that `to_json` described; its stop words are the saved ones."""
        stems = bool(saved.get("stems", False))
        return cls(str(saved["language"]), tuple(saved["stopwords"]), stems)


def tokenizer_for(language: str, *, stems: bool = False) -> Tokenizer:
    """The tokenizer of a language; one without a list keeps all words."""
    return Tokenizer(language, None if language in STOPWORD_LANGUAGES else (), stems)


def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language in lower case.

    None for a language without a list.

    Example:
        >>> "the" in stop_words("english"), stop_words("finnish")
        (True, frozenset())
    """
    return _stop_set(language, None) if language in STOPWORD_LANGUAGES else frozenset()


def terms(
    text: str, *, language: str = "english", stopwords: tuple[str, ...] | None = None
) -> list[str]:
    """The terms of `text` in order, with repeats; [] without any.

    `stopwords=None` removes the listed words of `language`, `stopwords=()` removes nothing.
    Raises InvalidParameter for a language without a list.
    """
    return Tokenizer(language, stopwords)(text)


_LOCAL = threading.local()


def _stemmer(language: str) -> Any:
    """Snowball's stemmer of a language, one for each thread. Stemmers may not be shared."""
    if not hasattr(_LOCAL, "stemmers"):
        _LOCAL.stemmers = {}
    if language not in _LOCAL.stemmers:
        _LOCAL.stemmers[language] = Stemmer(language)
    return _LOCAL.stemmers[language]


def _check_language(language: str) -> None:
    try:
        check_choice("language", language, STOPWORD_LANGUAGES)
    except InvalidParameter as error:
        raise InvalidParameter(
            f"{error} For another language pass its stop words, or stopwords=() for none."
        ) from None


@lru_cache(maxsize=1)
def _lists() -> dict[str, tuple[str, ...]]:
    file = files("structrag.text") / "stopwords.json"
    lists: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
    return {language: tuple(words.split()) for language, words in lists.items()}


@lru_cache(maxsize=64)
def _stop_set(language: str, stopwords: tuple[str, ...] | None) -> frozenset[str]:
    if stopwords is None:
        stopwords = _lists()[language]
    return frozenset(_fold(word) for word in stopwords)


def _fold(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).casefold()
    return _UNSEEN.sub("", text) if _UNSEEN.search(text) else text


def _all_terms(text: str) -> list[str]:
    """Terms with stop words still in."""
    if text.isascii():
        words = _ASCII_RUN.findall(text.lower())
    else:
        text = _fold(text)
        if not _NOT_EUROPEAN.search(text):
            words = _EUROPEAN_RUN.findall(text)
        elif not _HAS_SPACELESS.search(text):
            words = _ANY_RUN.findall(text)
        else:
            words = _mixed_words(text)
    if "-" in text or "_" in text or "/" in text:
        return _with_parts(words)
    return words


def _mixed_words(text: str) -> list[str]:
    words: list[str] = []
    for spaceless, word in _MIXED_RUN.findall(text):
        if word:
            words.append(word)
        elif len(spaceless) < 3:
            words.append(spaceless)
        else:
            words.extend(spaceless[i : i + 2] for i in range(len(spaceless) - 1))
    return words


def _with_parts(words: list[str]) -> list[str]:
    expanded: list[str] = []
    for word in words:
        expanded.append(word)
        if not word.isalnum():
            parts = _CONNECTOR.split(word)
            if len(parts) > 1:
                expanded.extend(part for part in parts if len(part) > 1)
    return expanded
