"""The tables in benchmarks/results, and the pictures that evaluation.py draws from them.

`evaluation_gain.svg` shows what a reader gets within a token budget, `evaluation_methods.svg` what
every splitter and retriever finds within 1,000 tokens, both with 95% intervals, and how much the
encoder reads for it while indexing. A picture whose results are missing stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import freshness

PICTURES = freshness.ROOT / "docs" / "pictures"

BLUE, GREY, ORANGE, TEAL = "#3b7dd8", "#8a8f98", "#c2571a", "#3f9a87"
# Row of evidence.md -> label.
READERS = {
    "LlamaIndex's defaults: 1,024 tokens, overlap 200, vectors, top 2": "LlamaIndex's defaults",
    "recursive 1,000 characters, overlap 200, vectors, top 4": "LangChain's tutorials",
    "fixed 200, vectors and BM25": "chunks of 200 tokens, vectors and BM25",
    "**EvidenceRetriever**": "EvidenceRetriever",
}
BUDGETS = ("500", "1,000", "2,000")
SIZES = ("chunks", "tokens each")
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
  [style*="stroke: #444444"] { stroke: #c3cad2 !important; }
}
</style>"""


# Methods that embed what they split by meaning, and those of them whose chunks have the mean of
# these vectors, so that the encoder does not read them again.
READING = ("PICSplitter", "IDMSSplitter", "Semantic")
REUSED = ("PICSplitter", "PICSplitter.paper(reuse_vectors=True)", "IDMSSplitter")
_COUNT = re.compile(r"([\d,]+)(?: of [\d,]+)? questions")


class Interval(NamedTuple):
    mean: float
    low: float
    high: float


def _text(file: str) -> str:
    path = freshness.RESULTS / file
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def table(file: str, title: str) -> list[dict[str, str]]:
    """The rows of the tables below the first heading that holds the title: cells by the heads of
    their columns. None for a file that is not there."""
    section = re.search(
        rf"^#+ .*{re.escape(title)}.*\n((?:(?!#).*\n)*)", _text(file), re.MULTILINE
    )
    rows: list[dict[str, str]] = []
    heads: list[str] = []
    for line in section[1].splitlines() if section else ():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and not set(line) <= set("|-: "):
            rows.append(dict(zip(heads or cells, cells, strict=False)))
            heads = heads or cells
        elif not line.startswith("|"):
            heads = []
    return [row for row in rows if list(row) != list(row.values())]


def samples(file: str) -> dict[str, int]:
    """Set -> how many of its questions a table is of, by its line of samples."""
    line = "".join(re.findall(r"^- samples: (.*)$", _text(file), re.MULTILINE))
    counts = re.findall(rf"(\w+):? [^;]*?{_COUNT.pattern}", line)
    return {name: int(count.replace(",", "")) for name, count in counts}


def heading(file: str, title: str) -> str:
    """The first heading that holds the title; "" if there is none."""
    lines = _text(file).splitlines()
    return next((each for each in lines if each[:1] == "#" and title in each), "")


def questions(file: str, title: str = "") -> str:
    """How many questions a table is of, by its heading, its line of samples, the headings of its
    sets or the first line that says it.

    Raises:
        KeyError: Nothing says it.
    """
    text = _text(file)
    for place in (
        heading(file, title),
        *re.findall("^- samples: .*", text, re.MULTILINE),
        "".join(re.findall("^#.*", text, re.MULTILINE)),
        *re.findall(".* questions.*", text)[:1],
    ):
        if counts := _COUNT.findall(place):
            return f"{sum(int(count.replace(',', '')) for count in counts):,}"
    raise KeyError(file)


def interval(cell: str) -> Interval | None:
    """Such as "63.4 [60.6, 66.1]" or "+5.8 [+2.8, +8.9]"."""
    match = re.fullmatch(
        r"([+-]?[\d.]+) \[([+-]?[\d.]+), ([+-]?[\d.]+)\]", cell.strip("* ")
    )
    return Interval(*map(float, match.groups())) if match else None


def gain() -> dict[str, list[Interval]]:
    """Label of a reader -> its recall within each budget."""
    rows = {row[""]: row for row in table("evidence.md", "Mean over")}
    return {
        label: [
            one for budget in BUDGETS if (one := interval(rows[row].get(budget, "")))
        ]
        for row, label in READERS.items()
        if row in rows
    }


def methods() -> dict[str, tuple[str, Interval]]:
    """Method -> its family and recall, worst first; without those that not every set has."""
    rows = table("methods.md", "Recall within 1,000 tokens")
    evidence = table("evidence_small.md", "Mean over")  # of the same sample
    cells = {row[""]: row["mean"] for row in rows}
    cells |= {row[""]: row["1,000"] for row in evidence if "**" in row[""]}
    ours = {
        name.strip("*"): (_family(name), one)
        for name, cell in cells.items()
        if (one := interval(cell))
    }
    return dict(sorted(ours.items(), key=lambda item: item[1][1].mean))


