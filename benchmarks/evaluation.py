"""The page docs/evaluation.md: what the results in benchmarks/results say; and all_results.md with
the command that measures each of them again.

    python benchmarks/evaluation.py [--run | --run-all]

With --run all methods and peers are measured first, on all sets; a run that was stopped goes on
where it was. With --run-all everything on the page is, which takes hours.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import freshness, pictures

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "evaluation.md"


class Result(NamedTuple):
    title: str
    file: str  # in RESULTS
    command: str  # that writes it


MAIN = (
    Result("All methods, all peers, all sets", "methods.md", "methods.py"),
    Result("Evidence within a token budget", "evidence.md", "evidence.py"),
    Result("Whole answers, right paths, holes", "answers.md", "answers.py"),
    Result(
        "Evidence: in at most five passages, on a smaller sample",
        "evidence_small.md",
        "evidence.py --sample small --rows 'fixed,five,**'",
    ),
    Result(
        "Evidence: a multilingual encoder",
        "evidence_small_e5.md",
        "evidence.py --sample small --encoder e5 --rows 'fixed,matched,**'",
    ),
    Result(
        "Evidence: sets of short texts as pools",
        "evidence_small_pooled.md",
        "evidence.py --sample small --pooled --sets hotpotqa,xquad_de,boards",
    ),
    Result(
        "Evidence: pools, a multilingual encoder",
        "evidence_small_e5_pooled.md",
        "evidence.py --sample small --pooled --encoder e5 --rows 'fixed,matched,**'",
    ),
    Result(
        "Evidence: by the protocol of Chroma's report",
        "evidence_chroma.md",
        "evidence_chroma.py",
    ),
    Result(
        "Evidence: what indexing costs",
        "evidence_indexing.md",
        "evidence_speed.py --indexing 9",
    ),
    Result(
        "Boundaries: where sections began, headings taken out",
        "boundaries.md",
        "boundaries.py",
    ),
)
RESULTS_IN_ORDER = (
    *MAIN,
    Result(
        "What the settings of PIC and IDMS rest on",
        "splitting_choices.md",
        "splitting_choices.py",
    ),
    Result("Splitters that read the text: cost", "splitters.md", "splitters.py"),
    Result("Sections, views and routes", "quality.md", "quality.py"),
    Result(
        "What the settings of views and fusion rest on",
        "quality_choices.md",
        "quality_choices.py",
    ),
    Result("HiQA: look-alike documents and pooled sets", "hiqa.md", "hiqa.py"),
    Result(
        "D3: evidence without a language model", "d3_evidence.md", "d3.py --evidence"
    ),
    Result(
        "D3: tokens and calls with a scripted model", "d3_oracle.md", "d3.py --oracle"
    ),
    Result("What stems bring to BM25", "stems.md", "stems.py"),
    Result("Evidence: what stems bring", "stems_evidence.md", "stems.py --evidence"),
    Result(
        "Evidence: splitters' chunks packed as evidence",
        "evidence_splitters.md",
        "evidence_splitters.py --sets qasper,nq,cuad,covid_qa,qmsum,chroma,boards",
    ),
    Result(
        "The heading path in front of chunks, in LangChain's own store",
        "add_context.md",
        "add_context.py",
    ),
    Result("Routing by evidence", "d3_routing.md", "d3_routing.py --documents 1000"),
    Result(
        "Prompts and a real language model",
        "real_llm.md",
        "real_llm.py --documents 3 --characters 2500",
    ),
    Result("MC-indexing by its paper's tables", "mc_tables.md", "mc_tables.py"),
    Result("Tables of the papers", "paper_tables.md", "paper_tables.py"),
    Result("PDF: ours and its peers", "pdf_readers.md", "pdf_readers.py"),
    Result("Contracts: clauses under their headings", "contracts.md", "contracts.py"),
    Result("The estimate of tokens", "token_estimate.md", "token_estimate.py"),
    Result("Ends of sentences, beside Punkt", "sentences.md", "sentences.py"),
    Result("The first second, and the adapters", "start.md", "start.py"),
    Result("Speed", "speed.md", "speed.py"),
    Result(
        "Stores, loaders and elements of others",
        "integrations.md",
        "integrations/stores.py",
    ),
    Result("Many files into one index", "ingestion.md", "ingestion.py"),
    Result(
        "Questions a second",
        "queries.md",
        "queries.py --rows 10000 --more 5000 --seconds 5",
    ),
    Result(
        "One index in each store",
        "stores.md",
        "stores.py --rows 10000 30000 --questions 60",
    ),
    Result(
        "The same, with HiQA",
        "stores_hiqa.md",
        "stores.py --retriever hiqa --rows 5000 --questions 60",
    ),
    Result(
        "Stores at a million sections",
        "stores_made.md",
        "stores.py --made --rows 100000 1000000 --questions 40 --stores 'folder' 'LanceDB'",
    ),
    Result(
        "Stores and their peers",
        "stores_peers.md",
        "stores.py --made --rows 10000 100000 --questions 40 "
        "--results benchmarks/results/stores_peers.md",
    ),
    Result(
        "Evidence over a million pieces",
        "evidence_scale.md",
        "evidence_scale.py --stores lancedb folder --pieces 1000000 100000",
    ),
)

TEMPLATE = ROOT / "benchmarks" / "conclusions.md"
LIST = ROOT / "benchmarks" / "all_results.md"
LIST_HEAD = """# All results

