"""Run tests against changed versions of modules, in forks of one process.

`mutate.py` uses it. The tests are collected once, so that a change costs a fork and the tests that
run its statement, not an import of everything. In the fork, functions of the module get the code of
the changed source. What runs at import is tried in a process of its own.
"""

from __future__ import annotations

import ast
import gc
import importlib
import math
import os
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from mutate import Mutation

# Processor seconds of tests, as they were without a change, that one change is worth.
SECONDS = 60.0
# Tests in a process of their own: fewer, as each of these files is imported again.
IMPORT_SECONDS = 15.0
IMPORT_FILES = 12
# Plugins of others that take long to import.
OPTIONS = ["-qs", "--no-header", "--no-summary", "--tb=no", "-p", "no:cacheprovider"]
OPTIONS += ["-p", "no:langsmith_plugin", "-p", "no:syrupy"]
# What ends a process that counts, or waits, for too long.
ENDED_BY_LIMITS = (signal.SIGXCPU, signal.SIGKILL)
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Place(NamedTuple):
    """Where a change stands: its outermost function, and the lines of its statement."""

    name: str
    line: int  # where the function's code begins: its first decorator, or `def`
    lines: range


def place_of(tree: ast.Module, line: int, column: int) -> Place | None:
    """The place of an expression; None if it runs when the module is imported."""
    function: Function | None = None
    statement: ast.stmt | None = None
    body: list[ast.stmt] = tree.body
    while True:
        inside = [node for node in body if _spans(node, line, column)]
        if not inside:
            break
        statement = inside[0]
        children = [n for n in ast.walk(statement) if isinstance(n, ast.stmt)]
        if isinstance(statement, Function) and not _spans_body(statement, line, column):
            break  # a default, a decorator: of the scope around
        if isinstance(statement, Function) and function is None:
            function = statement
        body = [
            child
            for child in children
            if child is not statement and _is_child(statement, child)
        ]
    if function is None or statement is None:
        return None
    first = min([function.lineno, *(d.lineno for d in function.decorator_list)])
    return Place(function.name, first, _own_lines(statement))


def _spans(node: ast.stmt, line: int, column: int) -> bool:
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    start = (first, 0) if first < node.lineno else (node.lineno, node.col_offset)
    return start <= (line, column) < (node.end_lineno or line, node.end_col_offset or 0)


def _spans_body(function: Function, line: int, column: int) -> bool:
    first = function.body[0]
    return (line, column) >= (first.lineno, first.col_offset)


def _is_child(parent: ast.stmt, child: ast.stmt) -> bool:
    """Whether no other statement stands between the two."""
    waiting = list(ast.iter_child_nodes(parent))
    while waiting:
        node = waiting.pop()
        if node is child:
            return True
        if not isinstance(node, ast.stmt):
            waiting.extend(ast.iter_child_nodes(node))
    return False


def _own_lines(statement: ast.stmt) -> range:
    """Lines of a statement, without those of the statements inside it."""
    inner = [
        n.lineno
        for n in ast.walk(statement)
        if isinstance(n, ast.stmt) and n is not statement
    ]
    last = min(inner, default=(statement.end_lineno or statement.lineno) + 1)
    return range(statement.lineno, max(last, statement.lineno + 1))


