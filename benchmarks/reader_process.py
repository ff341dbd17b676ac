"""The cost of a reader process: reading a file in this process and in another one.

    python benchmarks/reader_process.py

Prints a table: the first file, which starts the process, and the fastest of later readings.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from structrag import read_file

REPEAT = 30
DOCS = Path(__file__).resolve().parents[1] / "docs"


def main() -> None:
    """Measure small files and a page of the documentation, and print the table."""
    print("| file | bytes | here, ms | reader process, ms | its cost, ms | first, ms |")
    print("|---|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder, "small.csv")
        small.write_text("part,price\nSeal,3\n")
        for path in (small, DOCS / "limits.md", DOCS / "guide.md"):
            first = _seconds(lambda path=path: read_file(path, isolated=True))
            here, apart = (
                min(
                    _seconds(lambda path=path, how=how: read_file(path, isolated=how))
                    for _ in range(REPEAT)
                )
                for how in (False, True)
            )
            print(
                f"| {path.name} | {path.stat().st_size:,} | {1000 * here:.2f} "
                f"| {1000 * apart:.2f} | {1000 * (apart - here):.2f} | {1000 * first:.0f} |"
            )


def _seconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