def costs() -> dict[str, float]:
    """Method -> what the encoder reads to index documents by it, in tokens of their chunks of 200
    tokens; without those of which it was not measured."""
    sums: dict[str, int] = {}
    for name in samples("methods.md"):
        for row in table("methods.md", f"{name}: "):
            count, size = (int(row[head].replace(",", "")) for head in SIZES)
            sums[row[""]] = sums.get(row[""], 0) + count * size
    ratios = {
        name: _cost(name, total / sums["fixed 200"]) for name, total in sums.items()
    }
    for row in table("evidence_indexing.md", "What indexing costs"):
        if one := interval(row["indexing, % of that"]):
            ratios["EvidenceRetriever"] = one.mean / 100
    return {name: cost for name, cost in ratios.items() if cost}


def _cost(name: str, chunks: float) -> float | None:
    if name.startswith("D3"):  # it embeds sections too
        return None
    if name.startswith("MC-indexing"):
        views = table("speed.md", "Views (extractive)")
        return chunks * float(views[-1]["/ raw"]) if views else None
    if not any(word in name for word in READING):
        return chunks
    first = re.split(r"\(| and ", name)[0]
    for row in table("splitters.md", "With all-MiniLM-L6-v2"):
        if row["splitter"].removeprefix("structrag ").startswith(first):
            return float(row["tokens / floor"]) + chunks * (name not in REUSED)
    return None


def _family(name: str) -> str:
    if name.startswith("**"):
        return "structrag"
    return "others, by meaning" if "Semantic" in name else "others, by size or markup"


def draw(folder: Path = PICTURES) -> list[Path]:
    """Draw the pictures whose results are there; returns their paths."""
    paths = []
    if readers := gain():
        paths.append(_draw_gain(readers, folder / "evaluation_gain.svg"))
    if recalls := methods():
        path = folder / "evaluation_methods.svg"
        paths.append(_draw_methods(recalls, costs(), path))
    return paths


def _draw_gain(readers: Mapping[str, list[Interval]], path: Path) -> Path:
    count = f"{len(samples('evidence.md'))} sets, {questions('evidence.md')} questions"
    figure, (axis,) = _figure(3.8, f"Mean of {count}, 95% intervals", "y")
    colors = dict(zip(READERS.values(), (GREY, ORANGE, TEAL, BLUE), strict=True))
    for place, (label, intervals) in enumerate(readers.items()):
        for group, one in enumerate(intervals):
            x = group + (place - 1.5) * 0.2
            axis.bar(
                [x],
                [one.mean],
                width=0.18,
                yerr=_error(one),
                capsize=2,
                color=colors[label],
                ecolor="#444444",
                label=label,
            )
            axis.text(x, one.high + 1.5, f"{one.mean:.1f}", ha="center", fontsize=8)
    axis.set_xticks(range(3), [f"within {budget} tokens" for budget in BUDGETS])
    axis.set_ylabel("evidence that reaches the reader, %")
    _legend(figure, axis)
    return _saved(figure, path)


def _draw_methods(
    recalls: Mapping[str, tuple[str, Interval]], cost: Mapping[str, float], path: Path
) -> Path:
    title = f"Gain within 1,000 tokens, {questions('methods.md')} questions"
    figure, (axis, beside) = _figure(1.4 + 0.25 * len(recalls), title, "x", [3, 2])
    for place, (name, (family, one)) in enumerate(recalls.items()):
        color = FAMILIES[family]
        axis.errorbar(
            [one.mean],
            [place],
            xerr=_error(one),
            capsize=2,
            fmt="o",
            color=color,
            label=family,
        )
        axis.text(one.high + 0.4, place, f"{one.mean:.1f}", va="center", fontsize=8)
        own = cost.get(name, 0)
        beside.barh([place], [own], height=0.3, color=color)
        label = f"{own:.1f}" if own else "not measured"
        beside.text(own + 0.1, place, label, va="center", fontsize=8)
    axis.set_yticks(range(len(recalls)), list(recalls), fontsize=9)
    axis.set_xlabel("evidence found, %, 95% interval")
    beside.set_title("Cost of indexing", loc="left", fontsize=11)
    beside.set_xlabel("encoder's tokens, fixed 200 = 1")
    _legend(figure, axis)
    return _saved(figure, path)


def _error(one: Interval) -> list[list[float]]:
    return [[one.mean - one.low], [one.high - one.mean]]


def _legend(figure: Any, axis: Any) -> None:
    handles, labels = axis.get_legend_handles_labels()
    first = dict(zip(labels, handles, strict=True))
    figure.legend(
        first.values(),
        first,
        frameon=False,
        fontsize=9,
        loc="outside lower center",
        ncols=3,
    )


def _figure(
    height: float, title: str, grid: str, widths: Sequence[int] = (1,)
) -> tuple[Any, Any]:
    """A figure with panels side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, height), layout="constrained")
    panels = figure.subplots(
        1, len(widths), squeeze=False, sharey=True, width_ratios=widths
    )[0]
    panels[0].set_title(title, loc="left", fontsize=11)
    for axis in panels:
        axis.grid(axis=grid, color="#e4e2dc", linewidth=0.8)
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
    return figure, panels


def _saved(figure: Any, path: Path) -> Path:
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "structrag", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None, "Creator": None})
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("<defs>", f"{STYLE}\n<defs>", 1), encoding="utf-8")
    return path
