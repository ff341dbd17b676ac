"""Questions put to chunks: how many chunks are handed over."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from fixture_cases import examples

from structrag.chunks.fixed import FixedSplitter
from structrag.errors import InvalidParameter
from structrag.evaluation.searched import (
    _search,
    check_documents,
)
from structrag.records import Chunk, Document


def test_there_must_be_text_a_method_and_an_id_for_each_document() -> None:
    blank, text = Document(" \n", id="a"), Document("x", id="b")
    check_documents([blank, text], {"fixed": FixedSplitter()})
    for documents, methods in (([blank], {"fixed": 1}), ([text], {}), ([], {"a": 1})):
        with pytest.raises(InvalidParameter, match="There is nothing to measure"):
            check_documents(documents, methods)
    with pytest.raises(InvalidParameter, match="same id"):
        check_documents([text, text], {"fixed": FixedSplitter()})


class Hits:
    """A retriever over a number of chunks of ten tokens."""

    def __init__(self, count: int) -> None:
        self.hits = [
            SimpleNamespace(chunk=Chunk(str(i), "d", "s", i, i + 1, "x", n_tokens=10))
            for i in range(count)
        ]
        self.asked: list[int] = []

    def search(self, question: str, k: int) -> list[Any]:
        self.asked.append(k)
        assert len(self.asked) < 9  # it comes to an end
        return self.hits[:k]


@examples
def test_twice_as_many_chunks_are_asked_for_until_they_fill_the_budget(
    chunks: int, budget: int, asked: list[int]
) -> None:
    retriever: Any = Hits(chunks)
    ranking = _search(retriever, "q", 1, budget)
    assert retriever.asked == asked
    assert len(ranking.spans) == len(ranking.tokens) == min(chunks, asked[-1])
