"""Retrieval quality of content-aware chunks and views, route by route: prints the tables and writes
them to benchmarks/results. python benchmarks/quality.py [--sets nq,qasper,cuad] [--questions N]
[--cuad-documents M] [--embedder minilm|lsa] [--full]"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks.freshness import save
from benchmarks.quality_scores import differences, gold_questions, score
from benchmarks.quality_systems import systems
from benchmarks.quality_tables import report
from benchmarks.question_sets import Dataset, load_or_exit, visible
from structrag import __version__
from structrag.errors import InvalidParameter, MissingExtra
from structrag.model_calls.cache import Cache
from structrag.text.tokens import TokenCounter, count_tokens, tiktoken_counter

SETS = ("nq", "qasper", "cuad")
CUAD_DOCUMENTS = 12  # contracts of the default run, spread evenly over the set
RESULTS = Path(__file__).parent / "results"
CACHE = RESULTS / "cache" / "vectors.sqlite"


@dataclass
class RememberedQueries:
    """An embedder that embeds each query once in this process."""

    embedder: Any
    known: dict[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.embedder, name)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        if not query:
            return self.embedder.embed(texts)
        for text in texts:
            if text not in self.known:
                self.known[text] = self.embedder.embed([text], query=True)[0]
        return np.stack([self.known[text] for text in texts])

    async def aembed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        return self.embed(texts, query=query)


def sampled(dataset: Dataset, documents: int | None, questions: int | None) -> Dataset:
    """`documents` documents at even distances and the first `questions` questions about them; None:
    all."""
    kept = dataset.documents
    if documents is not None and documents < len(kept):
        kept = tuple(kept[i * len(kept) // documents] for i in range(documents))
    ids = {document.id for document in kept}
    asked = [
        question for question in gold_questions(dataset) if question.gold[0][0] in ids
    ]
    return replace(dataset, documents=kept, questions=tuple(asked[:questions]))


def measure(
    dataset: Dataset, embedder: Any, cache: Cache | None, counter: TokenCounter
) -> dict[str, Any]:
    """All systems on one set, as JSON values."""
    rows = systems(dataset.documents, embedder, cache)
    scores = {row.name: score(row, dataset, counter) for row in rows}
    compared = differences(scores, rows)
    return {
        "set": dataset.name,
        "documents": len(dataset.documents),
        "questions": len(dataset.questions),
        "systems": [
            {
                "chunks": row.chunking,
                "views": row.views,
                "route": row.route,
                "recall": {
                    point: round(scores[row.name].mean(point), 2)
                    for point in scores[row.name].recall
                },
                "tokens_at_top_5": round(float(np.mean(scores[row.name].tokens)), 1),
                "difference": {
                    point: [round(value, 2) for value in values]
                    for point, values in compared.get(row.name, {}).items()
                },
            }
            for row in rows
        ],
    }


def reader_counter() -> tuple[TokenCounter, str]:
    """cl100k_base where its file is on this machine, else the estimate."""
    try:
        return tiktoken_counter(), "cl100k_base (tiktoken)"
    except (InvalidParameter, MissingExtra):
        return (
            count_tokens,
            "structrag.text.tokens.count_tokens, an estimate (cl100k_base is not on this machine)",
        )


def chosen_embedder(name: str) -> tuple[Any, str]:
    """An embedder and what to call it; exits where the model is absent."""
    if name == "lsa":
        return None, "LSA fitted on the set's documents"
    from structrag.models.bundled import minilm

    try:
        return RememberedQueries(
            minilm()
        ), "all-MiniLM-L6-v2 (reads 256 tokens; longer chunks in windows)"
    except MissingExtra as error:
        print(error, file=sys.stderr)
        raise SystemExit(0) from None


def argument_parser(description: str | None) -> argparse.ArgumentParser:
    """The options of both quality commands."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--sets", default=",".join(SETS), help="some of nq, qasper, cuad"
    )
    parser.add_argument("--questions", type=int, help="at most so many questions a set")
    parser.add_argument(
        "--cuad-documents",
        type=int,
        default=CUAD_DOCUMENTS,
        help="contracts, spread evenly over the set",
    )
    parser.add_argument("--embedder", choices=("minilm", "lsa"), default="minilm")
    parser.add_argument(
        "--full",
        action="store_true",
        help="all 120 contracts (over an hour on two cores)",
    )
    parser.add_argument(
        "--output", type=Path, default=RESULTS, help="folder for the results"
    )
    return parser


def chosen_sets(
    parser: argparse.ArgumentParser, options: argparse.Namespace
) -> list[tuple[Dataset, int]]:
    """The sampled sets that the options name, each with the size of the whole set; exits when an
    option is wrong or the data is absent."""
    names = [name.strip() for name in options.sets.split(",") if name.strip()]
    if not names or set(names) - set(SETS):
        parser.error(f"--sets must be some of {', '.join(SETS)}; got {options.sets!r}.")
    for option in ("questions", "cuad_documents"):
        value = getattr(options, option)
        if value is not None and value < 1:
            parser.error(
                f"--{option.replace('_', '-')} must be at least 1; got {value}."
            )
    samples = []
    for dataset in [visible(load_or_exit(name)) for name in names]:
        documents = (
            None if options.full or dataset.name != "cuad" else options.cuad_documents
        )
        samples.append(
            (sampled(dataset, documents, options.questions), len(dataset.documents))
        )
    return samples


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argument_parser(__doc__)
    options = parser.parse_args(arguments)
    samples = chosen_sets(parser, options)
    counter, counter_label = reader_counter()
    embedder, embedder_label = chosen_embedder(options.embedder)
    cache = None if embedder is None else Cache(CACHE)
    results = []
    for sample, total in samples:
        print(
            f"{sample.name}: {len(sample.documents)} documents, {len(sample.questions)} questions",
            file=sys.stderr,
        )
        results.append(
            {**measure(sample, embedder, cache, counter), "documents_in_set": total}
        )
    about = {
        "structrag": __version__,
        "dense route": embedder_label,
        "reader's tokens": counter_label,
    }
    page = report(results, about)
    print(page)
    options.output.mkdir(parents=True, exist_ok=True)
    save(options.output / "quality.md", page, __file__)


if __name__ == "__main__":
    main()
