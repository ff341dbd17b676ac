"""Where a hit stands in the HTML it was read from: kept with the chunk, since a store keeps no
layout."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from doubles import HashEmbedder

from structrag import (
    D3Index,
    D3Retriever,
    FixedSplitter,
    Hit,
    Index,
    MultiViewRetriever,
    PICSplitter,
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


def visible(markup: str) -> str:
    return " ".join(read_text(f"<div>{markup}</div>", format="html").text.split())


def test_hits_of_html_have_their_place_in_the_markup(tmp_path: Path) -> None:
    index = Index(embedder=HashEmbedder())
    index.add([PAGE])
    index.save(tmp_path / "index")
    for held in (index, Index.load(tmp_path / "index", embedder=HashEmbedder())):
        hits = MultiViewRetriever(held, k=9).search("filter water")
        assert len(hits) == len(index)
        for hit in hits:
            start, end = hit.chunk.extras["source_start"], hit.chunk.extras["source_end"]
            source_map = PAGE.layout.source_map
            text = hit.chunk.text.strip()
            first = hit.chunk.start + hit.chunk.text.index(text)
            assert (start, end) == (
                source_map.to_source(first),
                source_map.to_source(first + len(text) - 1) + 1,
            )
        (pumps,) = [hit for hit in hits if hit.chunk.path == ("Pumps",)]
        shown = HTML[pumps.chunk.extras["source_start"] : pumps.chunk.extras["source_end"]]
        assert shown.startswith("Pumps</h1>") and shown.endswith("oil.")


def test_every_splitter_and_d3(tmp_path: Path) -> None:
    for splitter in (FixedSplitter(8), PICSplitter()):
        index = Index(embedder=HashEmbedder(), splitter=splitter, views="raw")
        index.add([PAGE])
        assert all({"source_start", "source_end"} <= set(chunk.extras) for chunk in index.chunks())
    index = D3Index(embedder=HashEmbedder())
    index.add([PAGE])
    for join in (False, True):
        hits = D3Retriever(index, join_adjacent=join, max_tokens=None).search(
            "How often is the filter rinsed?"
        )
        for hit in hits:
            markup = HTML[hit.chunk.extras["source_start"] : hit.chunk.extras["source_end"]]
            assert visible(markup) == " ".join(hit.chunk.text.split())


def test_joined_and_cut_chunks(tmp_path: Path) -> None:
    index = D3Index(embedder=HashEmbedder())
    index.add([PAGE])
    chunks = [chunk for chunk in index.paragraphs.chunks() if chunk.path == ("Pumps", "Filters")]
    (whole,) = joined([Hit(chunk, 1.0, rank) for rank, chunk in enumerate(chunks, 1)], count_tokens)
    assert whole.chunk.extras["source_start"] == chunks[0].extras["source_start"]
    assert whole.chunk.extras["source_end"] == chunks[-1].extras["source_end"]
    (cut,) = pack([replace(whole, rank=1)], 14)
    assert cut.chunk.extras["cut"] and cut.chunk.end < whole.chunk.end
    assert cut.chunk.extras["source_start"] == whole.chunk.extras["source_start"]
    assert "source_end" not in cut.chunk.extras


def test_text_without_markup_has_none() -> None:
    index = Index(embedder=HashEmbedder())
    index.add([read_text("# A\n\nText.", id="a"), read_text("Only text.", id="b")])
    assert not any("source_start" in chunk.extras for chunk in index.chunks())
