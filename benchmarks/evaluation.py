"""The page docs/evaluation.md: every result in benchmarks/results, each under what it answers and
the command that measures it again.

    python benchmarks/evaluation.py [--run | --run-all]

With --run all methods and peers are measured first, on all sets; a run that was stopped goes on
where it was. With --run-all everything on the page is, which takes hours.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "evaluation.md"


class Result(NamedTuple):
    title: str
    file: str  # in RESULTS
    command: str  # that writes it
    # What each shows, and its file in docs/pictures.
    pictures: tuple[tuple[str, str], ...] = ()


MAIN = (
    Result(
        "All methods, all peers, all sets",
        "methods.md",
        "methods.py",
        (
            (
                "Recall within 1,000 tokens of every method and peer, with intervals",
                "evaluation_methods.svg",
            ),
            ("Recall over the budgets", "evaluation_budgets.svg"),
        ),
    ),
    Result("Evidence within a token budget", "evidence.md", "evidence.py"),
    Result(
        "Evidence: in at most five passages, on a smaller sample",
        "evidence_small.md",
        "evidence.py --sample small --rows 'fixed,five,**'",
    ),
    Result(
        "Evidence: what its settings rest on",
        "evidence_choices.md",
        "evidence.py --leave-one-out",
    ),
    Result(
        "Evidence: how token vectors are kept",
        "evidence_kept.md",
        "evidence.py --kept --sets qasper,nq,covid_qa,qmsum",
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
    Result("D3: a slow model server", "d3_server.md", "d3.py --slow-server"),
    Result("What stems bring to BM25", "stems.md", "stems.py"),
    Result("Evidence: what stems bring", "stems_evidence.md", "stems.py --evidence"),
    Result(
        "Evidence: splitters' chunks packed as evidence",
        "evidence_splitters.md",
        "evidence_splitters.py --sets qasper,nq,cuad,covid_qa,qmsum,chroma,boards",
    ),
    Result("Routing by evidence", "d3_routing.md", "d3_routing.py --documents 1000"),
    Result("Questions that take two facts", "hops.md", "hops.py"),
    Result(
        "Prompts and a real language model",
        "real_llm.md",
        "real_llm.py --documents 3 --characters 2500",
    ),
    Result("MC-indexing by its paper's tables", "mc_tables.md", "mc_tables.py"),
    Result("Tables of the papers", "paper_tables.md", "paper_tables.py"),
    Result("PDF: ours and its peers", "pdf_readers.md", "pdf_readers.py"),
    Result("Splitters of code", "code_splitters.md", "code_splitters.py"),
    Result("Speed", "speed.md", "speed.py"),
)

HEAD = """\
# Evaluation

All figures are from machines with two cores and no GPU, all-MiniLM-L6-v2 where an encoder is \
named, and no language model but where SmolLM2-135M is named. Each part is
written by the command above it; what is not measured is not here. Where an interval is given and \
holds 0, no difference was shown. Settings
were chosen on these same sets, so the figures of the defaults are slightly flattering. The \
published table of Chroma's set stands
beside ours under [HiQA](#chroma); what we lose is in the first part, in bold with its sign.
"""


CONCLUSIONS = ROOT / "benchmarks" / "conclusions.md"
# name -> file, heading above its table, first cell of its row, number of the column
FIGURES = {
    "evidence": ("evidence.md", "Mean over the sets", "**EvidenceRetriever**", 2),
    "untokened": (
        "evidence.md",
        "Mean over the sets",
        "EvidenceRetriever, tokens not matched",
        2,
    ),
    "fixed": ("evidence.md", "Mean over the sets", "fixed 200, vectors and BM25", 2),
    "recursive": (
        "evidence.md",
        "Mean over the sets",
        "recursive 1,000 characters, overlap 200, vectors, top 4",
        2,
    ),
    "llama_index": (
        "evidence.md",
        "Mean over the sets",
        "LlamaIndex's defaults: 1,024 tokens, overlap 200, vectors, top 2",
        2,
    ),
    "at_500": ("evidence.md", "Mean over the sets", "**EvidenceRetriever**", 4),
    "at_1000": ("evidence.md", "Mean over the sets", "**EvidenceRetriever**", 5),
    "at_2000": ("evidence.md", "Mean over the sets", "**EvidenceRetriever**", 6),
    "multiview": (
        "methods.md",
        "Recall within 1,000 tokens, vectors and BM25",
        "**MC-indexing (MultiViewRetriever)**",
        8,
    ),
    "fixed_chunks": (
        "methods.md",
        "Recall within 1,000 tokens, vectors and BM25",
        "fixed 200",
        8,
    ),
    "idms": (
        "methods.md",
        "Recall within 1,000 tokens, vectors and BM25",
        "**IDMSSplitter**",
        8,
    ),
    "pic": (
        "methods.md",
        "Recall within 1,000 tokens, vectors and BM25",
        "**PICSplitter**",
        8,
    ),
    "boards_path": ("hiqa.md", "boards: 60 manuals", "path | all three (default)", 2),
    "boards_none": ("hiqa.md", "boards: 60 manuals", "none | dense", 2),
}


def conclusions() -> str:
    """The page in front, its figures those of the results; "" where one of these is missing."""
    figures = {name: figure(*place) for name, place in FIGURES.items()}
    template = CONCLUSIONS.read_text(encoding="utf-8")
    return template.format(**figures) if all(figures.values()) else ""


def figure(file: str, title: str, row: str, column: int) -> str:
    """A cell of the first table below a heading; "" if it is not there."""
    path = RESULTS / file
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    headings = [
        i for i, line in enumerate(lines) if line.startswith("#") and title in line
    ]
    for line in lines[headings[0] :] if headings else []:
        if line.startswith(f"| {row} |"):
            return line.split("|")[column + 1].strip().strip("*")
    return ""


def page(results: Sequence[Result] = RESULTS_IN_ORDER) -> str:
    """The page as Markdown; results that are not there are left out."""
    parts = [HEAD, conclusions()]
    for title, file, command, pictures in results:
        path = RESULTS / file
        if path.is_file():
            shown = [f"![{text}](pictures/{name})" for text, name in pictures]
            text = lowered(path.read_text(encoding="utf-8"))
            parts.append(
                "\n\n".join(
                    [f"## {title}", f"`python benchmarks/{command}`", *shown, text]
                )
            )
    return "\n".join(parts).rstrip() + "\n"


def lowered(text: str) -> str:
    """A page without its title, and its other headings one level lower."""
    body = re.sub(r"\A# .*\n+", "", text)
    return re.sub(r"^(#{2,5} )", r"#\1", body, flags=re.MULTILINE)


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
        "--run-all", action="store_true", help="measure everything on the page first"
    )
    options = parser.parse_args(arguments)
    for result in RESULTS_IN_ORDER if options.run_all else MAIN if options.run else ():
        subprocess.run(
            [sys.executable, *f"benchmarks/{result.command}".split()],
            cwd=ROOT,
            check=True,
        )
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)} written")


if __name__ == "__main__":
    main()
