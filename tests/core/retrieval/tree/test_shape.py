"""What stands above what, as a store keeps it."""

from __future__ import annotations

from samples import manual

from structrag import Document
from structrag.records import Chunk
from structrag.retrieval.tree.index import NODES, TreeIndex
from structrag.retrieval.tree.shape import Tree


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


def test_a_chunk_that_is_not_there_has_nothing_above() -> None:
    index = TreeIndex()
    index.add([manual()])
    tree = Tree(*index.readers())
    assert tree.above(Chunk("other:0-1", "other", "other#0", 0, 1, "x")) == []
    assert NODES in index.store.settings.levels
