"""`EvidenceRetriever` with an encoder's token vectors and with static ones, its fast mode.

    python benchmarks/evidence_encoders.py [--sets qasper,cuad,...]

Prints recall within 500, 1,000 and 2,000 tokens and the paired differences, with 95 % intervals,
and the seconds to index; writes benchmarks/results/evidence_encoders.md. The static vectors are
distilled from the encoder. Without the evaluation data (STRUCTRAG_DATA) or the encoder it says so
and stops.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks import quality
from benchmarks.evidence import KEPT, KeptTokens, Setting, evidence
from benchmarks.machine import machine_line
from benchmarks.methods import BUDGETS, SAMPLES, sample
from benchmarks.methods_tables import mean_of_sets
from benchmarks.quality_tables import markdown_table
from structrag import __version__
from structrag.evaluation import SpanMeasure

ENCODER, STATIC = "all-MiniLM-L6-v2", "static vectors distilled from it"
READING = (
    "Recall is the share of the gold text that the reader is given within so many tokens, in "
    "percent, over the questions of benchmarks/evidence.py. Differences are paired; intervals hold "
    "the central 95 % of 1,000 bootstrap samples of the questions, drawn within each set. Indexing "
    "is processor time over all documents with static vectors; with the encoder its pass is added."
)


def recalls(setting: Setting) -> tuple[dict[int, list[float]], float]:
    """Recall of every question by budget, and the seconds of processor time to index."""
    began = process_time()
    search = evidence(setting)
    seconds = process_time() - began
    values: dict[int, list[float]] = {budget: [] for budget in BUDGETS}
    for question in setting.dataset.questions:
        for budget, value in search(question).items():
            values[budget].append(value)
    return values, seconds


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SAMPLES))
    parser.add_argument("--output", type=Path, default=quality.RESULTS)
    options = parser.parse_args(arguments)
    quality.chosen_embedder("minilm")
    from structrag.models import StaticEmbedder, StaticTokens
    from structrag.models.bundled import minilm

    encoders: dict[str, Any] = {
        ENCODER: KeptTokens(minilm(), KEPT / "tokens"),
        STATIC: StaticTokens(StaticEmbedder.distil(minilm())),
    }
    counter, label = quality.reader_counter()
    found: dict[str, list[dict[int, list[float]]]] = {name: [] for name in encoders}
    seconds = 0.0
    for name in options.sets.split(","):
        dataset = sample(name, False).dataset
        measure = SpanMeasure(dataset.texts)
        for title, encoder in encoders.items():
            values, spent = recalls(Setting(dataset, encoder, counter, measure))
            found[title].append(values)
            seconds += spent if title == STATIC else 0.0
            print(
                f"{name}: {title}: {100 * float(np.mean(values[1000])):.1f}",
                file=sys.stderr,
            )
    facts = [f"structrag: {__version__}", f"machine: {machine_line()}"]
    facts += [f"reader's tokens: {label}", f"sets: {options.sets}"]
    facts.append(f"indexing with static vectors: {seconds:.0f} s of one processor")
    text = "# Static token vectors\n\n" + "\n".join(f"- {fact}" for fact in facts)
    text = f"{text}\n\n{READING}\n\n{table(found)}\n"
    print(text)
    (options.output / "evidence_encoders.md").write_text(text, encoding="utf-8")


def table(found: dict[str, list[dict[int, list[float]]]]) -> str:
    """A row each, and the difference."""
    rows = []
    for name, sets in found.items():
        rows.append(
            [
                name,
                *(
                    str(mean_of_sets([one[budget] for one in sets]))
                    for budget in BUDGETS
                ),
            ]
        )
    gaps = []
    for budget in BUDGETS:
        pairs = zip(found[STATIC], found[ENCODER], strict=True)
        gap = mean_of_sets(
            [np.subtract(b[budget], a[budget]).tolist() for b, a in pairs]
        )
        gaps.append(f"{gap.mean:+.1f} [{gap.low:+.1f}, {gap.high:+.1f}]")
    rows.append(["difference", *gaps])
    return markdown_table(["", *(f"{budget:,}" for budget in BUDGETS)], rows, labels=1)


if __name__ == "__main__":
    main()
