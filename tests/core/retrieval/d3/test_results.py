"""What is found, as hits."""

from __future__ import annotations

from d3_making import chunks

from structrag import (
    read_text,
)
from structrag.retrieval.d3.costs import StageCost
from structrag.retrieval.d3.results import (
    D3Result,
)
from structrag.retrieval.d3.routing import RouteResult
from structrag.retrieval.d3.selection import Evidence

HTML = (
    "<html><body><h1>Pumps</h1>\n<p>A pump  moves <b>water</b> &amp; oil.</p>\n<h2>Filters</h2>\n"
    "<p>The filter is rinsed monthly.</p><p>It is dried then.</p>\n<pre>\n  code = "
    "1\n</pre>\n</body></html>"
)


PAGE = read_text(HTML, id="page", format="html")


THREE = chunks(["One. ", "Two. ", "Three. "], "Guide")


def test_a_result_adds_up_its_stages() -> None:
    result = D3Result(
        "Why?",
        route=RouteResult(dropped=2, degraded=5),
        evidence=Evidence((), dropped=7, degraded=1),
        cost={"route": StageCost(1, 10, 2, 3), "select": StageCost(2, 20, 4, 5)},
    )
    assert (result.dropped, result.degraded) == (9, 6)
    assert result.total == StageCost(3, 30, 6, 8)
