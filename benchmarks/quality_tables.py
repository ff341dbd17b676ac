"""The quality benchmark's results as Markdown and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.quality_scores import AT_BUDGETS, POINTS


def set_table(result: Mapping[str, Any]) -> str:
    """One question set: recall in percent at every point, and the difference to fixed chunks with
    its interval."""
    head = [
        "chunks",
        "views",
        "route",
        *POINTS,
        "tokens at top 5",
        *(f"{point}: against fixed 300" for point in AT_BUDGETS),
    ]
    rows = []
    for row in result["systems"]:
        recalls = [f"{row['recall'][point]:.1f}" for point in POINTS]
        intervals = [
            _interval(row["difference"][point] if row["difference"] else None)
            for point in AT_BUDGETS
        ]
        rows.append(
            [
                row["chunks"],
                row["views"],
                row["route"],
                *recalls,
                f"{row['tokens_at_top_5']:,.0f}",
                *intervals,
            ]
        )
    size = f"{result['documents']} documents, {result['questions']} questions"
    share = (
        ""
        if result["documents"] == result["documents_in_set"]
        else f" (of {result['documents_in_set']} documents)"
    )
    return f"### {result['set']}: {size}{share}\n\n{markdown_table(head, rows)}"


def average_table(results: Sequence[Mapping[str, Any]]) -> str:
    """Every system's recall at both budgets, set by set and averaged over the sets with equal
    weight."""
    names = [result["set"] for result in results]
    head = ["chunks", "views", "route"]
    for point in AT_BUDGETS:
        head += [f"{point}: {name}" for name in names] + [f"{point}: average"]
    rows = []
    for parts in zip(*(result["systems"] for result in results), strict=True):
        row = [parts[0]["chunks"], parts[0]["views"], parts[0]["route"]]
        for point in AT_BUDGETS:
            values = [part["recall"][point] for part in parts]
            row += [f"{value:.1f}" for value in values] + [
                f"**{sum(values) / len(values):.1f}**"
            ]
        rows.append(row)
    return f"### Average over the sets\n\n{markdown_table(head, rows)}"


def report(results: Sequence[Mapping[str, Any]], about: Mapping[str, str]) -> str:
    """The whole page."""
    facts = "\n".join(f"- {key}: {value}" for key, value in about.items())
    parts = [
        "# Retrieval quality",
        facts,
        _reading(),
        average_table(results),
        *map(set_table, results),
    ]
    return "\n\n".join(parts) + "\n"


def _reading() -> str:
    return (
        "Each question is searched inside its own document. A figure is the mean over questions of "
        "the share of the gold text that was "
        "found, in percent; where a set lists alternatives (nq), of the best single one, so that "
        "one occurrence of the answer is enough. "
        '"top 1.5" is one chunk for half of the questions and two for the rest. At a token budget '
        "chunks are handed over in rank order, "
        "the last one cut where the budget ends. Tokens are counted on the chunk's own text by one "
        "counter for all rows. "
        "The last columns are the difference to fixed 300 by the same route, in points, with the "
        "95% interval of a paired bootstrap over "
        "the questions: an interval that holds 0 is no difference that was shown."
    )


def _interval(value: Sequence[float] | None) -> str:
    return "" if value is None else "{:+.1f} [{:+.1f}, {:+.1f}]".format(*value)


def markdown_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, labels: int = 3
) -> str:
    """A table whose first `labels` columns are words and whose others are figures."""
    lines = [head, ["---"] * labels + ["---:"] * (len(head) - labels), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
