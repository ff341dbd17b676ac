"""Results that are older than the code they speak of.

    python benchmarks/freshness.py

lists each file of `benchmarks/results` whose code has changed since it was written, with the rooms
that changed, and those that do not say what code they were made by. It ends with 1 if there is one.
`save` writes a result with the digests of the modules that its script imports, room by room, in a
comment. Comments, docstrings and layout do not count, nor what packages import inside functions.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
# Where packages are -> what stands in front of their names.
PLACES = {"structrag": ROOT / "shared"}
PACKAGES = ("structrag", "langchain_structrag", "llama_index_structrag", "benchmarks")
_STAMP = re.compile(r"\n*<!-- code of (\S+): (.*?) -->\n?")


def save(path: Path, text: str, *scripts: str) -> None:
    """Write a page of results with the digests of the code that made it; pass `__file__`."""
    path.write_text(stamped(text, *scripts), encoding="utf-8")


def stamped(text: str, *scripts: str) -> str:
    """A page, or a part of one that is measured by itself, with the digests of its code at its end.
    Those that it had are replaced."""
    lines = []
    for script in scripts:
        name = Path(script).resolve().relative_to(ROOT).as_posix()
        told = ", ".join(f"{room} {digest}" for room, digest in digests(name).items())
        lines.append(f"<!-- code of {name}: {told} -->\n")
    return f"{_STAMP.sub('', text).rstrip()}\n\n{''.join(lines)}"


def changed(text: str) -> list[str] | None:
    """The rooms whose code is another one now than a page says; None for a page that says
    nothing."""
    stamps = _STAMP.findall(text)
    if not stamps:
        return None
    rooms: set[str] = set()
    for script, told in stamps:
        then = dict(pair.split() for pair in told.split(", "))
        now = digests(script) if (ROOT / script).is_file() else {}
        rooms |= {room for room in {*then, *now} if then.get(room) != now.get(room)}
    return sorted(rooms)


def digests(script: str) -> dict[str, str]:
    """Room -> 8 hexadecimal digits of the code in it that a script imports, directly or not."""
    codes = defaultdict(list)
    for path in sorted(_imported(ROOT / script)):
        codes[_room(path)].append(_code(_text(path)))
    return {
        room: sha256("\n".join(code).encode()).hexdigest()[:8]
        for room, code in sorted(codes.items())
    }


def _room(path: Path) -> str:
    """The package or, in the core, the room that a file is in."""
    parts = path.relative_to(ROOT).parts
    if parts[0] != "shared":
        return parts[0]
    return parts[2] if len(parts) > 3 else "structrag"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def _tree(text: str) -> ast.Module:
    return ast.parse(text)


@cache
def _code(text: str) -> str:
    """Code without comments, docstrings and layout."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        kept = [
            one
            for one in body
            if not (
                isinstance(one, ast.Expr)
                and isinstance(one.value, ast.Constant)
                and isinstance(one.value.value, str)
            )
        ]
        node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(tree)


def _imported(script: Path) -> set[Path]:
    """A script and all modules of ours that it imports, directly or not."""
    found: set[Path] = set()
    waiting = [script]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _imports(path)
    return found


def _imports(path: Path) -> Iterator[Path]:
    """The modules of ours that a file imports. A package that loads its names when they are used
    counts as the modules of those that are imported."""
    is_lazy = path.name == "__init__.py"  # imports under TYPE_CHECKING are for others
    in_package = not path.is_relative_to(ROOT / "benchmarks")
    for node in () if is_lazy else _statements(_tree(_text(path)), in_package):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield from _modules(name.name)
        elif node.module:
            for name in node.names:
                yield from _member(node.module, name.name)


def _statements(
    tree: ast.Module, in_package: bool
) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports of a module that are made when it is loaded, of a script all."""
    for node in tree.body if in_package else ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node


def _member(module: str, name: str) -> Iterator[Path]:
    """The module that a name imported from another one is in."""
    submodule = list(_modules(f"{module}.{name}"))
    if submodule:
        yield from submodule
        return
    for path in _modules(module):
        homes = _homes(_text(path)) if path.name == "__init__.py" else {}
        if name in homes:
            yield from _modules(homes[name])
        yield path


@cache
def _homes(package: str) -> dict[str, str]:
    """The names that a package gives -> their modules."""
    return {
        name.asname or name.name: node.module
        for node in ast.walk(_tree(package))
        if isinstance(node, ast.ImportFrom) and node.module
        for name in node.names
    }


def _modules(name: str) -> Iterator[Path]:
    """The file of a module of ours; nothing for another one."""
    parts = name.split(".")
    if parts[0] not in PACKAGES:
        return
    place = PLACES.get(parts[0], ROOT).joinpath(*parts)
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if path.is_file():
            yield path
            return


def stale(folder: Path = RESULTS) -> dict[str, str]:
    """The files of a folder that are older than their code, and why."""
    found = {}
    for path in sorted(folder.glob("*.md")):
        rooms = changed(_text(path))
        if rooms is None:
            found[path.name] = "does not say what code it was made by"
        elif rooms:
            found[path.name] = f"changed since: {', '.join(rooms)}"
    return found


def main() -> None:
    """Print what is stale."""
    found = stale()
    for name, why in found.items():
        print(f"{name}: {why}")
    print(f"{len(found)} of {len(list(RESULTS.glob('*.md')))} results are stale")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
