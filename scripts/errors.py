"""Every sentence that users may meet, by the file that says it: errors, warnings, reports, help.

    python scripts/errors.py [--write]

`--write` puts the list into tests/fixtures/errors.txt, where a change of wording is seen and read.
What is filled in stands in braces, as in the source.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("shared/structrag", "langchain_structrag", "llama_index_structrag")
SNAPSHOT = ROOT / "tests" / "fixtures" / "errors.txt"

_ERRORS = ROOT / "shared" / "structrag" / "errors.py"
_SPEAKERS = {
    node.name
    for node in ast.parse(_ERRORS.read_text(encoding="utf-8")).body
    if isinstance(node, ast.ClassDef)
} | {"ImportError", "OSError", "RuntimeError", "ToolError", "TypeError", "ValueError"}
_WARNERS = {"echo", "refuse", "warn_user"}

_SENTENCE = re.compile(r"[A-Z{'][^\n]*( [^\n]+){3}\.")

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class _Module:
    """What one file's errors say."""

    def __init__(self, source: str) -> None:
        self._tree = ast.parse(source)
        self._functions: dict[str, _Function] = {}
        self._values: dict[str, list[ast.expr]] = {}
        self._docstrings: set[int] = set()
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Expr):
                self._docstrings.add(id(node.value))
            elif isinstance(
                node, ast.JoinedStr
            ):  # its parts are no strings of their own
                self._docstrings.update(map(id, node.values))
            elif isinstance(node, _Function):
                self._functions[node.name] = node
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        self._values.setdefault(target.id, []).append(node.value)
            elif (
                isinstance(node, ast.AnnAssign)
                and isinstance(node.target, ast.Name)
                and node.value is not None
            ):
                self._values.setdefault(node.target.id, []).append(node.value)

    def sentences(self) -> set[str]:
        """All of them; a string without a space is a name."""
        return {said for said in self._found() if " " in said.strip()}

    def _found(self) -> Iterator[str]:
        for node in ast.walk(self._tree):
            if isinstance(node, ast.JoinedStr) or _is_text(node):
                yield from self._sentence(node)
            if isinstance(node, ast.Raise) and node.exc is not None:
                yield from self._strings(node.exc, set())
            elif isinstance(node, ast.Call) and _name(node.func) in (
                _SPEAKERS | _WARNERS
            ):
                yield from self._strings(node, set())
            elif isinstance(node, _Function) and _SPEAKERS & _names(node.returns):
                for part in ast.walk(node):
                    if isinstance(part, ast.Return) and part.value is not None:
                        yield from self._strings(part.value, set())

    def _sentence(self, node: ast.AST) -> Iterator[str]:
        """A string that reads as one; prompts have several lines, docstrings speak to others."""
        said = next(self._strings(node, set()), "")
        if id(node) not in self._docstrings and _SENTENCE.fullmatch(said):
            yield said

    def _strings(self, node: ast.AST, seen: set[str]) -> Iterator[str]:
        """The strings of an expression, and of the names and functions of this file it uses."""
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield _filled(node)
            for part in node.values:
                if isinstance(part, ast.FormattedValue):
                    yield from self._strings(part.value, seen)
        elif isinstance(node, ast.Name):
            if node.id not in seen:
                for value in self._values.get(node.id, ()):
                    if not isinstance(value, ast.Call):
                        yield from self._strings(value, seen | {node.id})
        else:
            if isinstance(node, ast.Call):
                yield from self._returned(_name(node.func), seen)
            for child in ast.iter_child_nodes(node):
                yield from self._strings(child, seen)

    def _returned(self, name: str, seen: set[str]) -> Iterator[str]:
        function = self._functions.get(name)
        if function is None or name in seen:
            return
        for part in ast.walk(function):
            if isinstance(part, ast.Return) and part.value is not None:
                yield from self._strings(part.value, seen | {name})


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _names(node: ast.AST | None) -> set[str]:
    """The names in an annotation."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} if node else set()


def _filled(string: ast.JoinedStr) -> str:
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else _place(part.value)
        for part in string.values
        if isinstance(part, ast.Constant | ast.FormattedValue)
    )


def _place(value: ast.expr) -> str:
    """An expression in braces; one with strings of its own differs between releases of Python."""
    if any(isinstance(n, ast.JoinedStr) or _is_text(n) for n in ast.walk(value)):
        return "{...}"
    return "{" + ast.unparse(value) + "}"


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def listing() -> str:
    """The list as the snapshot holds it."""
    lines = []
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            said = _Module(file.read_text(encoding="utf-8")).sentences()
            if said:
                lines.append(str(file.relative_to(ROOT)))
                lines += [f"    {' '.join(each.split())}" for each in sorted(said)]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the list, or write it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true")
    if parser.parse_args(arguments).write:
        SNAPSHOT.write_text(listing(), encoding="utf-8")
    else:
        print(listing(), end="")


if __name__ == "__main__":
    main()
