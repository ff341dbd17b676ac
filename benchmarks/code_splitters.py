"""Splitters of source code on Python's standard library: prints the table and writes it.

    python benchmarks/code_splitters.py [--modules 150] [--limit 1500]

A function is small where its whole lines are within the limit. It is cut where no chunk holds all
of them. A chunk says where it is where the names of the module, or of the classes and functions
around its first word, stand in what is embedded. Needs the extra `code` and both frameworks.
"""

from __future__ import annotations

import argparse
import ast
import random
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.freshness import save
from benchmarks.machine import corpus_line, machine_line, versions_line
from benchmarks.quality_tables import markdown_table
from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.reading.files import read_text

RESULTS = Path(__file__).parent / "results" / "code_splitters.md"
SHORT = 100  # characters of a chunk that says little
HEAD = (
    "splitter",
    "chunks",
    "characters, mean",
    f"below {SHORT}",
    "small functions cut",
    "module not said",
    "class or function not said",
    "characters lost",
    "MB/s",
)


@dataclass(frozen=True)
class Part:
    """A chunk: what is embedded, and its place in the source."""

    embedded: str
    start: int
    end: int


@dataclass(frozen=True)
class Place:
    """A class or function with the names around it and its own."""

    line: int  # where its first line begins
    start: int
    end: int
    names: tuple[str, ...]
    is_function: bool


# From a module's name and source to its chunks.
Splitter = Callable[[str, str], list[Part]]


def ours(limit: int, min_tokens: int = 0) -> Splitter:
    """ContentAwareSplitter; the limit is of the index text, heading path included."""
    splitter = ContentAwareSplitter(
        max_tokens=limit, flat_max_tokens=limit, min_tokens=min_tokens, counter=len
    )

    def split(module: str, source: str) -> list[Part]:
        document = read_text(source, format="python", meta={"source": f"{module}.py"})
        chunks = splitter.split(document)
        return [Part(chunk.index_text, chunk.start, chunk.end) for chunk in chunks]

    return split


def langchain(limit: int) -> Splitter:
    """RecursiveCharacterTextSplitter with the separators of Python."""
    from langchain_text_splitters import Language, RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter.from_language(
        Language.PYTHON, chunk_size=limit, chunk_overlap=0
    )
    return lambda module, source: list(placed(source, splitter.split_text(source)))


def llama_index(limit: int) -> Splitter:
    """CodeSplitter with a parser, since it would fetch one."""
    from llama_index.core.node_parser import CodeSplitter
    from tree_sitter import Language, Parser
    from tree_sitter_python import language

    parser = Parser(Language(language()))
    splitter = CodeSplitter(language="python", max_chars=limit, parser=parser)
    return lambda module, source: list(placed(source, splitter.split_text(source)))


def placed(source: str, texts: Sequence[str]) -> Iterator[Part]:
    """Chunks without offsets at their places, in order."""
    end = 0
    for text in texts:
        start = source.find(text, end)
        if start < 0:
            raise ValueError(f"A chunk is not in the source: {text[:80]!r}.")
        end = start + len(text)
        yield Part(text, start, end)


