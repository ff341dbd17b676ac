"""The results of `methods.py` as Markdown: the table of all, wins and losses, a table a set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.methods_systems import BOTH, DENSE, OURS
from benchmarks.quality_tables import markdown_table
from structrag.evaluation import paired_bootstrap

POINT = f"{BOTH} 1000"
DRAWS = 1000
READING = (
    "Recall is the share of the gold text in the chunks that fit a budget of tokens (of the best "
    "single occurrence where any one "
    "answers), in percent; chunks are handed over in rank order, the last one cut where the budget "
    "ends. Each question is searched "
    "inside its own document, in boards in all manuals at once. All chunks are indexed and "
    "searched alike, by vectors and BM25 fused ("
    '"both") and by vectors alone ("dense"); MC-indexing, D3 and HiQA by their own retrievers. '
    '"fixed" is the '
    "papers' baseline, sentences packed to a length by our `FixedSplitter`, and counts among the "
    "others. PICSplitter and IDMSSplitter "
    "are searched by the mean of their sentences' vectors, except with reuse_vectors=False, "
    "`paper()`, static vectors and IDMSEnricher. No language "
    "model was asked. Within 1,000 tokens boards is easy with 60 manuals; HiQA's own table has all "
    "1,430. The gold of "
    "chroma, cuad, covid_qa, qmsum, nq and qasper was marked by others for other purposes; that of "
    "boards was made by a template."
)
INTERVALS = (
    "Intervals hold the central 95 % of 1,000 bootstrap samples of the questions, drawn within "
    "each set; those of differences are "
    "paired. The peer that all are compared with is the one with the best mean over all sets, "
    "chosen after the fact, in its favour; our "
    "settings were chosen on most of these sets, in ours."
)


class Interval(NamedTuple):
    """In percent or points."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.1f} [{self.low:.1f}, {self.high:.1f}]"


def page(results: Mapping[str, Any]) -> str:
    """The whole page."""
    facts = "\n".join(f"- {key}: {value}" for key, value in results["about"].items())
    facts += "\n- samples: " + "; ".join(
        _sample(name, one) for name, one in results["sets"].items()
    )
    parts = ["# All methods, all peers, all sets", facts, READING, INTERVALS]
    parts += [
        "## Recall within 1,000 tokens, vectors and BM25",
        overview(results),
        _blank_note(results),
    ]
    base = best_peer(results)
    if base:
        parts += [
            f"## What is won and lost against the best peer, {base}",
            against_peer(results, base),
        ]
    parts += ["## Other budgets, mean over the sets", budgets(results)]
    for name in results["sets"]:
        parts += [
            f"## {_sample(name, results['sets'][name])}",
            set_table(results["sets"][name]),
        ]
    return "\n\n".join(part for part in parts if part) + "\n"


def everywhere(results: Mapping[str, Any]) -> list[str]:
    """The systems that were measured on every set, in the tables' order."""
    sets = results["sets"].values()
    return [
        name for name in results["families"] if all(name in one["rows"] for one in sets)
    ]


def values(results: Mapping[str, Any], name: str, point: str) -> list[list[float]]:
    """A system's recall at a point, in [0, 1]: for each set the questions'."""
    return [
        one["rows"][name]["recall"].get(point, []) for one in results["sets"].values()
    ]


def mean_of_sets(groups: Sequence[Sequence[float]]) -> Interval:
    """The mean of the sets' means in percent, all sets of equal weight; questions are drawn within
    each set."""
    draw = np.random.default_rng(0)
    means = np.zeros(DRAWS)
    for group in groups:
        own = np.asarray(group)
        means += own[draw.integers(len(own), size=(DRAWS, len(own)))].mean(axis=1)
    low, high = np.quantile(means / len(groups), [0.025, 0.975])
    return Interval(
        *(
            100 * float(each)
            for each in (np.mean([np.mean(group) for group in groups]), low, high)
        )
    )


def best_peer(results: Mapping[str, Any]) -> str:
    """The system of others with the best mean of sets; "" where there is none."""
    peers = [name for name in everywhere(results) if results["families"][name] != OURS]
    return max(
        peers,
        key=lambda name: mean_of_sets(values(results, name, POINT)).mean,
        default="",
    )


