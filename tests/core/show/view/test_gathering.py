"""The data of the page."""

from __future__ import annotations

from typing import Any

import pytest
from view_making import manual, splitters

from structrag import ContentAwareSplitter, IDMSSplitter, PICSplitter, read_text
from structrag.errors import InvalidParameter
from structrag.show.view import gather


def test_chunks_are_the_splitters_own_and_in_characters() -> None:
    document = read_text(
        "# \U0001f4a7 Pump\n\nWater \U0001f4a7.\n\n## B\n\nMore.\n", id="d"
    )
    (shown,) = gather([document], splitters())["documents"]
    chunks = ContentAwareSplitter(max_tokens=60).split(document)
    assert [
        (c["start"], c["end"], c["path"]) for c in shown["splits"][0]["chunks"]
    ] == [(c.start, c.end, list(c.path)) for c in chunks]
    assert shown["text"] == document.text and shown["splits"][0]["series"] is None


@pytest.mark.parametrize(
    "splitter", [PICSplitter(max_tokens=80, min_tokens=20), IDMSSplitter(max_tokens=80)]
)
def test_series_are_those_of_the_explanation(splitter: Any) -> None:
    document = manual()
    (shown,) = gather([document], {"reads": splitter})["documents"]
    series = shown["splits"][0]["series"]
    explained = splitter.explain(document).series
    assert [value for value in series["values"] if value is not None] == pytest.approx(
        [value for scope in explained for value in scope.values if value == value],
        abs=1e-6,
    )
    assert (
        len(series["starts"])
        == len(series["ends"])
        == len(series["values"])
        == len(series["thresholds"])
    )
    assert series["starts"] == sorted(series["starts"])


@pytest.mark.parametrize(
    "documents", [[], [read_text("a", id="x"), read_text("b", id="x")]]
)
def test_gather_says_what_is_wrong(documents: list[Any]) -> None:
    with pytest.raises(InvalidParameter, match=r"nothing to show|same id"):
        gather(documents, splitters())
