"""Chunks of source code: whole functions, and pieces that say where they are."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrag import ContentAwareSplitter, read_text
from structrag.records import Chunk

pytest.importorskip("tree_sitter_python", reason="the extra 'code' is not installed")

MODULE = '''"""Pumps and their seals."""

import os

LIMIT = 3


class Pump(Base):
    """A pump."""

    size = 1

    # Starts it.
    @cached
    def start(self, speed: int) -> int:
        """Start at a speed."""
        def inner():
            return speed
        return inner()

    __call__ = start


def stop():
    return 0


if __name__ == "__main__":
    stop()
'''
LONG = "class Mill:\n    def grind(self, corn: list[str]) -> list[str]:\n" + "".join(
    f"        if corn[{i}]:\n            flour_{i} = [\n                corn[{i}],\n"
    f"            ]\n            self.keep(flour_{i})\n"
    for i in range(40)
)


def split(
    source: str, limit: int, language: str = "python", **options: int
) -> list[Chunk]:
    splitter = ContentAwareSplitter(
        max_tokens=limit, flat_max_tokens=limit, counter=len, **options
    )
    meta = {"source": f"src/pumps.{language}"}
    chunks = splitter.split(read_text(source, format=language, meta=meta))
    assert "".join(chunk.text for chunk in chunks) == source
    assert all(len(chunk.index_text) <= limit for chunk in chunks)
    return chunks


def test_a_chunk_says_module_class_and_function() -> None:
    chunks = split(MODULE, 400)
    assert [(chunk.path, chunk.text.strip().split("\n")[0]) for chunk in chunks] == [
        ((), '"""Pumps and their seals."""'),
        (("Pump",), "class Pump(Base):"),
        (("Pump", "start"), "# Starts it."),
        (("Pump",), "__call__ = start"),
        (("stop",), "def stop():"),
        ((), 'if __name__ == "__main__":'),
    ]
    assert [chunk.context for chunk in chunks[2:4]] == [
        "pumps: Pumps and their seals. > Pump"
    ] * 2
    start = chunks[2].text
    assert start.startswith("    # Starts") and start.rstrip().endswith(
        "return inner()"
    )


def test_a_long_function_is_cut_between_statements_and_repeats_its_signature() -> None:
    chunks = split(LONG, 500)
    assert len(chunks) > 10
    for chunk in chunks[1:]:
        assert chunk.context == (
            "pumps > Mill > grind\nclass Mill:\n"
            "    def grind(self, corn: list[str]) -> list[str]:"
        )
        assert chunk.text.startswith("        if corn[")


def test_a_statement_that_is_too_long_is_cut_at_its_outer_lines() -> None:
    loop = "def run():\n    for x in range(9):\n" + "".join(
        f"        while {i}:\n            step(\n                {i},\n            )\n"
        for i in range(60)
    )
    starts = [chunk.text.split("\n")[0] for chunk in split(loop, 400)[1:]]
    assert len(starts) > 8 and all(line.startswith("        while") for line in starts)


def test_a_long_signature_is_repeated_by_its_first_line() -> None:
    arguments = "".join(f"    argument_{i}: int,\n" for i in range(12))
    body = "".join(f"    value_{i} = {i}\n" for i in range(60))
    chunks = split(f"def run(\n{arguments}):\n{body}", 400)
    assert {chunk.context for chunk in chunks[1:]} == {"pumps > run\ndef run("}


def test_a_function_that_fits_is_whole_beside_less_of_its_path() -> None:
    body = "".join(f"        value_{i} = {i}\n" for i in range(18))
    function = f"    def run(self):\n{body}"
    source = f"class Pump:\n    # {'about ' * 20}\n{function}\n\nx = 1\n"
    chunks = split(source, len(function) + 8)
    (whole,) = [chunk for chunk in chunks if function in chunk.text]
    assert whole.context == "Pump" and whole.extras["context_shortened"]
    assert whole.path == ("Pump", "run")


@pytest.mark.parametrize(
    ("language", "source", "paths"),
    [
        (
            "java",
            "class P {\n  int a;\n  void run() { a(); }\n  int b;\n}\nclass Q {\n  int c;\n}\n",
            [("P",), ("P", "run"), ("P",), ("Q",)],
        ),
        (
            "typescript",
            "class P {\n  run() { return 1; }\n}\n\nconst x = 3;\n",
            [("P", "run"), ()],
        ),
        ("go", "package p\n\nfunc A() {\n\tb()\n}\n\nvar x = 1\n", [(), ("A",), ()]),
        (
            "ruby",
            "class P\n  def run\n    1\n  end\nend\n\nputs 1\n",
            [("P", "run"), ()],
        ),
        (
            "rust",
            "impl P {\n    fn run(&self) { a(); }\n}\n\nconst X: i32 = 1;\n",
            [("P", "run"), ()],
        ),
    ],
)
def test_what_stands_behind_a_definition_is_not_its_own(
    language: str, source: str, paths: list[tuple[str, ...]]
) -> None:
    assert [chunk.path for chunk in split(source, 200, language)] == paths


def test_the_line_of_a_class_does_not_cut_its_first_function() -> None:
    body = "".join(f"        value_{i} = {i}\n" for i in range(18))
    function = f"    def run(self):\n{body}"
    source = f"class Pump(Of, Water):\n{function}\n    x = 1\n"
    texts = [chunk.text for chunk in split(source, len(function) + 8)]
    assert texts[:2] == ["class Pump(Of, Water):\n", f"{function}\n"]


def test_small_neighbours_are_joined_where_asked() -> None:
    assert len(split(MODULE, 400, min_tokens=150)) < len(split(MODULE, 400))


@given(
    st.lists(
        st.sampled_from(
            [
                "def f(a):\n",
                "  x = 1\n",
                "class A:\n",
                "\n",
                "  def g(b): pass\n",
                "  # c\n",
            ]
        ),
        max_size=30,
    )
)
def test_chunks_tile_any_source(lines: list[str]) -> None:
    if "".join(lines).strip():
        split("".join(lines), 60)


def test_functions_of_a_module_of_the_standard_library_are_whole() -> None:
    source = Path(ast.__file__).read_text(encoding="utf-8")
    chunks = split(source, 1500)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            start, end = starts[node.lineno - 1], starts[node.end_lineno or 0]
            assert end - start > 1500 or any(
                chunk.start <= start and end <= chunk.end for chunk in chunks
            ), node.name
