"""HiQA's index texts and multi-route retriever, beside the hybrid retrievers of LangChain and
LlamaIndex and the published table of Chroma.

    python benchmarks/hiqa.py [boards|chroma|pooled|speed|all]

Every part asked for is measured again and written to benchmarks/results/hiqa.json and hiqa.md; the
others keep their last figures there.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import hiqa_boards, hiqa_chroma, hiqa_pooled, hiqa_speed, quality
from benchmarks.hiqa_peers import PACKAGES
from benchmarks.machine import versions_line
from benchmarks.speed_tables import Table, run_parts
from structrag.model_calls.cache import Cache

PARTS = ("boards", "chroma", "pooled", "speed")
DOCUMENTS = 60  # manuals that the encoder reads; every manual is searched with LSA
COMMAND = "`python benchmarks/hiqa.py [boards|chroma|pooled|speed|all]`"


def tables(part: str) -> list[Table]:
    """Run one part."""
    if part == "speed":
        return hiqa_speed.run(5)
    embedder, label = quality.chosen_embedder("minilm")
    cache = Cache(quality.CACHE)
    if part == "boards":
        return hiqa_boards.run(embedder, label, cache, DOCUMENTS)
    counter, counter_label = quality.reader_counter()
    if part == "chroma":
        return hiqa_chroma.run(embedder, label, cache, counter, counter_label)
    return hiqa_pooled.run(embedder, label, cache, counter)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts asked for; print and save their tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", nargs="?", default="all", choices=(*PARTS, "all"))
    parser.add_argument(
        "--output", type=Path, default=quality.RESULTS, help="folder for the results"
    )
    options = parser.parse_args(arguments)
    return run_parts(
        options.part,
        PARTS,
        options.output / "hiqa.json",
        lambda part: {
            "versions": versions_line(PACKAGES),
            "tables": tables(part),
        },
        head=f"# HiQA\n\nMeasured by {COMMAND}.",
        scripts=lambda part: [__file__],
    )


if __name__ == "__main__":
    raise SystemExit(main())