def code_of(code: CodeType, name: str, line: int) -> CodeType | None:
    """The code of the function that begins at a line, somewhere within other code."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if (constant.co_name, constant.co_firstlineno) == (name, line):
                return constant
            inner = code_of(constant, name, line)
            if inner is not None:
                return inner
    return None


def exchange(functions: list[FunctionType], source: bytes, place: Place) -> bool:
    """Give the functions of a place the code they have in another source."""
    there = [
        function
        for function in functions
        if (function.__code__.co_name, function.__code__.co_firstlineno) == place[:2]
    ]
    if not there:
        return False
    file = there[0].__code__.co_filename
    changed = code_of(compile(source, file, "exec"), place.name, place.line)
    if changed is None:
        return False
    for function in there:
        if function.__code__.co_freevars != changed.co_freevars:
            return False
        function.__code__ = changed
    return True


def in_fork(action: Callable[[], Any], seconds: float, on_clock: float) -> Any:
    """What an action returns in a process of its own; None if that dies.

    Raises TimeoutError where it takes more seconds of a processor, or on the clock, than given. The
    first limit is the same on a busy machine; the second ends what waits for ever.
    """
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result"
        child = os.fork()
        if child == 0:
            os.setsid()
            limit = math.ceil(seconds)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nothing, stream)
            try:
                result.write_bytes(pickle.dumps(action()))
            finally:
                os._exit(0)
        end = time.monotonic() + on_clock
        while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
            if time.monotonic() > end:
                os.killpg(child, signal.SIGKILL)
                ended = os.waitpid(child, 0)
                break
            time.sleep(0.005)
        if os.WIFSIGNALED(ended[1]) and os.WTERMSIG(ended[1]) in ENDED_BY_LIMITS:
            raise TimeoutError
        return pickle.loads(result.read_bytes()) if result.exists() else None


class Test(NamedTuple):
    """A collected test, its seconds of a processor, and the lines that it runs by file."""

    item: pytest.Item
    seconds: float
    lines: dict[str, set[int]]


class Trials:
    """A plugin of pytest that runs the collected tests once for each change."""

    def __init__(self, mutations: Sequence[Mutation], core: Path) -> None:
        self.mutations = mutations
        self.core = core
        self.killed = 0

    def pytest_collection(self) -> None:
        """The same examples each time; a failing one need not become the smallest. conftest.py has
        set the profile."""
        from hypothesis import (  # pytest wants to see its import
            HealthCheck,
            Phase,
            settings,
        )

        settings.register_profile(
            "not_shrunk",
            settings(),
            phases=(Phase.explicit, Phase.generate),
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        settings.load_profile("not_shrunk")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            return True  # while collecting
        files = {str(self.core / mutation.module) for mutation in self.mutations}
        for file in files:
            parts = Path(file).relative_to(self.core).with_suffix("").parts
            name = ".".join((self.core.name, *parts)).removesuffix(".__init__")
            importlib.import_module(name)
        self.functions: dict[str, list[FunctionType]] = {file: [] for file in files}
        for thing in gc.get_objects():
            if type(thing) is FunctionType and thing.__code__.co_filename in files:
                self.functions[thing.__code__.co_filename].append(thing)
        gc.freeze()  # forks do not write into what they share
        seen = in_fork(lambda: self._watched(session, files), 7200, 14400)
        if seen is None:
            sys.exit("A test ended the process in which all ran.")
        failed = [
            item for item, one in zip(session.items, seen, strict=True) if not one
        ]
        for item in failed:
            print(f"fails with the core as it is: {item.nodeid}", file=sys.stderr)
        tests = [
            Test(item, *one)
            for item, one in zip(session.items, seen, strict=True)
            if one is not None
        ]
        for mutation in self.mutations:
            by = self._killer(session, tests, mutation)
            self.killed += by is not None
            verdict = "survived" if by is None else "killed"
            print(f"{verdict:8} {mutation}{f'  (by {by})' if by else ''}", flush=True)
        return True

    def _watched(
        self, session: pytest.Session, files: set[str]
    ) -> list[tuple[float, dict[str, set[int]]] | None]:
        """Seconds and lines of each test; None for one that fails."""
        lines: dict[str, set[int]] = {}
        idle: dict[CodeType, int] = {}

        def on_line(frame: Any, event: str, argument: object) -> Any:
            code = frame.f_code
            ran = lines.setdefault(code.co_filename, set())
            if frame.f_lineno in ran:
                idle[code] = idle.get(code, 0) + 1
                frame.f_trace_lines = idle[code] < 5000  # else loops take for ever
            else:
                ran.add(frame.f_lineno)
                idle[code] = 0
            return on_line

        def on_call(frame: Any, event: str, argument: object) -> Any:
            code = frame.f_code
            if code.co_filename not in files or idle.get(code, 0) > 5000:
                return None
            return on_line

        seen: list[tuple[float, dict[str, set[int]]] | None] = []
        for item in session.items:
            lines.clear()
            idle.clear()
            failed = session.testsfailed
            began = time.process_time()
            threading.settrace(on_call)
            sys.settrace(on_call)
            self._run(session, [item])
            sys.settrace(None)
            ran = {file: set(numbers) for file, numbers in lines.items()}
            passed = session.testsfailed == failed
            seen.append((time.process_time() - began, ran) if passed else None)
        return seen

    def _killer(
        self, session: pytest.Session, tests: list[Test], mutation: Mutation
    ) -> str | None:
        """The first test that fails, or a word for what else notices a change."""
        file = self.core / mutation.module
        place = place_of(ast.parse(file.read_bytes()), mutation.line, mutation.column)
        room = mutation.module.parts[0]
        ran = [test for test in tests if str(file) in test.lines]
        ran.sort(key=lambda test: (room not in test.item.nodeid, test.seconds))
        if place is None:
            return self._imported(session, ran, mutation)
        chosen = [test for test in ran if test.lines[str(file)] & set(place.lines)]
        total = 0.0
        for number, test in enumerate(chosen):
            total += test.seconds
            if total > SECONDS:
                chosen = chosen[: number + 1]
                break
        if not chosen:
            return None

        def action() -> tuple[bool, str | None]:
            source = mutation.source()
            if not exchange(self.functions[str(file)], source, place):
                return False, None
            return True, self._run(session, [test.item for test in chosen])

        try:
            done = in_fork(action, 5 + 5 * total, 120 + 20 * total)
        except TimeoutError:
            return "a loop that does not end"
        if done is None:
            return "the end of the process"
        exchanged, killer = done
        return killer if exchanged else self._imported(session, ran, mutation)

    def _imported(
        self, session: pytest.Session, ran: list[Test], mutation: Mutation
    ) -> str | None:
        """The first test that fails in a process that imports the changed module."""
        chosen: list[str] = []
        files: set[str] = set()
        total = 0.0
        for test in ran:
            name = test.item.nodeid
            files.add(name.partition("::")[0])
            total += test.seconds
            if len(files) > IMPORT_FILES or total > IMPORT_SECONDS:
                break
            chosen.append(name)
        table = next(self.core.parents[1].glob("tests/core/test_signatures.py"), None)
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, self.core.name)
            shutil.copytree(
                self.core, copy, ignore=shutil.ignore_patterns("__pycache__")
            )
            (copy / mutation.module).write_bytes(mutation.source())
            arguments = Path(folder, "tests.txt")
            arguments.write_text("\n".join([*([str(table)] if table else []), *chosen]))
            path = os.pathsep.join([folder, os.environ["PYTHONPATH"]])
            command = [sys.executable, "-m", "pytest", "-x", *OPTIONS, f"@{arguments}"]
            try:
                done = subprocess.run(
                    command,
                    cwd=session.config.rootpath,
                    env={**os.environ, "PYTHONPATH": path},
                    capture_output=True,
                    timeout=600,
                )
            except subprocess.TimeoutExpired:
                return "a loop that does not end"
        return "tests in a process of its own" if done.returncode else None

    @staticmethod
    def _run(session: pytest.Session, items: list[pytest.Item]) -> str | None:
        """The first of these tests that fails."""
        failed = session.testsfailed
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.testsfailed > failed:
                return item.nodeid
        return None


def try_all(mutations: Sequence[Mutation], core: Path, tests: Path) -> int:
    """Print what notices each mutation; the number of those that something notices. `tests` is a
    file of arguments of pytest, relative to the folder above its own."""
    os.chdir(tests.parents[1])
    path = [str(core.parent), str(tests.parents[1])]
    sys.path[:0] = path
    path += filter(None, [os.environ.get("PYTHONPATH")])
    os.environ["PYTHONPATH"] = os.pathsep.join(path)
    trials = Trials(mutations, core)
    status = pytest.main([*OPTIONS, f"@{tests}"], plugins=[trials])
    if status != pytest.ExitCode.OK:
        sys.exit(f"pytest ended with {status!r}")
    return trials.killed
