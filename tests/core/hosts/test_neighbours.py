"""What stands beside a chunk, in an index and where paragraphs were joined."""

from __future__ import annotations

from dataclasses import replace

from structrag import Index, read_text
from structrag.hosts.neighbours import beside


def test_chunks_beside_a_chunk_are_of_its_document() -> None:
    index = Index(views=["raw"])
    text = "# A\n\none\n\n# B\n\ntwo\n\n# C\n\nthree\n"
    index.add([read_text(text, id="d"), read_text("# D\n\nfour", id="e")])
    reader = index.store.reader()
    a, b, c, d = reader.chunks()
    assert beside(reader, b) == (a, c)
    assert (beside(reader, a), beside(reader, c)) == ((None, b), (b, None))
    assert beside(reader, d) == (None, None) == beside(reader, replace(a, id="unknown"))
    joined = replace(a, id="d:0-20", extras={"paragraphs": [a.id, b.id]})
    assert beside(reader, joined) == (None, c)
