"""`python -m torture`: try all promises, print one line each."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

# One thread a process: the cores are shared by the processes.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from places import ROOT  # noqa: E402

from torture import promises  # noqa: E402
from torture.promise import CallStats, Promise  # noqa: E402
from torture.running import run  # noqa: E402

RECORD = ROOT / "benchmarks/results/torture.json"
SHOWN = 10  # failures of a promise that are printed


def main() -> int:
    """Return 1 if a promise is broken."""
    options = _options()
    warnings.simplefilter("ignore")
    chosen = [
        p for p in promises.ALL if not options.promise or p.name in options.promise
    ]
    if options.case is not None:
        return _one_case(chosen, options.case)
    shares = sum(promise.share for promise in chosen)
    results: dict[str, CallStats] = {}
    for promise in chosen:
        cases = promise.short if options.short else promise.cases
        seconds = 60.0 * options.minutes * promise.share / shares
        tally = run(
            promise,
            cases=cases,
            seconds=seconds,
            workers=options.workers,
            first=options.first,
        )
        results[promise.name] = tally
        print(_line(promise, tally, cases - options.first), flush=True)
        for number, failure in list(tally.failures.items())[:SHOWN]:
            print(f"    case {number}: {failure}", flush=True)
    if options.json:
        Path(options.json).write_text(
            json.dumps({n: vars(t) for n, t in results.items()})
        )
    if options.record:
        _record(results, options)
    return int(any(tally.failures for tally in results.values()))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="torture", description=__doc__)
    names = [promise.name for promise in promises.ALL]
    parser.add_argument(
        "--promise", action="append", choices=names, help="only this one"
    )
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="at most, all together"
    )
    parser.add_argument(
        "--short", action="store_true", help="the few cases of the test suite"
    )
    parser.add_argument("--case", type=int, help="one case alone, with its traceback")
    parser.add_argument(
        "--first",
        type=int,
        default=0,
        help="case to begin with, where an earlier run ended",
    )
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--json", help="a file for the results")
    parser.add_argument(
        "--record", action="store_true", help=f"write {RECORD.relative_to(ROOT)}"
    )
    return parser.parse_args()


def _one_case(chosen: list[Promise], number: int) -> int:
    for promise in chosen:
        promise.case(number)
        print(f"{promise.name}: case {number} holds")
    return 0


def _line(promise: Promise, tally: CallStats, cases: int) -> str:
    if tally.not_here:
        return f"{promise.name:<12} not tried here: {tally.not_here}"
    late = "" if tally.cases >= cases else f" (of {cases}: time was over)"
    return (
        f"{promise.name:<12} {tally.cases:>7} cases {len(tally.failures):>5} failures "
        f"{tally.seconds:>6.0f} s   {promise.says}{late}"
    )


def _record(results: dict[str, CallStats], options: argparse.Namespace) -> None:
    """Write what came of the promises tried; the rows of others stay those of their last run. A run
    that begins where the recorded one ended is added to it."""
    sys.path.insert(0, str(ROOT))
    from benchmarks.freshness import save
    from benchmarks.machine import machine_line, versions_line

    rows: dict[str, Any] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    packages = (
        "numpy",
        "pypdfium2",
        "langchain-core",
        "llama-index-core",
    )
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"],
        capture_output=True,
        text=True,
    ).stdout.strip()
    processes = f"{options.workers} processes"
    how = f"commit {commit}, {processes}, {versions_line(packages)}, {machine_line()}"
    for name, tally in results.items():
        if not tally.not_here:
            row = {
                "cases": tally.cases,
                "failures": len(tally.failures),
                "seconds": round(tally.seconds),
                "how": [how],
            }
            before = rows.get(name)
            if options.first and before and before["cases"] == options.first:
                row = {key: before[key] + value for key, value in row.items()}
            rows[name] = row
    RECORD.write_text(json.dumps(rows, indent=1) + "\n")
    is_whole = all(
        row["how"] == [how] for row in rows.values()
    )  # of this code, all of it
    scripts = sorted(Path(__file__).parent.glob("*.py")) if is_whole else []
    save(RECORD.with_suffix(".md"), _page(rows), *map(str, scripts))


def _page(rows: dict[str, Any]) -> str:
    """The recorded runs as Markdown, promises in their order."""
    recorded = [promise for promise in promises.ALL if promise.name in rows]
    runs = list(
        dict.fromkeys(how for promise in recorded for how in rows[promise.name]["how"])
    )
    number_of = {how: str(number) for number, how in enumerate(runs, start=1)}
    table = [
        f"| {promise.name} | {promise.says} | {row['cases']:,} | {row['failures']:,} | "
        f"{row['seconds']:,} | {', '.join(number_of[how] for how in dict.fromkeys(row['how']))} |"
        for promise in recorded
        if (row := rows[promise.name])
    ]
    return "\n".join(
        [
            "# Torture",
            "",
            "What `make torture RECORD=1` found: cases tried of each promise, and cases in which "
            "it broke. CONTRIBUTING says what a case is. Each row is the promise's last run.",
            "",
            "| promise | what must hold | cases | failures | s | run |",
            "|---|---|---:|---:|---:|---:|",
            *table,
            "",
            *(f"{number}. {how}" for how, number in number_of.items()),
            "",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