def overview(results: Mapping[str, Any]) -> str:
    """One row a system, one column a set, and the mean with its interval."""
    complete = everywhere(results)
    rows = []
    for name, family in results["families"].items():
        found = [one["rows"].get(name) for one in results["sets"].values()]
        if not any(found):
            continue
        cells = [
            f"{100 * float(np.mean(own['recall'][POINT])):.1f}" if own else ""
            for own in found
        ]
        mean = (
            str(mean_of_sets(values(results, name, POINT))) if name in complete else ""
        )
        rows.append([_bold(name, family), *cells, mean])
    return markdown_table(["", *results["sets"], "mean"], rows, labels=1)


def against_peer(results: Mapping[str, Any], base: str) -> str:
    """Differences of our rows to a peer, set by set and over all; a difference whose interval holds
    0 was not shown."""
    rows = []
    for name in everywhere(results):
        if results["families"][name] != OURS:
            continue
        pairs = list(
            zip(values(results, name, POINT), values(results, base, POINT), strict=True)
        )
        gaps = [paired_bootstrap(first, second) for first, second in pairs]
        cells = [
            _gap(Interval(*(100 * each for each in (gap.mean, gap.low, gap.high))))
            for gap in gaps
        ]
        differences = [
            [a - b for a, b in zip(first, second, strict=True)]
            for first, second in pairs
        ]
        rows.append([name, *cells, _gap(mean_of_sets(differences))])
    note = "In points, with intervals. **Bold**: a difference that was shown, for us or against us."
    return (
        markdown_table(["", *results["sets"], "mean"], rows, labels=1) + "\n\n" + note
    )


def budgets(results: Mapping[str, Any]) -> str:
    """The mean over the sets at every budget and by both routes."""
    points = [
        f"{route} {budget}" for route in (BOTH, DENSE) for budget in (500, 1000, 2000)
    ]
    rows = []
    for name in everywhere(results):
        groups = [values(results, name, point) for point in points]
        cells = [
            f"{mean_of_sets(each).mean:.1f}" if all(each) else "" for each in groups
        ]
        rows.append([_bold(name, results["families"][name]), *cells])
    return markdown_table(["", *points], rows, labels=1)


def set_table(one: Mapping[str, Any]) -> str:
    """Sizes of chunks, recall at all budgets, and the interval at 1,000 tokens."""
    points = [
        f"{route} {budget}" for route in (BOTH, DENSE) for budget in (500, 1000, 2000)
    ]
    rows = []
    for name, row in one["rows"].items():
        cells = [
            f"{100 * float(np.mean(row['recall'][p])):.1f}"
            if p in row["recall"]
            else ""
            for p in points
        ]
        cells[points.index(POINT)] = str(mean_of_sets([row["recall"][POINT]]))
        rows.append(
            [
                name,
                f"{row['chunks']:,}",
                f"{row['tokens']:.0f}",
                f"{row['largest']:,}",
                *cells,
            ]
        )
    return markdown_table(
        ["", "chunks", "tokens each", "largest", *points], rows, labels=1
    )


def _bold(name: str, family: str) -> str:
    return f"**{name}**" if family == OURS else name


def _gap(gap: Interval) -> str:
    text = f"{gap.mean:+.1f} [{gap.low:+.1f}, {gap.high:+.1f}]"
    return f"**{text}**" if gap.low > 0 or gap.high < 0 else text


def _sample(name: str, one: Mapping[str, Any]) -> str:
    (documents, of_documents), (questions, of_questions) = (
        one["documents"],
        one["questions"],
    )
    return (
        f"{name}: {documents:,} of {of_documents:,} documents, {questions:,} of "
        f"{of_questions:,} questions"
    )


def _blank_note(results: Mapping[str, Any]) -> str:
    return (
        "Methods of structrag are bold. A blank cell: the splitter does not read the set's format, "
        "and is not in the mean."
        if len(everywhere(results)) < len(results["families"])
        else "Methods of structrag are bold."
    )
