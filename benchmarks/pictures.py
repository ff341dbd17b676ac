"""The pictures of the evaluation, drawn from the tables in benchmarks/results.

    python benchmarks/pictures.py

`evaluation_gain.svg` shows what a reader gets within a token budget, `evaluation_methods.svg` every
splitter and retriever within 1,000 tokens, both with 95% intervals.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PICTURES = ROOT / "docs" / "pictures"

BLUE, GREY, ORANGE, TEAL = "#3b7dd8", "#8a8f98", "#c2571a", "#3f9a87"
# Row of evidence.md -> label, colour.
READERS = {
    "LlamaIndex's defaults: 1,024 tokens, overlap 200, vectors, top 2": (
        "LlamaIndex's defaults",
        GREY,
    ),
    "recursive 1,000 characters, overlap 200, vectors, top 4": (
        "LangChain's tutorials",
        ORANGE,
    ),
    "fixed 200, vectors and BM25": ("chunks of 200 tokens, vectors and BM25", TEAL),
    "**EvidenceRetriever**": ("EvidenceRetriever", BLUE),
}
BUDGETS = ("500", "1,000", "2,000")
FAMILIES = {
    "structrag": BLUE,
    "others, by size or markup": GREY,
    "others, by meaning": ORANGE,
}
# Both readings of a page: the colours of the file, and those where a reader prefers dark.
STYLE = """<style>
@media (prefers-color-scheme: dark) {
  [style*="fill: #ffffff"] { fill: #14181d !important; }
  text { fill: #d7dde4 !important; }
  [style*="stroke: #000000"] { stroke: #8b949e !important; }
  [style*="stroke: #e4e2dc"] { stroke: #30363d !important; }
  [style*="fill: none; stroke: #444444"] { stroke: #c3cad2 !important; }
}
</style>"""


class Interval(NamedTuple):
    mean: float
    low: float
    high: float


def table(path: Path, title: str) -> list[list[str]]:
    """The cells of each row of the tables below the first heading that holds the title."""
    lines = path.read_text(encoding="utf-8").splitlines()
    is_below = False
    rows = []
    for line in lines:
        if line.startswith("#"):
            if is_below:
                break
            is_below = title in line
        elif is_below and line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def questions(file: str) -> str:
    """How many questions a table is of, by its line of samples."""
    text = (RESULTS / file).read_text(encoding="utf-8")
    (samples,) = re.findall(r"^- samples: (.*)$", text, re.MULTILINE)
    counts = re.findall(r"([\d,]+)(?: of [\d,]+)? questions", samples)
    return f"{sum(int(count.replace(',', '')) for count in counts):,}"


def interval(cell: str) -> Interval | None:
    """Such as "63.4 [60.6, 66.1]"."""
    found = re.fullmatch(r"([\d.]+) \[([\d.]+), ([\d.]+)\]", cell.strip("* |"))
    return Interval(*map(float, found.groups())) if found else None


def gain() -> dict[str, list[Interval]]:
    """Label of a reader -> its recall within each budget."""
    rows = {row[0]: row[1:] for row in table(RESULTS / "evidence.md", "Mean over")}
    found = {READERS[row][0]: rows[row] for row in READERS}
    return {
        label: [one for cell in cells[:3] if (one := interval(cell))]
        for label, cells in found.items()
    }


def methods() -> dict[str, tuple[str, Interval]]:
    """Method -> its family and recall, worst first; without those that not every set has."""
    rows = table(RESULTS / "methods.md", "Recall within 1,000 tokens")
    found = {
        row[0].strip("*"): (_family(row[0]), one)
        for row in rows
        if (one := interval(row[-1]))
    }
    return dict(sorted(found.items(), key=lambda item: item[1][1].mean))


def _family(name: str) -> str:
    if name.startswith("**"):
        return "structrag"
    return "others, by meaning" if "Semantic" in name else "others, by size or markup"


def draw(folder: Path = PICTURES) -> list[Path]:
    """Draw both pictures; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    return [
        _draw_gain(gain(), folder / "evaluation_gain.svg"),
        _draw_methods(methods(), folder / "evaluation_methods.svg"),
    ]


def _draw_gain(readers: Mapping[str, list[Interval]], path: Path) -> Path:
    title = f"Mean of 7 sets, {questions('evidence.md')} questions, 95% intervals"
    figure, axis = _figure(3.6, title, "y")
    colors = dict(READERS.values())
    for place, (label, intervals) in enumerate(readers.items()):
        for group, one in enumerate(intervals):
            x = group + (place - 1.5) * 0.2
            axis.bar([x], [one.mean], width=0.18, color=colors[label], label=label)
            _whisker(axis, x, one, "y")
            axis.text(x, one.high + 1.5, f"{one.mean:.1f}", ha="center", fontsize=8)
    axis.set_xticks(range(3), [f"within {budget} tokens" for budget in BUDGETS])
    axis.set_ylim(0, 112)
    axis.set_ylabel("evidence that reaches the reader, %")
    _legend(axis, "upper left", 2)
    return _saved(figure, path)


def _draw_methods(found: Mapping[str, tuple[str, Interval]], path: Path) -> Path:
    title = f"Vectors and BM25: {questions('methods.md')} questions"
    figure, axis = _figure(1.2 + 0.27 * len(found), title, "x")
    for place, (family, one) in enumerate(found.values()):
        color = FAMILIES[family]
        axis.plot([one.mean], [place], "o", markersize=5, color=color, label=family)
        _whisker(axis, place, one, "x", color)
        axis.text(one.high + 0.4, place, f"{one.mean:.1f}", va="center", fontsize=8)
    axis.set_yticks(range(len(found)), list(found), fontsize=9)
    axis.set_xlabel("recall within 1,000 tokens, %, mean of 7 sets and 95% interval")
    _legend(axis, "lower right", 1)
    return _saved(figure, path)


def _whisker(
    axis: Any, place: float, one: Interval, way: str, color: str = "#444444"
) -> None:
    error = [[one.mean - one.low], [one.high - one.mean]]
    at = ([place], [one.mean]) if way == "y" else ([one.mean], [place])
    axis.errorbar(
        *at, **{f"{way}err": error}, color=color, elinewidth=1.3, capsize=2, fmt="none"
    )


def _legend(axis: Any, place: str, columns: int) -> None:
    handles, labels = axis.get_legend_handles_labels()
    first = dict(zip(reversed(labels), reversed(handles), strict=True))
    names = list(dict.fromkeys(labels))
    axis.legend(
        [first[name] for name in names],
        names,
        frameon=False,
        fontsize=9,
        loc=place,
        ncols=columns,
    )


def _figure(height: float, title: str, grid: str) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, height), layout="constrained")
    axis = figure.subplots()
    axis.set_title(title, loc="left", fontsize=11)
    axis.grid(axis=grid, color="#e4e2dc", linewidth=0.8)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    return figure, axis


def _saved(figure: Any, path: Path) -> Path:
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "structrag", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None, "Creator": None})
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("<defs>", f"{STYLE}\n<defs>", 1), encoding="utf-8")
    return path


def main() -> None:
    """Draw them."""
    for path in draw():
        print(f"{path.relative_to(ROOT)} drawn")


if __name__ == "__main__":
    main()
