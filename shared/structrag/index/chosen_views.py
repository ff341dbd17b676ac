"""Keywords and sentences chosen among extracted ones by a model's likelihoods.

Nothing is written by the model, so nothing can be invented.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from structrag.asking.requests import Score, Scorer, Steps
from structrag.text.extractive import (
    keywords,
    most_keywords,
    section_frequencies,
    sentences_of,
    summary_of_best,
)

KEYWORDS_AFTER = "{title}\n\n{text}\n\nKeywords:"
SUMMARY_AFTER = "{title}\n\n{text}\n\nSummary:"
CANDIDATES = 2  # times as many keywords to choose from as are wanted


@dataclass(frozen=True, slots=True)
class Sections:
    """What is chosen from: the titles and texts of a document's chunks."""

    titles: Sequence[str]  # the path
    headings: Sequence[str]  # the last title of it, or ""
    bodies: Sequence[str]
    language: str


def chosen_keywords_steps(
    sections: Sections, places: Sequence[int], scorer: Scorer
) -> Steps[dict[int, list[str]]]:
    """The keywords of the sections at some places, best first.

    As many as are extracted without a model, among twice as many.
    """
    frequency = section_frequencies(sections.bodies)
    candidates = {
        i: keywords(
            sections.bodies[i],
            sections.headings[i],
            document_frequency=frequency,
            n_sections=len(sections.bodies),
            language=sections.language,
            most=CANDIDATES * most_keywords(sections.bodies[i]),
        )
        for i in places
    }
    scores = yield from _scores(KEYWORDS_AFTER, sections, candidates, scorer)
    return {
        i: _best(words, scores[i])[: most_keywords(sections.bodies[i])]
        for i, words in candidates.items()
    }


def chosen_summaries_steps(
    sections: Sections, places: Sequence[int], scorer: Scorer
) -> Steps[dict[int, str]]:
    """The summaries of the sections at some places, of their own sentences."""
    candidates = {
        i: sentences_of(sections.bodies[i], sections.language) for i in places
    }
    scores = yield from _scores(SUMMARY_AFTER, sections, candidates, scorer)
    return {i: summary_of_best(texts, scores[i]) for i, texts in candidates.items()}


def _scores(
    template: str, sections: Sections, candidates: dict[int, list[str]], scorer: Scorer
) -> Steps[dict[int, list[float]]]:
    """The score of each candidate after the section it is from."""
    requests = [
        Score(
            template.format(title=sections.titles[i], text=sections.bodies[i].strip()),
            tuple(texts),
            scorer,
        )
        for i, texts in candidates.items()
    ]
    answers = (yield requests) if requests else []
    return dict(zip(candidates, answers, strict=True))


def _best(words: Sequence[str], scores: Sequence[float]) -> list[str]:
    """Words by their scores, best first. Ties: the earlier."""
    order = sorted(range(len(words)), key=lambda i: (-scores[i], i))
    return [words[i] for i in order]
