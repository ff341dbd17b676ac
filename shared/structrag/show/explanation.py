"""Pictures of what a splitter saw (numbers, thresholds, chunks), and of recall at token budgets."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from structrag.chunks.model_splitter import Explanation
from structrag.errors import InvalidParameter, require
from structrag.evaluation.labelled import Evaluation
from structrag.records import Chunk

if TYPE_CHECKING:
    from matplotlib.figure import Figure


CUT, VALUE, THRESHOLD, HIGH, LOW = "#8a8f98", "#2f6fb3", "#c2571a", "#d6e6f5", "#f3f1ec"
SECTION = "#3c4046"
# Most sentences side by side; the picture goes on in rows of equal length below.
UNITS_A_ROW = 160
CHARACTERS_A_ROW = 235  # of section titles


def plot_explanation(
    explanation: Explanation,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str = "",
) -> Figure:
    """Draw an explanation; the matplotlib figure, which a notebook shows.

    With a `path` it is also written to that PNG, SVG or PDF file, by the path's suffix.

    Sentences are side by side in reading order. The line is the splitter's number for each:
    similarity to the pseudo-instruction (PIC), or the margin between it and the sentence before
    (IDMS); the dashed line is what it was compared with. Each chunk is a band, shaded when its
    sentences are at or above the threshold (PIC) or alternately (IDMS); section titles are at the
    start of sections. Sections that are too short to compare have no line.

    Raises:
        MissingExtra: matplotlib is not installed.
        InvalidParameter: the document has no sentence, or the suffix is not one of these.
    """
    require("matplotlib", extra="plot")
    from structrag.show.figures import ShownFigure, checked_path, save

    target = checked_path(path)
    values, thresholds, starts = _by_unit(explanation)
    if not starts:
        raise InvalidParameter(
            "There is nothing to draw: the document has no sentence."
        )
    rows = -(-len(starts) // UNITS_A_ROW)
    width = -(-len(starts) // rows)
    scopes = _scope_edges(explanation, starts)
    figure = ShownFigure(figsize=(14, 1.0 + 2.6 * rows), layout="constrained")
    axes = np.atleast_1d(figure.subplots(rows, 1, sharey=True))
    low, high = _limits(values, thresholds)
    for row, axis in enumerate(axes):
        first, last = row * width, min(row * width + width, len(starts))
        _draw_chunks(axis, explanation, starts, first, last, CHARACTERS_A_ROW / width)
        edges = [first, *(edge for edge in scopes if first < edge < last), last]
        for left, right in pairwise(edges):
            _draw_lines(axis, left, values[left:right], thresholds[left:right])
        axis.set_xlim(first, first + width)
        axis.set_ylim(low, high)
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=8)
    axes[-1].set_xlabel("sentences, in reading order", fontsize=9)
    axes[0].set_title(
        title or explanation.document.title or explanation.document.id,
        loc="left",
        fontsize=12,
        pad=26,
    )
    axes[0].legend(
        handles=_legend(explanation),
        loc="lower right",
        bbox_to_anchor=(1, 1.02),
        ncols=5,
        fontsize=8,
        frameon=False,
    )
    save(figure, target, dpi=130)
    return figure


def _draw_lines(axis: Any, first: int, values: Any, thresholds: Any) -> None:
    """The lines of one scope's units, from `first` on."""
    places = np.arange(first, first + len(values)) + 0.5
    axis.plot(
        places,
        values,
        color=VALUE,
        linewidth=1.4,
        marker="o",
        markersize=3,
        zorder=3,
    )
    axis.plot(
        places,
        thresholds,
        color=THRESHOLD,
        linewidth=1.1,
        linestyle="--",
        zorder=2,
    )


def _by_unit(explanation: Explanation) -> tuple[Any, Any, list[int]]:
    """Return the value, threshold and start of every unit of the document; NaN for none."""
    values: list[float] = []
    thresholds: list[float] = []
    starts: list[int] = []
    for series in explanation.series:
        blank = [float("nan")] * len(series.units)
        values += list(series.values) or blank
        thresholds += list(series.thresholds) or blank
        starts += [unit.start for unit in series.units]
    order = (
        np.argsort(np.array(starts), kind="stable")
        if starts
        else np.array([], dtype=int)
    )
    line = np.array(values, dtype=float)[order]
    dashes = np.array(thresholds, dtype=float)[order]
    dashes[~np.isfinite(dashes)] = np.nan  # an infinite threshold cannot be drawn
    return line, dashes, [starts[i] for i in order]


def _limits(values: Any, thresholds: Any) -> tuple[float, float]:
    """The lowest and the highest number that the axis shows."""
    numbers = np.concatenate([values, thresholds])
    numbers = numbers[np.isfinite(numbers)]
    if not numbers.size:
        return 0.0, 1.0
    low, high = float(numbers.min()), float(numbers.max())
    room = max(0.05, 0.12 * (high - low))
    return low - room, high + 1.6 * room  # more above, for the titles


def _scope_edges(explanation: Explanation, starts: list[int]) -> list[int]:
    """Return the positions of units at which a scope begins: lines end there."""
    firsts = [series.units[0].start for series in explanation.series if series.units]
    return sorted(np.searchsorted(starts, firsts).tolist())


