"""The pages of classes and functions in docs/api, made from the docstrings.

    python scripts/reference.py [--write]

Without `--write` it names the pages that are not those of the code, and fails. A page has the
public names of one package; `structrag`'s also has those of its rooms. A class shows what it is
made with, its methods, and in one line each those of its bases that are ours.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "api"
sys.path[:0] = [str(ROOT / "shared"), str(ROOT), str(ROOT / "scripts")]

from rooms import ROOMS  # noqa: E402

EVALUATION = ("comparing", "labelled", "question_files")
BRIDGES = ("docling", "placed", "unstructured")
# Page -> the modules whose public names it has.
PAGES = {
    "structrag": [
        "structrag",
        *(f"structrag.{room}" for room in ROOMS),
        *(f"structrag.evaluation.{name}" for name in EVALUATION),
        *(f"structrag.reading.bridges.{name}" for name in BRIDGES),
    ],
    "langchain_structrag": ["langchain_structrag", "langchain_structrag.bridges"],
    "llama_index_structrag": ["llama_index_structrag", "llama_index_structrag.bridges"],
}
OURS = tuple(PAGES)
Function = ast.FunctionDef | ast.AsyncFunctionDef
_SECTION = re.compile(r"^(Args|Attributes|Raises|Returns|Example|Examples):$")
_ENTRY = re.compile(r"^ {4}([\w*][\w*, ()`.]*): +(.*)$")


@cache
def syntax(file: str) -> dict[str, ast.AST]:
    """The classes and functions at the top of a file, by name."""
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name: node for node in ast.walk(tree) if isinstance(node, kinds)}


def node_of(thing: Any) -> ast.AST | None:
    """Where a class or function of ours is defined."""
    if not getattr(thing, "__module__", "").startswith(OURS):
        return None
    names = syntax(str(inspect.getsourcefile(thing)))
    return names.get(thing.__name__)


def formatted(docstring: str) -> list[str]:
    """A docstring as Markdown: entries of its sections are items, its example is code."""
    lines, section = [], ""
    for line in inspect.cleandoc(docstring).splitlines():
        if match := _SECTION.match(line):
            section = match[1]
            is_example = section.startswith("Example")
            lines += ["```pycon"] if is_example else [f"**{section}**", ""]
        elif section.startswith("Example"):
            if line and not line.startswith("    "):
                lines, section = [*_closed(lines), line], ""
            else:
                lines.append(line[4:])
        elif section and (match := _ENTRY.match(line)):
            lines.append(f"- `{match[1].replace('`', '')}`: {match[2]}")
        elif section and line.startswith("    "):
            lines.append(f"  {line.strip()}")
        else:
            section = section if not line else ""
            lines.append(line)
    return _closed(lines) if section.startswith("Example") else lines


def _closed(lines: list[str]) -> list[str]:
    while lines and not lines[-1]:
        lines.pop()
    return [*lines, "```", ""]


def arguments(node: Function, *, is_method: bool) -> str:
    """What a function takes and returns, one argument a line if that is long."""
    taken = ast.parse(ast.unparse(node)).body[0]
    assert isinstance(taken, ast.FunctionDef | ast.AsyncFunctionDef)  # noqa: S101
    first = [*taken.args.posonlyargs, *taken.args.args][:1]
    if is_method and first and first[0].arg in ("self", "cls"):
        (taken.args.posonlyargs or taken.args.args).pop(0)
    text = ast.unparse(taken.args)
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"({text}){returned}"


def fields(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """The public fields of a class: how it is declared, and what is said of it."""
    for statement, behind in zip(node.body, [*node.body[1:], None], strict=True):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(
            statement.target, ast.Name
        ):
            continue
        kind = ast.unparse(statement.annotation)
        if statement.target.id.startswith("_") or kind.startswith("ClassVar"):
            continue
        said = ""
        if isinstance(behind, ast.Expr) and isinstance(behind.value, ast.Constant):
            said = " ".join(inspect.cleandoc(str(behind.value.value)).split())
        value = f" = {ast.unparse(statement.value)}" if statement.value else ""
        yield f"{statement.target.id}: {kind}{value}", said


def methods(node: ast.ClassDef) -> Iterator[Function]:
    """The public methods and properties of a class that say what they do."""
    seen: set[str] = set()
    for part in node.body:
        if not isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        is_new = part.name not in seen
        seen.add(part.name)
        if is_new and not part.name.startswith("_") and ast.get_docstring(part):
            yield part


def is_property(node: Function) -> bool:
    """Whether it is read without a call."""
    return any("property" in ast.unparse(one) for one in node.decorator_list)


def signature(node: Function, *, is_method: bool = True) -> str:
    """The name of a function, and what it takes and returns."""
    if is_property(node):
        return f"{node.name}: {ast.unparse(node.returns) if node.returns else 'Any'}"
    wait = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    return f"{wait}{node.name}{arguments(node, is_method=is_method)}"


def class_lines(thing: type, node: ast.ClassDef) -> Iterator[str]:
    """The description of a class."""
    made = [
        part
        for part in node.body
        if isinstance(part, ast.FunctionDef) and part.name == "__init__"
    ]
    bases = [base for base in thing.__mro__[1:] if node_of(base) is not None]
    if made:
        shown = arguments(made[-1], is_method=True).removesuffix(" -> None")
        yield from ("```py", f"{node.name}{shown}", "```", "")
    yield from formatted(ast.get_docstring(node) or "")
    yield ""
    if declared := list(fields(node)):
        yield from ("**Fields**", "")
        for text, said in declared:
            yield f"- `{text}`" + (f": {said}" if said else "")
        yield ""
    shown_names = set()
    for method in methods(node):
        shown_names.add(method.name)
        yield from (f"#### {node.name}.{method.name}", "")
        yield from ("```py", signature(method), "```", "")
        yield from formatted(ast.get_docstring(method) or "")
        yield ""
    for base in bases:
        base_node = node_of(base)
        assert isinstance(base_node, ast.ClassDef)  # noqa: S101
        others = [part for part in methods(base_node) if part.name not in shown_names]
        if others:
            yield from (f"**From `{base.__name__}`**", "")
        for method in others:
            shown_names.add(method.name)
            said = " ".join((ast.get_docstring(method) or "").split("\n\n")[0].split())
            yield f"- `{signature(method)}`: {said}"
        yield ""


def described(name: str, thing: Any, module: str) -> Iterator[str]:
    """The section of a public name."""
    node = node_of(thing) if inspect.isclass(thing) or callable(thing) else None
    if node is None:
        return
    yield from (f"### {name}", "", f"`from {module} import {name}`", "")
    if isinstance(node, ast.ClassDef):
        yield from class_lines(thing, node)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from ("```py", signature(node, is_method=False), "```", "")
        yield from formatted(ast.get_docstring(node) or "")
        yield ""


def public(module: Any) -> list[str]:
    """The public names of a module."""
    names = getattr(module, "__all__", None)
    own = vars(module).items()
    return sorted(
        names
        or (
            name
            for name, thing in own
            if not name.startswith("_")
            and getattr(thing, "__module__", "") == module.__name__
        )
    )


def page(title: str, modules: list[str]) -> str:
    """The page of a package."""
    lines = [f"# {title}", "", "Made from the docstrings by `scripts/reference.py`."]
    shown: set[int] = set()
    for place in modules:
        module = import_module(place)
        parts: list[str] = []
        for name in public(module):
            thing = getattr(module, name)
            if id(thing) not in shown:
                shown.add(id(thing))
                parts += described(name, thing, place)
        if parts:
            lines += ["", f"## {place}", "", *parts]
    text = "\n".join(line.rstrip() for line in lines)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


PYTHON = (3, 11)


def main() -> None:
    """Write the pages, or say which are old."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    write = parser.parse_args().write
    if sys.version_info[:2] != PYTHON:
        print(
            "The pages are made and checked with Python 3.11, which writes signatures its way."
        )
        return
    old = []
    for title, modules in PAGES.items():
        file, text = FOLDER / f"{title}.md", page(title, modules)
        if file.is_file() and file.read_text(encoding="utf-8") == text:
            continue
        old.append(f"docs/api/{title}.md")
        if write:
            FOLDER.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
    if old and not write:
        raise SystemExit(
            f"{', '.join(old)}: not made from these docstrings. Run `python scripts/reference.py "
            "--write`."
        )


if __name__ == "__main__":
    main()
