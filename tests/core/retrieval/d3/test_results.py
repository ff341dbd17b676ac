"""What is found, as hits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
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
    hits_of,
    joined,
    scores_by_strategy,
    with_extras,
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


@pytest.mark.parametrize(
    ("scores", "shares", "ranks", "shown"),
    [
        (None, None, [1, 2, 3], [1.0, 1.0, 1.0]),
        ([0.2, 0.9, 0.9], None, [3, 1, 2], [0.2, 0.9, 0.9]),
        ([-3.0, -1.0, -2.0], [0.1, 0.7, 0.4], [3, 1, 2], [0.1, 0.7, 0.4]),
        # Equal but for rounding: by place.
        ([0.3, 0.1 + 0.2, 0.1], None, [1, 2, 3], [0.3, 0.1 + 0.2, 0.1]),
    ],
)
def test_hits_are_ranked_by_score_then_place(
    scores: list[float] | None,
    shares: list[float] | None,
    ranks: list[int],
    shown: list[float],
) -> None:
    hits = hits_of(THREE, scores, shares=shares)
    assert [hit.chunk for hit in hits] == THREE
    assert [hit.rank for hit in hits] == ranks
    assert [hit.score for hit in hits] == shown
    assert all(hit.scores == hit.parts == {} for hit in hits)


def test_hits_have_the_scores_of_the_strategy_that_scored_last() -> None:
    evidence = Evidence((0, 2), (4.0, 2.0), shares=(1.0, 0.5), scored_by="lexical")
    details = scores_by_strategy(evidence)
    assert details == [
        ({"lexical": 4.0}, {"lexical": 1.0}),
        ({"lexical": 2.0}, {"lexical": 0.5}),
    ]
    hits = hits_of(THREE[:2], evidence.scores, details, evidence.shares)
    assert [(hit.score, hit.scores, hit.parts) for hit in hits] == [
        (1.0, {"lexical": 4.0}, {"lexical": 1.0}),
        (0.5, {"lexical": 2.0}, {"lexical": 0.5}),
    ]
    assert scores_by_strategy(Evidence((0,))) == []
    assert scores_by_strategy(Evidence((0,), (4.0,))) == []


def test_neighbours_are_joined_and_have_the_best_of_their_scores() -> None:
    one, two, three = THREE
    other = replace(three, id="d:20", start=20, end=27)  # behind a gap
    code = replace(two, kind="code")
    hits = [Hit(one, 0.3, 3), Hit(two, 0.9, 1), Hit(other, 0.5, 2)]
    first, second = joined(hits, len)
    assert (first.chunk.text, first.chunk.id) == ("One. Two. ", "d:0-10")
    assert (first.chunk.start, first.chunk.end, first.chunk.n_tokens) == (0, 10, 10)
    assert first.chunk.extras == {
        "paragraphs": ["d:0", "d:5"],
        "index_tokens": len("Guide\nOne. Two. "),
    }
    assert first.chunk.kind == one.kind
    assert second.chunk == other
    assert [(hit.rank, hit.score) for hit in (first, second)] == [(1, 0.9), (2, 0.5)]
    (mixed,) = joined([Hit(one, 0.3, 1), Hit(code, 0.2, 2)], len)
    assert (mixed.chunk.kind, mixed.score) == ("text", 0.3)
    both = [Hit(replace(one, kind="code"), 0.3, 1), Hit(code, 0.2, 2)]
    assert [hit.chunk.kind for hit in joined(both, len)] == ["code"]
    last = Hit(replace(three, start=27, end=34), 0.1, 4)  # behind the other
    assert [hit.chunk.text for hit in joined([*hits, last], len)] == [
        "One. Two. ",
        "Three. Three. ",
    ]


def test_only_paragraphs_of_one_section_are_joined() -> None:
    one, two, _ = THREE
    for elsewhere in (replace(two, section_id="d#2"), replace(two, doc_id="e")):
        hits = joined([Hit(one, 0.3, 1), Hit(elsewhere, 0.2, 2)], len)
        assert [hit.chunk for hit in hits] == [one, elsewhere]


def test_extras_are_added_to_those_of_a_chunk() -> None:
    hit = Hit(replace(THREE[0], extras={"a": 1, "b": 2}), 0.5, 4)
    changed = with_extras(hit, {"b": 3})
    assert changed.chunk.extras == {"a": 1, "b": 3}
    assert (changed.score, changed.rank) == (0.5, 4)


def test_a_result_adds_up_its_stages() -> None:
    result = D3Result(
        "Why?",
        route=RouteResult(dropped=2, degraded=5),
        evidence=Evidence((), dropped=7, degraded=1),
        cost={"route": StageCost(1, 10, 2, 3), "select": StageCost(2, 20, 4, 5)},
    )
    assert (result.dropped, result.degraded) == (9, 6)
    assert result.total == StageCost(3, 30, 6, 8)
