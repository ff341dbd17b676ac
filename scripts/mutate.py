"""Change the core in small ways at random, and see whether each module's own test file notices.

    python scripts/mutate.py --number 50 --seed 1

Each mutation is made in a copy of the core, so the checkout stays as it is. A mutation is killed
when the test file of its module's name fails, or one that tests/core/test_layout_of_tests.py names
for a module without one, or the table of all defaults and records. What survives is either a
missing case or a change that makes no difference; the two are told apart by reading, so both are
printed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "core"))

from test_layout_of_tests import ELSEWHERE  # noqa: E402

CORE = ROOT / "shared" / "structrag"
TESTS = ROOT / "tests" / "core"
SIGNATURES = TESTS / "test_signatures.py"  # about every module at once
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
    start: int  # in UTF-8 bytes
    end: int
    before: str
    after: str

    @property
    def test_file(self) -> Path:
        return TESTS / self.module.parent / f"test_{self.module.name}"

    def test_files(self) -> list[Path]:
        """Its module's own test file, or those that the list of exceptions names; the table."""
        reason = ELSEWHERE.get(self.module.with_suffix("").as_posix(), "")
        elsewhere = [
            TESTS / f"{name}.py" for name in reason.partition(":")[0].split(", ")
        ]
        return [
            path for path in (self.test_file, *elsewhere, SIGNATURES) if path.exists()
        ]

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

    `strict=True` says of lists made together that they are of one length: no case shows another.
    """
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
                    start,
                    end,
                    before,
                    ast.unparse(changed),
                )
            )
    return result


def drawn(number: int, seed: int) -> list[Mutation]:
    """`number` different places of the core, one change each; long modules have more of them."""
    places: dict[tuple[Path, int, int], list[Mutation]] = {}
    for file in sorted(CORE.rglob("*.py")):
        for mutation in mutations_of(file):
            key = (mutation.module, mutation.start, mutation.end)
            places.setdefault(key, []).append(mutation)
    chance = random.Random(seed)
    keys = chance.sample(sorted(places), number)
    return [chance.choice(places[key]) for key in keys]


def passes(test_file: Path, core: Path, timeout: float) -> bool:
    """Whether the test file passes with the core that stands in the folder `core`."""
    path = os.pathsep.join([str(core), str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        str(test_file),
    ]
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False  # a loop that does not end is noticed
    return done.returncode == 0


def killer(mutation: Mutation, folder: Path, timeout: float) -> Path | None:
    """The test file that fails with the module changed."""
    file = folder / "structrag" / mutation.module
    source = file.read_bytes()
    replacement = f"({mutation.after})".encode()
    try:
        file.write_bytes(
            source[: mutation.start] + replacement + source[mutation.end :]
        )
        failing = (f for f in mutation.test_files() if not passes(f, folder, timeout))
        return next(failing, None)
    finally:
        file.write_bytes(source)


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=50, help="how many mutations")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--timeout", type=float, default=300, help="seconds for one test file"
    )
    parser.add_argument(
        "--list", action="store_true", help="print the mutations, run nothing"
    )
    parser.add_argument(
        "--unchecked", action="store_true", help="do not run unchanged code first"
    )
    arguments = parser.parse_args()
    mutations = drawn(arguments.number, arguments.seed)
    if arguments.list:
        print(*mutations, sep="\n")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(
            CORE, folder / "structrag", ignore=shutil.ignore_patterns("__pycache__")
        )
        if not arguments.unchecked:
            for test_file in sorted(
                {file for m in mutations for file in m.test_files()}
            ):
                if not passes(test_file, folder, arguments.timeout):
                    sys.exit(
                        f"{test_file.relative_to(ROOT)} fails with the core as it is"
                    )
        killers = []
        for mutation in mutations:
            by = killer(mutation, folder, arguments.timeout)
            killers.append(by)
            verdict = "survived" if by is None else "killed"
            other = by is not None and by != mutation.test_file
            source = f"  (by {by.relative_to(TESTS)})" if by and other else ""
            no_file = "" if mutation.test_file.exists() else "  (no test file)"
            print(f"{verdict:8} {mutation}{no_file}{source}", flush=True)
    by_own = sum(by == m.test_file for by, m in zip(killers, mutations, strict=True))
    by_any = sum(by is not None for by in killers)
    print(f"Killed by the module's own test file: {share(by_own, len(mutations))}")
    print(
        f"Killed by that, the file named for it or the table: {share(by_any, len(mutations))}"
    )


if __name__ == "__main__":
    main()
