"""Summaries and keywords without a language model: sentences and phrases of the text itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import log

import numpy as np
import regex

from structrag.text.sentences import LANGUAGES, sentence_spans
from structrag.text.terms import STOPWORD_LANGUAGES, Tokenizer
from structrag.text.tokens import count_tokens
from structrag.text.vectors import central

_PHRASE_BREAK = regex.compile(r"[^\p{L}\p{M}\p{N}\s'’_/-]+|\n")
_WORD = regex.compile(r"[\p{L}\p{N}][\p{L}\p{M}\p{N}'’_/.-]*")
_ACRONYM = regex.compile(r"\b\p{Lu}[\p{Lu}\p{N}]+(?:[-/][\p{Lu}\p{N}]+)*\b")
_CODE = regex.compile(r"\b(?=\w*\p{N})(?=\w*\p{L})[\p{L}\p{N}]+(?:[-_/.][\p{L}\p{N}]+)*\b")
_CAMEL = regex.compile(r"\b\p{L}\p{Ll}+\p{Lu}\w*\b|\b\w+_\w+\b")
_NAME = regex.compile(
    r"(?<=\p{Ll}[,;]? )\p{Lu}[\p{Ll}\p{M}]+\b(?: \p{Lu}[\p{L}\p{M}]+\b)*|\b\p{Lu}[\p{Ll}\p{M}]+(?: "
    r"\p{Lu}[\p{L}\p{M}]+\b)+"
)
_QUOTED = regex.compile(r"[\"“«]([^\"“”«»\n]{2,60})[\"”»]")
_QUANTITY = regex.compile(
    r"\b\p{N}+(?:[.,]\p{N}+)*\s?(?:%|°[CF]|[kMGTµmn]?(?:Hz|B|W|V|A|m|g|s|bit|byte)s?)(?!\w)"
)


def summarise(
    text: str, *, max_sentences: int = 10, max_words: int = 200, language: str = "english"
) -> str:
    """The most telling sentences of a text, in their order (foundation, section 8).

    Sentences are TF-IDF vectors; each is worth its cosine with their centroid, the first one 0.1
    more, less 0.3 of 1 times its highest cosine with one already picked (MMR, 0.7 to 0.3). Text
    within both limits comes back as it is. "" gives "".
    """
    spans = sentence_spans(text, language=language if language in LANGUAGES else "english")
    sentences = [text[start:end].strip() for start, end in spans]
    lengths = [len(sentence.split()) for sentence in sentences]
    if len(sentences) <= max_sentences and sum(lengths) <= max_words:
        return text.strip()
    picked = central(
        _tfidf(sentences, language), lengths, max_sentences=max_sentences, max_words=max_words
    )
    return " ".join(_first_words(sentences[i], max_words) for i in picked)


def keywords(
    text: str,
    heading: str = "",
    *,
    document_frequency: Mapping[str, int] | None = None,
    n_sections: int = 1,
    language: str = "english",
) -> list[str]:
    """Phrases that tell a section from the others, best first, at most `min(25, 5 + tokens / 40)`
    (RAKE candidates, tf x section idf).

    Candidates are runs of one to four words between stop words and punctuation, and entities; half
    as much again when in the heading.

    Args:
        document_frequency: In how many of the `n_sections` sections a word occurs (casefolded);
            None: all words count alike.
    """
    stop = _stop_words(language)
    heading_words = {word.casefold() for word in _WORD.findall(heading)}
    candidates: Counter[str] = Counter()
    shown: dict[str, str] = {}
    for phrase in [*_phrases(f"{heading}\n{text}", stop), *entities(text)]:
        key = phrase.casefold()
        candidates[key] += 1
        shown.setdefault(key, phrase)
    frequency = document_frequency or {}

    def worth(key: str) -> float:
        words = key.split()
        rarity = sum(
            log((1 + n_sections) / (1 + frequency.get(word, 0))) + 1 for word in words
        ) / len(words)
        return candidates[key] * rarity * (1.5 if heading_words.intersection(words) else 1.0)

    order = {key: i for i, key in enumerate(candidates)}
    best = sorted(candidates, key=lambda key: (-round(worth(key), 9), order[key]))
    return [shown[key] for key in best[: min(25, 5 + count_tokens(text) // 40)]]


def section_frequencies(texts: Sequence[str]) -> Counter[str]:
    """In how many of the texts each word occurs, casefolded."""
    return Counter(
        word for text in texts for word in {word.casefold() for word in _WORD.findall(text)}
    )


def entities(text: str) -> list[str]:
    """Names in a text by their form: acronyms, codes, CamelCase, capitalised runs, quoted terms,
    quantities. Repeats included."""
    found = [
        match.group()
        for pattern in (_ACRONYM, _CODE, _CAMEL, _NAME, _QUANTITY)
        for match in pattern.finditer(text)
    ]
    return found + [
        match.group(1) for match in _QUOTED.finditer(text) if 1 <= len(match.group(1).split()) <= 6
    ]


def _phrases(text: str, stop: frozenset[str]) -> list[str]:
    phrases: list[str] = []
    for part in _PHRASE_BREAK.split(text):
        run: list[str] = []
        for word in [*_WORD.findall(part), ""]:
            if word and word.casefold() not in stop and not word.isnumeric() and len(run) < 4:
                run.append(word.rstrip(".-/'’"))
                continue
            if run and (len(run) > 1 or len(run[0]) > 2):
                phrases.append(" ".join(run))
            run = [word] if word and word.casefold() not in stop and not word.isnumeric() else []
    return phrases


def _stop_words(language: str) -> frozenset[str]:
    if language not in STOPWORD_LANGUAGES:
        return frozenset()
    return frozenset(Tokenizer(language).to_json()["stopwords"])


def _tfidf(
    sentences: Sequence[str], language: str
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """L2-normalised TF-IDF rows over the sentences' own vocabulary, hashed to 4,096 columns to
    bound memory."""
    tokenizer = Tokenizer(language) if language in STOPWORD_LANGUAGES else Tokenizer(stopwords=())
    rows = [Counter(tokenizer(sentence)) for sentence in sentences]
    frequency = Counter(term for row in rows for term in row)
    columns = {term: i % 4096 for i, term in enumerate(frequency)}
    matrix = np.zeros((len(sentences), min(4096, max(1, len(columns)))))
    for i, row in enumerate(rows):
        for term, count in row.items():
            matrix[i, columns[term]] += (1 + log(count)) * (
                log((1 + len(rows)) / (1 + frequency[term])) + 1
            )
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit: np.ndarray[tuple[int, int], np.dtype[np.float64]] = np.divide(
        matrix, norms, out=np.zeros_like(matrix), where=norms > 0
    )
    return unit


def _first_words(sentence: str, limit: int) -> str:
    words = sentence.split()
    return sentence if len(words) <= limit else " ".join(words[:limit])
