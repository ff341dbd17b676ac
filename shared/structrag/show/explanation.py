"""Pictures of what a splitter saw: a number for every sentence, the threshold, and where the chunks
begin."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from structrag.chunks.asking_splitter import Explanation
from structrag.errors import InvalidParameter, require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CUT, VALUE, THRESHOLD, HIGH, LOW = "#8a8f98", "#2f6fb3", "#c2571a", "#d6e6f5", "#f3f1ec"
SECTION = "#3c4046"
UNITS_A_ROW = 160  # most sentences side by side; the picture goes on in rows of equal length below
CHARACTERS_A_ROW = 235  # of section titles


def plot_explanation(
    explanation: Explanation, path: str | os.PathLike[str] | None = None, *, title: str = ""
) -> Figure:
    """Draw an explanation; the matplotlib figure, which a notebook shows.

    With a `path` it is also written to that PNG, SVG or PDF file, by the path's suffix.

    Sentences stand side by side in reading order. The line is the splitter's number for each:
    similarity to the pseudo-instruction (PIC), or the margin between it and the sentence before
    (IDMS); the dashed line is what it was compared with. Each chunk is a band, shaded when its
    sentences are at or above the threshold (PIC) or by turns (IDMS); section titles stand where
    sections begin. Sections too short to be looked at have no line.

    Raises:
        MissingExtra: matplotlib is not installed.
        InvalidParameter: the document has no sentence, or the suffix is none of these.
    """
    require("matplotlib", extra="plot")
    from structrag.show.figures import ShownFigure, checked_path, save

    target = checked_path(path)
    values, thresholds, starts = _by_unit(explanation)
    if not starts:
        raise InvalidParameter("There is nothing to draw: the document has no sentence.")
    rows = -(-len(starts) // UNITS_A_ROW)
    width = -(-len(starts) // rows)
    scopes = _scope_edges(explanation, starts)
    figure = ShownFigure(figsize=(14, 1.0 + 2.6 * rows), layout="constrained")
    axes = np.atleast_1d(figure.subplots(rows, 1, sharey=True))
    low, high = _limits(values, thresholds)
    for row, axis in enumerate(axes):
        first, last = row * width, min(row * width + width, len(starts))
        _draw_chunks(axis, explanation, starts, first, last, CHARACTERS_A_ROW / width)
        for left, right in pairwise(
            [first, *(edge for edge in scopes if first < edge < last), last]
        ):
            where = np.arange(left, right) + 0.5
            axis.plot(
                where,
                values[left:right],
                color=VALUE,
                linewidth=1.4,
                marker="o",
                markersize=3,
                zorder=3,
            )
            axis.plot(
                where,
                thresholds[left:right],
                color=THRESHOLD,
                linewidth=1.1,
                linestyle="--",
                zorder=2,
            )
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


def _by_unit(explanation: Explanation) -> tuple[Any, Any, list[int]]:
    """For every unit of the document its value and threshold (NaN where there is none), and its
    start."""
    values: list[float] = []
    thresholds: list[float] = []
    starts: list[int] = []
    for series in explanation.series:
        blank = [float("nan")] * len(series.units)
        values += list(series.values) or blank
        thresholds += list(series.thresholds) or blank
        starts += [unit.start for unit in series.units]
    order = np.argsort(np.array(starts), kind="stable") if starts else np.array([], dtype=int)
    found = [np.array(numbers, dtype=float)[order] for numbers in (values, thresholds)]
    found[1][~np.isfinite(found[1])] = np.nan
    return found[0], found[1], [starts[i] for i in order]


def _limits(values: Any, thresholds: Any) -> tuple[float, float]:
    known = np.concatenate([values, thresholds])
    known = known[np.isfinite(known)]
    if not known.size:
        return 0.0, 1.0
    room = max(0.05, 0.12 * float(known.max() - known.min()))
    return float(known.min()) - room, float(known.max()) + 1.6 * room


def _scope_edges(explanation: Explanation, starts: list[int]) -> list[int]:
    """Where a scope begins, as positions of units: lines are not drawn across."""
    firsts = [series.units[0].start for series in explanation.series if series.units]
    return sorted(np.searchsorted(starts, firsts).tolist())


def _draw_chunks(
    axis: Any, explanation: Explanation, starts: list[int], first: int, last: int, characters: float
) -> None:
    """Bands for the chunks between two units, and the titles of sections that begin there,
    `characters` a unit long at most."""
    edges = [
        *np.searchsorted(starts, [chunk.start for chunk in explanation.chunks]).tolist(),
        len(starts),
    ]
    chunks = explanation.chunks
    begins = [i for i, chunk in enumerate(chunks) if i == 0 or chunk.path != chunks[i - 1].path]
    room = {i: edges[behind] - edges[i] for i, behind in pairwise([*begins, len(chunks)])}
    for number, (chunk, (left, right)) in enumerate(zip(chunks, pairwise(edges), strict=True)):
        if right <= first or left >= last or left == right:
            continue
        shaded = chunk.extras.get("relevant", number % 2 == 0)
        axis.axvspan(
            max(left, first), min(right, last), color=HIGH if shaded else LOW, linewidth=0, zorder=0
        )
        if left < first:
            continue
        section = number in room
        axis.axvline(
            left, color=SECTION if section else CUT, linewidth=1.4 if section else 0.7, zorder=1
        )
        letters = int(room.get(number, 0) * characters) - 1
        if chunk.path and letters > 3:
            title = (
                chunk.path[-1]
                if len(chunk.path[-1]) <= letters
                else chunk.path[-1][: letters - 1] + "…"
            )
            place = {
                "xycoords": ("data", "axes fraction"),
                "xytext": (3, -2),
                "textcoords": "offset points",
            }
            axis.annotate(title, (left, 1), fontsize=7, color=SECTION, va="top", **place)


def _legend(explanation: Explanation) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    labelled = any("relevant" in chunk.extras for chunk in explanation.chunks)
    bands = [Patch(color=HIGH, label="relevant chunk"), Patch(color=LOW, label="other chunk")]
    return [
        Line2D(
            [],
            [],
            color=VALUE,
            marker="o",
            markersize=3,
            label="similarity" if labelled else "margin",
        ),
        Line2D([], [], color=THRESHOLD, linestyle="--", label="threshold"),
        *(bands if labelled else [Patch(color=HIGH, label="chunks, by turns")]),
        Line2D([], [], color=SECTION, label="section"),
    ]
