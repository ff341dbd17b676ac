"""What stands behind the settings of `EvidenceRetriever`: one setting changed at a time, and what
is found when the settings are chosen without the set that they are measured on.

Called by `benchmarks/evidence.py --leave-one-out`. What each question matches is worked out once
and kept in benchmarks/results/cache/evidence, so a setting costs milliseconds a question.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks import evidence_ideas as ideas
from benchmarks.datasets import Question as Asked
from benchmarks.methods import BUDGETS
from benchmarks.methods_tables import Interval, mean_of_sets
from benchmarks.quality_tables import markdown_table
from structrag import EvidenceRetriever
from structrag.evaluation import span_recall
from structrag.evaluation.measure import Span, SpanMeasure
from structrag.model_calls.requests import TokenVectors
from structrag.reading.settings import ReadOptions
from structrag.retrieval.evidence import adding, quantised, record
from structrag.retrieval.evidence import corpus as pools
from structrag.retrieval.evidence.corpus import Corpus
from structrag.retrieval.evidence.packing import WHOLE_BLOCK, Passage, pack
from structrag.retrieval.evidence.quantised import Quantised, Quantiser, unit_rows
from structrag.retrieval.evidence.scores import (
    IDF_POWER,
    MATCHED,
    SAMPLE,
    SHORTLIST,
    UNMATCHED,
    Question,
    stem_scores,
    token_scores,
    token_weights,
)
from structrag.retrieval.evidence.store import StoredDocument
from structrag.retrieval.evidence.windows import MAX_WIDTHS
from structrag.retrieval.evidence.words import is_word
from structrag.retrieval.fusion import maxnorm, minmax
from structrag.text.arrays import Array

FloatArray = NDArray[np.floating[Any]]
# Questions of a set, at even distances, on which ways to keep vectors are measured.
_FEW = 250
_RANKED = 1000  # atoms that are looked at; within 2,000 tokens there are fewer
# Which tokens of a question count: words without punctuation, all, or no function words either
WORDS, ALL, CONTENT = "words", "all", "content"
KINDS = (
    (IDF_POWER, WORDS),
    (1.0, WORDS),
    (2.0, WORDS),
    (IDF_POWER, ALL),
    (IDF_POWER, CONTENT),
)
READING = (
    "One setting is changed at a time; differences are those to E, the design as it is, in points "
    "of the mean over the sets, paired, with the central 95 % of 1,000 bootstrap samples; bold "
    "where 0 is not inside. With so many settings about one in twenty is bold by chance. The size "
    "of a passage is here the sum of its sentences' tokens."
)
IDEAS = (
    'The last ten are not in the library (benchmarks/evidence_ideas.py). "Tokens of the headings '
    "above\": an atom's match with a token of the question is its own best cosine, or so much of "
    'the best one with a token of the headings on its path. "Best match": a token weighs less '
    'where no atom of the pool matches it well. "Best width": the mean over the widths in which '
    'an atom matches best, not over all. "Coverage": an atom gains, up to the weight that is '
    "named, by what the text around it matches better than all that was taken before."
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
    # What the library does not do: see evidence_ideas.py
    headings: float = 0.0  # factor of the match with the headings above
    reach: float = 0.0  # power of a token's best match, in its weight
    # Of so many widths an atom has the mean; None: of all.
    best_widths: int | None = None
    coverage: float = 0.0  # weight of what an atom adds to those taken

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
    "tokens of the headings above, cosines times .5": replace(E, headings=0.5),
    "tokens of the headings above, cosines times .7": replace(E, headings=0.7),
    "tokens of the headings above, cosines times .9": replace(E, headings=0.9),
    "tokens weighted by their best match, squared": replace(E, reach=2.0),
    "tokens weighted by their best match, to the power 4": replace(E, reach=4.0),
    "an atom's best width alone": replace(E, best_widths=1),
    "an atom's three best widths": replace(E, best_widths=3),
    "packed by coverage of the question, .25": replace(E, coverage=0.25),
    "packed by coverage of the question, .5": replace(E, coverage=0.5),
    "packed by coverage of the question, 1": replace(E, coverage=1.0),
}


@dataclass(frozen=True)
class Signals:
    """What a question matches in each atom of its pool, before anything is weighed."""

    tokens: FloatArray  # (kinds, widths, atoms)
    vectors: FloatArray  # (widths and the section, atoms)
    stems: FloatArray  # the same
    titles: FloatArray  # (atoms,)
    matches: FloatArray  # (atoms, tokens of the question's words): the best cosines
    weights: FloatArray  # (tokens of the question's words,)


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

    def recalls(self, chosen: Mapping[str, Choice]) -> dict[str, Recall]:
        """Recall of every question with each choice, by budget."""
        recalls: dict[str, Recall] = {
            label: {str(budget): [] for budget in BUDGETS} for label in chosen
        }
        for number, asked in enumerate(self.questions):
            documents, pool = self.retriever.level.reader().select(self.where(asked))
            signals = self.signals(number, asked, pool)
            for label, choice in chosen.items():
                ranking = order(
                    _rematched(signals, choice, documents, pool), choice, pool
                )
                for budget, value in self._at_budgets(
                    asked, ranking, choice, documents, pool
                ):
                    recalls[label][str(budget)].append(value)
        return recalls

    def recall_as_kept(self) -> Recall:
        """Recall of E by the token vectors as they are kept, on some of the questions."""
        quantiser = self.retriever.level.quantiser
        assert quantiser is not None and self.retriever.token_encoder is not None
        recall: Recall = {str(budget): [] for budget in BUDGETS}
        for number in range(
            0, len(self.questions), max(1, len(self.questions) // _FEW)
        ):
            asked = self.questions[number]
            documents, pool = self.retriever.level.reader().select(self.where(asked))
            (tokens,) = self.retriever.token_encoder.embed_tokens(
                [asked.question], query=True
            )
            words = is_word(asked.question, tokens.spans)
            question = Question(
                asked.question, tokens.vector, tokens.vectors[words], tokens.ids[words]
            )
            atoms, weights = np.arange(len(pool)), token_weights(pool, question)
            scores = np.stack(token_scores(pool, question, quantiser, atoms, weights))
            signals = replace(self.signals(number, asked, pool), tokens=scores[None])
            ranking = order(signals, E, pool)
            for budget, value in self._at_budgets(asked, ranking, E, documents, pool):
                recall[str(budget)].append(value)
        return recall

    def kept_bytes(self) -> int:
        """Bytes of all that is kept of the documents."""
        shelf = self.retriever.level.reader()
        kept = (*shelf.records.values(), *shelf.documents.values())
        return sum(array.nbytes for one in kept for array in one.arrays().values())

    def _at_budgets(
        self,
        asked: Asked,
        ranking: NDArray[np.int64],
        choice: Choice,
        documents: Sequence[StoredDocument],
        pool: Corpus,
    ) -> Iterator[tuple[int, float]]:
        """Each budget with the recall of what fits into it."""
        before = np.concatenate([[0], np.cumsum(pool.tokens)])
        best = ranking[:_RANKED].tolist()
        for budget in BUDGETS:
            passages = pack(
                pool,
                best,
                lambda first, stop: int(before[stop] - before[first]),
                max_tokens=budget,
                joins=lambda atom: pool.place(atom)[1] > 0,  # not across documents
                whole_block=choice.whole_block,
            )
            spans = [_span(one, documents, pool) for one in passages]
            value = span_recall(asked.gold, spans, self.measure, mode=asked.mode)
            yield budget, round(value or 0.0, 6)

    def signals(self, number: int, asked: Asked, pool: Corpus) -> Signals:
        """What the question matches, from an earlier run where there was one."""
        path = self.folder / f"{number}.npz"
        if not path.is_file():
            encoder = self.retriever.token_encoder
            assert encoder is not None
            (tokens,) = encoder.embed_tokens([asked.question], query=True)
            signals = matched(
                pool, asked.question, tokens, self.retriever.level.quantiser
            )
            np.savez(
                path,
                **{one.name: getattr(signals, one.name) for one in fields(Signals)},
            )
        with np.load(path) as kept:
            return Signals(**{name: kept[name] for name in kept.files})


def _span(passage: Passage, documents: Sequence[StoredDocument], pool: Corpus) -> Span:
    number, place = pool.place(passage.first)
    of, last = pool.records[number], place + passage.stop - passage.first - 1
    return documents[number].id, int(of.starts[place]), int(of.ends[last])


def matched(
    pool: Corpus, text: str, tokens: TokenVectors, quantiser: Quantiser | None
) -> Signals:
    """What a question matches in a pool."""
    assert quantiser is not None
    counted = {
        WORDS: is_word(text, tokens.spans),
        ALL: np.ones(len(tokens.ids), dtype=bool),
        CONTENT: ideas.is_content(text, tokens.spans),
    }
    question = Question(text, tokens.vector, tokens.vectors, tokens.ids)
    weights = []
    for power, words in KINDS:
        of_kind = token_weights(pool, question, power) * counted[words]
        weights.append(of_kind / of_kind.sum())
    atoms = np.arange(len(pool))
    scores = token_scores(pool, question, quantiser, atoms, np.stack(weights, axis=1))
    stems, titles = stem_scores(pool, text)
    words = counted[WORDS]
    queries = unit_rows(tokens.vectors[words].astype(np.float32))
    return Signals(
        np.moveaxis(np.stack(scores), 2, 0).astype(np.float32),
        np.stack(pool.cosines(tokens.vector)).astype(np.float32),
        np.stack(stems).astype(np.float32),
        titles.astype(np.float32),
        pool.matches(atoms, queries, quantiser),
        weights[0][words],
    )


def _rematched(
    signals: Signals, choice: Choice, documents: Sequence[StoredDocument], pool: Corpus
) -> Signals:
    """What is matched where tokens are matched or weighted as the library does not."""
    matches, weights = signals.matches, signals.weights
    if choice.headings:
        matches = ideas.with_headings(pool, documents, matches, choice.headings)
    if choice.reach:
        weights = ideas.by_reach(weights, matches, choice.reach)
    if matches is signals.matches and weights is signals.weights:
        return signals
    return replace(signals, tokens=ideas.in_windows(pool, matches, weights)[None])


def order(signals: Signals, choice: Choice, pool: Corpus) -> NDArray[np.int64]:
    """The atoms by their scores, as `rank` orders them."""
    n = len(signals.titles)
    parts = {
        "vectors": np.mean(
            [minmax(one, constant=0) for one in signals.vectors[:-1]], axis=0
        ),
        "stems": np.mean([maxnorm(one) for one in signals.stems[:-1]], axis=0),
        "section vectors": minmax(signals.vectors[-1], constant=0),
        "section stems": maxnorm(signals.stems[-1]),
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
    tokens[shown] = ideas.over_widths(kind[widths][:, shown], choice.best_widths)
    scores = _sum({**parts, "tokens": tokens}, dict(choice.weights), n)
    rest = np.ones(n, dtype=bool)
    rest[chosen] = False
    scores[rest] = first[rest] - 1e3
    if choice.coverage:
        taken = (
            signals.matches,
            signals.weights,
            scores,
            choice.coverage,
            choice.whole_block,
        )
        return ideas.covering(pool, *taken)
    return _by_score(scores)


def _sum(
    parts: Mapping[str, FloatArray], weights: Mapping[str, float], n: int
) -> FloatArray:
    total = np.zeros(n)
    for name, weight in weights.items():
        if weight:
            total += weight * parts[name]
    return total


def _by_score(scores: FloatArray) -> NDArray[np.int64]:
    return np.argsort(-np.round(scores, 9), kind="stable")


def bench(setting: Any, questions: Sequence[Asked], folder: Path) -> Bench:
    """The set of a `Setting` of evidence.py, its documents in a retriever."""
    retriever = EvidenceRetriever.from_documents(
        setting.dataset.documents,
        setting.encoder,
        read_options=ReadOptions(counter=setting.counter),
    )
    return Bench(retriever, questions, setting.where, setting.measure, folder)


Recall = dict[str, list[float]]  # by budget, of every question
Recalls = Mapping[str, Mapping[str, Recall]]  # set -> choice


def recalls(
    benches: Mapping[str, Callable[[], Bench]], folders: Mapping[str, Path]
) -> Recalls:
    """Recall of every question with every choice, from an earlier run where there was one."""
    values: dict[str, dict[str, Recall]] = {}
    for name, make in benches.items():
        path = folders[name] / "recall.json"
        known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        missing = {
            label: choice for label, choice in CHOICES.items() if label not in known
        }
        if missing:
            known |= make().recalls(missing)
            path.write_text(json.dumps(known) + "\n", encoding="utf-8")
            print(f"{name}: done", file=sys.stderr, flush=True)
        values[name] = {label: known[label] for label in CHOICES}
    return values


WHOLE, DEFAULT = "as they are, 32 bits a number, punctuation too", "the default"
# Of the energy of token vectors that is lost; None: 32 bits a number.
LOST: Mapping[str, float | None] = {
    WHOLE: None,
    "1 % of the energy lost": 0.01,
    DEFAULT: quantised._LOST,
    "5 % of the energy lost": 0.05,
}
PAGES = 60_000  # tokens of an encoder in about 100 pages
KEPT_READING = (
    "The vectors of tokens kept in other ways, all else as in E; differences to vectors kept as "
    f"they are, on about {_FEW} questions a set. By default 2.5 % of the vectors' energy are lost "
    "by rounding, and punctuation is not kept. MB is all that is kept of the documents, for 60,000 "
    "tokens of the encoder (about 100 pages)."
)


def kept_tokens(make: Callable[[], Bench]) -> dict[str, Any]:
    """Recall by how token vectors are kept, and the bytes kept for each token of the encoder."""
    values: dict[str, Any] = {}
    count = 0
    for label, lost in LOST.items():
        with ExitStack() as stack:
            for target, name, value in _patches(lost):
                stack.enter_context(patch.object(target, name, value))
            of_build = make()
            recall = of_build.recall_as_kept()
        if not count:
            records = of_build.retriever.level.reader().records.values()
            count = sum(len(one.token_rows) for one in records)
        values[label] = {"recall": recall, "bytes": of_build.kept_bytes() / count}
    return values


def _patches(lost: float | None) -> list[tuple[Any, str, Any]]:
    """What the library does otherwise, so that so much energy is lost."""
    if lost is not None:
        return [(quantised, "_LOST", lost)]
    return [
        (adding, "fit_quantiser", _exact),
        (adding, "with_tokens", _all_tokens),
        (record, "quantise", _unrounded),
        (pools, "products", _products),
    ]


def _exact(vectors: Array) -> Quantiser:
    """The axes of the vectors themselves."""
    width = vectors.shape[1]
    return Quantiser(np.eye(width, dtype=np.float32), np.full(width, 8, dtype=np.uint8))


def _all_tokens(*given: Any) -> record.Record:
    """`with_tokens` without what says which tokens are kept."""
    return record.with_tokens(*given[:4])


def _unrounded(vectors: Array, quantiser: Quantiser) -> Quantised:
    rows: Any = unit_rows(vectors)
    return Quantised(rows, np.ones(len(rows), dtype=np.float32))


def _products(parts: Sequence[Quantised], queries: Array, bits: Any) -> Array:
    found: Array = np.concatenate([part.rows for part in parts]) @ queries.T
    return found


def kept_table(values: Mapping[str, Mapping[str, Any]]) -> str:
    """Recall and bytes by how token vectors are kept; set -> label -> values."""
    rows = []
    for label in LOST:
        cells = []
        for budget in BUDGETS:
            groups = [
                np.subtract(
                    of_set[label]["recall"][str(budget)],
                    of_set[WHOLE]["recall"][str(budget)],
                ).tolist()
                for of_set in values.values()
            ]
            cells.append(shown(mean_of_sets(groups)) if label != WHOLE else "")
        megabytes = (
            np.mean([of_set[label]["bytes"] for of_set in values.values()])
            * PAGES
            / 1e6
        )
        rows.append([label, f"{megabytes:.1f}", *cells])
    return markdown_table(
        ["", "MB", *(f"{budget:,}" for budget in BUDGETS)], rows, labels=1
    )


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
    for title, budgets in (
        ("1,000 tokens", (1000,)),
        ("the mean of the budgets", BUDGETS),
    ):
        picked = {name: chosen_without(values, name, budgets) for name in values}
        rows = [
            [
                name,
                picked[name],
                *(_of_set(values[name], picked[name], b) for b in BUDGETS),
            ]
            for name in values
        ]
        mean = [
            gap(values, lambda name, of=picked: of[name], budget) for budget in BUDGETS
        ]
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
        np.subtract(
            of_set[choice_of(name)][str(budget)], of_set["E"][str(budget)]
        ).tolist()
        for name, of_set in values.items()
    ]
    return shown(mean_of_sets(groups))


def _of_set(
    of_set: Mapping[str, Mapping[str, Sequence[float]]], label: str, budget: int
) -> str:
    gaps = np.subtract(of_set[label][str(budget)], of_set["E"][str(budget)])
    return f"{100 * float(gaps.mean()):+.1f}"


def shown(interval: Interval) -> str:
    """A difference in points; bold where 0 is not inside its interval."""
    text = f"{interval.mean:+.1f} [{interval.low:+.1f}, {interval.high:+.1f}]"
    return f"**{text}**" if interval.low > 0 or interval.high < 0 else text
