"""Outlines and blocks of text markups: the fixtures of `tests/fixtures/formats`, and properties.

A fixture is a source, a line `----` and what is expected: `LEVEL TITLE` for each heading in order,
`title: TITLE`, and `KIND: TEXT` for the kind of the block that has the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrag.reading.formats import format_named
from structrag.records import Block, Heading

FOLDER = Path(__file__).parents[3] / "fixtures" / "formats"
NAMES = ("rst", "asciidoc", "org", "mediawiki", "latex")
FIXTURES = [path for name in NAMES for path in sorted((FOLDER / name).glob("*.txt"))]
MARKS = {
    "rst": "= - ~ == ==== ---- :: .. .. note:: .. code:: +--+ | >>> 1. :a: \\ ` é 表 \t",
    "asciidoc": "= == ## ---- ==== |=== -- [discrete] [source] .T * . + :a: // ``` ~~~~ [[a]]",
    "org": "* ** #+BEGIN_SRC #+END_SRC #+TITLE: :a: - | TODO [#A] :PROPERTIES: :END: , 1.",
    "mediawiki": "= == === <nowiki> </nowiki> <!-- --> {{ }} {| |} |- * # : <pre> </pre> [[ ]]",
    "latex": "\\section{ \\part*{ } { [ ] \\begin{a} \\end{a} \\begin{verbatim} \\end{verbatim} % "
    "\\verb| $ $$ \\[ \\] \\title{ \\iffalse \\fi \\item \\def\\a{ \\' \\\\ & \\input{a}",
    "typst": "= == ``` /* */ - + 1. <a> #let x $ * _ //",
    "textile": "h1. h2(a). {code} {code:java} {noformat} |a| ||a|| * # - *a* bq.",
    "roff": '.SH .SS .Sh .nf .fi .EX .EE .Bd -literal .Ed .de .. .TP .It \\fB \\- " .\\"',
}


def markup(name: str) -> Any:
    format = format_named(name)
    assert format
    return format.reader()


def body_blocks(reader: Any, text: str, headings: list[Heading]) -> Iterator[Block]:
    """The blocks between the headings; they must tile what they stand in."""
    starts = [0, *(heading.end for heading in headings)]
    ends = [*(heading.start for heading in headings), len(text)]
    for start, end in zip(starts, ends, strict=True):
        at = start
        for block in reader.blocks(text, start, end):
            assert block.start == at < block.end
            assert list(block.cuts) == sorted(set(block.cuts))
            assert all(block.start < cut < block.end for cut in block.cuts)
            assert block.start <= block.text_start < block.end
            assert not block.header_end or block.start < block.header_end <= block.end
            at = block.end
            yield block
        assert at == end


@pytest.mark.parametrize(
    "path", FIXTURES, ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_fixture(path: Path) -> None:
    reader = markup(path.parent.name)
    source, _, expected = path.read_text(encoding="utf-8").rpartition("\n----\n")
    headings = reader.headings(source)
    blocks = list(body_blocks(reader, source, headings))
    outline = []
    for line in expected.splitlines():
        key, _, value = line.partition(": ")
        if key[:1].isdigit():
            outline.append(line)
        elif key == "title":
            assert reader.title(source) == value
        else:
            assert value in source
            kinds = {b.kind for b in blocks if value in source[b.start : b.end]}
            assert kinds == {key}, value
    assert [f"{h.level} {h.title}" for h in headings] == outline


@pytest.mark.parametrize("name", MARKS)
@given(data=st.data())
def test_headings_lie_in_order_and_blocks_tile_the_rest(
    name: str, data: st.DataObject
) -> None:
    reader = markup(name)
    words = st.sampled_from([*MARKS[name].split(" "), "a", "Title", " ", "\n", "\n\n"])
    text = "".join(
        data.draw(st.lists(words | st.text(max_size=3), max_size=40), label="text")
    )
    headings = reader.headings(text)
    at = 0
    for heading in headings:
        assert at <= heading.start < heading.end <= len(text)
        assert heading.level >= 1
        at = heading.end
    for block in body_blocks(reader, text, headings):
        assert text[block.start : block.end]
    assert isinstance(reader.title(text), str)
