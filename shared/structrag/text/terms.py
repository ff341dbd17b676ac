"""Text to terms, by one rule for everything that searches words.

Letters are folded first (`structrag.text.folding`). A term is a run of letters, marks and digits.
`-`, `_`, `/` and `.` inside such runs make one term without them, and one of each part of two or
more characters ("CB-300": cb300, cb, 300); between two digits they stay, and `.` and `,` there part
nothing. Signs at a word's border belong to it ("C++", "C#", ".NET"; such a word of two or more
letters is also a term without them).
Chinese, Japanese, Korean and other scripts in which spaces do not part words become pairs of
neighbouring characters, which count twice, and single characters of Han and Hangul, which count
once.

Snowball cuts terms to their stems. As numbers they are equal in every process.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from importlib.resources import files
from operator import add
from typing import Any

import numpy as np
import regex
from numpy.typing import NDArray
from Stemmer import Stemmer, algorithms

from structrag.errors import InvalidParameter, check_choice
from structrag.text.arrays import Int32Array
from structrag.text.folding import (
    UNPARTED,
    fold_signs,
    fold_with_places,
    without_accents,
)

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

# The number of the rule above. Change it with the rule: stores of another one are refused.
RULE = 2


_UNPARTED = f"[{UNPARTED}]"
_PARTED = (
    rf"[\w--{_UNPARTED}]"  # of words between spaces; `regex` alone knows such classes
)
_PARTED_LETTERS = rf"[[\p{{L}}\p{{M}}\p{{N}}]--{_UNPARTED}]+"


def _run(word: str, mark: str = "", dot: str = "") -> str:
    """The pattern of joined words; `word` is that of plain ones."""
    joined = rf"(?:[-_/.]{word}{mark}|(?<=\d),(?=\d){word}{mark})*"
    return rf"{dot}{word}{mark}{joined}"


def _marked_run(word: str, inside: str = r"\w") -> str:
    """The pattern of words with marks; inside words, next to `inside`, signs are none."""
    mark = rf"(?:(?:\+\+?|\#)(?![{inside}+\#]))?"
    return _run(word, mark, rf"(?:(?<![{inside}.)\]])\.(?=[^\W\d_]))?")


# Latin, Greek, Cyrillic and common signs have no marks once composed, so that the faster `re` cuts
# them alike.
_EUROPEAN = (
    "\\x00-\u02ff\u0370-\u0482\u048a-\u052f\u2010-\u205e\u20a0-\u20bf\u2190-\u22ff"
)
_NOT_EUROPEAN = re.compile(f"[^{_EUROPEAN}]")
_IS_UNPARTED = regex.compile(_UNPARTED)
# The runs of ASCII, of European and of other scripts, each without and with marks.
_ASCII, _WORD, _LETTERS = "[a-z0-9]+", r"[^\W_]+", r"[\p{L}\p{M}\p{N}]+"
_ASCII_RUNS = (re.compile(_run(_ASCII)), re.compile(_marked_run(_ASCII), re.ASCII))
_EUROPEAN_RUNS = (re.compile(_run(_WORD)), re.compile(_marked_run(_WORD)))
_OTHER_RUNS = (regex.compile(_run(_LETTERS)), regex.compile(_marked_run(_LETTERS)))
_ANY_RUN = regex.compile(
    rf"({_UNPARTED}[{UNPARTED}\p{{M}}]*)|({_marked_run(_PARTED_LETTERS, _PARTED)})",
    regex.VERSION1,
)
_MARK_AFTER = re.compile(r"[+#](?<=\w.)")
_MARK_BEFORE = re.compile(r"\.(?=[^\W\d_])(?<![\w.)\]].)")
_IS_JOINED = re.compile(r"[-_/.](?<=\w.)(?=\w)")
_MAY_HAVE_ACCENTS = re.compile("[\u00c0-\u03ff\u0450\u0451\u045d\u1e00-\u1fff]")
_LONG = 100  # characters of words that are not remembered
# Han and Hangul as they are after folding; `re` is faster on such short runs.
_CHARACTER = re.compile(
    "[\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]"
)
_BETWEEN_PARTS = re.compile(r"(?<=.)(?:[-_/]|\.(?!(?<=\d.)\d))")
_LEFT_OUT = re.compile(r"(?<=.)[-_/.](?!(?<=\d.)\d)")


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """Cuts the texts of an index and its queries into terms. Calling it on a text returns the terms
    without stop words."""

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
        text = fold_signs(text)
        terms = _all_terms(text, stop)
        has_accents = not text.isascii() and _MAY_HAVE_ACCENTS.search(text)
        if not self.stems or self.language not in STEM_LANGUAGES:
            return _without_accents(terms) if has_accents else terms
        stemmer = _stemmer(self.language)
        stemmed: list[str] = stemmer.stemWords(terms)
        return _both_stems(terms, stemmed, stemmer) if has_accents else stemmed

    def to_json(self) -> dict[str, Any]:
        """The settings with the stop words spelled out. So another list, of a later version,
        changes nothing."""
        return {
            "language": self.language,
            "stopwords": sorted(_stop_set(self.language, self.stopwords)),
            "stems": self.stems,
            "rule": RULE,
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
    return frozenset(map(fold_signs, stopwords))


def word_spans(text: str, *, parts: bool = False) -> list[tuple[int, int]]:
    """Return the places of a text's words, as terms are cut, in order.

    Of scripts in which spaces do not part words they are pairs of characters. `parts` adds what
    else is a term, each before the word that it is a part of.

    Example:
        >>> text = "The CB\u2011300 of Hoch\u00addruck"
        >>> [text[start:end] for start, end in word_spans(text, parts=True)][1:4]
        ['CB', '300', 'CB‑300']
    """
    folded, starts, ends = fold_with_places(text)
    return [
        (starts[first], ends[last - 1])
        for match in _ANY_RUN.finditer(folded)
        for first, last in _cut(match, parts)
    ]


def _cut(match: Any, parts: bool) -> Iterator[tuple[int, int]]:
    """The places of the words in a run that was found."""
    start, end = match.span()
    if match[1]:
        if parts or end - start == 1:
            yield from ((place, place + 1) for place in range(start, end))
        yield from ((place, place + 2) for place in range(start, end - 1))
        return
    joints = [joint.span() for joint in _BETWEEN_PARTS.finditer(match[0])]
    if parts and joints:
        firsts = [0, *(stop for _, stop in joints)]
        lasts = [*(first for first, _ in joints), end - start]
        yield from ((start + i, start + j) for i, j in zip(firsts, lasts, strict=True))
    yield start, end


def _all_terms(text: str, stop: frozenset[str]) -> list[str]:
    """The terms of a folded text without stop words, with accents."""
    if text.isascii():
        runs = _ASCII_RUNS
    elif not _NOT_EUROPEAN.search(text):
        runs = _EUROPEAN_RUNS
    elif not _IS_UNPARTED.search(text):
        runs = _OTHER_RUNS
    else:
        return _with_parts(_any_words(text, stop), stop)
    has_sign = "+" in text or "#" in text
    is_marked = (has_sign and _MARK_AFTER.search(text)) or _MARK_BEFORE.search(text)
    words = runs[bool(is_marked)].findall(text)
    if is_marked or runs is _OTHER_RUNS or _IS_JOINED.search(text):
        return _with_parts(words, stop)
    return [word for word in words if word not in stop]


def _any_words(text: str, stop: frozenset[str]) -> list[str]:
    """Words of any scripts; where spaces do not part words, pairs and single characters."""
    words: list[str] = []
    for run, word in _ANY_RUN.findall(text):
        if word or len(run) == 1:
            words.append(word or run)
        elif run not in stop:
            words += 2 * list(map(add, run, run[1:]))
            words += _CHARACTER.findall(run)
    return words


def _with_parts(words: list[str], stop: frozenset[str]) -> list[str]:
    """The words as terms, those that are joined or marked with their parts. Stop words are left
    out, but for joined ones as "U.S."."""
    terms: list[str] = []
    keep = terms.append
    for word in words:
        if not word.isalnum():
            terms += (_parts if len(word) < _LONG else _parts.__wrapped__)(word, stop)
        elif word not in stop:
            keep(word)
    return terms


@lru_cache(maxsize=16384)
def _parts(word: str, stop: frozenset[str]) -> tuple[str, ...]:
    """A word as one term, then its parts, marks at borders taken off last."""
    if word in stop:
        return ()
    whole = _LEFT_OUT.sub("", word)
    parts = _BETWEEN_PARTS.split(word)
    is_marked = "+" in word or "#" in word
    found = [whole]
    for i, part in enumerate(parts):
        # Beside "C++" and "C#" a single letter is a name too.
        if part != whole and (len(part) > 1 or is_marked) and part not in stop:
            found.append(part)
        plain = part.strip(".+#")
        if plain != part and len(plain) > 1 and plain not in stop:
            found.append(plain)
        # "CA-IS-3722" holds IS3722.
        following = parts[i + 1] if len(parts) > 2 and i + 1 < len(parts) else ""
        if part.isalpha() and following[:1].isdigit():
            found.append(part + following)
    return tuple(found)


def _without_accents(terms: list[str]) -> list[str]:
    return [term if term.isascii() else _plain(term) for term in terms]


def _plain(term: str) -> str:
    return _remembered(term) if len(term) < _LONG else without_accents(term)


_remembered = lru_cache(maxsize=16384)(without_accents)


def _both_stems(terms: list[str], stemmed: list[str], stemmer: Any) -> list[str]:
    """Stems without accents. The rules of many languages need the accents, which not everybody
    writes: a word is cut with and without them, and where that differs, both stems are terms."""
    stems: list[str] = []
    for term, stem in zip(terms, stemmed, strict=True):
        plain = term if term.isascii() else _plain(term)
        if plain == term:
            stems.append(stem)
            continue
        bare = stemmer.stemWord(plain)
        stems.append(bare)
        if stem not in (term, bare) and _plain(stem) != bare:
            stems.append(_plain(stem))
    return stems


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
    stemmed = _stemmed(texts, language)
    counted = [Counter(of_text) for of_text in stemmed]
    counts = [count for of_text in counted for count in of_text.values()]
    return StemCounts(
        stem_keys(stem for of_text in counted for stem in of_text),
        np.repeat(np.arange(len(counted), dtype=np.int32), [*map(len, counted)]),
        np.array(counts, dtype=np.int32),
        np.array([*map(len, stemmed)], dtype=np.int32),
    )


def stem_keys(words: Iterable[str]) -> Keys:
    """Stems as 64 bits of their hash, which need no vocabulary."""
    return np.array([_key(word) for word in words], dtype=np.uint64)


def _stemmed(texts: Sequence[str], language: str) -> list[list[str]]:
    tokenizer = tokenizer_for(language, stems=True)
    return [tokenizer(text) for text in texts]


@lru_cache(maxsize=16384)
def _key(word: str) -> int:
    digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")
