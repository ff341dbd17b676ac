"""What stands above what, as a store keeps it."""

from __future__ import annotations

from samples import manual

from structrag import ContentAwareSplitter, Document
from structrag.records import Chunk
from structrag.retrieval.tree.index import NODES, TreeIndex
from structrag.retrieval.tree.shape import Tree, tree_shape


def test_parents_and_children_agree_in_all_documents() -> None:
    index = TreeIndex(fan_out=3)
    single = Document("Only one chunk.", id="single")
    index.add([manual(), single, Document(manual().text, id="copy", format="markdown")])
    index.delete(manual().id)
    index.add([manual()])
    chunks, nodes = index.readers()
    tree = Tree(chunks, nodes)
    assert tree.top("single") is None and tree.below("single", None) == (
        [],
        list(chunks.rows_of("single")),
    )
    for doc_id in (manual().id, "copy"):
        tops, loose = tree.below(doc_id, None)
        assert len(tops) == 1 and not loose and tree.top(doc_id) == tops[0]
        for node in nodes.rows_of(doc_id):
            below_nodes, below_chunks = tree.below(doc_id, node)
            ids = {nodes.chunk(row).id for row in below_nodes}
            ids |= {chunks.chunk(row).id for row in below_chunks}
            assert ids == set(nodes.chunk(node).extras["children"])
        for chunk in chunks.chunks(doc_id):
            above = tree.above(chunk)
            assert above[-1].row == tops[0]
            for place in above:
                node = nodes.chunk(place.row)
                assert node.start <= chunk.start and chunk.end <= node.end
                assert place.tokens == node.n_tokens and place.is_whole
                assert place.n_children == len(node.extras["children"])


def chunk(start: int, end: int, tokens: int, **extras: object) -> Chunk:
    return Chunk(
        f"d:{start}-{end}", "d", "d#0", start, end, "x" * (end - start),
        n_tokens=tokens, extras=extras,
    )  # fmt: skip


def test_a_line_has_its_parent_its_tokens_and_its_children() -> None:
    first, second, third = chunk(0, 3, 7), chunk(3, 5, 2), chunk(5, 9, 4)
    inner = chunk(0, 5, 9, children=[first.id, second.id], whole=False)
    top = chunk(0, 9, 13, children=[inner.id, third.id], whole=True)
    shape = tree_shape([third, first, second], [top, inner])
    assert shape.tolist() == [
        [0, 7, 0],
        [0, 2, 0],
        [1, 4, 0],
        [1, 9, -2],  # ends before the other: the first node
        [-1, 13, 2],
    ]


def test_a_section_with_text_between_its_chunks_is_not_whole() -> None:
    text = "# A\n\nOne.\n\n# References\n\nx\n\n# B\n\nTwo.\n\n## C\n\nThree.\n"
    index = TreeIndex(splitter=ContentAwareSplitter(exclude_titles=["References"]))
    index.add([Document(text, id="d", format="markdown")])
    chunks, nodes = index.readers()
    tree = Tree(chunks, nodes)
    places = tree.above(chunks.chunk(2))  # of C
    assert [(place.n_children, place.is_whole) for place in places] == [
        (2, True),
        (2, False),
    ]
    assert [place.is_whole for place in tree.above(chunks.chunk(0))] == [False]


def test_a_document_without_text_has_nothing_below() -> None:
    index = TreeIndex()
    index.add([Document("", id="empty"), Document("One chunk.", id="single")])
    tree = Tree(*index.readers())
    assert tree.top("empty") is None and tree.below("empty", None) == ([], [])
    assert tree.below("single", None) == ([], [0])


def test_a_chunk_that_is_not_there_has_nothing_above() -> None:
    index = TreeIndex()
    index.add([manual()])
    tree = Tree(*index.readers())
    assert tree.above(Chunk("other:0-1", "other", "other#0", 0, 1, "x")) == []
    assert NODES in index.store.settings.levels
