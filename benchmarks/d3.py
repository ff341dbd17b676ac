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
from collections.abc import Callable, Mapping, Sequence
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
    group_table,
    scored,
    stage_means,
    stage_table,
)
from benchmarks.d3_systems import (
    ASKING,
    D3,
    NAMES,
    SELF_ASK,
    Baseline,
    document_of,
    run_all,
)
from benchmarks.freshness import save
from benchmarks.machine import corpus_line, machine_line
from benchmarks.quality import CACHE, CUAD_DOCUMENTS, SETS, chosen_embedder, sampled
from benchmarks.question_sets import Dataset, Question, load_or_exit, visible
from structrag import __version__
from structrag.model_calls.cache import Cache
from structrag.model_calls.requests import LanguageModel
from structrag.model_calls.runner import Runner
from structrag.models.llm import as_language_model
from structrag.retrieval.d3.index import D3Index
from structrag.retrieval.d3.retriever import D3Retriever
from structrag.text.tokens import count_tokens

RESULTS = Path(__file__).parent / "results"
EXTRAS = (0, 1, 2, 4, 8)
MISSING = (
    "- Not here: what needs the paper's models (answers of table 1, other models of table 3, "
    "figure 2, precision and recall of figures 3 and 4 and table 5). Table 4 is in paper_tables.md."
)
ORACLE = (
    "- The oracle answers from the gold evidence and makes no mistakes: scores of 100 are its own, "
    "and only tokens and calls are "
    "measured. It needs no summary to know a section. So the table cannot tell what shorter "
    "summaries lose, what is lost where a model "
    "overlooks a section, or how many it names too many; the last table shows what those cost."
)


def compare(
    dataset: Dataset, names: Sequence[str], *, preset: str = "default", **models: Any
) -> dict[str, Any]:
    """Every system's rows, means and stages, as JSON values; `preset` is that of D3's, `models` are
    options of a `Runner`."""
    splitter = paragraph_splitter(preset)
    paragraphs = {
        document.id: splitter.split(document) for document in dataset.documents
    }
    index = D3Index(preset=preset)  # extractive summaries
    index.add(dataset.documents)
    results = {}
    for name in names:
        print(f"{name} ...", file=sys.stderr)
        bare = name.removeprefix(SELF_ASK)
        retriever = (
            D3Retriever(index, strategy=D3[bare], preset=preset, **models)
            if bare in D3
            else Baseline(bare, paragraphs, Runner(**models))
        )
        outcomes = run_all(name, retriever, dataset.questions)
        rows = [
            scored(question, paragraphs[document_of(question)], outcome)
            for question, outcome in zip(dataset.questions, outcomes, strict=True)
        ]
        results[name if preset == "default" else f"{name}, preset {preset}"] = {
            "means": averaged(rows),
            "rows": rows,
            "stages": stage_means(outcomes),
        }
    return results


# -- groups of questions


def by_length(question: Question, dataset: Dataset) -> str:
    """The third of the documents, by length, that the question's document is in."""
    sizes = sorted((count_tokens(text), name) for name, text in dataset.texts.items())
    thirds = {name: i * 3 // len(sizes) for i, (_, name) in enumerate(sizes)}
    own = thirds[document_of(question)]
    lengths = [size for size, name in sizes if thirds[name] == own]
    # Shorter ones begin with a blank, and are first in alphabetical order.
    return f"{lengths[0]:6,} to {lengths[-1]:,} tokens"


def by_category(question: Question, dataset: Dataset) -> str:
    """Qasper's categories, as far as the set still shows them."""
    if not question.answers:
        return "yes or no"
    is_quoted = question.answers[0].strip() in dataset.texts[document_of(question)]
    return "extractive" if is_quoted else "abstractive"


def by_pieces(question: Question, dataset: Dataset) -> str:
    """Whether a question needs more than one paragraph."""
    return "several paragraphs" if len(question.gold) > 1 else "one paragraph"


GROUPS: Mapping[str, tuple[Callable[[Question, Dataset], str], str]] = {
    "Figure 3: by the document's length": (
        by_length,
        "Thirds of the documents; the paper's figure is a plot without numbers.",
    ),
    "Table 5: by the kind of question": (
        by_category,
        "No written answer: yes or no; extractive where the first answer stands in the document "
        "word for word. Questions without evidence are not in the set. The paper's evidence F1, D3 "
        "/ MAP-REDUCE OPTIMIZED: extractive 56.4 / 57.5, abstractive 41.8 / 50.1, yes or no 45.5 / "
        "40.2.",
    ),
    "Table 2: questions in several steps, with self-ask": (
        by_pieces,
        "A follow-up for each paragraph of the evidence; all calls of self-ask are counted, those "
        "for answers too. The paper's HotpotQA-Doc has two long documents a question and is not "
        "here. Its tokens / calls: CHUNK 6,703 / 2.45, MAP-REDUCE OPTIMIZED 8,330 / 3.58, D3-BASE "
        "3,141 / 2.10; with self-ask 9,822 / 5.00, 12,253 / 6.83, 5,376 / 5.17.",
    ),
}


def grouped(dataset: Dataset, results: Mapping[str, Any]) -> list[str]:
    """The tables of GROUPS."""
    shown = {
        name: result
        for name, result in results.items()
        if name.removeprefix(SELF_ASK).partition(",")[0] in ASKING
    }
    parts = []
    for title, (label, reading) in GROUPS.items():
        labels = [label(question, dataset) for question in dataset.questions]
        parts += [f"## {title}", reading, group_table(labels, shown)]
    return parts


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
        "directions only. LEXICAL is BM25, which keeps three paragraphs, where the paper has "
        "MonoT5 (table 3). CHUNK with a number has calls of so many tokens (figure 4).",
        MISSING,
        *([ORACLE] if oracle else []),
    ]
    parts = [
        f"# {title}",
        "\n".join(facts),
        comparison_table(results),
        stage_table(results),
        *grouped(dataset, results),
    ]
    return "\n\n".join(parts) + "\n"


def evidence(names: Sequence[str], embedder: str, questions: int | None) -> str:
    """The page on evidence without a language model."""
    model, label = chosen_embedder(embedder)
    cache = None if model is None else Cache(CACHE)
    results, summaries = {}, {}
    for name in names:
        whole = visible(load_or_exit(name))
        dataset = sampled(whole, CUAD_DOCUMENTS if name == "cuad" else None, questions)
        size = (
            f"{len(dataset.documents)} of {len(whole.documents)} documents, "
            f"{len(dataset.questions)} questions"
        )
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
    of_d3 = [name for name in names if name in D3]
    papers = oracle_for(dataset, preset="paper") if options.oracle else llm
    results = compare(dataset, names, llm=llm, cache=cache)
    results |= compare(dataset, of_d3, preset="paper", llm=papers, cache=cache)
    text = page(f"D3 with {llm.name}", dataset, results, oracle=options.oracle)
    if options.oracle and "D3-BASE" in names:
        several = {
            extra: compare(dataset, ["D3-BASE"], llm=oracle_for(dataset, extra))
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
