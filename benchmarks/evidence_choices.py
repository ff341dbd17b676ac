"""What stands behind the settings of `EvidenceRetriever`: one setting changed at a time, and what
is found when the settings are chosen without the set that they are measured on.

Called by `benchmarks/evidence.py --leave-one-out`. What each question matches is worked out once
and kept in benchmarks/results/cache/evidence, so a setting costs milliseconds a question.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import Question as Asked
from benchmarks.methods import BUDGETS
from benchmarks.methods_tables import Interval, mean_of_sets
from benchmarks.quality_tables import markdown_table
from structrag import EvidenceRetriever
from structrag.asking.requests import TokenVectors
from structrag.evaluation import span_recall
from structrag.evaluation.measure import SpanMeasure, spans_of
from structrag.reading.settings import Reading
from structrag.retrieval.evidence.packing import WHOLE_BLOCK, pack
from structrag.retrieval.evidence.passages import PassageReader
from structrag.retrieval.evidence.pool import Pool
from structrag.retrieval.evidence.scores import (
    IDF_POWER,
    MATCHED,
    SAMPLE,
    SHORTLIST,
    UNMATCHED,
    Question,
    by_maximum,
    minmax,
    stem_scores,
    token_scores,
    token_weights,
)
from structrag.retrieval.evidence.windows import MAX_WIDTHS
from structrag.retrieval.evidence.words import is_content, is_word

FloatArray = NDArray[np.floating[Any]]
POWERS = (1.0, IDF_POWER, 2.0)
# Which tokens of a question count: words without punctuation, all, or no function words either
WORDS, ALL, CONTENT = "words", "all", "content"
KINDS = ((IDF_POWER, WORDS), (1.0, WORDS), (2.0, WORDS), (IDF_POWER, ALL), (IDF_POWER, CONTENT))
READING = (
    "One setting is changed at a time; differences are those to E, the design as it is, in points "
    "of the mean over the sets, paired, with the central 95 % of 1,000 bootstrap samples; bold "
    "where 0 is not inside. With so many settings about one in twenty is bold by chance."
)
LEFT_OUT = (
    "The settings are those of the table above. For each set the one with the best mean over the "
    "other sets was chosen, and is measured on that set alone; differences are those to E."
)


@dataclass(frozen=True)
class Choice:
    """Settings of the score and of packing; the defaults are those of the library, E."""

    weights: tuple[tuple[str, float], ...] = tuple(MATCHED.items())
    power: float = IDF_POWER
    words: str = WORDS
    widths: tuple[int, ...] = MAX_WIDTHS  # over which matched tokens are maximised
    shortlist: int | None = SHORTLIST  # None: all are matched
    whole_block: int = WHOLE_BLOCK
    first: tuple[tuple[str, float], ...] = tuple(UNMATCHED.items())

    def weighing(self, **weights: float) -> Choice:
        """The same with other weights of some parts."""
        return replace(self, weights=tuple({**dict(self.weights), **weights}.items()))


E = Choice()
_SECTIONS = ("section vectors", "section stems")
CHOICES: Mapping[str, Choice] = {
    "E": E,
    "first stage alone": E.weighing(**{**UNMATCHED, "tokens": 0.0}),
    "no vectors": E.weighing(vectors=0.0),
    "vectors .5": E.weighing(vectors=0.5),
    "vectors 1": E.weighing(vectors=1.0),
    "no stems": E.weighing(stems=0.0),
    "stems .25": E.weighing(stems=0.25),
    "stems .5": E.weighing(stems=0.5),
    "vectors .5, stems .5": E.weighing(vectors=0.5, stems=0.5),
    "vectors 1, stems 1": E.weighing(vectors=1.0, stems=1.0),
    "no sections": E.weighing(**dict.fromkeys(_SECTIONS, 0.0)),
    "sections .1": E.weighing(**dict.fromkeys(_SECTIONS, 0.1)),
    "no titles": E.weighing(titles=0.0),
    "titles .4": E.weighing(titles=0.4),
    "idf to the power 1": replace(E, power=1.0),
    "idf to the power 2": replace(E, power=2.0),
    "punctuation of the question counts": replace(E, words=ALL),
    "function words of the question do not count": replace(E, words=CONTENT),
    "tokens at 1, 60, 120, 240": replace(E, widths=MAX_WIDTHS[:4]),
    "tokens at 1, 120, 480": replace(E, widths=(1, 120, 480)),
    "tokens at 120 alone": replace(E, widths=(120,)),
    "tokens at 60 to 960": replace(E, widths=MAX_WIDTHS[1:]),
    "blocks up to 80": replace(E, whole_block=80),
    "blocks up to 120": replace(E, whole_block=120),
    "blocks up to 240": replace(E, whole_block=240),
    "shortlist of 200": replace(E, shortlist=200),
    "shortlist of 400": replace(E, shortlist=400),
    "all atoms matched": replace(E, shortlist=None),
}


@dataclass(frozen=True)
class Signals:
    """What a question matches in each atom of its pool, before anything is weighed."""

    tokens: FloatArray  # (kinds, widths, atoms)
    vectors: FloatArray  # (widths and the section, atoms)
    stems: FloatArray  # the same
    titles: FloatArray  # (atoms,)


@dataclass
class Bench:
    """A set's documents in a retriever, with what was matched for each of its questions."""

    retriever: EvidenceRetriever
    questions: Sequence[Asked]
    where: Callable[[Asked], dict[str, str] | None]
    measure: SpanMeasure
    folder: Path

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._readers: dict[int, PassageReader] = {}

    def recall(self, choice: Choice) -> dict[str, list[float]]:
        """Recall of every question, by budget."""
        recall: dict[str, list[float]] = {str(budget): [] for budget in BUDGETS}
        for number, asked in enumerate(self.questions):
            documents, pool = self.retriever._shelf().select(self.where(asked))
            if id(pool) not in self._readers:
                reading = self.retriever.reading
                self._readers[id(pool)] = PassageReader(documents, pool, reading, "none")
            reader = self._readers[id(pool)]
            ranking = order(self.signals(number, asked, pool), choice).tolist()
            for budget in BUDGETS:
                passages = pack(
                    pool,
                    ranking,
                    reader.tokens,
                    max_tokens=budget,
                    joins=reader.joins,
                    whole_block=choice.whole_block,
                )
                chunks = [reader.chunk(one.first, one.stop) for one in passages]
                value = span_recall(asked.gold, spans_of(chunks), self.measure, mode=asked.mode)
                recall[str(budget)].append(round(value or 0.0, 6))
        return recall

    def signals(self, number: int, asked: Asked, pool: Pool) -> Signals:
        """What the question matches, from an earlier run where there was one."""
        path = self.folder / f"{number}.npz"
        if not path.is_file():
            encoder = self.retriever.token_encoder
            assert encoder is not None
            (tokens,) = encoder.embed_tokens([asked.question], query=True)
            signals = matched(pool, asked.question, tokens, self.retriever.store.rotation)
            np.savez(path, **{one.name: getattr(signals, one.name) for one in fields(Signals)})
        with np.load(path) as kept:
            return Signals(**{name: kept[name] for name in kept.files})


