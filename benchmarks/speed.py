"""Measure the library's speed: `python benchmarks/speed.py [PART] [--repeat N]`.

Parts are parse, formats, views, search and store; default all of them.

Every figure is measured again and written to benchmarks/results/speed.json and speed.md; parts not
asked for keep their last figures there. Ratios compare tasks that ran by turns in one process.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from benchmarks.machine import versions_line
from benchmarks.speed_tables import run_parts

PARTS = ("parse", "formats", "views", "search", "store")
HERE = Path(__file__).resolve().parent
HEAD = "# Speed\n\nMeasured by `python benchmarks/speed.py [parse|formats|views|search|store|all]`."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts asked for; print and save their tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", default="all", choices=(*PARTS, "all"))
    parser.add_argument(
        "--repeat",
        type=int,
        default=5,
        help="timed repetitions of each task (default 5)",
    )
    parser.add_argument(
        "--results",
        type=Path,
        default=HERE / "results",
        help="folder for speed.json and speed.md",
    )
    options = parser.parse_args(arguments)
    if options.repeat < 1:
        parser.error(f"--repeat must be at least 1; got {options.repeat}.")

    def measure(part: str) -> dict[str, Any]:
        module = import_module(f"benchmarks.speed_{part}")
        tables = module.run(options.repeat)
        versions = versions_line(module.PACKAGES)
        return {"versions": versions, "repeat": options.repeat, "tables": tables}

    return run_parts(
        options.part,
        PARTS,
        options.results / "speed.json",
        measure,
        head=HEAD,
        note="; {repeat} repetitions by turns",
        scripts=lambda part: [__file__, str(HERE / f"speed_{part}.py")],
    )


if __name__ == "__main__":
    raise SystemExit(main())
