"""What an index says adding will cost, against what it then costs."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Any

import pytest
from doubles import HashEmbedder, ScriptedModel

from structrag import (
    Document,
    HiQASplitter,
    IDMSSplitter,
    Index,
    PICSplitter,
    read_text,
)
from structrag.errors import InvalidParameter
from structrag.model_calls.usage import Usage

NOUNS = ("engine", "crane", "bridge", "valve", "pump", "filter", "tank", "rotor")
TEXT = "# Guide\n\n" + "\n\n".join(
    f"## The {noun}\n\n"
    + " ".join(
        f"Part {i} of the {noun} is checked near Oslo by team {i % 7}. It lasts {i} years."
        for i in range(24)
    )
    for noun in NOUNS
)
GOOD = json.dumps(
    {"summary": "Parts are checked near Oslo.", "keywords": ["Oslo", "team"]}
)


def pages() -> list[Document]:
    return [read_text(TEXT, id="a"), read_text(TEXT.replace("Oslo", "Bergen"), id="b")]


class Chooser(ScriptedModel):
    def choose(self, prompt: str, options: tuple[str, str]) -> float:
        self.prompts.append(prompt)
        return (len(prompt) % 7) / 7

    async def achoose(self, prompt: str, options: tuple[str, str]) -> float:
        return self.choose(prompt, options)


def silent() -> tuple[HashEmbedder, ScriptedModel]:
    return HashEmbedder(), ScriptedModel(AssertionError("asked"))


def test_texts_to_embed_are_exact_without_a_language_model() -> None:
    embedder = HashEmbedder(max_tokens=50)
    found = Index(embedder=embedder).estimate(pages())
    assert not embedder.texts
    report = Index(embedder=embedder).add(pages())
    assert found.total.calls == 0
    assert (found.total.embedded, found.total.embedding_tokens) == (
        report.usage["embedded"],
        report.usage["embedding_tokens"],
    )


def test_a_document_that_fell_back_costs_what_is_missing() -> None:
    failing = True

    def script(prompt: str) -> str:
        if failing and "crane" in prompt:
            raise TimeoutError
        return GOOD

    model = ScriptedModel(script)
    index = Index(embedder=HashEmbedder(), llm=model)
    index.add(pages())
    failing = False
    before = len(model.prompts)
    found = index.estimate(pages())
    assert len(model.prompts) == before
    report = index.add(pages())
    assert (
        found.total.calls == report.usage["calls"] > 0
        and report.replaced == found.documents == 2
    )


@pytest.mark.parametrize(
    ("splitter", "model", "expected"),
    [
        (
            PICSplitter(),
            ScriptedModel("The parts are checked near Oslo."),
            nullcontext(),
        ),
        (
            PICSplitter(scope="document", summary_window=100),
            ScriptedModel("Parts are checked near Oslo."),
            nullcontext(),
        ),
        (IDMSSplitter(), Chooser("7"), nullcontext()),
        (
            IDMSSplitter(),
            ScriptedModel(lambda prompt: str(len(prompt) % 10)),
            pytest.warns(UserWarning, match="come from its ratings"),
        ),
        (HiQASplitter(), ScriptedModel("7"), nullcontext()),
    ],
)
def test_splitters_that_ask(splitter: Any, model: ScriptedModel, expected: Any) -> None:
    embedder, llm = silent()
    llm = type(model)(AssertionError("asked"))
    with expected:
        found = Index(
            embedder=embedder, llm=llm, splitter=splitter, views="raw"
        ).estimate(pages())
    assert not llm.prompts and not embedder.texts
    index = Index(embedder=HashEmbedder(), llm=model, splitter=splitter, views="raw")
    with expected:
        report = index.add(pages())
    calls = report.usage["calls"]
    assert calls <= found.total.calls <= 2.1 * calls
    assert found.stages["views"] == Usage()
    tokens = report.usage["embedding_tokens"]
    assert 0.7 * tokens <= found.total.embedding_tokens <= 1.5 * tokens


def test_bad_input_is_refused_as_by_add() -> None:
    index = Index()
    with pytest.raises(InvalidParameter, match="have the id"):
        index.estimate([pages()[0], pages()[0]])
    with pytest.raises(InvalidParameter, match="Put it in a list"):
        index.estimate(pages()[0])  # type: ignore[arg-type]
    assert (
        index.estimate([]).total == Usage()
        and index.estimate([read_text(" ", id="x")]).chunks == 0
    )


def test_it_reads_as_one_line() -> None:
    shown = str(Index(embedder=HashEmbedder()).estimate(pages()))
    assert (
        shown.startswith("2 documents to add or replace, 0 unchanged; ")
        and "0 language-model calls" in shown
    )