def matched(pool: Pool, text: str, tokens: TokenVectors, rotation: Any) -> Signals:
    """What a question matches in a pool."""
    counted = {
        WORDS: is_word(text, tokens.spans),
        ALL: np.ones(len(tokens.ids), dtype=bool),
        CONTENT: is_content(text, tokens.spans),
    }
    question = Question(text, tokens.vector, tokens.vectors, tokens.ids)
    weights = []
    for power, words in KINDS:
        of_kind = token_weights(pool, question, power) * counted[words]
        weights.append(of_kind / of_kind.sum())
    atoms = np.arange(len(pool))
    scores = token_scores(pool, question, rotation, atoms, np.stack(weights, axis=1))
    stems, titles = stem_scores(pool, text)
    return Signals(
        np.moveaxis(np.stack(scores), 2, 0).astype(np.float32),
        np.stack(pool.cosines(tokens.vector)).astype(np.float32),
        np.stack(stems).astype(np.float32),
        titles.astype(np.float32),
    )


def order(signals: Signals, choice: Choice) -> NDArray[np.int64]:
    """The atoms by their scores, as `rank` orders them."""
    n = len(signals.titles)
    parts = {
        "vectors": np.mean([minmax(one) for one in signals.vectors[:-1]], axis=0),
        "stems": np.mean([by_maximum(one) for one in signals.stems[:-1]], axis=0),
        "section vectors": minmax(signals.vectors[-1]),
        "section stems": by_maximum(signals.stems[-1]),
        "titles": signals.titles,
    }
    first = _sum(parts, dict(choice.first), n)
    shortlist = n if choice.shortlist is None else choice.shortlist
    chosen = np.sort(_by_score(first)[:shortlist])
    shown = chosen
    if len(chosen) < n:
        sample = np.linspace(0, n - 1, SAMPLE).round().astype(np.int64)
        shown = np.union1d(chosen, sample)
    kind = signals.tokens[KINDS.index((choice.power, choice.words))]
    widths = [MAX_WIDTHS.index(width) for width in choice.widths]
    tokens = np.zeros(n)
    tokens[shown] = np.mean([minmax(kind[width][shown]) for width in widths], axis=0)
    scores = _sum({**parts, "tokens": tokens}, dict(choice.weights), n)
    rest = np.ones(n, dtype=bool)
    rest[chosen] = False
    scores[rest] = first[rest] - 1e3
    return _by_score(scores)


