"""Text without blank lines: what is thousands of tokens long is no paragraph."""

from __future__ import annotations

from doubles import HashEmbedder

from structrag import D3Index, read_text
from structrag.retrieval.d3.condensing import (
    ParagraphSplitter,
)

TALK = "\n".join(
    f"Speaker {i % 3}: what I said in turn {i} was about subject number {i}, and nothing else."
    for i in range(400)
)


def test_zero_and_the_published_preset_leave_it_whole() -> None:
    document = read_text(TALK, id="talk", format="text")
    assert len(ParagraphSplitter(paragraph_tokens=0).split(document)) == 1
    index = D3Index(preset="paper", embedder=HashEmbedder())
    index.add([document])
    assert len(index.paragraphs) == 1
