"""Borders by vectors, by likelihoods and by both, and what is found then, on small texts."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import boundaries_information as boundaries
from benchmarks.datasets import Dataset, Question
from benchmarks.unheaded import unheaded
from structrag import read_text
from structrag.asking.cache import Cache
from tests.doubles import HashEmbedder

BODY = "One thing is said. Another thing is said. A third thing is said.\n\n"
TEXT = "".join(
    f"# Part {number}\n\n{BODY.replace('said', f'said{number}')}" for number in range(5)
)


class Words:
    """Likelier where words are repeated."""

    name = "words"
    asked = 0

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def score(
        self, prompt: str, continuations: Sequence[str], *, chat: bool
    ) -> list[float]:
        self.asked += len(continuations)
        shared = set(prompt.split())
        return [-20.0 + len(shared & set(text.split())) for text in continuations]


def test_borders_and_what_is_found_are_measured() -> None:
    document = read_text(TEXT, id="d", format="markdown")
    made = unheaded(document)
    assert made is not None
    model, embedder = Words(), HashEmbedder()
    ways = boundaries.splitters(model, Cache(":memory:"))
    page = boundaries.section("set", [made, made], ways, embedder)
    assert "2 documents" in page and "+0.0 [+0.0, +0.0]" in page
    asked = model.asked
    boundaries.measured([made], ways[boundaries.BOTH], embedder)
    assert model.asked == asked  # likelihoods are kept
    assert "of 15 sentences" in boundaries.costs(model, embedder, made)
    assert model.asked >= asked + 14  # but not for their cost
    start = TEXT.index("Another thing is said2")
    question = Question("q", "said2", (), (("d", start, start + 24),), True)
    # In a heading, which is gone.
    lost = Question("q2", "Part", (), (("d", 0, 8),), True)
    dataset = Dataset("set", (document,), (question, lost))
    moved = boundaries.moved_gold([made], dataset)
    assert list(moved) == [question]
    ((_, begin, end),) = moved[question]
    assert made.document.text[begin:end] == TEXT[start : start + 24].strip()
    shares = boundaries.recalls([made], moved, ways[boundaries.VECTORS], embedder)
    assert shares["1,000 tokens"] == [1.0]
