"""Print the figures of the code's structure: `python scripts/house.py [--worst] [--room NAME]`,
or check its budget: `python scripts/house.py --budget [--write]`.

Tokens are those of code, without comments and docstrings. It measures the core, the two adapters
and their tests, and needs the standard library only. `--worst` lists the places behind each figure,
`--room` looks at one room of the core (or at one adapter), `--root` measures another checkout. What
each figure counts is in the docstring of its function.

`--budget` compares the tokens of each room with its number in `house.toml`, and fails if a room has
more, or if the numbers add up to more than `ceiling`. So code that grows takes from another room,
or from what is left below the ceiling, by a change of `house.toml` in the same commit. The numbers
of `benchmarks` count apart. `--write` writes today's numbers; the ceiling falls with them and never
rises.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import re
import subprocess
import sys
import tokenize
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from rooms import (
    CORE,
    PLACES,
    Place,
    Source,
    arrows_back,
    circles,
    core,
    sources,
    top_level_modules,
)

LONGEST_LINE = 100
HIGHEST_COMPLEXITY = 10
RESERVE = 10_000  # tokens of the first ceiling above what there was
APART = "benchmarks"  # tokens that count apart
BUDGET = "house.toml"
VAGUE = "found known own told given several each made kept wanted thing things stuff tmp res ret"
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def tokens_by_line(source: Source) -> dict[int, int]:
    """Tokens that start on each line of code. Docstrings, comments and blank lines are no code."""
    skipped = {
        line
        for text in source.docstrings
        for line in range(text.lineno, (text.end_lineno or text.lineno) + 1)
    }
    counts: dict[int, int] = {}
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type in LAYOUT or token.start[0] in skipped:
            continue
        # A long string is on several lines.
        for line in range(token.start[0], token.end[0] + 1):
            counts.setdefault(line, 0)
        counts[token.start[0]] += 1
    return counts


def long_lines(source: Source) -> list[Place]:
    return [
        Place(source.file, number, f"{len(line)} characters", len(line))
        for number, line in enumerate(source.lines, 1)
        if len(line) > LONGEST_LINE
    ]


def complexity(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """McCabe's number with everything that branches in an expression: 1, and 1 more for each `if`,
    `elif`, loop, `except`, `case`, conditional expression, `and`, `or`, and `for` and `if` of a
    comprehension. Functions and classes inside count by themselves."""
    total = 1
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if isinstance(node, ast.BoolOp):
            total += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            total += 1 + len(node.ifs)
        elif isinstance(
            node,
            ast.If
            | ast.IfExp
            | ast.For
            | ast.AsyncFor
            | ast.While
            | ast.ExceptHandler
            | ast.match_case,
        ):
            total += 1
        waiting.extend(ast.iter_child_nodes(node))
    return total


def complex_functions(source: Source) -> list[Place]:
    rated = [(complexity(function), function) for function in source.functions]
    return [
        Place(source.file, function.lineno, f"{function.name}: {number}", number)
        for number, function in rated
        if number > HIGHEST_COMPLEXITY
    ]


def local_names(source: Source) -> list[Place]:
    """The names a function assigns, targets of loops and comprehensions included, each once a
    function."""
    places = []
    for function in source.functions:
        first: dict[str, int] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                first[node.id] = min(node.lineno, first.get(node.id, node.lineno))
        places += [Place(source.file, line, name) for name, line in first.items()]
    return places


def classes_without_example(all_sources: list[Source]) -> list[Place]:
    """Classes named in an `__all__` of a package or room, whose docstring shows no example."""
    public = {
        ast.literal_eval(item)
        for source in all_sources
        for node in source.tree.body
        if isinstance(node, ast.Assign)
        and getattr(node.targets[0], "id", "") == "__all__"
        if isinstance(node.value, ast.List | ast.Tuple)
        for item in node.value.elts
        if isinstance(item, ast.Constant)
    }
    return [
        Place(source.file, node.lineno, node.name)
        for source in all_sources
        for node in source.tree.body
        if isinstance(node, ast.ClassDef) and node.name in public
        if ">>>" not in (ast.get_docstring(node) or "")
    ]


def tokens(group: list[Source]) -> int:
    return sum(sum(tokens_by_line(source).values()) for source in group)


def lines_by_kind(source: Source) -> dict[str, int]:
    """Lines of docstrings and comments; of what only hands on: signatures, fields of classes, and
    bodies that are one call whose arguments are names; of all else inside functions."""
    docs = {
        line
        for text in source.docstrings
        for line in range(text.lineno, (text.end_lineno or text.lineno) + 1)
    }
    comments = {
        token.start[0]
        for token in tokenize.generate_tokens(io.StringIO(source.text).readline)
        if token.type == tokenize.COMMENT
        and source.lines[token.start[0] - 1].lstrip().startswith("#")
    }
    handed: set[int] = set()
    inside: set[int] = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            last = node.end_lineno or node.lineno
            inside |= set(range(first, last + 1))
            body = [step for step in node.body if not _is_text(step)]
            header = node.body[0].lineno if node.body[0].lineno > node.lineno else last
            end = last if len(body) == 1 and _hands_on(body[0]) else header - 1
            handed |= set(range(first, end + 1))
        elif isinstance(node, ast.ClassDef):
            for step in node.body:
                if isinstance(step, ast.AnnAssign | ast.Assign):
                    handed |= set(range(step.lineno, (step.end_lineno or 0) + 1))
    code = set(tokens_by_line(source)) - docs - comments
    return {
        "logic": len((code & inside) - handed),
        "signatures, fields, pass-through": len(code & handed),
        "docs": len(docs | comments),
    }


def _is_text(step: ast.stmt) -> bool:
    return isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant)


def _hands_on(step: ast.stmt) -> bool:
    value = step.value if isinstance(step, ast.Return | ast.Expr) else None
    if isinstance(value, ast.Await):
        value = value.value
    if not isinstance(value, ast.Call):
        return False
    arguments = [*value.args, *(keyword.value for keyword in value.keywords)]
    plain = ast.Name | ast.Attribute | ast.Starred | ast.Constant
    return all(isinstance(argument, plain) for argument in arguments)


def repeated_classes(all_sources: list[Source]) -> list[Place]:
    """Names of classes of the core that stand in several of its files."""
    places: dict[str, list[Place]] = {}
    for source in core(all_sources):
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef):
                place = Place(source.file, node.lineno, node.name)
                places.setdefault(node.name, []).append(place)
    return [group[0] for group in places.values() if len(group) > 1]


def files_of_retrievers(all_sources: list[Source]) -> dict[str, list[Place]]:
    """The files that name each retriever: what one more would cost."""
    names = [
        node.name
        for source in core(all_sources)
        for node in source.tree.body
        if isinstance(node, ast.ClassDef)
        and any(getattr(base, "id", "") == "Retriever" for base in node.bases)
    ]
    return {
        name: [
            Place(source.file, 1, name)
            for source in all_sources
            if re.search(rf"\b{name}\b", source.text)
        ]
        for name in names
    }


def tests_of(root: Path) -> dict[str, list[Source]]:
    """The files of tests by the room that they are about, or their folder."""
    groups: dict[str, list[Source]] = {}
    for file in sorted((root / "tests").rglob("*.py")):
        parts = file.relative_to(root / "tests").parts
        room = parts[1] if parts[0] == "core" and len(parts) > 2 else parts[0]
        name = {"langchain_adapter": "langchain_structrag"}.get(room, room)
        name = {"llama_index_adapter": "llama_index_structrag"}.get(name, name)
        name = "beside" if name.endswith(".py") or name == "core" else name
        groups.setdefault(name, []).append(Source(file, root))
    return groups


def tokens_and_kinds(root: Path, everything: list[Source]) -> list[str]:
    """A row a room: tokens of code and of its tests, lines by kind."""
    rooms: dict[str, list[Source]] = {}
    for source in everything:
        rooms.setdefault(source.room, []).append(source)
    tests = tests_of(root)
    kinds = [*lines_by_kind(everything[0])]
    rows = [
        f"{'':24}{'tokens':>10}{'tests':>10}{kinds[0]:>10}{'handed on':>12}{'docs':>8}"
    ]
    total = [0] * 5
    for name in [*rooms, *sorted(tests.keys() - rooms.keys())]:
        group = rooms.get(name, [])
        lines = [lines_by_kind(source) for source in group]
        cells = [tokens(group), tokens(tests.get(name, []))]
        cells += [sum(line[kind] for line in lines) for kind in kinds]
        total = [whole + cell for whole, cell in zip(total, cells, strict=True)]
        rows.append(_row(name or "the top", cells))
    return [*rows, _row("all", total)]


def _row(name: str, cells: list[int]) -> str:
    widths = (10, 10, 10, 12, 8)
    numbers = (f"{n:>{width},}" for n, width in zip(cells, widths, strict=True))
    return f"{name:24}" + "".join(numbers)


def tokens_by_room(root: Path, everything: list[Source]) -> dict[str, int]:
    """Tokens of each room and adapter, of the modules beside the rooms together, and of
    `benchmarks`."""
    rooms: dict[str, list[Source]] = {"top": []}
    for source in everything:
        is_beside = source.package == CORE and source.path.parent == root / PLACES[CORE]
        rooms.setdefault("top" if is_beside else source.room, []).append(source)
    files = sorted((root / APART).rglob("*.py"))
    rooms[APART] = [Source(file, root) for file in files]
    return {name: tokens(group) for name, group in rooms.items()}


def read_budget(root: Path) -> dict[str, int]:
    """The numbers of `house.toml` by name; {} without the file."""
    path = root / BUDGET
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = re.findall(r"^(\w+) = ([\d_]+)$", text, re.MULTILINE)
    return {name: int(number) for name, number in lines}


def over_budget(counts: dict[str, int], budget: dict[str, int]) -> list[str]:
    """A sentence for each number that is too large."""
    sentences = [
        f"{name} has {count:,} tokens, {count - budget.get(name, 0):,} more than {BUDGET} allows. "
        "Remove code, or raise its number and lower another one."
        for name, count in counts.items()
        if count > budget.get(name, 0)
    ]
    allowed = sum(n for name, n in budget.items() if name not in (APART, "ceiling"))
    ceiling = budget.get("ceiling", 0)
    if allowed > ceiling:
        sentences.append(
            f"The numbers of {BUDGET} add up to {allowed:,}, {allowed - ceiling:,} more than the "
            "ceiling. Remove code; the ceiling does not rise."
        )
    return sentences


def budget_text(counts: dict[str, int], budget: dict[str, int]) -> str:
    """`house.toml` with today's numbers, and a ceiling that is not above the one before."""
    total = sum(count for name, count in counts.items() if name != APART)
    ceiling = min(total + RESERVE, budget.get("ceiling", total + RESERVE))
    numbers = {"ceiling": ceiling, **counts}
    rows = [f"{name} = {number:_}" for name, number in numbers.items()]
    return "\n".join(
        [
            "# Tokens of code, without comments and docstrings, that each room may have; see",
            "# scripts/house.py --budget. The sum of the rooms, without benchmarks, is at most the",
            "# ceiling.",
            *rows,
            "",
        ]
    )


