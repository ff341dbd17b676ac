"""Measure the library's speed: `python benchmarks/speed.py [PART] [--repeat N]`.

Parts are parse, views, search and store; default all of them.

Every figure is measured again and written to benchmarks/results/speed.json and speed.md; parts not
asked for keep their last figures there. Ratios compare tasks that ran by turns in one process.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from benchmarks.machine import machine_line, versions_line
from benchmarks.question_sets import DataMissing
from benchmarks.speed_tables import render, save_part

PARTS = ("parse", "views", "search", "store")
RESULTS = Path(__file__).resolve().parent / "results"


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
        default=RESULTS,
        help="folder for speed.json and speed.md",
    )
    options = parser.parse_args(arguments)
    if options.repeat < 1:
        parser.error(f"--repeat must be at least 1; got {options.repeat}.")
    for part in PARTS if options.part == "all" else (options.part,):
        try:
            measure(part, options.repeat, options.results)
        except DataMissing as error:
            print(f"{part}: {error}", file=sys.stderr)
    return 0


def measure(part: str, repeat: int, folder: Path) -> None:
    """Run one part, print its tables and put them into the result files."""
    module = import_module(f"benchmarks.speed_{part}")
    tables = [table.as_dict() for table in module.run(repeat)]
    record = {
        "machine": machine_line(),
        "versions": versions_line(module.PACKAGES),
        "repeat": repeat,
        "tables": tables,
    }
    print(part_markdown(part, record))
    save(folder, part, record)


def save(folder: Path, part: str, record: dict[str, Any]) -> None:
    """Replace one part's record in speed.json, and write speed.md from all."""
    command = "`python benchmarks/speed.py [parse|views|search|store|all]`"
    head = f"# Speed\n\nMeasured by {command}."
    save_part(
        folder / "speed.json",
        part,
        record,
        parts=PARTS,
        head=head,
        markdown=part_markdown,
        scripts=[__file__, str(Path(__file__).with_name(f"speed_{part}.py"))],
    )


def part_markdown(part: str, record: Mapping[str, Any]) -> str:
    """All tables of a part as Markdown."""
    machine = f"{record['machine']}; {record['repeat']} repetitions by turns"
    tables = [
        render(table, machine=machine, versions=record["versions"])
        for table in record["tables"]
    ]
    return "\n".join([f"## {part}\n", *tables])


if __name__ == "__main__":
    raise SystemExit(main())
