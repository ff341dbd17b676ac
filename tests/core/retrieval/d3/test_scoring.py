"""Fused scores of parts and paragraphs, and what is chosen by them: worked by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from fixture_cases import examples
from numpy.typing import NDArray

from structrag.model_calls.flow import drive
from structrag.model_calls.requests import Embed
from structrag.retrieval.d3.layout import SectionLayout
from structrag.retrieval.d3.scoring import (
    part_scores_flow,
    wide_route,
    within_budget,
)

BM25, COSINES = {0: 4.0, 2: 1.0}, {0: 0.5, 1: 0.9, 2: 0.1}
BASIS = object()


class Searched:
    """A reader of four rows whose routes find what is given."""

    fitted_embedder = BASIS

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


def embedded(flow: Any, vector: tuple[float, float] = (1.0, 0.0)) -> Any:
    """The steps, with a vector for the question "pump"."""

    def answer(requests: list[Any]) -> list[Any]:
        assert requests == [Embed(("pump",), query=True, embedder=BASIS)]
        return [np.array([vector])]

    return drive(flow, answer)


def test_parts_have_the_mean_of_both() -> None:
    reader: Any = Searched()
    scores = embedded(part_scores_flow(reader, "pump", masked(0, 1, 2)))
    assert scores == {0: 0.75, 1: 0.5, 2: 0.125}
    # a question of no word that the vectors know
    scores = embedded(part_scores_flow(reader, "pump", masked(0, 2)), (0.0, 0.0))
    assert scores == {0: 0.5, 2: 0.125}
    assert (
        drive(
            part_scores_flow(reader, "pump", masked()), lambda _: pytest.fail("asked")
        )
        == {}
    )


LAYOUT = SectionLayout(
    0, (), np.array([[0, 2], [2, 3], [3, 4], [4, 5]]), np.array([4, 6, 20, 30, 40]), {}
)


@examples
def test_parts_are_taken_up_to_a_share_of_the_tokens(
    scores: dict[int, float], limits: tuple[float, int], expected: list[int]
) -> None:
    share, least = limits
    assert wide_route(scores, LAYOUT, share=share, least_tokens=least) == expected


@examples
def test_the_best_rows_within_a_budget(
    k: int | None, max_tokens: int | None, expected: list[int]
) -> None:
    scores = {5: 0.9, 3: 0.9, 8: 0.5, 9: 0.0}
    sizes = np.array([9, 9, 9, 4, 9, 4, 9, 9, 2, 1])
    assert within_budget(scores, sizes, k=k, max_tokens=max_tokens) == expected
    assert within_budget({}, sizes, k=k, max_tokens=max_tokens) == []
