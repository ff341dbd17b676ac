"""The plot of `methods.py`: recall within 1,000 tokens of every system."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.methods_systems import OURS, SEMANTIC, SIZED
from benchmarks.methods_tables import POINT, Interval, everywhere, mean_of_sets, values

COLORS = {OURS: "#2f6fb3", SIZED: "#8a8f98", SEMANTIC: "#c2571a"}
LABELS = {
    OURS: "structrag",
    SIZED: "others, by size or markup",
    SEMANTIC: "others, by meaning",
}


def draw(results: Mapping[str, Any], folder: Path) -> Path:
    """Write the plot as SVG; returns its path."""
    names = everywhere(results)
    found = {name: mean_of_sets(values(results, name, POINT)) for name in names}
    order = sorted(names, key=lambda name: found[name].mean)
    count = (
        f"{len(results['sets'])} sets, "
        f"{sum(one['questions'][0] for one in results['sets'].values()):,} questions"
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "evaluation_methods.svg"
    return _systems(results, {name: found[name] for name in order}, count, path)


def _systems(
    results: Mapping[str, Any], found: Mapping[str, Interval], count: str, path: Path
) -> Path:
    figure, axis = _figure(8, 1.2 + 0.27 * len(found))
    seen: set[str] = set()
    for place, (name, interval) in enumerate(found.items()):
        family = results["families"][name]
        axis.errorbar(
            [interval.mean],
            [place],
            xerr=[[interval.mean - interval.low], [interval.high - interval.mean]],
            color=COLORS[family],
            marker="o",
            markersize=5,
            elinewidth=1.4,
            capsize=2,
            linestyle="none",
            label=None if family in seen else LABELS[family],
        )
        seen.add(family)
        axis.text(
            interval.high + 0.3,
            place,
            f"{interval.mean:.1f}",
            va="center",
            fontsize=8,
            color="#444444",
        )
    axis.set_yticks(range(len(found)), list(found), fontsize=9)
    axis.set_xlabel("recall within 1,000 tokens, %, mean of the sets and 95% interval")
    axis.set_title(f"Vectors and BM25: {count}", loc="left", fontsize=11)
    axis.grid(axis="x", color="#e4e2dc", linewidth=0.8)
    axis.legend(frameon=False, fontsize=9, loc="lower right")
    return _saved(figure, path)


def _figure(width: float, height: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axis = figure.subplots()
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    return figure, axis


def _saved(figure: Any, path: Path) -> Path:
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "structrag", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None, "Creator": None})
    return path
