"""Change the core in small ways at random, and see whether the tests of `make check` notice.

    python scripts/mutate.py --number 200 --seed 1   # a sample of the whole core
    python scripts/mutate.py --module index/dense    # one change at each place of a module

The tests run once as they are, to see which run which lines. A change within a function is then
tried in a fork (`forked.py`): the tests that run its lines, those of its own room first, until one
fails or SECONDS are over. What runs at import (constants, defaults, class bodies) is changed in a
copy of the core and tried in a process of its own, with the tests that run the module and the table
of all defaults. What survives is either a missing case or a change that makes no difference; the
two are told apart by reading, so both are printed. The checkout stays as it is.
"""

from __future__ import annotations

import argparse
import ast
import copy
import math
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from forked import try_all

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "shared" / "structrag"
OPPOSITE: dict[type[ast.cmpop], list[type[ast.cmpop]]] = {
    ast.Lt: [ast.LtE, ast.GtE],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
}


@dataclass(frozen=True)
class Mutation:
    """One expression of one module, and what takes its place."""

    module: Path  # relative to the core
    line: int
    column: int  # in UTF-8 bytes, as start and end
    start: int
    end: int
    before: str
    after: str

    def source(self) -> bytes:
        """The changed module."""
        source = (CORE / self.module).read_bytes()
        return source[: self.start] + f"({self.after})".encode() + source[self.end :]

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {self.before}  ->  {self.after}"


def variants(node: ast.AST) -> Iterator[ast.AST]:
    """The small changes of one expression."""
    if isinstance(node, ast.Compare):
        for i, operator in enumerate(node.ops):
            for other in OPPOSITE[type(operator)]:
                changed = copy.deepcopy(node)
                changed.ops[i] = other()
                yield changed
    elif isinstance(node, ast.BoolOp):
        changed = copy.deepcopy(node)
        changed.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield changed
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        changed = copy.deepcopy(node)
        changed.op = ARITHMETIC[type(node.op)]()
        yield changed
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1)
        yield ast.Constant(node.value - 1)


def expressions(tree: ast.Module) -> Iterator[ast.expr]:
    """Every expression that runs; annotations, f-strings and `strict=` of `zip` left out.
    `strict=True` says of lists made together that they are of one length: no case shows another."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.expr):
            yield node
        if isinstance(node, ast.keyword) and node.arg == "strict":
            continue
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns") or isinstance(node, ast.JoinedStr):
                continue  # positions inside f-strings are wrong before Python 3.12
            children = value if isinstance(value, list) else [value]
            waiting.extend(child for child in children if isinstance(child, ast.AST))


def mutations_of(file: Path) -> list[Mutation]:
    """All small changes of a module, in no order."""
    source = file.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    result = []
    for node in expressions(ast.parse(source)):
        for changed in variants(node):
            if node.end_lineno is None or node.end_col_offset is None:
                continue
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            before = " ".join(source[start:end].decode("utf-8").split())
            result.append(
                Mutation(
                    file.relative_to(CORE),
                    node.lineno,
                    node.col_offset,
                    start,
                    end,
                    before,
                    ast.unparse(changed),
                )
            )
    return result


def by_place(mutations: list[Mutation]) -> dict[tuple[Path, int, int], list[Mutation]]:
    """The changes of each place: a module, and where an expression starts and ends."""
    places: dict[tuple[Path, int, int], list[Mutation]] = {}
    for mutation in mutations:
        key = (mutation.module, mutation.start, mutation.end)
        places.setdefault(key, []).append(mutation)
    return places


def drawn(number: int, seed: int) -> list[Mutation]:
    """`number` different places of the core, one change each; long modules have more of them."""
    places = by_place(
        [m for file in sorted(CORE.rglob("*.py")) for m in mutations_of(file)]
    )
    chance = random.Random(seed)
    keys = chance.sample(sorted(places), number)
    return [chance.choice(places[key]) for key in keys]


def share(successes: int, trials: int) -> str:
    low, high = wilson(successes, trials)
    interval = f"95% interval {low:.0%} to {high:.0%}"
    return f"{successes} of {trials}: {successes / trials:.0%}, {interval}"


def wilson(successes: int, trials: int, z: float = 1.96) -> tuple[float, float]:
    """The 95% interval of a share, after Wilson (1927)."""
    share = successes / trials
    centre = share + z * z / (2 * trials)
    margin = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    return (
        (centre - margin) / (1 + z * z / trials),
        (centre + margin) / (1 + z * z / trials),
    )


def chosen_modules(names: list[str]) -> list[Mutation]:
    """All changes of modules, or of the modules in folders: "index/dense", "text"."""
    mutations = []
    for name in names:
        path = CORE / name.removesuffix(".py")
        files = (
            sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
        )
        for file in files:
            if not file.exists():
                sys.exit(
                    "--module must be a module or a folder of the core, such as index/dense; "
                    f"got {name}"
                )
            mutations += mutations_of(file)
    return mutations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=50, help="how many mutations")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--module", nargs="+", help="all places of these modules or folders"
    )
    parser.add_argument(
        "--list", action="store_true", help="print the mutations, run nothing"
    )
    arguments = parser.parse_args()
    if arguments.module:
        chance = random.Random(arguments.seed)
        places = by_place(chosen_modules(arguments.module)).values()
        mutations = [chance.choice(changes) for changes in places]
    else:
        mutations = drawn(arguments.number, arguments.seed)
    if arguments.list:
        print(*mutations, sep="\n")
        return
    killed = try_all(mutations, CORE, ROOT / "tests" / "check.txt")
    print(f"Killed by a test of make check: {share(killed, len(mutations))}")


if __name__ == "__main__":
    main()
