"""What is found, as hits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from d3_making import chunks
from doubles import HashEmbedder

from structrag import (
    D3Index,
    Hit,
    read_text,
)
from structrag.retrieval.d3.costs import StageCost
from structrag.retrieval.d3.results import (
    D3Result,
    joined,
)
from structrag.retrieval.d3.routing import RouteResult
from structrag.retrieval.d3.selection import Evidence
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


THREE = chunks(["One. ", "Two. ", "Three. "], "Guide")


def test_only_paragraphs_of_one_section_are_joined() -> None:
    one, two, _ = THREE
    for elsewhere in (replace(two, section_id="d#2"), replace(two, doc_id="e")):
        hits = joined([Hit(one, 0.3, 1), Hit(elsewhere, 0.2, 2)], len)
        assert [hit.chunk for hit in hits] == [one, elsewhere]


def test_a_result_adds_up_its_stages() -> None:
    result = D3Result(
        "Why?",
        route=RouteResult(dropped=2, degraded=5),
        evidence=Evidence((), dropped=7, degraded=1),
        cost={"route": StageCost(1, 10, 2, 3), "select": StageCost(2, 20, 4, 5)},
    )
    assert (result.dropped, result.degraded) == (9, 6)
    assert result.total == StageCost(3, 30, 6, 8)