def _draw_chunks(
    axis: Any,
    explanation: Explanation,
    starts: list[int],
    first: int,
    last: int,
    characters: float,
) -> None:
    """Bands for the chunks between two units, and titles where sections begin. A title is at most
    `characters` a unit of its section long."""
    chunks = explanation.chunks
    begins = np.searchsorted(starts, [chunk.start for chunk in chunks]).tolist()
    edges = [*begins, len(starts)]
    room = _section_units(chunks, edges)
    for number, (chunk, (left, right)) in enumerate(
        zip(chunks, pairwise(edges), strict=True)
    ):
        if right <= first or left >= last or left == right:
            continue
        color = HIGH if chunk.extras.get("relevant", number % 2 == 0) else LOW
        axis.axvspan(
            max(left, first), min(right, last), color=color, linewidth=0, zorder=0
        )
        if left < first:  # it began in the row above
            continue
        if number in room:
            axis.axvline(left, color=SECTION, linewidth=1.4, zorder=1)
            _draw_title(axis, left, chunk.path, int(room[number] * characters) - 1)
        else:
            axis.axvline(left, color=CUT, linewidth=0.7, zorder=1)


def _section_units(chunks: Sequence[Chunk], edges: Sequence[int]) -> dict[int, int]:
    """Number of each section's first chunk -> units of the section."""
    firsts = [
        i
        for i, chunk in enumerate(chunks)
        if i == 0 or chunk.path != chunks[i - 1].path
    ]
    return {
        i: edges[behind] - edges[i] for i, behind in pairwise([*firsts, len(chunks)])
    }


def _draw_title(axis: Any, left: int, path: Sequence[str], most: int) -> None:
    """A section's title, cut to `most` characters; none of three or fewer."""
    if not path or most <= 3:
        return
    title = path[-1] if len(path[-1]) <= most else path[-1][: most - 1] + "…"
    axis.annotate(
        title,
        (left, 1),
        xycoords=("data", "axes fraction"),
        xytext=(3, -2),
        textcoords="offset points",
        fontsize=7,
        color=SECTION,
        va="top",
    )


def _legend(explanation: Explanation) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    labelled = any("relevant" in chunk.extras for chunk in explanation.chunks)
    label = "similarity" if labelled else "margin"
    bands = [Patch(color=HIGH, label="chunks, by turns")]
    if labelled:
        bands = [
            Patch(color=HIGH, label="relevant chunk"),
            Patch(color=LOW, label="other chunk"),
        ]
    return [
        Line2D([], [], color=VALUE, marker="o", markersize=3, label=label),
        Line2D([], [], color=THRESHOLD, linestyle="--", label="threshold"),
        *bands,
        Line2D([], [], color=SECTION, label="section"),
    ]


COLORS = ("#2f6fb3", "#c2571a", "#4f8a3c", "#8a4fa3", "#8a8f98", "#b8902a")
MARKERS = "osD^v*"


def plot_evaluation(
    evaluation: Evaluation, path: str | os.PathLike[str] | None = None
) -> Figure:
    """Draw the recall of every method at every token budget.

    Each has its 95% interval. The result is the matplotlib figure, which a notebook shows. With a
    `path` it is also written to that PNG, SVG or PDF file, by the path's suffix.

    Raises:
        MissingExtra: matplotlib is not installed.
        InvalidParameter: the suffix is not one of these.
    """
    require("matplotlib", extra="plot")
    from structrag.show.figures import ShownFigure, checked_path, save

    target = checked_path(path)
    figure = ShownFigure(figsize=(7, 4.2), layout="constrained")
    axis = figure.subplots()
    count = len(evaluation.methods)
    for number, method in enumerate(evaluation.methods):
        recalls = [method.recall[f"{budget} tokens"] for budget in evaluation.budgets]
        shift = 0.08 * (number - (count - 1) / 2)  # so that no interval hides another
        below = [100 * max(0.0, recall.mean - recall.low) for recall in recalls]
        above = [100 * max(0.0, recall.high - recall.mean) for recall in recalls]
        axis.errorbar(
            [place + shift for place in range(len(recalls))],
            [100 * recall.mean for recall in recalls],
            yerr=[below, above],
            color=COLORS[number % len(COLORS)],
            marker=MARKERS[number % len(MARKERS)],
            markersize=5,
            linewidth=1.6,
            elinewidth=1,
            capsize=2,
            label=method.name,
        )
    axis.set_xticks(
        range(len(evaluation.budgets)), [f"{budget:,}" for budget in evaluation.budgets]
    )
    axis.set_xlabel("tokens handed over")
    axis.set_ylabel("recall, %")
    axis.set_ylim(0, 103)
    axis.set_title(
        f"{len(evaluation.questions)} questions, {evaluation.embedder.partition('|')[0]} and BM25",
        loc="left",
        fontsize=11,
    )
    axis.grid(axis="y", color="#e4e2dc", linewidth=0.8)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=9, loc="lower right")
    save(figure, target, dpi=150)
    return figure
