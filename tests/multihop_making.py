"""What the tests of questions in several hops ask about."""

from __future__ import annotations

from typing import Any

from doubles import HashEmbedder

from structrag.index.index import Index
from structrag.reading.files import read_text
from structrag.records import Hit
from structrag.retrieval.multihop.agents import SelfAsk
from structrag.retrieval.multihop.hops import UNANSWERABLE
from structrag.retrieval.multiview import MultiViewRetriever

FILMS = """# Films
## The Lantern
The Lantern is a film from 1968. It was directed by Ada Holm.
## Directors
Ada Holm was born in Bergen in 1931.
## Cities
Bergen lies on the west coast of Norway.
"""


QUESTION = "Where was the director of The Lantern born?"


def index_of(text: str = FILMS, **options: Any) -> Index:
    index = Index(embedder=HashEmbedder(), views=("raw",), **options)
    index.add([read_text(text, id="films")])
    return index


def is_next(prompt: str) -> bool:
    return prompt.startswith("Answer a question with the help of follow-up questions")


def two_hops(prompt: str) -> str:
    """Asks two follow-ups, answers each from what it is shown, and then the question."""
    if not is_next(prompt):
        evidence, _, question = prompt.rpartition("Question:")
        wanted = "Ada Holm" if "directed" in question else "Bergen"
        return wanted if wanted in evidence else UNANSWERABLE
    if "Intermediate answer: Bergen" in prompt:
        return "So the final answer is: Bergen"
    return (
        "Follow up: Where was Ada Holm born?"
        if "Ada Holm" in prompt
        else "Follow up: Who directed The Lantern?"
    )


def is_final(prompt: str) -> bool:
    return "the evidence and the intermediate answers" in prompt


def call_settings(model: Any, *, k: int = 1, **options: Any) -> SelfAsk:
    return SelfAsk(MultiViewRetriever(index_of(), k=k), model, **options)


def hits_for(*texts: str) -> list[Hit]:
    index = index_of("".join(f"## Part {i}\n{text}\n" for i, text in enumerate(texts)))
    return [Hit(chunk, 1.0, rank) for rank, chunk in enumerate(index.chunks(), start=1)]
