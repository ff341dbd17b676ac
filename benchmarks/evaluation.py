"""The page docs/evaluation.md: what the results in benchmarks/results say; all_results.md with the
command that measures each of them again; and the pictures.

    python benchmarks/evaluation.py [--run | --run-all]

The words of both, the list of results and that of rows are in conclusions.md. `{name[column]}` is a
cell there, and `{name[column]:more|no more|less}` the word for its interval: above 0, with 0
inside, below. A line whose figures or files are not there is left out. A section ends with the
results in it that are stale.

With --run all methods and peers are measured first, on all sets; a run that was stopped goes on
where it was. With --run-all everything on the page is, which takes hours.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import freshness, pictures

ROOT = freshness.ROOT
PAGE = ROOT / "docs" / "evaluation.md"
LIST = ROOT / "benchmarks" / "all_results.md"
SOURCE = "https://github.com/structrag/structrag/blob/main/benchmarks/results"
_WORDS = ROOT / "benchmarks" / "conclusions.md"
_PAGE, _LIST, _TABLE = re.split(r"\n+(?=# )", _WORDS.read_text(encoding="utf-8"))


# File in benchmarks/results -> the command that writes it; those of MAIN are measured by --run.
COMMANDS, MAIN = (
    dict(re.findall(r"\[(\w+\.md)\].* \| `python (.+?)`", part))
    for part in (_LIST, _LIST.partition("By the command alone")[0])
)
# Name -> files, of which the first that has it counts; heading above its table; first cells.
ROWS = {
    name: place
    for name, *place in re.findall(
        r"^\| (\w+) \| (.+\.md) \| (.+) \| (.+) \|$", _TABLE, re.MULTILINE
    )
}


_changed = cache(freshness.changed)


class Figure(str):
    """A cell. In a format such as "more|no more|less" it is the word for its interval."""

    def __format__(self, words: str) -> str:
        if not words:
            return str(self)
        one = pictures.interval(self)
        if one is None:
            raise KeyError(self)
        return words.split("|")[0 if one.low > 0 else 2 if one.high < 0 else 1]


class Row(dict[str, Figure]):
    """The cells of a row that are not blank, by the heads of their columns."""

    def __init__(self, cells: Mapping[str, str], file: str, title: str) -> None:
        super().__init__(
            {head: Figure(cell.strip("*")) for head, cell in cells.items() if cell}
        )
        self.file, self.title = file, title

    def __getitem__(self, head: str | int) -> Figure:
        return super().__getitem__(str(head))

    @property
    def n(self) -> str:
        """How many questions it is of."""
        return pictures.questions(self.file, self.title)

    @property
    def sets(self) -> dict[str, int]:
        """Set -> how many questions it is of."""
        return pictures.samples(self.file)

    @property
    def heading(self) -> str:
        return pictures.heading(self.file, self.title).strip("# ")

    @property
    def peer(self) -> str:
        """The system that the heading of a table of differences ends with."""
        return self.heading.split(", ")[-1]

    @property
    def command(self) -> str:
        """What writes its file."""
        return f"`python {COMMANDS[self.file]}`"


def row(files: str, title: str, first: str) -> Row | None:
    """A row of a table below a heading; None if it is not there."""
    names = first.split("; ")
    for file in files.split():
        for cells in pictures.table(file, title):
            if list(cells.values())[: len(names)] == names:
                return Row(cells, file, title)
    return None


def page() -> str:
    """The page, its figures those of the results."""
    return _filled(_PAGE, SOURCE)


def all_results() -> str:
    """The list of all tables, with their commands."""
    return _filled(_LIST, "results")


def state(file: str) -> str:
    """Why a result may not be of today's code: "" if it is."""
    rooms = _changed((freshness.RESULTS / file).read_text(encoding="utf-8"))
    if rooms is None:
        return "code not recorded"
    return "older than the code" if rooms else ""


def _filled(template: str, source: str) -> str:
    """A template with its figures."""
    rows: dict[str, Any] = {
        name: cells for name, place in ROWS.items() if (cells := row(*place))
    }
    rows["state"] = {
        path.name: state(path.name) for path in freshness.RESULTS.glob("*.md")
    }
    sections = re.split(r"\n+(?=## )", template.rstrip())
    text = "\n\n".join(filter(None, (_section(each, rows) for each in sections)))
    return text.replace("(results:", f"({source}/") + "\n"


def _section(text: str, rows: Mapping[str, Any]) -> str:
    """A section and what is stale in it; "" if its heading alone is left."""
    blocks = list(filter(None, (_block(each, rows) for each in text.split("\n\n"))))
    if len(blocks) < 2:
        return ""
    names = {*re.findall(r"\{(\w+)", text)}
    files = {rows[name].file for name in names & {*rows} - {"state"}}
    if "state" not in names:  # a table that says it beside each file
        files |= {*_links("\n".join(blocks))}
    if stale := ", ".join(file for file in sorted(files) if rows["state"][file]):
        blocks.append(f"*Older than the code, or of code not recorded: {stale}.*")
    return "\n\n".join(blocks)


def _block(text: str, rows: Mapping[str, Any]) -> str:
    """A paragraph or a table without the lines that lack a figure; "" if all with figures do."""
    lines = [(each, _line(each, rows)) for each in text.split("\n")]
    asked = [line for each, line in lines if re.search(r"\{|\(results:", each)]
    if asked and not any(asked):
        return ""
    return "\n".join(line for _, line in lines if line is not None)


def _line(text: str, rows: Mapping[str, Any]) -> str | None:
    try:
        line = text.format_map(rows)
    except KeyError:
        return None
    return line if {*_links(line)} <= {*rows["state"]} else None


def _links(text: str) -> list[str]:
    return re.findall(r"\(results:(.+?)\)", text)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the pages and draw the pictures."""
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
    chosen = COMMANDS if options.run_all else MAIN if options.run else {}
    for command in chosen.values():
        subprocess.run([sys.executable, *shlex.split(command)], cwd=ROOT, check=True)
    PAGE.write_text(page(), encoding="utf-8")
    LIST.write_text(all_results(), encoding="utf-8")
    for path in (PAGE, LIST, *pictures.draw()):
        print(f"{path.relative_to(ROOT)} written")
    missing = [name for name, place in ROWS.items() if row(*place) is None]
    print(f"In no result, and left out: {', '.join(missing) or 'nothing'}")


if __name__ == "__main__":
    main()
