"""What is found, as hits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from doubles import HashEmbedder

from structrag import (
    D3Index,
    Hit,
    read_text,
)
from structrag.retrieval.d3.results import joined
from structrag.retrieval.packing import pack
from structrag.text.tokens import count_tokens

HTML = (
    "<html><body><h1>Pumps</h1>\n<p>A pump  moves <b>water</b> &amp; oil.</p>\n<h2>Filters</h2>\n"
    "<p>The filter is rinsed monthly.</p><p>It is dried then.</p>\n<pre>\n  code = "
    "1\n</pre>\n</body></html>"
)


PAGE = read_text(HTML, id="page", format="html")


def test_joined_and_cut_chunks(tmp_path: Path) -> None:
    index = D3Index(embedder=HashEmbedder())
    index.add([PAGE])
    chunks = [
        chunk
        for chunk in index.paragraphs.chunks()
        if chunk.path == ("Pumps", "Filters")
    ]
    (whole,) = joined(
        [Hit(chunk, 1.0, rank) for rank, chunk in enumerate(chunks, 1)], count_tokens
    )
    assert whole.chunk.extras["source_start"] == chunks[0].extras["source_start"]
    assert whole.chunk.extras["source_end"] == chunks[-1].extras["source_end"]
    (cut,) = pack([replace(whole, rank=1)], 14)
    assert cut.chunk.extras["cut"] and cut.chunk.end < whole.chunk.end
    assert cut.chunk.extras["source_start"] == whole.chunk.extras["source_start"]
    assert "source_end" not in cut.chunk.extras
