"""How many clauses of contracts are in a chunk under their own heading.

    python benchmarks/contracts.py [--list]

Contracts of CUAD with at least ten numbered clauses, the first thirty of the file. A clause is a
line that begins with a number ("2.3 Fees"), where the numbers of the lines before it lead to that
number. Its first word decides: it is right if the last number in the heading path of its chunk is
its own or that of a clause above it, or if the path names no number; the heading of clauses goes
with the first of them. Prints the shares and writes
benchmarks/results/contracts.md; --list shows the clauses that are wrong. Without the evaluation
data (STRUCTRAG_DATA) it says so and stops.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.freshness import save
from benchmarks.question_sets import DataMissing, data_root
from structrag import ContentAwareSplitter, Document, __version__

RESULTS = Path(__file__).resolve().parent / "results" / "contracts.md"
CONTRACTS, FEWEST = 30, 10
_WORD = r"(?:(?:article|section|clause|§)[ \t]*)?"
_CLAUSE = re.compile(
    rf"^[ \t]*{_WORD}(\d{{1,2}}(?:\.\d{{1,2}}){{0,3}}|[IVXL]+(?=[.: \t]))[.):]*[ \t]+(?=[A-Z\"“(])",
    re.MULTILINE | re.IGNORECASE,
)
_TITLE = re.compile(
    rf"{_WORD}(\d{{1,2}}(?:\.\d{{1,2}})*|[IVXL]+(?=[.: \t]|$))(?![\w%])", re.IGNORECASE
)
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50}

Number = tuple[int, ...]


class Clause(NamedTuple):
    """A clause by its number, and where its line and its first word start."""

    number: Number
    start: int
    word: int


class Score(NamedTuple):
    """A contract's clauses: all, under their own number, under one above, under none, wrong."""

    name: str
    clauses: int
    own: int
    above: int
    none: int
    wrong: tuple[str, ...]


def number_of(text: str) -> Number:
    """The parts of a number: "2.03" is (2, 3), "IV" is (4,)."""
    if text[0].isdigit():
        return tuple(map(int, text.split(".")))
    values = [_ROMAN[letter] for letter in text.upper()]
    following = [*values[1:], 0]
    return (sum(-a if a < b else a for a, b in zip(values, following, strict=True)),)


def follows(number: Number, last: Number) -> bool:
    """Whether it is the first child of the last number, or the next of that or of one above."""
    if number[:-1] == last and number[-1] == 1:
        return True
    depth = len(number)
    if depth > len(last):
        return False
    return number[:-1] == last[: depth - 1] and number[-1] - last[depth - 1] in (1, 2)


def clauses_of(text: str) -> list[Clause]:
    """The longest run of clauses that begins with a clause 1."""
    found = [(number_of(m[1]), m.start(), m.end()) for m in _CLAUSE.finditer(text)]
    best: list[tuple[Number, int, int]] = []
    for first, (number, _, _) in enumerate(found):
        if number not in ((1,), (1, 1)):
            continue
        run = [found[first]]
        for entry in found[first + 1 :]:
            last = run[-1][0]
            opens = entry[0] == (
                last[0] + 1,
                1,
            )  # its article has a heading without a number
            if follows(entry[0], last) or opens:
                run.append(entry)
        best = max(best, run, key=len)
    return [Clause(*entry) for entry in best]


def contracts() -> Iterator[tuple[str, str, list[Clause]]]:
    """Name, text and clauses of the contracts that are measured."""
    path = data_root() / "cuad" / "documents.jsonl.gz"
    if not path.is_file():
        raise DataMissing(f"The contracts are not at {path}; set STRUCTRAG_DATA.")
    taken = 0
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            clauses = clauses_of(row["text"])
            if len(clauses) >= FEWEST and taken < CONTRACTS:
                taken += 1
                yield row["id"], row["text"], clauses


def score(name: str, text: str, clauses: Sequence[Clause]) -> Score:
    """Where the chunks of a contract put its clauses."""
    chunks = ContentAwareSplitter().split(Document(text=text, format="text", id=name))
    counts = {"own": 0, "above": 0, "none": 0}
    wrong = []
    for number, start, word in clauses:
        chunk = next((c for c in chunks if c.start <= word < c.end), None)
        path = chunk.path if chunk else ()
        numbers = [number_of(m[1]) for title in path if (m := _TITLE.match(title))]
        last = numbers[-1] if numbers else ()
        if not last:
            counts["none"] += 1
        elif (
            last[: len(number)] == number
        ):  # a heading goes with the first clause below it
            counts["own"] += 1
        elif last == number[: len(last)]:
            counts["above"] += 1
        else:
            shown = ".".join(map(str, number))
            wrong.append(f"{shown} at {start}: {' > '.join(path)[-100:]}")
    return Score(name, len(clauses), *counts.values(), tuple(wrong))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--list", action="store_true", help="show the clauses that are wrong"
    )
    options = parser.parse_args(arguments)
    try:
        scores = [score(*contract) for contract in contracts()]
    except DataMissing as error:
        print(error, file=sys.stderr)
        return 2
    if options.list:
        for one in scores:
            print(*(f"{one.name[:40]}: {wrong}" for wrong in one.wrong), sep="\n")
    text = render(scores)
    save(RESULTS, text, __file__)
    print(text)
    return 0


def render(scores: Sequence[Score]) -> str:
    """The tables: the shares of all clauses, and each contract."""
    total = sum(one.clauses for one in scores)
    parts = [sum(one[k] for one in scores) for k in (2, 3, 4)]
    share = [
        f"{100 * n / total:.1f} %" for n in (sum(parts), *parts, total - sum(parts))
    ]
    rows = [
        f"| {one.name[:60]} | {one.clauses} | {one.own} | {one.above} | {one.none} "
        f"| {len(one.wrong)} |"
        for one in scores
    ]
    return "\n".join(
        [
            "# Clauses of contracts under their headings",
            "",
            f"structrag {__version__}; `python benchmarks/contracts.py`. "
            f"{total:,} numbered clauses of {len(scores)} contracts of CUAD.",
            "",
            "| right | under its own number | under one above it | under no number | wrong |",
            "|---|---|---|---|---|",
            f"| {' | '.join(share)} |",
            "",
            "| contract | clauses | own | above | no number | wrong |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


if __name__ == "__main__":
    raise SystemExit(main())