def check_budget(root: Path, everything: list[Source], write: bool) -> int:
    """Print the budget, and the sentences of what is above it; the exit status."""
    counts, budget = tokens_by_room(root, everything), read_budget(root)
    if write:
        (root / BUDGET).write_text(budget_text(counts, budget), encoding="utf-8")
        budget = read_budget(root)
    total = sum(count for name, count in counts.items() if name != APART)
    print(
        f"{total:,} tokens of at most {budget.get('ceiling', 0):,}; {APART} apart: "
        f"{counts[APART]:,} of {budget.get(APART, 0):,}"
    )
    sentences = over_budget(counts, budget)
    print("\n".join(sentences), file=sys.stderr, end="\n" if sentences else "")
    return 1 if sentences else 0


def crossings(root: Path) -> tuple[dict[str, list[Place]], int] | None:
    """The project's files whose functions run when LangChain's MultiView builds and when it
    answers, and the calls from its `from_documents` to the core's object; None where that cannot
    run (LangChain is not installed)."""
    paths = os.pathsep.join([str(root / "shared"), str(root)])
    run = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("crossed.py"))],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    if run.returncode != 0:
        return None
    folders = tuple(str(root / place) + os.sep for place in PLACES.values())
    build, query, way = (
        [
            Place(Path(file).relative_to(root).as_posix(), 1, "crossed")
            for file in files
            if file.startswith(folders)
        ]
        for files in json.loads(run.stdout)
    )
    shown = {
        "files crossed by MultiView's build": build,
        "... and by its query": query,
    }
    return shown, len(way)


