"""What a text defines, and which of its sentences hold all of its entities: enrichment without a
language model (IDMS spec, section 5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import regex

from structrag.chunks.enriching.density import FloatArray
from structrag.text.names import contains
from structrag.text.tokens import TokenCounter

_IN_BRACKETS = regex.compile(r"\s\((\p{Lu}[\p{Lu}\p{N}-]{1,9})(?:s)?\)")
_SUBJECT = regex.compile(
    r"^\W*(?:(?:The|An?) "
    r")?(\p{Lu}[\p{Lu}\p{N}-]+|(?=\w*\p{N})(?=\w*\p{L})[\p{L}\p{N}]+(?:[-_.][\p{L}\p{N}]+)*)s? "
    r"(?:is|are|refers to|stands for|means|denotes)\b"
)
_CODE = regex.compile(
    r"\p{Lu}[\p{Lu}\p{N}]+(?:[-/][\p{Lu}\p{N}]+)*|(?=\w*\p{N})(?=\w*\p{L})[\p{L}\p{N}]+(?:[-_/.][\p{L}\p{N}]+)*"
)


def is_code(name: str) -> bool:
    """Whether a name is an acronym or a code, which a text has to define: `LSTM`, `CA-IS3722HS`."""
    return bool(_CODE.fullmatch(name))


def definition_in(sentence: str) -> list[tuple[str, str]]:
    """The names a sentence defines, each with the words that do it: `long form (X)`, or the
    sentence where it is `X is ...`.

    The long form begins with the first letter of X and has its letters in order (Schwartz and
    Hearst 2003).
    """
    found = [
        (match.group(1), f"{long} {match.group().strip()}")
        for match in _IN_BRACKETS.finditer(sentence)
        if (long := _long_form(match.group(1), sentence[: match.start()]))
    ]
    subject = _SUBJECT.match(sentence)
    return [*found, (subject.group(1), sentence.strip())] if subject else found


def definitions(sentences: Sequence[str]) -> dict[str, tuple[int, str]]:
    """For each name that a text defines the number of the first sentence that does, and the words."""
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
    """Sentences, in their order, that hold every entity and count at most `most` tokens together;
    None if there are none.

    A greedy set cover, then the sentences closest to the mean of all, as long as they fit.
    """
    sizes = [counter(sentence + " ") for sentence in sentences]
    holding = [{name for name in entities if contains(sentence, name)} for sentence in sentences]
    open_names = set(entities)
    picked: list[int] = []
    while open_names:
        best = max(
            range(len(sentences)), key=lambda i: (len(holding[i] & open_names), -i), default=-1
        )
        if best < 0 or not holding[best] & open_names:
            return None  # a name that runs over the end of a sentence
        picked.append(best)
        open_names -= holding[best]
    used = sum(sizes[i] for i in picked)
    if used > most:
        return None
    closeness = np.round(vectors @ vectors.mean(axis=0), 9) if len(vectors) else np.zeros(0)
    for i in np.argsort(-closeness, kind="stable").tolist():
        if i not in picked and used + sizes[i] <= most:
            picked.append(i)
            used += sizes[i]
    text = " ".join(" ".join(sentences[i].split()) for i in sorted(picked))
    return text if text and counter(text) <= most else None


def _long_form(short: str, before: str) -> str:
    """The end of a text that the letters of an acronym stand for; "" if there is none."""
    words = before.split()[-min(len(short) + 5, 2 * len(short)) :]
    text = " ".join(words)
    letters = [letter.casefold() for letter in short if letter.isalnum()]
    place = len(text)
    for number, letter in enumerate(reversed(letters)):
        first = number == len(letters) - 1
        place -= 1
        while place >= 0 and (
            text[place].casefold() != letter or (first and place > 0 and text[place - 1].isalnum())
        ):
            place -= 1
        if place < 0:
            return ""
    long = text[place:]
    return long if len(long) > len(short) and len(long.split()) > 1 else ""
