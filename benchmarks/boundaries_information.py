"""Where IDMS cuts by vectors, by mutual information of neighbours, and by both, in documents whose
headings were taken out.

    python benchmarks/boundaries_information.py [--documents 8]

Prints the table and writes benchmarks/results/boundaries_information.md. The likelihoods are those
of a real, very small language model (that of real_llm.py), on one thread: about half a minute a
document. Without the evaluation data (STRUCTRAG_DATA), the encoder or the model it says so and
stops.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from time import process_time
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks import quality
from benchmarks.datasets import DataMissing
from benchmarks.machine import machine_line
from benchmarks.methods_tables import mean_of_sets
from benchmarks.quality_tables import markdown_table
from benchmarks.real_llm import chosen_model
from benchmarks.unheaded import Unheaded, segmentation, unheaded_documents
from structrag import IDMSSplitter, __version__
from structrag.evaluation import boundary_f1, pk, window_diff
from structrag.models import InformationMargin
from structrag.retrieval.evidence.quantised import unit_rows

Pairs = Sequence[tuple[str, str]]
Margins = Callable[[Pairs], list[float | None]]
VECTORS, INFORMATION, BOTH = "vectors", "mutual information", "both"
READING = (
    "Markdown documents of the set `parsing` at even distances, their headings taken out; IDMS "
    "with its default settings, the margins made in three ways: the cosine of the four sentences "
    "on each side, how much likelier those before make those behind, and the sum of both, each "
    "standardised over the document. Pk and WindowDiff: lower is better; F1 of boundaries within "
    "one sentence: higher is better. In percent, means over the documents; intervals hold the "
    "central 95 % of 1,000 bootstrap samples of the documents, those of differences paired; bold "
    "where 0 is not inside."
)


def by_vectors(embedder: Any) -> Margins:
    """Cosines of the two sides."""

    def margins(pairs: Pairs) -> list[float | None]:
        before, behind = (
            unit_rows(embedder.embed(list(side))) for side in zip(*pairs, strict=True)
        )
        return [float(value) for value in np.einsum("ij,ij->i", before, behind)]

    return margins


def together(first: Margins, second: Margins) -> Margins:
    """The sum of two margins, each standardised over its pairs and then brought below 1."""

    def margins(pairs: Pairs) -> list[float | None]:
        total = _standardised(first(pairs)) + _standardised(second(pairs))
        return [float(value) for value in np.tanh(total / 2)]

    return margins


def _standardised(values: Sequence[float | None]) -> Any:
    numbers = np.array([np.nan if value is None else value for value in values], dtype=float)
    spread = np.nanstd(numbers) or 1.0
    return np.nan_to_num((numbers - np.nanmean(numbers)) / spread)


def once(margins: Margins) -> Margins:
    """The same, each list of pairs asked once."""
    kept = cache(margins)
    return lambda pairs: kept(tuple(pairs))


Scores = Mapping[str, list[float]]  # of every document


def measured(documents: Sequence[Unheaded], margins: Margins) -> dict[str, list[float]]:
    """How well borders are found, and the processor's seconds."""
    found: dict[str, list[float]] = {
        name: [] for name in ("Pk", "WindowDiff", "F1", "segments", "seconds")
    }
    splitter = IDMSSplitter(margin=margins)
    for one in documents:
        began = process_time()
        starts = [chunk.start for chunk in splitter.split(one.document)]
        found["seconds"].append(process_time() - began)
        own = segmentation(one.sentences, starts)
        found["Pk"].append(pk(one.reference, own))
        found["WindowDiff"].append(window_diff(one.reference, own))
        found["F1"].append(boundary_f1(one.reference, own, tolerance=1))
        found["segments"].append(float(sum(own) + 1))
    return found


def table(values: Mapping[str, Scores]) -> str:
    """A row a way of making margins."""
    base = values[VECTORS]
    rows = []
    for name, found in values.items():
        cells = [str(mean_of_sets([found[score]])) for score in ("Pk", "WindowDiff", "F1")]
        for score in ("Pk", "F1"):
            gaps = np.subtract(found[score], base[score]).tolist()
            cells.append("" if name == VECTORS else _difference(gaps))
        cells += [f"{np.mean(found['segments']):.1f}", f"{np.mean(found['seconds']):.1f}"]
        rows.append([name, *cells])
    heads = ["margins", "Pk", "WindowDiff", "F1", "Pk: difference", "F1: difference", "segments"]
    return markdown_table([*heads, "s a document"], rows, labels=1)


def _difference(gaps: Sequence[float]) -> str:
    gap = mean_of_sets([gaps])
    text = f"{gap.mean:+.1f} [{gap.low:+.1f}, {gap.high:+.1f}]"
    return f"**{text}**" if gap.low > 0 or gap.high < 0 else text


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=8)
    parser.add_argument("--output", type=Path, default=quality.RESULTS)
    options = parser.parse_args(arguments)
    try:
        documents = unheaded_documents(options.documents)
    except DataMissing as error:
        raise SystemExit(str(error)) from None
    embedder, _ = quality.chosen_embedder("minilm")
    vectors = by_vectors(embedder)
    information = once(InformationMargin(chosen_model("")))
    ways = {
        VECTORS: vectors,
        INFORMATION: information,
        BOTH: together(vectors, information),
    }
    values = {}
    for name, margins in ways.items():
        values[name] = measured(documents, margins)
        print(f"{name}: F1 {np.mean(values[name]['F1']):.3f}", file=sys.stderr, flush=True)
    sentences = sum(len(one.sentences) for one in documents)
    page = [
        "# Boundaries by vectors and by mutual information",
        f"- structrag {__version__}, all-MiniLM-L6-v2, SmolLM2-135M-Instruct; {machine_line()}\n"
        f"- {len(documents)} documents, {sentences} sentences, "
        f"{sum(sum(one.reference) for one in documents)} borders",
        READING,
        table(values),
        "The seconds of both leave out the likelihoods, which were kept from the row before.",
    ]
    text = "\n\n".join(page) + "\n"
    print(text)
    (options.output / "boundaries_information.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