If a commit is named, the code has changed since the table was measured. `python
benchmarks/freshness.py` lists which of the others are older than their code, and what changed.

| what | table | command | measured at commit |
|---|---|---|---|"""
SOURCE = "https://github.com/structrag/structrag/blob/main/benchmarks/results"
_EVIDENCE = ("evidence.md", "Mean over the sets")
_CHUNKS = ("methods.md", "Recall within 1,000 tokens, vectors and BM25")
_ADDED = ("evidence.md", "What matching tokens adds")
_E5 = ("evidence_small_e5.md", "Mean over the sets")
_POOL = ("evidence_small_pooled.md", "Mean over the sets")
_E5_POOL = ("evidence_small_e5_pooled.md", "Mean over the sets")
_MANUALS = ("hiqa.md", "boards: 60 manuals")
_FUSED = "path | LlamaIndex QueryFusionRetriever, relative_score"
_QUALITY = ("quality.md", "Average over the sets")
_CHOICES = ("quality_choices.md", "What the defaults rest on")
_MARKDOWN = ("boundaries.md", "20 Markdown documents")
_PAPERS = ("boundaries.md", "papers of qasper")
_ORACLE = ("d3_oracle.md", "D3 with oracle")
_PIC = ("paper_tables.md", "PIC: tables 1")
_ROWS = {
    "evidence": "**EvidenceRetriever**",
    "untokened": "EvidenceRetriever, tokens not matched",
    "fixed": "fixed 200, vectors and BM25",
    "recursive": "recursive 1,000 characters, overlap 200, vectors, top 4",
    "llama_index": "LlamaIndex's defaults: 1,024 tokens, overlap 200, vectors, top 2",
}
# name -> file, heading above its table, first cell of its row, number of the column
FIGURES = {
    **{name: (*_EVIDENCE, row, 2) for name, row in _ROWS.items()},
    **{f"{name}_500": (*_EVIDENCE, row, 1) for name, row in _ROWS.items()},
    **{f"{name}_2000": (*_EVIDENCE, row, 3) for name, row in _ROWS.items()},
    "at_500": (*_EVIDENCE, _ROWS["evidence"], 4),
    "at_1000": (*_EVIDENCE, _ROWS["evidence"], 5),
    "at_2000": (*_EVIDENCE, _ROWS["evidence"], 6),
    "e5": (*_E5, _ROWS["evidence"], 2),
    "e5_fixed": (*_E5, _ROWS["fixed"], 2),
    "e5_at_500": (*_E5, _ROWS["evidence"], 4),
    "e5_at_1000": (*_E5, _ROWS["evidence"], 5),
    "e5_at_2000": (*_E5, _ROWS["evidence"], 6),
    "pool": (*_POOL, _ROWS["evidence"], 2),
    "pool_sections": (
        *_POOL,
        "sections (ContentAwareSplitter), vectors and BM25",
        2,
    ),
    "pool_hiqa": (*_POOL, "HiQARetriever", 2),
    "pool_fixed": (*_POOL, _ROWS["fixed"], 2),
    "pool_vectors": (*_POOL, "fixed 200, vectors", 5),
    "pool_bm25": (*_POOL, "fixed 200, BM25", 5),
    "pool_e5_500": (*_E5_POOL, _ROWS["evidence"], 4),
    "pool_e5_1000": (*_E5_POOL, _ROWS["evidence"], 5),
    "pool_e5_vectors": (*_E5_POOL, "fixed 200, vectors", 5),
    "matching_500": (*_ADDED, "500", 8),
    "matching_1000": (*_ADDED, "1,000", 8),
    "multiview": (*_CHUNKS, "**MC-indexing (MultiViewRetriever)**", 8),
    "fixed_chunks": (*_CHUNKS, "fixed 200", 8),
    "multiview_gain": (
        "methods.md",
        "won and lost",
        "MC-indexing (MultiViewRetriever)",
        8,
    ),
    "idms": (*_CHUNKS, "**IDMSSplitter**", 8),
    "pic": (*_CHUNKS, "**PICSplitter**", 8),
    "langchain_chunks": (*_CHUNKS, "LangChain recursive 200", 8),
    "llama_index_chunks": (*_CHUNKS, "LlamaIndex SentenceSplitter 300", 8),
    "pic_f1": (*_MARKDOWN, "PICSplitter", 3),
    "idms_f1": (*_MARKDOWN, "IDMSSplitter", 3),
    "peer_f1": (*_MARKDOWN, "chonkie RecursiveChunker 300", 3),
    "idms_f1_papers": (*_PAPERS, "IDMSSplitter", 3),
    "peer_f1_papers": (*_PAPERS, "chonkie RecursiveChunker 300", 3),
    "boards_path": (*_MANUALS, "path | all three (default)", 2),
    "boards_none": (*_MANUALS, "none | dense", 2),
    "boards_peer": (*_MANUALS, "path | LangChain EnsembleRetriever", 2),
    "boards_llama": (*_MANUALS, _FUSED, 2),
    "boards_llama_gain": (*_MANUALS, _FUSED, 5),
    "boards_gain": (*_MANUALS, "path | LangChain EnsembleRetriever", 5),
    "all_both": (*_QUALITY, "content-aware 300, path | all | both", 6),
    "all_dense": (*_QUALITY, "content-aware 300, path | all | dense", 6),
    "all_bm25": (*_QUALITY, "content-aware 300, path | all | BM25", 6),
    "all_both_2000": (*_QUALITY, "content-aware 300, path | all | both", 10),
    "raw_both_2000": (*_QUALITY, "content-aware 300, path | raw | both", 10),
    "raw_both": (*_QUALITY, "content-aware 300, path | raw | both", 6),
    "all_no_path": (*_QUALITY, "content-aware 300, no path | all | both", 6),
    "paper_mc": (*_QUALITY, "preset paper | all | dense", 6),
    "paper_d3": (*_ORACLE, "D3-BASE, preset paper", 6),
    "default_d3": (*_ORACLE, "D3-BASE", 6),
    "paper_pic": (*_PIC, "PIC", 4),
    "words_pic": (*_PIC, "fixed size, 100 words", 4),
    "limit_200": (*_CHOICES, "200, both", 7),
    "limit_300": (*_CHOICES, "300, both", 7),
    "limit_512": (*_CHOICES, "512, both", 7),
    "limit_none": (*_CHOICES, "None, both", 7),
    "half_bm25": (*_CHOICES, "minmax, BM25 at half weight", 7),
    "double_raw": (*_CHOICES, "minmax, raw at double weight", 7),
    "path_alone": ("add_context.md", "its own document, within 1,000", "difference", 8),
    "path_pooled": ("add_context.md", "of its set, within 1,000", "difference", 8),
    "stems_bm25": ("stems.md", "Stems in BM25", "BM25", 3),
    "stems_multiview": ("stems.md", "Stems in BM25", "MultiView", 3),
}


def page() -> str:
    """The page, its figures those of the results.

    Raises:
        KeyError: A result that the page speaks of is not there.
    """
    figures = {name: figure(*place) for name, place in FIGURES.items()}
    missing = sorted(name for name, value in figures.items() if not value)
    if missing:
        raise KeyError(f"benchmarks/results holds no figure for: {', '.join(missing)}")
    template = TEMPLATE.read_text(encoding="utf-8")
    for result in RESULTS_IN_ORDER:
        link = f"[{result.file}](results:{result.file})"
        if (RESULTS / result.file).is_file() and (commit := older(result.file)):
            marked = f"{link} (measured at commit {commit}, before later changes)"
            template = template.replace(link, marked)
    page = template.format(
        **figures, boards_n=questions(), evidence_n=pictures.questions("evidence.md")
    )
    return page.replace("(results:", f"({SOURCE}/")


def all_results() -> str:
    """The list of all tables, with their commands."""
    rows = [
        f"| {result.title} | [{result.file}](results/{result.file}) "
        f"| `python benchmarks/{result.command}` | {older(result.file)} |"
        for result in RESULTS_IN_ORDER
        if (RESULTS / result.file).is_file()
    ]
    return "\n".join([LIST_HEAD, *rows]) + "\n"


def older(file: str) -> str:
    """The commit that a result was measured at, where no part of it says the code that made it."""
    text = (RESULTS / file).read_text(encoding="utf-8")
    found = re.search(r"^Measured at commit (\w+)", text, re.MULTILINE)
    return found[1] if found and freshness.changed(text) is None else ""


def questions() -> str:
    """How many questions were asked about the manuals that the page speaks of."""
    text = (RESULTS / "hiqa.md").read_text(encoding="utf-8")
    found = re.search(
        r"^### boards: 60 manuals, .*?(\d+) questions", text, re.MULTILINE
    )
    return found[1] if found else ""


def figure(file: str, title: str, row: str, column: int) -> str:
    """A cell of a table below a heading; "" if it is not there."""
    path, names = RESULTS / file, row.split(" | ")
    for cells in pictures.table(path, title) if path.is_file() else ():
        if cells[: len(names)] == names:
            return cells[column].strip("*")
    return ""


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--run",
        action="store_true",
        help="measure all methods and peers on all sets first",
    )
    parser.add_argument(
        "--run-all", action="store_true", help="measure all results first"
    )
    options = parser.parse_args(arguments)
    for result in RESULTS_IN_ORDER if options.run_all else MAIN if options.run else ():
        subprocess.run(
            [sys.executable, *shlex.split(f"benchmarks/{result.command}")],
            cwd=ROOT,
            check=True,
        )
    PAGE.write_text(page(), encoding="utf-8")
    LIST.write_text(all_results(), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)} and {LIST.relative_to(ROOT)} written")


if __name__ == "__main__":
    main()
