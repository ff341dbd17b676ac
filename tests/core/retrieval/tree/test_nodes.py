"""The tree above chunks: every chunk once, sections as nodes, runs where there are many."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrag import ContentAwareSplitter, Document, FixedSplitter
from structrag.reading.sections import parse
from structrag.records import Chunk
from structrag.retrieval.tree.nodes import Node, build_tree, walk_tree

PIECES = st.lists(
    st.sampled_from(
        ["# A\n\n", "## B\n\n", "### C\n\n", "One. Two. Three.\n\n", "word " * 40]
    ),
    max_size=30,
)


def leaves(node: Node) -> Iterator[Chunk]:
    for child in node.children:
        if isinstance(child, Node):
            yield from leaves(child)
        else:
            yield child


@given(pieces=PIECES, fan_out=st.integers(2, 5), size=st.integers(8, 60))
def test_every_chunk_is_below_the_top_once(
    pieces: list[str], fan_out: int, size: int
) -> None:
    document = Document("".join(pieces), id="d", format="markdown")
    chunks = ContentAwareSplitter(max_tokens=size).split(document)
    top = build_tree(parse(document), chunks, fan_out)
    assert (top is None) == (len(chunks) < 2)
    if top is None:
        return
    assert list(leaves(top)) == chunks
    nodes = list(walk_tree(top))
    assert len({node.id for node in nodes}) == len(nodes)
    for node in nodes:
        assert 2 <= len(node.children) <= fan_out
        assert node.start == min(child.start for child in node.children)
        assert node.end == max(child.end for child in node.children)
        below = [child.height for child in node.children if isinstance(child, Node)]
        assert node.height == 1 + max(below, default=0)
        assert node.is_whole(document.text)  # these chunks tile the document


def test_a_section_with_one_child_is_left_out() -> None:
    text = "# A\n\n## B\n\n### C\n\nOne.\n\n### D\n\nTwo.\n\n# E\n\nThree.\n"
    document = Document(text, id="d", format="markdown")
    top = build_tree(parse(document), ContentAwareSplitter().split(document), 10)
    assert top is not None
    titles = [node.section.title for node in walk_tree(top)]
    assert titles == ["", "B"]  # A has only B below it


def test_many_children_are_put_into_even_runs() -> None:
    document = Document(
        " ".join(f"Sentence number {i} is here." for i in range(23)), id="d"
    )
    chunks = FixedSplitter(6).split(document)
    top = build_tree(parse(document), chunks, 4)
    assert top is not None and len(chunks) > 20
    sizes = [len(list(leaves(node))) for node in walk_tree(top) if node.height == 1]
    assert sum(sizes) == len(chunks) and max(sizes) - min(sizes) <= 1


def shape(child: Node | Chunk) -> object:
    """A chunk as its number, a node as the list of its children."""
    if isinstance(child, Chunk):
        return int(child.text)
    return [shape(one) for one in child.children]


@pytest.mark.parametrize(
    ("count", "fan_out", "expected"),
    [
        (2, 2, [0, 1]),
        (3, 2, [0, [1, 2]]),
        (4, 4, [0, 1, 2, 3]),
        (5, 4, [[0, 1], [2, 3, 4]]),
        (7, 3, [[0, 1], [2, 3], [4, 5, 6]]),
        (5, 2, [0, [[1, 2], [3, 4]]]),
    ],
)
def test_more_children_than_the_fan_out_become_runs(
    count: int, fan_out: int, expected: list[object]
) -> None:
    document = Document("".join(map(str, range(count))), id="d")
    chunks = [
        Chunk(f"d:{i}-{i + 1}", "d", "d#0", i, i + 1, str(i)) for i in range(count)
    ]
    top = build_tree(parse(document), chunks, fan_out)
    assert top is not None and shape(top) == expected
    assert (top.start, top.end, top.id) == (0, count, f"d:0-{count}")


def test_a_chunk_over_two_sections_is_below_the_one_that_holds_both() -> None:
    text = "# A\n\n## B\n\nOne.\n\n## C\n\nTwo.\n\nThree.\n"
    document = Document(text, id="d", format="markdown")

    def chunk(first: str, last: str, body: str) -> Chunk:
        start, end = text.index(first), text.index(last) + len(last)
        return Chunk(
            f"d:{start}-{end}", "d", "d#0", start, end, text[start:end],
            body_start=text.index(body),
        )  # fmt: skip

    # The first begins with the heading of A; its body and end are those of B.
    own = [chunk("# A", "One.\n\n", "One."), chunk("## C", "Two.\n\n", "Two.")]
    rest = chunk("Three.", "Three.\n", "Three.")
    top = build_tree(parse(document), [*own, rest], 10)
    assert top is not None
    titles = [node.section.title for node in walk_tree(top)]
    assert titles == ["A", "C"] and top.children[0] == own[0]
    wide = chunk("One.", "Two.\n\n", "One.")
    top = build_tree(parse(document), [wide, rest], 10)
    assert top is not None and top.section.title == "A"
    assert top.children == (wide, rest) and top.height == 1


def test_a_chunk_that_reaches_beyond_its_section_is_not_below_it() -> None:
    text = "# A\n\n## B\n\nOne.\n\nTwo.\n\n## C\n\nThree.\n"
    document = Document(text, id="d", format="markdown")
    middle = text.index("Two.")
    first, second = (
        Chunk(f"d:{start}-{end}", "d", "d#2", start, end, text[start:end])
        for start, end in ((text.index("One."), middle), (middle, len(text)))
    )
    top = build_tree(parse(document), [first, second], 10)
    assert top is not None and top.section.title == "A"


def test_text_between_the_children_is_noticed() -> None:
    text = "# A\n\nOne.\n\n# References\n\nx\n\n# B\n\nTwo.\n"
    document = Document(text, id="d", format="markdown")
    splitter = ContentAwareSplitter(exclude_titles=["References"])
    top = build_tree(parse(document), splitter.split(document), 10)
    assert top is not None and not top.is_whole(text)


def test_chunks_inside_others_are_below_no_node() -> None:
    document = Document("One. Two. Three.", id="d")

    def chunk(start: int, end: int) -> Chunk:
        return Chunk(
            f"d:{start}-{end}", "d", "d#0", start, end, document.text[start:end]
        )

    chunks = [chunk(0, 9), chunk(0, 4), chunk(5, 9), chunk(5, 16)]
    top = build_tree(parse(document), chunks, 10)
    assert top is not None and [child.end for child in top.children] == [9, 16]
    # One that ends with another lies in it too.
    top = build_tree(parse(document), [chunk(0, 9), chunk(5, 9), chunk(10, 16)], 10)
    assert top is not None and [child.start for child in top.children] == [0, 10]