def places(source: str) -> list[Place]:
    """All classes and functions, by Python's own parser."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    stack: list[tuple[ast.AST, tuple[str, ...]]] = [(ast.parse(source), ())]
    while stack:
        node, names = stack.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                inner = (*names, child.name)
                lines = [child.lineno, *(each.lineno for each in child.decorator_list)]
                line = starts[min(lines) - 1]
                whole = source[line : starts[child.end_lineno or 0]]
                start = line + len(whole) - len(whole.lstrip())
                end = start + len(whole.strip())
                is_function = not isinstance(child, ast.ClassDef)
                found.append(Place(line, start, end, inner, is_function))
                stack.append((child, inner))
            else:
                stack.append((child, names))
    return found


@dataclass
class Counts:
    """What one splitter did to the modules."""

    chunks: int = 0
    characters: int = 0
    short: int = 0
    small: int = 0
    cut: int = 0
    without_module: int = 0
    without_names: int = 0
    lost: int = 0
    seconds: float = 0.0

    def add(self, module: str, source: str, parts: Sequence[Part], limit: int) -> None:
        """Count one module. `limit` is that of a small function."""
        found = places(source)
        for place in found:
            if place.is_function and place.end - place.line <= limit:
                self.small += 1
                self.cut += not any(
                    part.start <= place.start and place.end <= part.end
                    for part in parts
                )
        for part in parts:
            text = source[part.start : part.end]
            first = part.start + len(text) - len(text.lstrip())
            around = [place for place in found if place.start <= first < place.end]
            names = max((place.names for place in around), key=len, default=())
            self.chunks += 1
            self.characters += len(text)
            self.short += len(text.strip()) < SHORT
            self.without_module += module.rpartition(".")[2] not in part.embedded
            self.without_names += not all(name in part.embedded for name in names)
        kept = bytearray(len(source))
        for part in parts:
            kept[part.start : part.end] = b"\1" * (part.end - part.start)
        self.lost += sum(
            not is_kept and not character.isspace()
            for is_kept, character in zip(kept, source, strict=True)
        )

    def row(self, name: str, size: int) -> list[str]:
        """Its line of the table."""
        return [
            name,
            f"{self.chunks:,}",
            f"{self.characters / self.chunks:.0f}",
            f"{self.short:,}",
            f"{self.cut} of {self.small:,}",
            f"{self.without_module:,}",
            f"{self.without_names:,}",
            f"{self.lost:,}",
            f"{size / 1e6 / self.seconds:.1f}",
        ]


def modules(count: int) -> dict[str, str]:
    """A sample of the standard library, tests left out: names and sources."""
    library = Path(sysconfig.get_paths()["stdlib"])
    files = [
        file
        for file in sorted(library.rglob("*.py"))
        if not {"site-packages", "test", "tests", "idle_test", "__pycache__"}
        & set(file.relative_to(library).parts)
        and file.stem not in ("__init__", "__main__")
    ]
    chosen = sorted(random.Random(0).sample(files, min(count, len(files))))
    return {
        ".".join(file.relative_to(library).with_suffix("").parts): file.read_text(
            encoding="utf-8"
        )
        for file in chosen
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--modules", type=int, default=150)
    parser.add_argument("--limit", type=int, default=1500, help="characters of a chunk")
    arguments = parser.parse_args()
    limit = arguments.limit
    sources = modules(arguments.modules)
    systems = {
        "ContentAwareSplitter": ours(limit),
        f"ContentAwareSplitter, min_tokens={limit // 3}": ours(limit, limit // 3),
        "LangChain from_language(python)": langchain(limit),
        "LlamaIndex CodeSplitter": llama_index(limit),
    }
    size = sum(map(len, sources.values()))
    rows = []
    for name, split in systems.items():
        counts = Counts()
        for module, source in sources.items():
            begin = time.process_time()
            parts = split(module, source)
            counts.seconds += time.process_time() - begin
            counts.add(module, source, parts, limit)
        rows.append(counts.row(name, size))
    about = (
        f"{len(sources)} modules of Python's standard library "
        f"(`python benchmarks/code_splitters.py`); chunks of at most {limit:,} characters, no "
        "overlap. *Small functions cut*: of those whose whole lines are within the limit. "
        "*Not said*: the name of the module, or of the classes and functions around the "
        "chunk's first word, stands neither in its text nor in the heading path that is "
        "embedded with it. The limit of ours holds the heading path too."
    )
    versions = versions_line(
        ["langchain-text-splitters", "llama-index-core", "tree-sitter-python"]
    )
    corpus = corpus_line("modules", sources.values())
    table = markdown_table(HEAD, rows, labels=1)
    text = f"# Splitters of code\n\n{about}\n\n{table}\n\n{machine_line()}; {versions}; {corpus}.\n"
    print(text)
    save(RESULTS, text, __file__)


if __name__ == "__main__":
    main()
