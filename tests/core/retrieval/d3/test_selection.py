"""Settings of a selection: what is refused, and the preset of the paper."""

from __future__ import annotations

from typing import Any

import pytest
from d3_making import selected
from fixture_cases import examples

from structrag.errors import InvalidParameter
from structrag.retrieval.d3.selection import (
    Selection,
)


class Scorer:
    def score(self, query: str, texts: list[str]) -> list[float]:
        return [0.0] * len(texts)


@examples
def test_bad_settings(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        Selection(**changes)


def test_chains_may_have_spaces() -> None:
    selection = Selection(strategy="base + monot5", monot5=Scorer())
    assert selection.stages == ("base", "monot5")


def test_a_match_in_the_path_alone_is_found_lexically() -> None:
    assert selected(
        "lexical", ["Water is wet.", "Pumps move it."], context="What cats eat"
    ).positions == (0, 1)
    assert selected("lexical", ["Water is wet.", "Pumps move it."]).positions == ()
