"""Paragraphs to select from, for the tests of D3."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from doubles import HashEmbedder

from structrag.model_calls.runner import Runner
from structrag.records import Chunk
from structrag.retrieval.d3.evidence import select_flow
from structrag.retrieval.d3.outlines import OutlineSection
from structrag.retrieval.d3.selection import Evidence, Selection

QUESTION = "what do cats eat"


TEXTS = [
    "Cats eat fish every day.",
    "The pump moves water.",
    "Dogs eat meat; cats eat fish.",
    "Nothing is said.",
    "Water is wet.",
]


class Overlap:
    """A reranker whose score grows with the share of the question's words in a text."""

    def __init__(
        self, transform: Callable[[float], float] = lambda share: share
    ) -> None:
        self.transform = transform
        self.texts: list[str] = []

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.texts += texts
        words = set(query.split())
        return [
            self.transform(
                len(words & set(re.findall(r"\w+", text.casefold()))) / len(words)
            )
            for text in texts
        ]


def chunks(texts: Sequence[str], context: str) -> list[Chunk]:
    starts = [sum(map(len, texts[:i])) for i in range(len(texts))]
    return [
        Chunk(f"d:{a}", "d", "d#1", a, a + len(t), t, context)
        for a, t in zip(starts, texts, strict=True)
    ]


def selected(
    strategy: str,
    texts: Sequence[str] = TEXTS,
    context: str = "Guide > Animals",
    **changes: Any,
) -> Evidence:
    given = {
        "monot5": Overlap(lambda share: share - 1),
        "cross_encoder": Overlap(),
        **changes,
    }
    return Runner(embedder=HashEmbedder()).run(
        select_flow(
            QUESTION, chunks(texts, context), Selection(strategy=strategy, **given)
        )
    )


def section(
    number: int, *path: str, tokens: int = 10, doc: str = "d"
) -> OutlineSection:
    first = number * 2
    return OutlineSection(
        doc,
        f"{doc}#{number}",
        doc.upper(),
        path,
        f"Summary {number}.",
        start=100 * number,
        end=100 * number + tokens,
        rows=range(first, first + bool(tokens)),
        tokens=tokens,
    )


OUTLINE = [
    section(0),
    section(1, "Intro"),
    section(2, "Methods, data and code", tokens=0),
    section(3, "Methods, data and code", "Data"),
    section(4, "Methods, data and code", "Code"),
    section(5, "Results"),
    section(6, "Results", "Data"),
]
