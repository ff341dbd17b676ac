"""Summaries and keywords without a model, as parts of the text itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import log

import numpy as np
import regex
from numpy.typing import ArrayLike

from structrag.text.arrays import FloatArray, similarity, unit_vectors
from structrag.text.folding import plain_signs
from structrag.text.sentences import LANGUAGES, sentence_spans
from structrag.text.terms import stop_words, tokenizer_for
from structrag.text.tokens import count_tokens

_MOST_COLUMNS = 4096  # of TF-IDF vectors
_PHRASE_BREAK = regex.compile(r"[^\p{L}\p{M}\p{N}\s'’_/-]+|\n")
_WORD = regex.compile(r"[\p{L}\p{N}][\p{L}\p{M}\p{N}'’_/.-]*")
_ACRONYM = regex.compile(r"\b\p{Lu}[\p{Lu}\p{N}]+(?:[-/][\p{Lu}\p{N}]+)*\b")
_CODE = regex.compile(
    r"\b(?=\w*\p{N})(?=\w*\p{L})[\p{L}\p{N}]+(?:[-_/.][\p{L}\p{N}]+)*\b"
)
_CAMEL = regex.compile(r"\b\p{L}\p{Ll}+\p{Lu}\w*\b|\b\w+_\w+\b")
_NAME = regex.compile(
    r"(?<=\p{Ll}[,;]? )\p{Lu}[\p{Ll}\p{M}]+\b(?: \p{Lu}[\p{L}\p{M}]+\b)*|\b\p{Lu}[\p{Ll}\p{M}]+(?: "
    r"\p{Lu}[\p{L}\p{M}]+\b)+"
)
_QUOTED = regex.compile(r"[\"“«]([^\"“”«»\n]{2,60})[\"”»]")
# A number takes all its digits whether a unit follows or not, or a long list of numbers would be
# read again from each of them.
_QUANTITY = regex.compile(
    r"\b\p{N}++(?:[.,]\p{N}++)*+"
    r"(?P<unit>\s?(?:%|°[CF]|[kMGTµmn]?(?:Hz|B|W|V|A|m|g|s|bit|byte)s?)(?!\w))?"
)


def summarise(
    text: str,
    *,
    max_sentences: int = 10,
    max_words: int = 200,
    language: str = "english",
) -> str:
    """The most telling sentences of a text, in their order.

    Sentences are TF-IDF vectors. Each is worth its cosine with their centroid, the first one 0.1
    more, less its highest cosine with one already picked (MMR, 0.7 to 0.3). Text within both limits
    comes back as it is. "" gives "".

    Example:
        >>> summarise("It rings. It takes pictures. It rings well.", max_sentences=1)
        'It rings.'
    """
    sentences = sentences_of(text, language)
    lengths = [len(sentence.split()) for sentence in sentences]
    if len(sentences) <= max_sentences and sum(lengths) <= max_words:
        return text.strip()
    picked = central(
        _tfidf(sentences, language),
        lengths,
        max_sentences=max_sentences,
        max_words=max_words,
    )
    return " ".join(_first_words(sentences[i], max_words) for i in picked)


def sentences_of(text: str, language: str = "english") -> list[str]:
    """The sentences of a text, stripped. English rules serve a language without its own."""
    spans = sentence_spans(
        text, language=language if language in LANGUAGES else "english"
    )
    return [text[start:end].strip() for start, end in spans]


def keywords(
    text: str,
    heading: str = "",
    *,
    document_frequency: Mapping[str, int] | None = None,
    n_sections: int = 1,
    language: str = "english",
) -> list[str]:
    """Phrases that tell a section from the others, best first.

    There are at most `min(25, 5 + tokens / 40)`. Candidates are RAKE's, runs of one to four
    words between stop words and punctuation, and entities. They are worth tf x section idf, half as
    much again when in the heading.

    Example:
        >>> keywords("The battery of the Nova. The battery lasts.", "Battery")[0]
        'Battery'

    Args:
        document_frequency: In how many of the `n_sections` sections a word occurs (casefolded).
            None: all words count alike.
    """
    text, heading = plain_signs(text), plain_signs(heading)
    stop = stop_words(language)
    heading_words = {word.casefold() for word in _words(heading)}
    candidates: Counter[str] = Counter()
    shown: dict[str, str] = {}
    for phrase in [*_phrases(f"{heading}\n{text}", stop), *entities(text)]:
        key = phrase.casefold()
        candidates[key] += 1
        shown.setdefault(key, phrase)
    frequency = document_frequency or {}

    def worth(key: str) -> float:
        words = key.split()
        idf = [
            log((1 + n_sections) / (1 + frequency.get(word, 0))) + 1 for word in words
        ]
        rarity = sum(idf) / len(words)
        return (
            candidates[key]
            * rarity
            * (1.5 if heading_words.intersection(words) else 1.0)
        )

    order = {key: i for i, key in enumerate(candidates)}
    best = sorted(candidates, key=lambda key: (-round(worth(key), 9), order[key]))
    return [shown[key] for key in best[: min(25, 5 + count_tokens(text) // 40)]]


def section_frequencies(texts: Sequence[str]) -> Counter[str]:
    """In how many of the texts each word occurs, casefolded."""
    frequency: Counter[str] = Counter()
    for text in texts:
        frequency.update({word.casefold() for word in _words(plain_signs(text))})
    return frequency


def entities(text: str) -> list[str]:
    """Names in a text by their form, repeats included.

    They are acronyms, codes, CamelCase, capitalised runs, quantities and quoted terms, with plain
    hyphens and without soft ones.

    Example:
        >>> entities('The "night mode" of the XR-7 uses 5 W.')
        ['XR-7', '5 W', 'night mode']
    """
    text = plain_signs(text)
    names: list[str] = []
    for pattern in (_ACRONYM, _CODE, _CAMEL, _NAME):
        names += [match.group() for match in pattern.finditer(text)]
    names += [match.group() for match in _QUANTITY.finditer(text) if match["unit"]]
    for match in _QUOTED.finditer(text):
        if 1 <= len(match.group(1).split()) <= 6:
            names.append(match.group(1))
    return names


def central(
    sentences: ArrayLike,
    lengths: Sequence[int],
    *,
    max_sentences: int = 10,
    max_words: int = 200,
) -> list[int]:
    """The sentences that make an extractive summary, ascending.

    They are near the centroid and unlike each other (MMR, 0.7 to 0.3). The first sentence is worth
    0.1 more. There is at least one, and more while `lengths` (words) stay within `max_words`. Ties:
    the earlier. No sentence gives none.

    Example:
        >>> central([[1, 0], [1, 0], [1, 1]], [5, 5, 5], max_sentences=2)
        [0, 2]
    """
    vectors = unit_vectors(sentences)
    if not len(vectors):
        return []
    relevance = similarity(vectors, vectors.mean(axis=0)[None, :])
    relevance[0] += 0.1
    closest = np.zeros(len(vectors))
    free = np.ones(len(vectors), dtype=bool)
    picked: list[int] = []
    words = 0
    sizes = np.asarray(lengths)
    while len(picked) < max_sentences and free.any():
        worth = np.round(0.7 * relevance - 0.3 * closest, 9)
        best = int(np.argmax(np.where(free, worth, -np.inf)))
        picked.append(best)
        words += int(sizes[best])
        free[best] = False
        free &= sizes <= max_words - words
        closest = np.maximum(closest, vectors @ vectors[best])
    return sorted(picked)


def _phrases(text: str, stop: frozenset[str]) -> list[str]:
    phrases: list[str] = []
    for part in _PHRASE_BREAK.split(text):
        run: list[str] = []
        for word in [*_words(part), ""]:  # "" ends the last run
            tells = _tells(word, stop)
            if tells and len(run) < 4:
                run.append(word)
                continue
            if len(run) > 1 or (run and len(run[0]) > 2):
                phrases.append(" ".join(run))
            run = [word] if tells else []
    return phrases


def _words(text: str) -> list[str]:
    """The words of a text without signs behind them. Such a sign is a sentence's full stop."""
    return [word.rstrip("'’_/.-") for word in _WORD.findall(text)]


def _tells(word: str, stop: frozenset[str]) -> bool:
    """Whether a word may be part of a phrase."""
    return word != "" and not word.isnumeric() and word.casefold() not in stop


def _tfidf(sentences: Sequence[str], language: str) -> FloatArray:
    """L2-normalised TF-IDF rows over the sentences' own vocabulary. Terms share 4,096 columns at
    most, to bound memory."""
    tokenizer = tokenizer_for(language)
    rows = [Counter(tokenizer(sentence)) for sentence in sentences]
    frequency = Counter(term for row in rows for term in row)
    columns = {term: i % _MOST_COLUMNS for i, term in enumerate(frequency)}
    matrix = np.zeros((len(sentences), min(_MOST_COLUMNS, max(1, len(columns)))))
    for i, row in enumerate(rows):
        for term, count in row.items():
            idf = log((1 + len(rows)) / (1 + frequency[term])) + 1
            matrix[i, columns[term]] += (1 + log(count)) * idf
    return unit_vectors(matrix)


def _first_words(sentence: str, limit: int) -> str:
    words = sentence.split()
    return sentence if len(words) <= limit else " ".join(words[:limit])
