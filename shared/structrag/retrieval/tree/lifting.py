"""What the summaries above a chunk add to its score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from structrag.asking.requests import Steps
from structrag.index.levels import query_vectors
from structrag.index.snapshot import Reader
from structrag.records import Hit
from structrag.retrieval.fusion import maxnorm, minmax, normalised_parts
from structrag.retrieval.tree.shape import Place

LEVELS = "levels"  # the name of the part in `Hit.parts`
POOL = 1000  # nodes taken from each route at most


def node_score_steps(
    nodes: Reader, query: str, routes: Sequence[str], where: Any = None
) -> Steps[dict[int, float]]:
    """Row of a node -> its score in [0, 1].

    Nodes that no route found are left out. A score is the mean of the routes, "dense" and "bm25",
    each brought to [0, 1].
    """
    rows = nodes.select(where)
    rankings: list[dict[int, float]] = []
    for route in routes:
        if route == "bm25":
            rankings.append(dict(nodes.search_lexical("raw", query, POOL, rows)))
            continue
        (vector,) = yield from query_vectors(nodes, query)
        dense = [] if vector is None else nodes.search_dense("raw", vector, POOL, rows)
        rankings.append(dict(dense))
    normalise = [maxnorm if route == "bm25" else minmax for route in routes]
    parts = normalised_parts(rankings, normalise)
    scores: dict[int, float] = {}
    for of_route, values in zip(rankings, parts, strict=True):
        for row, value in zip(of_route, values.tolist(), strict=True):
            scores[row] = scores.get(row, 0.0) + value / len(routes)
    return scores


def lifted(
    hit: Hit, above: Sequence[Place], nodes: Mapping[int, float], weight: float
) -> Hit:
    """A hit with the score of the nodes above it added.

    It is their mean. The sum is brought back to [0, 1]; `nodes` is what `node_score_steps` gives. A
    hit with nothing above keeps the share of its own score.

    Example:
        >>> from structrag.records import Chunk
        >>> hit = Hit(Chunk("d:0-1", "d", "d#0", 0, 1, "a"), 0.5, 1, parts={"bm25:raw": 0.5})
        >>> lifted(hit, [Place(3, 10, 2, True)], {3: 1.0}, 0.25).parts
        {'bm25:raw': 0.4, 'levels': 0.2}
    """
    mean = (
        sum(nodes.get(node.row, 0.0) for node in above) / len(above) if above else 0.0
    )
    total = 1 + weight
    parts = {name: part / total for name, part in hit.parts.items()}
    return replace(
        hit,
        score=(hit.score + weight * mean) / total,
        parts={**parts, LEVELS: weight * mean / total},
        scores={**hit.scores, LEVELS: mean},
    )
