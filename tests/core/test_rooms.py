"""Rooms of the core in order: a room may import the rooms before it, never one behind it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import structrag

CORE = Path(structrag.__file__).parent
ORDER = """
    errors records _version text asking reading models chunks index retrieval formatting hosts
    evaluation show cli
""".split()
DOORS = {"__init__", "__main__"}  # they may import everything
MOST_TOP_LEVEL_MODULES = 8


def _files() -> list[Path]:
    return sorted(CORE.rglob("*.py"))


def _name(file: Path) -> str:
    parts = file.relative_to(CORE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)


def _imports(file: Path, names: set[str]) -> Iterator[str]:
    """The modules of the core that a file imports, those imported inside functions included."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if (
            isinstance(node, ast.ImportFrom)
            and (node.module or "").partition(".")[0] == "structrag"
        ):
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                yield module if module in names else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.partition(".")[0] == "structrag")


def _graph() -> dict[str, set[str]]:
    names = {_name(file) for file in _files()}
    return {_name(file): set(_imports(file, names)) for file in _files()}


def _room(module: str) -> str:
    return module.split(".")[1]


def test_every_room_and_module_at_the_top_has_its_place() -> None:
    top = {entry.stem for entry in CORE.iterdir() if entry.suffix == ".py" or entry.is_dir()}
    assert top - DOORS - {"__pycache__", "py"} == set(ORDER)
    assert len(list(CORE.glob("*.py"))) <= MOST_TOP_LEVEL_MODULES


def test_no_import_runs_back() -> None:
    back = [
        f"{module} imports {target}"
        for module, targets in _graph().items()
        if _room(module) not in DOORS
        for target in targets
        if target == "structrag" or ORDER.index(_room(target)) > ORDER.index(_room(module))
    ]
    assert back == []


def test_no_module_imports_itself_through_others() -> None:
    graph = {name: targets for name, targets in _graph().items() if _room(name) not in DOORS}

    def reached(name: str) -> set[str]:
        found: set[str] = set()
        waiting = list(graph.get(name, ()))
        while waiting:
            target = waiting.pop()
            if target not in found:
                found.add(target)
                waiting.extend(graph.get(target, ()))
        return found

    assert sorted(name for name in graph if name in reached(name)) == []