class Figure(NamedTuple):
    """A row of the table: its places in all files, and its value for a group of them."""

    name: str
    aim: str
    places: list[Place]
    value: Callable[[list[Source], list[Place]], str]


def lines_of(group: list[Source]) -> int:
    return sum(len(source.lines) for source in group)


def tokens_a_line(group: list[Source], _: list[Place]) -> str:
    counts = [count for source in group for count in tokens_by_line(source).values()]
    return f"{sum(counts) / max(len(counts), 1):.2f}"


def crowded_files(group: list[Source]) -> list[Place]:
    places = []
    for source in group:
        average = float(tokens_a_line([source], []))
        places.append(Place(source.file, 1, f"{average} tokens a line", average))
    return places


def share(
    whole: Callable[[list[Source]], int],
) -> Callable[[list[Source], list[Place]], str]:
    return lambda group, places: (
        f"{len(places)} ({len(places) / max(whole(group), 1):.1%})"
    )


def figures(everything: list[Source]) -> list[Figure]:
    def of_each(measure: Callable[[Source], list[Place]]) -> list[Place]:
        return [place for source in everything for place in measure(source)]

    def count(_: list[Source], places: list[Place]) -> str:
        return str(len(places))

    names = of_each(local_names)
    return [
        Figure("tokens a line of code", "8", crowded_files(everything), tokens_a_line),
        Figure("lines above 100 characters", "0", of_each(long_lines), share(lines_of)),
        Figure(
            "functions of complexity above 10",
            "3%",
            of_each(complex_functions),
            share(lambda group: sum(len(source.functions) for source in group)),
        ),
        Figure(
            "vague names among local ones",
            "< 1%",
            [place for place in names if place.what in VAGUE.split()],
            share(lambda group: sum(len(local_names(source)) for source in group)),
        ),
        Figure("imports that run back", "0", arrows_back(everything), count),
        Figure("modules in a circle of imports", "0", circles(everything), count),
        Figure("modules at the top", "<= 8", top_level_modules(everything), count),
        Figure(
            "class names that stand twice", "0", repeated_classes(everything), count
        ),
        Figure(
            "public classes without example",
            "0",
            classes_without_example(everything),
            count,
        ),
    ]


