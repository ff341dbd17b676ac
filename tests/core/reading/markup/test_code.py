"""Source code: definitions as sections."""

from __future__ import annotations

import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrag import parse, read_text
from structrag.errors import InvalidParameter
from structrag.reading.markup.code import SUFFIXES, reader

SOURCES = {
    "python": (
        '"""About pumps."""\n\n# Ä pump.\n@cache\nclass Pump(Base):\n    """One."""\n\n'
        "    async def start(\n        self,\n    ):\n        def inner(): return 1\n\n\n"
        "if LIMIT:\n    def late():\n        pass\n",
        ["1 Pump", "2 start", "3 inner", "1 late"],
    ),
    "javascript": (
        "class P { run() {} }\nfunction f() {}\nconst g = () => 1;\nlet x = 3;\n",
        ["1 P", "2 run", "1 f", "1 g"],
    ),
    "typescript": (
        "export class P {\n  /** Runs. */\n  run(): void {}\n}\n"
        "export const stop = (n: number) => n;\nnamespace N { export function f() {} }\n",
        ["1 P", "2 run", "1 stop", "1 N", "2 f"],
    ),
    "tsx": ("export function A() { return <b>x</b>; }\n", ["1 A"]),
    "java": ("class P {\n  P() {}\n  @X void run() {}\n}\n", ["1 P", "2 P", "2 run"]),
    "go": ("type P struct{}\n\nfunc (p *P) Run() {}\n", ["1 P", "1 Run"]),
    "rust": (
        "mod a {\n struct P;\n #[x]\n impl P { fn run(&self) {} }\n}\n",
        ["1 a", "2 P", "2 P", "3 run"],
    ),
    "c": (
        "struct P { int x; };\nint *run(struct P a) { return 0; }\n",
        ["1 P", "1 run"],
    ),
    "cpp": (
        "namespace n { class P { void run() {} }; }\nvoid n::P::go() {}\n",
        ["1 n", "2 P", "3 run", "1 n::P::go"],
    ),
    "c_sharp": ("namespace N { class P { void Run() {} } }\n", ["1 N", "2 P", "3 Run"]),
    "ruby": (
        "module M\n  class P\n    def run\n    end\n  end\nend\n",
        ["1 M", "2 P", "3 run"],
    ),
    "php": (
        "<?php\nclass P { function run() {} }\nfunction f() {}\n",
        ["1 P", "2 run", "1 f"],
    ),
    "bash": ("run() {\n  echo\n}\n", ["1 run"]),
}


@pytest.mark.parametrize("language", SUFFIXES)
def test_definitions_are_sections(language: str) -> None:
    pytest.importorskip("tree_sitter_python")
    source, outline = SOURCES[language]
    found = reader(language).headings(source)
    assert [f"{heading.level} {heading.title}" for heading in found] == outline
    for above, below in pairwise(found):
        assert above.start < above.end <= below.start


def test_a_section_begins_at_its_decorators_and_comment() -> None:
    pytest.importorskip("tree_sitter_python")
    source = SOURCES["python"][0]
    pump, start, *_ = reader("python").headings(source)
    assert source[pump.start : pump.end] == "# Ä pump.\n@cache\nclass Pump(Base):\n"
    assert source[start.start : start.end].endswith("    ):\n")
    assert reader("python").title(source) == "About pumps."


def test_what_follows_a_syntax_error_is_found() -> None:
    pytest.importorskip("tree_sitter_python")
    source = (
        "def ok():\n    return 1\n\nclass (:\n    x = \n\ndef after():\n    return 2\n"
    )
    titles = [heading.title for heading in reader("python").headings(source)]
    assert titles == ["ok", "after"]


@given(
    st.lists(
        st.sampled_from(
            ["def f():", "class A:", "@a", "#", "\n", "\n  ", "é", "(", "{"]
        )
    )
)
def test_blocks_tile_any_text(parts: list[str]) -> None:
    text = "".join(parts)
    blocks = reader("python").blocks(text, 0, len(text))
    assert "".join(text[block.start : block.end] for block in blocks) == text
    assert {block.kind for block in blocks} <= {"code", "paragraph"}


def test_without_the_extra_code_is_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter", None)
    with pytest.warns(UserWarning, match=r"structrag\[code\]"):
        assert reader("bash").headings("run() {\n}\n") == []


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="language"):
        reader("cobol")


@pytest.mark.parametrize("piece", ["|---|\n", "\\\n"])
def test_what_takes_a_grammar_too_long_is_plain_text(piece: str) -> None:
    text = piece * (16_000 // len(piece))
    with pytest.warns(UserWarning, match="takes the grammar too long"):
        outline = parse(read_text(text, format="python"))
    (section,) = outline.sections
    blocks = outline.blocks(section)
    assert (section.level, blocks[0].start, blocks[-1].end) == (0, 0, len(text))
