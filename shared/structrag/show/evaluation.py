"""A picture of recall at token budgets, one line a method."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from structrag.errors import require
from structrag.evaluation.labelled import Evaluation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
