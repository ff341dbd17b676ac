"""Change the core in small ways at random, and see whether each module's own test file notices.

    python scripts/mutate.py --number 50 --seed 1              # a sample of the whole core
    python scripts/mutate.py --module index/dense --every      # all changes of one module

A mutation is killed when the test file of its module's name fails, or one that
tests/core/test_layout_of_tests.py names for a module without one; in a sample also when the table
of all defaults and records does. What survives is either a missing case or a change that makes no
difference; the two are told apart by reading, so both are printed.

Changes within functions are tried in forks of one process (`forked.py`), with the tests that run
their lines. What runs at import (constants, defaults) is changed in a copy of the core, one process
of pytest each. The checkout stays as it is.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "core"))

from test_layout_of_tests import ELSEWHERE  # noqa: E402

CORE = ROOT / "shared" / "structrag"
TESTS = ROOT / "tests" / "core"
FORKED = ROOT / "scripts" / "forked.py"
# Plugins of others that take long to import.
SLOW_PLUGINS = ("cacheprovider", "langsmith_plugin", "syrupy")
QUICK = [word for plugin in SLOW_PLUGINS for word in ("-p", f"no:{plugin}")]
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
    column: int  # in UTF-8 bytes, as start and end
    start: int
    end: int
    before: str
    after: str

    @property
    def test_file(self) -> Path:
        return TESTS / self.module.parent / f"test_{self.module.name}"

    def test_files(self) -> list[Path]:
        """Its module's own test file, or those that the list of exceptions names."""
        reason = ELSEWHERE.get(self.module.with_suffix("").as_posix(), "")
        elsewhere = [
            TESTS / f"{name}.py" for name in reason.partition(":")[0].split(", ")
        ]
        return [path for path in (self.test_file, *elsewhere) if path.exists()]

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


def environment(core: Path) -> dict[str, str]:
    """That of a run of tests with the core that stands in the folder `core`."""
    path = os.pathsep.join([str(core), str(ROOT), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def passes(test_file: Path, core: Path, timeout: float) -> bool:
    """Whether the test file passes with the core that stands in the folder `core`."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", *QUICK, str(test_file)]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment(core),
            capture_output=True,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return False  # a loop that does not end is noticed
    return done.returncode == 0


def passes_changed(
    test_file: Path, mutation: Mutation, core: Path, timeout: float
) -> bool:
    """Whether the test file passes with a change written into a copy of the core."""
    file = core / "structrag" / mutation.module
    source = file.read_bytes()
    replacement = f"({mutation.after})".encode()
    try:
        file.write_bytes(
            source[: mutation.start] + replacement + source[mutation.end :]
        )
        return passes(test_file, core, timeout)
    finally:
        file.write_bytes(source)


def failing(
    test_file: Path, mutations: list[Mutation], core: Path, timeout: float
) -> list[bool]:
    """Whether the test file fails, for each of several mutations of one module."""
    file = core / "structrag" / mutations[0].module
    changes = [
        {
            "line": m.line,
            "column": m.column,
            "start": m.start,
            "end": m.end,
            "after": m.after,
        }
        for m in mutations
    ]
    verdicts = core / "verdicts"
    verdicts.unlink(missing_ok=True)
    command = [sys.executable, str(FORKED), str(test_file), str(file), str(verdicts)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment(core),
        input=json.dumps(changes),
        text=True,
        capture_output=True,
    )
    if done.returncode != 0:
        sys.exit(
            f"{test_file.relative_to(ROOT)}: {(done.stdout + done.stderr)[-2000:]}"
        )
    answers = [json.loads(line) for line in verdicts.read_text().splitlines()]
    if None in answers and not passes(test_file, core, timeout):
        sys.exit(f"{test_file.relative_to(ROOT)} fails with the core as it is")
    return [
        not passes_changed(test_file, mutation, core, timeout)
        if answer is None
        else answer
        for mutation, answer in zip(mutations, answers, strict=True)
    ]


def killers(
    mutations: list[Mutation], timeout: float, further: Sequence[Path] = ()
) -> list[Path | None]:
    """The first test file that fails, for each of several mutations of one module.

    `further` files are tried after those that the module's name leads to.
    """
    found: dict[Mutation, Path] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(
            CORE, folder / "structrag", ignore=shutil.ignore_patterns("__pycache__")
        )
        for test_file in [*mutations[0].test_files(), *further]:
            left = [mutation for mutation in mutations if mutation not in found]
            if left:
                verdicts = failing(test_file, left, folder, timeout)
                found |= {
                    m: test_file
                    for m, fails in zip(left, verdicts, strict=True)
                    if fails
                }
    return [found.get(mutation) for mutation in mutations]


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
        "--every", action="store_true", help="all changes of a place, not one"
    )
    parser.add_argument(
        "--timeout", type=float, default=300, help="seconds for one test file"
    )
    parser.add_argument("--jobs", type=int, default=1, help="modules at a time")
    parser.add_argument(
        "--list", action="store_true", help="print the mutations, run nothing"
    )
    parser.add_argument(
        "--survivors", action="store_true", help="print only what survives"
    )
    arguments = parser.parse_args()
    if arguments.module:
        mutations = chosen_modules(arguments.module)
        if not arguments.every:
            chance = random.Random(arguments.seed)
            mutations = [
                chance.choice(changes) for changes in by_place(mutations).values()
            ]
    else:
        mutations = drawn(arguments.number, arguments.seed)
    # The table of all defaults takes long; a sample shows what it notices.
    further = [] if arguments.module else [SIGNATURES]
    if arguments.list:
        print(*mutations, sep="\n")
        return
    groups: dict[Path, list[Mutation]] = {}
    for mutation in mutations:
        groups.setdefault(mutation.module, []).append(mutation)
    by_own = by_any = 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        results = pool.map(
            lambda group: killers(group, arguments.timeout, further), groups.values()
        )
        for group, found in zip(groups.values(), results, strict=True):
            own = sum(by == m.test_file for by, m in zip(found, group, strict=True))
            by_own += own
            by_any += sum(by is not None for by in found)
            print(
                f"{group[0].module}: {own} of {len(group)} killed by its own file",
                flush=True,
            )
            for mutation, by in zip(group, found, strict=True):
                if by is None or not arguments.survivors:
                    print(line_of(mutation, by), flush=True)
    print(f"Killed by the module's own test file: {share(by_own, len(mutations))}")
    print(
        f"Killed by that, the file named for it or the table: {share(by_any, len(mutations))}"
    )


def line_of(mutation: Mutation, by: Path | None) -> str:
    verdict = "survived" if by is None else "killed"
    other = by is not None and by != mutation.test_file
    source = f"  (by {by.relative_to(TESTS)})" if by and other else ""
    no_file = "" if mutation.test_file.exists() else "  (no test file)"
    return f"  {verdict:8} {mutation}{no_file}{source}"


if __name__ == "__main__":
    main()