def _sum(parts: Mapping[str, FloatArray], weights: Mapping[str, float], n: int) -> FloatArray:
    total = np.zeros(n)
    for name, weight in weights.items():
        if weight:
            total += weight * parts[name]
    return total


def _by_score(scores: FloatArray) -> NDArray[np.int64]:
    return np.argsort(-np.round(scores, 9), kind="stable")


def bench(setting: Any, questions: Sequence[Asked], folder: Path) -> Bench:
    """The set of a `Setting` of evidence.py, its documents in a retriever."""
    reading = Reading(counter=setting.counter)
    documents = setting.dataset.documents
    retriever = EvidenceRetriever.from_documents(documents, setting.encoder, reading=reading)
    return Bench(retriever, questions, setting.where, setting.measure, folder)


Recalls = Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]]  # set -> choice -> budget


def recalls(benches: Mapping[str, Callable[[], Bench]], folders: Mapping[str, Path]) -> Recalls:
    """Recall of every question with every choice, from an earlier run where there was one."""
    values: dict[str, dict[str, Any]] = {}
    for name, make in benches.items():
        values[name] = {}
        of_set: Bench | None = None
        for label, choice in CHOICES.items():
            path = folders[name] / f"{re.sub(r'[^a-z0-9]+', '-', label.lower()).strip('-')}.json"
            if not path.is_file():
                of_set = of_set or make()
                recall = of_set.recall(choice)
                path.write_text(json.dumps(recall) + "\n", encoding="utf-8")
                points = [f"{100 * float(np.mean(recall[str(budget)])):.1f}" for budget in BUDGETS]
                print(f"{name}: {label}: {' '.join(points)}", file=sys.stderr, flush=True)
            values[name][label] = json.loads(path.read_text(encoding="utf-8"))
    return values


def one_at_a_time(values: Recalls) -> str:
    """Each choice's difference to E at each budget."""
    rows = [
        [label, *(gap(values, lambda _, one=label: one, budget) for budget in BUDGETS)]
        for label in CHOICES
        if label != "E"
    ]
    return markdown_table(["", *(f"{budget:,}" for budget in BUDGETS)], rows, labels=1)


def left_out(values: Recalls) -> str:
    """What is chosen without each set, and what it gains there and in the mean."""
    parts = []
    for title, budgets in (("1,000 tokens", (1000,)), ("the mean of the budgets", BUDGETS)):
        picked = {name: chosen_without(values, name, budgets) for name in values}
        rows = [
            [name, picked[name], *(_of_set(values[name], picked[name], b) for b in BUDGETS)]
            for name in values
        ]
        mean = [gap(values, lambda name, of=picked: of[name], budget) for budget in BUDGETS]
        rows.append(["mean", "", *mean])
        heads = ["", f"chosen by {title}", *(f"{budget:,}" for budget in BUDGETS)]
        parts.append(markdown_table(heads, rows, labels=2))
    return "\n\n".join(parts)


def chosen_without(values: Recalls, name: str, budgets: Sequence[int]) -> str:
    """The choice with the best mean over all sets but one; the first of equal ones."""

    def mean(label: str) -> float:
        of_sets = [
            np.mean(values[other][label][str(budget)])
            for other in values
            if other != name
            for budget in budgets
        ]
        return float(np.mean(of_sets))

    return max(CHOICES, key=mean)


def gap(values: Recalls, choice_of: Callable[[str], str], budget: int) -> str:
    """The difference of the mean over the sets to E's, with a choice for each set."""
    groups = [
        np.subtract(of_set[choice_of(name)][str(budget)], of_set["E"][str(budget)]).tolist()
        for name, of_set in values.items()
    ]
    return shown(mean_of_sets(groups))


def _of_set(of_set: Mapping[str, Mapping[str, Sequence[float]]], label: str, budget: int) -> str:
    gaps = np.subtract(of_set[label][str(budget)], of_set["E"][str(budget)])
    return f"{100 * float(gaps.mean()):+.1f}"


def shown(interval: Interval) -> str:
    """A difference in points; bold where 0 is not inside its interval."""
    text = f"{interval.mean:+.1f} [{interval.low:+.1f}, {interval.high:+.1f}]"
    return f"**{text}**" if interval.low > 0 or interval.high < 0 else text
