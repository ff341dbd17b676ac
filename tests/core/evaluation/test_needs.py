"""What a splitter asks for."""

from __future__ import annotations

import pytest
from doubles import HashEmbedder

from structrag.asking.requests import Ask, Embed, Steps
from structrag.asking.runner import Runner
from structrag.chunks.asking_splitter import ReadingSplitter
from structrag.chunks.fixed import FixedSplitter
from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.chunks.pic.splitter import PICSplitter
from structrag.evaluation.needs import model_calls, split_counted
from structrag.models.llm import FunctionModel
from structrag.reading.files import read_text
from structrag.records import Chunk, Document


@pytest.mark.parametrize(
    "splitter",
    [
        PICSplitter(),
        IDMSSplitter(max_tokens=60, min_tokens=10),
        PICSplitter(max_tokens=60),
    ],
)
def test_calls_are_those_that_a_model_gets(splitter: PICSplitter) -> None:
    pumps, tanks = (
        " ".join(f"The {name} of row {i} is rinsed with water." for i in range(30))
        for name in ("pump", "tank")
    )
    document = read_text(
        f"# Pumps\n\n{pumps}\n\n## Tanks\n\n{tanks}", format="markdown"
    )
    asked: list[str] = []

    class Weighing(FunctionModel):
        def choose(self, prompt: str, options: tuple[str, str]) -> float:
            asked.append(prompt)
            return 0.0

    def answer(prompt: str) -> str:
        asked.append(prompt)
        return "A summary."

    splitter.split(
        document,
        runner=Runner(llm=Weighing(answer, name="double"), embedder=HashEmbedder()),
    )
    assert model_calls(splitter, document) == len(asked) > 0


def test_a_splitter_that_asks_nothing_embeds_nothing_and_calls_nobody() -> None:
    document = read_text("# Pumps\n\n" + "The pump is rinsed. " * 40, format="markdown")
    chunks, embedded = split_counted(FixedSplitter(20), document, Runner())
    assert chunks == FixedSplitter(20).split(document) and embedded == 0
    assert model_calls(FixedSplitter(20), document) == 0


def test_the_texts_that_a_splitter_embeds_are_counted() -> None:
    document = read_text("# Pumps\n\n" + "The pump is rinsed. " * 40, format="markdown")
    embedder = HashEmbedder()
    chunks, embedded = split_counted(
        IDMSSplitter(), document, Runner(embedder=embedder)
    )
    assert chunks == IDMSSplitter().split(document, embedder=HashEmbedder())
    assert embedded >= len(embedder.texts) > 0


def test_texts_are_counted_by_their_number() -> None:
    class Thrice(ReadingSplitter):
        """Embeds one text, then two."""

        def split_steps(self, document: Document) -> Steps[list[Chunk]]:
            yield [Embed(("a",)), Ask("a summary?")]
            yield [Embed(("b", "c"))]
            return []

    runner = Runner(embedder=HashEmbedder(), llm=FunctionModel(lambda _: "x", name="x"))
    document = read_text("words")
    assert split_counted(Thrice(), document, runner) == ([], 3)
    assert model_calls(Thrice(), document) == 1
