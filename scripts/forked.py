"""Run one test file against many changed versions of one module, in forks of one process.

`mutate.py` starts it: `python scripts/forked.py TEST_FILE MODULE_FILE VERDICTS < changes.json`. It
collects the tests once, so a change costs a fork and the tests that run its statement, not an
import of everything. In the fork, functions of the module get the code of the changed source. That
cannot be done for what runs at import (constants, defaults, class bodies): its verdict is null. So
is every verdict where tests cannot run in a fork: LanceDB has threads that do not survive it.

It writes a line of JSON for each change: true (a test failed), false or null.
"""

from __future__ import annotations

import ast
import gc
import importlib
import json
import math
import os
import pickle
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import pytest

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


def functions_of(file: str) -> list[FunctionType]:
    """All living functions of a file."""
    functions = (thing for thing in gc.get_objects() if type(thing) is FunctionType)
    return [function for function in functions if function.__code__.co_filename == file]


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


class Trials:
    """A plugin of pytest that runs the collected tests once for each change."""

    def __init__(
        self, file: Path, changes: list[dict[str, Any]], verdicts: Path
    ) -> None:
        self.file = file
        self.source = file.read_bytes()
        self.changes = changes
        self.verdicts = verdicts

    def pytest_collection(self) -> None:
        """A failing example need not become the smallest one. conftest.py has set the profile."""
        from hypothesis import Phase, settings  # pytest wants to see its import

        phases = (Phase.explicit, Phase.reuse, Phase.generate)
        settings.register_profile("not_shrunk", settings(), phases=phases)
        settings.load_profile("not_shrunk")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        name = ".".join(self.file.with_suffix("").parts)
        importlib.import_module(
            name[name.rindex("structrag") :].removesuffix(".__init__")
        )
        self.functions = functions_of(str(self.file))
        gc.freeze()  # forks do not write into what they share
        seen = in_fork(lambda: self._watched(session), 600, 3600)
        tree = ast.parse(self.source)
        for change in self.changes:
            place = place_of(tree, change["line"], change["column"])
            verdict = None
            if place is not None and seen is not None:
                verdict = self._try(session, seen, change, place)
            with self.verdicts.open("a", encoding="utf-8") as file:
                file.write(json.dumps(verdict) + "\n")
        return True

    def _watched(self, session: pytest.Session) -> list[tuple[float, set[int]]] | None:
        """Processor seconds and lines of the module of each test; None if one fails."""
        name, lines = str(self.file), set[int]()

        def on_line(frame: Any, event: str, argument: object) -> Any:
            lines.add(frame.f_lineno)
            return on_line

        def on_call(frame: Any, event: str, argument: object) -> Any:
            return on_line if frame.f_code.co_filename == name else None

        seen = []
        for item in session.items:
            lines.clear()
            began = time.process_time()
            threading.settrace(on_call)
            sys.settrace(on_call)
            self._run(session, [item])
            sys.settrace(None)
            seen.append((time.process_time() - began, set(lines)))
            if session.testsfailed:
                return None
        return seen

    def _try(
        self,
        session: pytest.Session,
        seen: list[tuple[float, set[int]]],
        change: dict[str, Any],
        place: Place,
    ) -> bool | None:
        tests = [
            (seconds, number)
            for number, (seconds, lines) in enumerate(seen)
            if not lines.isdisjoint(place.lines)
        ]
        if not tests:
            return False
        items = [session.items[number] for _, number in sorted(tests)]
        start, end = change["start"], change["end"]
        source = (
            self.source[:start] + f"({change['after']})".encode() + self.source[end:]
        )

        def action() -> bool | None:
            if not exchange(self.functions, source, place):
                return None
            self._run(session, items)
            return bool(session.testsfailed)

        seconds = sum(seconds for seconds, _ in tests)
        try:
            return in_fork(action, 3 + 5 * seconds, 120 + 20 * seconds)
        except TimeoutError:
            return True  # a loop that does not end is noticed

    @staticmethod
    def _run(session: pytest.Session, items: list[pytest.Item]) -> None:
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.testsfailed:
                return


def main() -> None:
    test_file, module, verdicts = sys.argv[1:]
    trials = Trials(Path(module).resolve(), json.load(sys.stdin), Path(verdicts))
    options = ["-q", "--no-header", "--no-summary", "--tb=no"]
    for plugin in ("cacheprovider", "langsmith_plugin", "syrupy"):
        options += ["-p", f"no:{plugin}"]
    status = pytest.main([*options, test_file], plugins=[trials])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        sys.exit(int(status))


if __name__ == "__main__":
    main()
