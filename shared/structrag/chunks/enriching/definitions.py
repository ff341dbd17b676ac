"""Definitions in a text, and its shortening: enrichment without a language model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import regex

from structrag.chunks.enriching.density import FloatArray
from structrag.text.names import contains
from structrag.text.tokens import TokenCounter

_IN_BRACKETS = regex.compile(r"\s\((\p{Lu}[\p{Lu}\p{N}-]{1,9})(?:s)?\)")
# Nothing repeated is given back, which takes `regex` the square of its length.
_SUBJECT = regex.compile(
    r"^\W*+(?:(?:The|An?) )?+(\p{Lu}[\p{Lu}\p{N}-]++"
    r"|(?=\w*\p{N})(?=\w*\p{L})[\p{L}\p{N}]++(?:[-_.][\p{L}\p{N}]++)*+)s? "
    r"(?:is|are|refers to|stands for|means|denotes)\b"
)
_CODE = regex.compile(
    r"\p{Lu}[\p{Lu}\p{N}]++(?:[-/][\p{Lu}\p{N}]++)*+"
    r"|(?=\w*\p{N})(?=\w*\p{L})[\p{L}\p{N}]++(?:[-_/.][\p{L}\p{N}]++)*+"
)

_FARTHEST = 1_000  # characters that a long form is looked for in


def is_code(name: str) -> bool:
    """Whether a name is an acronym or a code, such as `LSTM`."""
    return bool(_CODE.fullmatch(name))


def definition_in(sentence: str) -> list[tuple[str, str]]:
    """The names that a sentence defines, each with the defining words.

    These are `long form (X)`, or the sentence where it is `X is ...`. The long form begins with
    the first letter of X and has its letters in order (Schwartz and Hearst 2003).
    """
    pairs = []
    for match in _IN_BRACKETS.finditer(sentence):
        before = sentence[max(match.start() - _FARTHEST, 0) : match.start()]
        long = _long_form(match.group(1), before)
        if long:
            pairs.append((match.group(1), f"{long} {match.group().strip()}"))
    subject = _SUBJECT.match(sentence)
    if subject:
        pairs.append((subject.group(1), sentence.strip()))
    return pairs


def definitions(sentences: Sequence[str]) -> dict[str, tuple[int, str]]:
    """The first definition of each name: number of the sentence, words."""
    first: dict[str, tuple[int, str]] = {}
    for i, sentence in enumerate(sentences):
        for name, words in definition_in(sentence):
            first.setdefault(name, (i, words))
    return first


def shortened(
    sentences: Sequence[str],
    vectors: FloatArray,
    entities: Sequence[str],
    most: int,
    counter: TokenCounter,
) -> str | None:
    """Sentences, in their order, that hold every entity in `most` tokens.

    First a greedy set cover, then the sentences closest to the mean of all, as long as they fit.
    None if the entities do not fit.
    """
    sizes = [counter(sentence + " ") for sentence in sentences]
    picked = _cover(sentences, entities)
    if picked is None:
        return None
    used = sum(sizes[i] for i in picked)
    if used > most:
        return None
    for i in _nearest_the_mean(vectors):
        if i not in picked and used + sizes[i] <= most:
            picked.append(i)
            used += sizes[i]
    text = " ".join(" ".join(sentences[i].split()) for i in sorted(picked))
    return text if text and counter(text) <= most else None


def _nearest_the_mean(vectors: FloatArray) -> list[int]:
    """The rows by closeness to their mean, ties in their order."""
    if not len(vectors):
        return []
    closeness = np.round(vectors @ vectors.mean(axis=0), 9)
    return [int(i) for i in np.argsort(-closeness, kind="stable")]


def _cover(sentences: Sequence[str], entities: Sequence[str]) -> list[int] | None:
    """Sentences that hold all entities, the one with most new ones first."""
    holding = [
        {name for name in entities if contains(sentence, name)}
        for sentence in sentences
    ]
    missing = set(entities)
    picked: list[int] = []
    while missing:
        # Of equal sentences the first.
        best = max(
            range(len(sentences)),
            key=lambda i: (len(holding[i] & missing), -i),
            default=-1,
        )
        if best < 0 or not holding[best] & missing:
            return None  # a name that runs over the end of a sentence
        picked.append(best)
        missing -= holding[best]
    return picked


def _long_form(short: str, before: str) -> str:
    """The end of a text that an acronym stands for, or ""."""
    # Schwartz and Hearst look no farther back than this.
    words = before.split()[-min(len(short) + 5, 2 * len(short)) :]
    text = " ".join(words)
    letters = [letter.casefold() for letter in short if letter.isalnum()]
    place = len(text)
    for number in reversed(range(len(letters))):
        place -= 1
        while place >= 0 and not _stands_for(
            text, place, letters[number], begins_word=number == 0
        ):
            place -= 1
        if place < 0:
            return ""
    long = text[place:]
    return long if len(long) > len(short) and len(long.split()) > 1 else ""


def _stands_for(text: str, place: int, letter: str, *, begins_word: bool) -> bool:
    """Whether `text[place]` is the letter, or begins a word with it."""
    if text[place].casefold() != letter:
        return False
    return not begins_word or place == 0 or not text[place - 1].isalnum()
