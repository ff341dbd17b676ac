"""Fused scores of parts and paragraphs, and what is chosen by them: worked by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from fixture_cases import examples
from numpy.typing import NDArray

from structrag.asking.requests import Ask, Embed
from structrag.asking.steps import drive
from structrag.retrieval.d3.layout import SectionLayout
from structrag.retrieval.d3.scoring import (
    fused_scores,
    own_vectors,
    paragraph_scores_steps,
    part_scores_steps,
    route_scores,
    wide_route,
    within_budget,
)

BM25, COSINES = {0: 4.0, 2: 1.0}, {0: 0.5, 1: 0.9, 2: 0.1}
BASIS = object()


class Searched:
    """A reader of four rows whose routes find what is given."""

    basis = BASIS

    def __init__(
        self, bm25: Mapping[int, float] = BM25, cosines: Mapping[int, float] = COSINES
    ) -> None:
        self.routes = {"lexical": bm25, "dense": cosines}
        self.asked: list[tuple[str, str, int]] = []

    def __len__(self) -> int:
        return 4

    def _found(self, route: str, view: str, n: int, mask: NDArray[np.bool_]) -> Any:
        self.asked.append((route, view, n))
        return [(row, score) for row, score in self.routes[route].items() if mask[row]]

    def search_lexical(
        self, view: str, query: str, n: int, mask: NDArray[np.bool_]
    ) -> Any:
        assert query == "pump"
        return self._found("lexical", view, n, mask)

    def search_dense(
        self, view: str, vector: Any, n: int, mask: NDArray[np.bool_]
    ) -> Any:
        assert list(vector) == [1.0, 0.0]
        return self._found("dense", view, n, mask)


def masked(*rows: int) -> NDArray[np.bool_]:
    mask = np.zeros(4, dtype=bool)
    mask[list(rows)] = True
    return mask


def embedded(steps: Any, vector: tuple[float, float] = (1.0, 0.0)) -> Any:
    """The steps, with a vector for the question "pump"."""

    def answer(requests: list[Any]) -> list[Any]:
        assert requests == [Embed(("pump",), query=True, embedder=BASIS)]
        return [np.array([vector])]

    return drive(steps, answer)


def test_routes_are_asked_for_all_rows_of_the_mask() -> None:
    reader: Any = Searched()
    found = route_scores(reader, "pump", [1.0, 0.0], masked(0, 1, 3))
    assert found == {"bm25": {0: 4.0}, "dense": {0: 0.5, 1: 0.9}}
    assert reader.asked == [("lexical", "raw", 3), ("dense", "raw", 3)]
    assert route_scores(reader, "pump", None, masked(0)) == {
        "bm25": {0: 4.0},
        "dense": {},
    }


def test_scores_are_normalised_over_the_rows_of_the_mask() -> None:
    reader: Any = Searched()
    assert fused_scores(reader, "pump", [1.0, 0.0], masked(0, 1, 2, 3)) == {
        0: {"bm25": 1.0, "dense": 0.5},
        1: {"bm25": 0.0, "dense": 1.0},
        2: {"bm25": 0.25, "dense": 0.0},
        3: {"bm25": 0.0, "dense": 0.0},
    }


def test_parts_have_the_mean_of_both() -> None:
    reader: Any = Searched()
    scores = embedded(part_scores_steps(reader, "pump", masked(0, 1, 2)))
    assert scores == {0: 0.75, 1: 0.5, 2: 0.125}
    # a question of no word that the vectors know
    scores = embedded(part_scores_steps(reader, "pump", masked(0, 2)), (0.0, 0.0))
    assert scores == {0: 0.5, 2: 0.125}
    assert (
        drive(
            part_scores_steps(reader, "pump", masked()), lambda _: pytest.fail("asked")
        )
        == {}
    )


def test_paragraphs_add_a_quarter_of_their_parts() -> None:
    reader: Any = Searched()
    found = embedded(
        paragraph_scores_steps(reader, "pump", [0, 1, 2, 3], {0: 0.5, 1: 1.0})
    )
    assert [found[row].score for row in range(4)] == pytest.approx([0.7, 0.6, 0.1, 0.0])
    assert found[0].scores == {"bm25": 4.0, "dense": 0.5, "route": 0.5}
    assert found[2].scores == {"bm25": 1.0, "dense": 0.1}
    assert found[3].scores == {}
    assert found[0].parts == pytest.approx({"bm25": 0.4, "dense": 0.2, "route": 0.1})
    for score in found.values():
        assert sum(score.parts.values()) == pytest.approx(score.score)
    # without parts BM25 and the cosine are all
    found = embedded(paragraph_scores_steps(reader, "pump", [0, 2], {}))
    assert {row: score.score for row, score in found.items()} == {0: 1.0, 2: 0.125}
    assert found[0].parts == {"bm25": 0.5, "dense": 0.5, "route": 0.0}


def test_what_has_no_embedder_is_embedded_by_the_readers_own() -> None:
    reader: Any = Searched()
    other: Any = object()

    def asking() -> Any:
        return (yield [Embed(("a",)), Ask("b"), Embed(("c",), embedder=other)])

    def answer(requests: list[Any]) -> list[Any]:
        assert requests == [
            Embed(("a",), embedder=BASIS),
            Ask("b"),
            Embed(("c",), embedder=other),
        ]
        return ["A", "B", "C"]

    assert drive(own_vectors(reader, asking()), answer) == ["A", "B", "C"]


LAYOUT = SectionLayout(
    0, (), np.array([[0, 2], [2, 3], [3, 4], [4, 5]]), np.array([4, 6, 20, 30, 40]), {}
)


@examples
def test_parts_are_taken_up_to_a_share_of_the_tokens(
    scores: dict[int, float], limits: tuple[float, float, int], expected: list[int]
) -> None:
    keep, share, least = limits
    assert (
        wide_route(scores, LAYOUT, keep=keep, share=share, least_tokens=least)
        == expected
    )


@examples
def test_the_best_rows_within_a_budget(
    k: int | None, max_tokens: int | None, expected: list[int]
) -> None:
    scores, sizes = {5: 0.9, 3: 0.9, 8: 0.5, 9: 0.0}, {5: 4, 3: 4, 8: 2, 9: 1}
    assert within_budget(scores, sizes, k=k, max_tokens=max_tokens) == expected
    assert within_budget({}, {}, k=k, max_tokens=max_tokens) == []