def table(measured: list[Figure], groups: dict[str, list[Source]]) -> list[str]:
    rows = [f"{'':34}" + "".join(f"{name:>16}" for name in groups) + f"{'aim':>12}"]
    for figure in measured:
        values = [
            figure.value(group, within(figure.places, group))
            for group in groups.values()
        ]
        cells = "".join(f"{value:>16}" for value in values)
        rows.append(f"{figure.name:34}{cells}{figure.aim:>12}")
    return rows


def within(places: list[Place], group: list[Source]) -> list[Place]:
    files = {source.file for source in group}
    return [place for place in places if place.file in files]


def listing(name: str, places: list[Place], most: int) -> list[str]:
    ordered = sorted(places, key=lambda place: (-place.size, place.file, place.line))
    rows = [f"{place.file}:{place.line}: {place.what}" for place in ordered[:most]]
    left_out = [f"... and {len(places) - most} more"] if len(places) > most else []
    return ["", f"{name}: {len(places)}", *rows, *left_out]


def main() -> None:
    parser = argparse.ArgumentParser(description="Figures of the code's structure.")
    parser.add_argument(
        "--worst", action="store_true", help="list the places behind each figure"
    )
    parser.add_argument(
        "--most", type=int, default=40, help="places listed for a figure"
    )
    parser.add_argument("--room", help="one room of the core, or one adapter")
    parser.add_argument(
        "--root", type=Path, default=Path(__file__).resolve().parent.parent
    )
    parser.add_argument(
        "--budget", action="store_true", help=f"compare the tokens with {BUDGET}"
    )
    parser.add_argument(
        "--write", action="store_true", help="with --budget: write today's tokens"
    )
    options = parser.parse_args()
    root = options.root.resolve()
    everything = sources(root)
    if options.budget:
        sys.exit(check_budget(root, everything, options.write))
    rooms = {source.room for source in everything}
    if options.room and options.room not in rooms:
        parser.error(
            f"--room must be one of {', '.join(sorted(rooms))}; got {options.room}"
        )
    if options.room:
        groups = {
            options.room: [
                source for source in everything if source.room == options.room
            ]
        }
    else:
        adapters = [source for source in everything if source.package != CORE]
        groups = {"core": core(everything), "adapters": adapters, "all": everything}
    measured = figures(everything)
    if not options.room:
        print("\n".join([*tokens_and_kinds(root, everything), ""]))
    print("\n".join(table(measured, groups)))
    *_, last = groups.values()
    shown = {figure.name: within(figure.places, last) for figure in measured}
    for name, places in files_of_retrievers(everything).items():
        if not options.room:
            print(f"{f'files that name {name}':34}{len(places):>48}{'3':>12}")
    crossed = None if options.room else crossings(root)
    if crossed is not None:
        files, hops = crossed
        cell = ", ".join(str(len(places)) for places in files.values())
        print(f"{'files crossed: build, query':34}{cell:>48}{'26, 20':>12}")
        print(f"{'hops of from_documents to the core':34}{hops:>48}{'4':>12}")
        shown |= files
    if options.worst:
        for name, places in shown.items():
            print("\n".join(listing(name, places, options.most)))


if __name__ == "__main__":
    main()
