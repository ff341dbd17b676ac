"""The rooms of the core in order, and who imports whom: what `house.py` and the tests look at."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

CORE = "structrag"
PLACES = {
    "structrag": "shared/structrag",
    "langchain_structrag": "langchain_structrag",
    "llama_index_structrag": "llama_index_structrag",
}
# A room may import the rooms before it, never one behind it.
ROOMS = [
    "_lazy",
    "_locks",
    "errors",
    "records",
    "citations",
    "_version",
    "text",
    "model_calls",
    "reading",
    "models",
    "chunks",
    "index",
    "retrieval",
    "formatting",
    "integrations",
    "evaluation",
    "show",
    "ingestion",
    "cli",
]
DOORS = {"__init__", "__main__"}  # they may import everything
MOST_TOP_LEVEL_MODULES = 8


class Place(NamedTuple):
    """Where something stands, and how bad it is (lists are sorted by it)."""

    file: str
    line: int
    what: str
    size: float = 0


@dataclass(frozen=True)
class Source:
    """One file of the packages, read once."""

    path: Path
    root: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        kinds = ast.FunctionDef | ast.AsyncFunctionDef
        return [node for node in ast.walk(self.tree) if isinstance(node, kinds)]

    @cached_property
    def docstrings(self) -> list[ast.Constant]:
        classes = [
            node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef)
        ]
        first = [
            node.body[0] for node in (self.tree, *classes, *self.functions) if node.body
        ]
        values = [node.value for node in first if isinstance(node, ast.Expr)]
        return [
            value
            for value in values
            if isinstance(value, ast.Constant) and isinstance(value.value, str)
        ]

    @property
    def file(self) -> str:
        return self.path.relative_to(self.root).as_posix()

    @property
    def package(self) -> str:
        return next(
            name for name, place in PLACES.items() if self.file.startswith(place + "/")
        )

    @property
    def module(self) -> str:
        """The dotted name: `structrag.text.terms`, and `structrag.text` for the room's door."""
        inside = (
            self.path.relative_to(self.root / PLACES[self.package])
            .with_suffix("")
            .parts
        )
        parts = (self.package, *inside)
        return ".".join(
            parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts
        )

    @property
    def room(self) -> str:
        """The room of the core (a module at the top is one by itself), or the adapter."""
        inside = self.module.partition(".")[2]
        return inside.partition(".")[0] if self.package == CORE else self.package


def sources(root: Path) -> list[Source]:
    """Every Python file of the core and the adapters."""
    files = [
        file
        for place in PLACES.values()
        for file in sorted((root / place).rglob("*.py"))
    ]
    return [Source(file, root) for file in files]


def imports(source: Source, names: set[str]) -> Iterator[tuple[str, int]]:
    """Modules of the core that a file imports and the lines, imports inside functions included."""
    for node in ast.walk(source.tree):
        if (
            isinstance(node, ast.ImportFrom)
            and (node.module or "").partition(".")[0] == CORE
        ):
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                yield (module if module in names else str(node.module)), node.lineno
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == CORE:
                    yield alias.name, node.lineno


def core(all_sources: list[Source]) -> list[Source]:
    return [source for source in all_sources if source.package == CORE]


def arrows_back(all_sources: list[Source]) -> list[Place]:
    """Imports of a room that stands behind the importing one, or of the whole package."""
    names = {source.module for source in core(all_sources)}
    places = []
    for source in core(all_sources):
        if source.room not in ROOMS:
            continue
        for target, line in imports(source, names):
            room = target.partition(".")[2].partition(".")[0]
            if not room or (
                room in ROOMS and ROOMS.index(room) > ROOMS.index(source.room)
            ):
                places.append(Place(source.file, line, f"imports {target}"))
    return places


def circles(all_sources: list[Source]) -> list[Place]:
    """Modules that import themselves through others."""
    inside = [source for source in core(all_sources) if source.room not in DOORS]
    names = {source.module for source in core(all_sources)}
    graph = {
        source.module: {name for name, _ in imports(source, names)} for source in inside
    }

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = list(graph[start])
        while waiting:
            module = waiting.pop()
            if module not in seen:
                seen.add(module)
                waiting.extend(graph.get(module, ()))
        return seen

    return [Place(s.file, 1, s.module) for s in inside if s.module in reached(s.module)]


def top_level_modules(all_sources: list[Source]) -> list[Place]:
    """The files that lie beside the rooms."""
    return [
        Place(source.file, 1, source.path.stem)
        for source in core(all_sources)
        if source.path.parent == source.root / PLACES[CORE]
    ]
