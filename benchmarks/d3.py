"""D3 against reading the whole document: answer scores, evidence F1, tokens and calls.

    python benchmarks/d3.py --oracle
    python benchmarks/d3.py --llm package.module:name
    python benchmarks/d3.py --evidence

The first asks a scripted model that answers from the gold evidence, the second any function
str -> str, or object with name and complete. The third compares D3 without a language model with
plain retrieval of paragraphs.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.d3_evidence import evidence_page, evidence_scores, summary_scores
from benchmarks.d3_oracle import oracle_for, paragraph_splitter
from benchmarks.d3_scores import (
    averaged,
    comparison_table,
    extra_table,
    scored,
    stage_means,
    stage_table,
    target_lines,
)
from benchmarks.d3_systems import (
    BASELINES,
    D3,
    NAMES,
    SELF_ASK,
    System,
    baseline,
    drill_down,
    run_all,
    self_ask,
)
from benchmarks.freshness import save
from benchmarks.machine import corpus_line, machine_line
from benchmarks.quality import CACHE, CUAD_DOCUMENTS, SETS, chosen_embedder, sampled
from benchmarks.question_sets import Dataset, load_or_exit, visible
from structrag import __version__
from structrag.model_calls.cache import Cache
from structrag.model_calls.requests import LanguageModel
from structrag.model_calls.runner import Runner
from structrag.models.llm import as_language_model
from structrag.retrieval.d3.index import D3Index
from structrag.retrieval.d3.retriever import D3Retriever

RESULTS = Path(__file__).parent / "results"
EXTRAS = (0, 1, 2, 4, 8)
ORACLE = (
    "- The oracle answers from the gold evidence and makes no mistakes: scores of 100 are its own, "
    "and only tokens and calls are "
    "measured. It needs no summary to know a section. So the table cannot tell what shorter "
    "summaries lose, what is lost where a model "
    "overlooks a section, or how many it names too many; the last table shows what those cost."
)


def compare(
    dataset: Dataset,
    llm: LanguageModel,
    names: Sequence[str],
    *,
    preset: str = "default",
    cache: Cache | None = None,
    max_concurrency: int = 8,
) -> dict[str, Any]:
    """Every system's means and stages, as JSON values; `preset` is that of D3's."""
    splitter = paragraph_splitter(preset)
    paragraphs = {
        document.id: splitter.split(document) for document in dataset.documents
    }
    made = _systems(dataset, llm, names, paragraphs, preset, cache, max_concurrency)
    results = {}
    for system in made:
        print(f"{system.name} ...", file=sys.stderr)
        outcomes = run_all(system, dataset.questions)
        rows = [
            scored(question, paragraphs[question.gold[0][0]], outcome)
            for question, outcome in zip(dataset.questions, outcomes, strict=True)
        ]
        results[system.name] = {
            "means": averaged(rows),
            "stages": stage_means(outcomes),
        }
    return results


def _systems(
    dataset: Dataset,
    llm: LanguageModel,
    names: Sequence[str],
    paragraphs: Any,
    preset: str,
    cache: Cache | None,
    concurrency: int,
) -> list[System]:
    runner = Runner(llm=llm, cache=cache, max_concurrency=concurrency)
    made = [baseline(name, paragraphs, runner) for name in names if name in BASELINES]
    if any(name in D3 or name == SELF_ASK for name in names):
        index = D3Index(preset=preset)  # extractive summaries
        index.add(dataset.documents)
        retriever = partial(
            D3Retriever,
            index,
            llm=llm,
            preset=preset,
            cache=cache,
            max_concurrency=concurrency,
        )
        mark = "" if preset == "default" else f", preset {preset}"
        made += [
            drill_down(name + mark, retriever(strategy=D3[name]))
            for name in names
            if name in D3
        ]
        if SELF_ASK in names:
            made.append(self_ask(retriever(strategy="base")))
    order = {name: place for place, name in enumerate(names)}
    return sorted(made, key=lambda system: order.get(system.name, 0))


def loaded_model(name: str) -> LanguageModel:
    """The model that `package.module:name` says."""
    module, _, attribute = name.partition(":")
    llm = as_language_model(getattr(import_module(module), attribute))
    if llm is None:
        raise SystemExit(
            f"--llm {name} is None; name a function str -> str or a language model."
        )
    return llm


def page(
    title: str, dataset: Dataset, results: dict[str, Any], *, oracle: bool = False
) -> str:
    """The results as Markdown."""
    facts = [
        f"- structrag {__version__}; {machine_line()}",
        f"- {corpus_line(dataset.name, (document.text for document in dataset.documents))}; "
        f"{len(dataset.questions)} questions",
        "- Means over the questions, of tokens with the central 95 % of 1,000 bootstrap samples of "
        "them. Tokens (estimated by `count_tokens`): prompts and answers of finding the evidence, "
        "of self-ask all. D3 has the preset that its row says, else `default`.",
        "- The paper's figures: 150 documents, gpt-3.5-turbo, summaries by BART. They show "
        "directions only.",
        *([ORACLE] if oracle else []),
    ]
    parts = [
        f"# {title}",
        "\n".join(facts),
        comparison_table(results),
        stage_table(results),
    ]
    targets = target_lines(results)
    return (
        "\n\n".join(
            [*parts, *(["\n".join(f"- {line}" for line in targets)] if targets else [])]
        )
        + "\n"
    )


def evidence(names: Sequence[str], embedder: str, questions: int | None) -> str:
    """The page on evidence without a language model."""
    model, label = chosen_embedder(embedder)
    cache = None if model is None else Cache(CACHE)
    results, summaries = {}, {}
    for name in names:
        whole = visible(load_or_exit(name))
        dataset = sampled(whole, CUAD_DOCUMENTS if name == "cuad" else None, questions)
        share = (
            ""
            if len(dataset.documents) == len(whole.documents)
            else f" (of {len(whole.documents)})"
        )
        size = f"{len(dataset.documents)} documents{share}, {len(dataset.questions)} questions"
        print(f"{name}: {size}", file=sys.stderr)
        results[name] = size, evidence_scores(dataset, model, cache)
        summaries[name] = summary_scores(dataset, model, cache)
    facts = [
        f"structrag {__version__}; {machine_line()}",
        f"Vectors: {label}",
        "Tokens: `count_tokens`, an estimate",
    ]
    return evidence_page(facts, results, summaries)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--oracle", action="store_true")
    which.add_argument("--llm", metavar="MODULE:NAME")
    which.add_argument("--evidence", action="store_true")
    parser.add_argument(
        "--set",
        help=f"the question set, default qasper; of --evidence several, default {','.join(SETS)}",
    )
    parser.add_argument(
        "--embedder", choices=("minilm", "lsa"), default="minilm", help="of --evidence"
    )
    parser.add_argument(
        "--systems", default=",".join(NAMES), help=f"some of {', '.join(NAMES)}"
    )
    parser.add_argument("--questions", type=int, help="at most so many")
    parser.add_argument("--cache", type=Path, help="file that keeps finished calls")
    parser.add_argument("--max-concurrency", type=int, default=8)
    parser.add_argument(
        "--output", type=Path, default=RESULTS, help="folder for the results"
    )
    options = parser.parse_args(arguments)
    names = [name.strip() for name in options.systems.split(",") if name.strip()]
    if not names or set(names) - set(NAMES):
        parser.error(
            f"--systems must be some of {', '.join(NAMES)}; got {options.systems!r}."
        )
    if options.evidence:
        sets = [name.strip() for name in (options.set or ",".join(SETS)).split(",")]
        text = evidence(sets, options.embedder, options.questions)
        written(options.output, "d3_evidence", text)
        return
    dataset = sampled(load_or_exit(options.set or "qasper"), None, options.questions)
    llm = oracle_for(dataset) if options.oracle else loaded_model(options.llm)
    cache = Cache(options.cache) if options.cache else None
    asked = partial(compare, cache=cache, max_concurrency=options.max_concurrency)
    of_d3 = [name for name in names if name in D3]
    papers = oracle_for(dataset, preset="paper") if options.oracle else llm
    results = asked(dataset, llm, names)
    results |= asked(dataset, papers, of_d3, preset="paper") if of_d3 else {}
    text = page(f"D3 with {llm.name}", dataset, results, oracle=options.oracle)
    if options.oracle and "D3-BASE" in names:
        several = {
            extra: compare(dataset, oracle_for(dataset, extra), ["D3-BASE"])["D3-BASE"][
                "means"
            ]
            for extra in EXTRAS
        }
        text += (
            "\nD3-BASE where the oracle names sections without evidence as "
            f"well:\n\n{extra_table(several, results)}\n"
        )
    written(options.output, "d3_oracle" if options.oracle else "d3", text)


def written(folder: Path, stem: str, text: str) -> None:
    """Print a page, and write it."""
    print(text)
    folder.mkdir(parents=True, exist_ok=True)
    save(folder / f"{stem}.md", text, __file__)


if __name__ == "__main__":
    main()
