"""Timing by turns, and the tables that speed benchmarks print and save."""

from __future__ import annotations

import gc
import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.freshness import stamped
from benchmarks.machine import machine_line
from benchmarks.question_sets import DataMissing


@dataclass(frozen=True)
class Timing:
    """Seconds of each repetition, by the wall clock and of this process's processors."""

    wall: tuple[float, ...]
    cpu: tuple[float, ...]

    @property
    def seconds(self) -> float:
        """Median wall time."""
        return median(self.wall)

    @property
    def cpu_seconds(self) -> float:
        """Median processor time."""
        return median(self.cpu)


@dataclass(frozen=True)
class Table:
    """One printed table. Cells are ready to print; `figures` keeps the numbers behind them, and the
    repetitions."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    corpus: str = ""
    notes: tuple[str, ...] = ()
    figures: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def by_turns(
    tasks: Mapping[str, Callable[[], object]], repeat: int, *, warm_up: bool = True
) -> dict[str, Timing]:
    """Time each task `repeat` times in the order A B C A B C ..., after one untimed round.

    Turns spread what else the machine does evenly, so that ratios of one round are comparable.
    Objects that exist before (imported packages) are kept from the garbage collector's rounds, for
    all tasks alike.
    """
    gc.collect()
    gc.freeze()
    wall: dict[str, list[float]] = {name: [] for name in tasks}
    cpu: dict[str, list[float]] = {name: [] for name in tasks}
    for number in range(repeat + warm_up):
        for name, task in tasks.items():
            gc.collect()
            started, started_cpu = time.perf_counter(), time.process_time()
            task()
            ended, ended_cpu = time.perf_counter(), time.process_time()
            if number or not warm_up:
                wall[name].append(ended - started)
                cpu[name].append(ended_cpu - started_cpu)
    return {name: Timing(tuple(wall[name]), tuple(cpu[name])) for name in tasks}


def peak_memory(task: Callable[[], object]) -> int:
    """Most bytes that Python had allocated at once while the task ran, what existed before not
    counted."""
    gc.collect()
    tracemalloc.start()
    try:
        task()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def spread(values: Sequence[float], digits: int = 1) -> str:
    """`median (min-max)`."""
    low, high = min(values), max(values)
    return f"{median(values):,.{digits}f} ({low:,.{digits}f}-{high:,.{digits}f})"


def ratios(slow: Sequence[float], fast: Sequence[float]) -> list[float]:
    """slow / fast, repetition by repetition; a task timed once stands for all its repetitions."""
    if len(slow) == 1:
        slow = [slow[0]] * len(fast)
    return [a / b for a, b in zip(slow, fast, strict=True)]


def rates(amount: float, seconds: Sequence[float]) -> list[float]:
    """Amount per second, repetition by repetition."""
    return [amount / value for value in seconds]


def render(table: Mapping[str, Any], *, machine: str, versions: str) -> str:
    """A table as Markdown, with what it was measured on."""
    lines = [f"### {table['title']}", ""]
    lines += [
        "| " + " | ".join(table["columns"]) + " |",
        "|" + "---|" * len(table["columns"]),
    ]
    lines += ["| " + " | ".join(row) + " |" for row in table["rows"]]
    lines += [""] + [f"- {note}" for note in table["notes"]]
    lines += [f"- Machine: {machine}", f"- Versions: {versions}"]
    lines += [f"- Corpus: {table['corpus']}"] * bool(table["corpus"])
    return "\n".join(lines) + "\n"


def run_parts(
    chosen: str,
    parts: Sequence[str],
    file: Path,
    measure: Callable[[str], dict[str, Any]],
    *,
    head: str,
    note: str = "",
    scripts: Callable[[str], Sequence[str]],
) -> int:
    """Measure the parts asked for ("all": each), print their tables, put them into a JSON file and
    its page. A record has `tables` (of `Table`) and `versions`. Parts without data are named."""

    def markdown(part: str, record: Mapping[str, Any]) -> str:
        machine = record["machine"] + note.format(**record)
        tables = [
            render(table, machine=machine, versions=record["versions"])
            for table in record["tables"]
        ]
        return "\n".join([f"## {part}\n", *tables])

    for part in parts if chosen == "all" else (chosen,):
        try:
            measured = measure(part)
        except DataMissing as error:
            print(f"{part}: {error}", file=sys.stderr)
            continue
        tables = [table.as_dict() for table in measured["tables"]]
        record = {"machine": machine_line(), **measured, "tables": tables}
        print(markdown(part, record))
        save_part(
            file,
            part,
            record,
            parts=parts,
            head=head,
            markdown=markdown,
            scripts=scripts(part),
        )
    return 0


def save_part(
    file: Path,
    part: str,
    record: Mapping[str, Any],
    *,
    parts: Sequence[str],
    head: str,
    markdown: Callable[[str, Mapping[str, Any]], str],
    scripts: Sequence[str],
) -> None:
    """Replace one part's record in a JSON file, and write the page of the same name from all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    records = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    records[part] = {**record, "code": stamped("", *scripts)}
    records = {name: records[name] for name in parts if name in records}
    file.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    sections = [
        f"{markdown(name, value)}\n{value['code'].strip()}\n"
        for name, value in records.items()
    ]
    page = "\n".join([f"{head}\n", *sections])
    file.with_suffix(".md").write_text(page, encoding="utf-8")
