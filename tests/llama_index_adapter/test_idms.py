"""IDMSNodeParser: the core's chunks with LlamaIndex's models; margins from log-probabilities,
probed once."""

from __future__ import annotations

import asyncio
import math
import pickle
from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.base.llms.types import LogProb
from llama_index.core.bridge.pydantic import Field
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.llms import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    LLMMetadata,
    MockLLM,
)
from llama_index.core.schema import MetadataMode
from llama_index_fakes import HashEmbedding, ScriptedLLM
from samples import sections_with_a_definition

from llama_index_structrag import IDMSNodeParser, LlamaIndexModel
from structrag.chunks.enriching.enricher import IDMSEnricher
from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.integrations.splitters import defaults_of
from structrag.models.embedders import FunctionEmbedder
from structrag.reading.files import read_text

TEXT = (
    "# Cats\n\nCats sleep. Cats eat fish. Cats purr. Dogs bark. Dogs run. Dogs dig holes.\n\n# "
    "Rain\n\nRain falls. Rain is wet.\n"
)
QUESTION = "Passage A:\nCats nap.\nPassage B:\nCats nap."


def count(text: str) -> list[str]:
    return text.split()


class Weigher(ScriptedLLM):
    """Answers "2", keep, with log-probabilities where both sides name the same animal. Records the
    parameters of its calls."""

    is_chat: bool = False
    tells: bool = True
    refuses: str = ""
    parameters: list[Any] = Field(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="weigher", is_chat_model=self.is_chat)

    def weighed(
        self, prompt: str, kwargs: dict[str, Any]
    ) -> list[list[LogProb]] | None:
        self.parameters.append(kwargs)
        if self.refuses in kwargs:
            raise TypeError(f"unexpected keyword argument {self.refuses!r}")
        sides = prompt.split("Passage A:\n")[-1].split("Passage B:\n")
        keep = sides[0].split(". ")[-1].split()[0] in sides[1]
        best, other = ("2", "1") if keep else ("1", "2")
        self.answer = "9" if keep else "1"
        return (
            [[LogProb(token=best, logprob=-0.1), LogProb(token=other, logprob=-2.4)]]
            if self.tells
            else None
        )

    def complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponse:
        weighed = self.weighed(prompt, kwargs)
        return CompletionResponse(
            text=self.answer, logprobs=weighed if "logprobs" in kwargs else None
        )

    async def acomplete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponse:
        self.async_calls += 1
        await asyncio.sleep(0)
        return self.complete(prompt, **kwargs)

    def chat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        weighed = self.weighed(messages[0].content, kwargs)
        return ChatResponse(message=ChatMessage(content=self.answer), logprobs=weighed)

    async def achat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        self.async_calls += 1
        return self.chat(messages, **kwargs)


def parser(**settings: Any) -> IDMSNodeParser:
    return IDMSNodeParser(
        **{"embed_model": HashEmbedding(calls=[]), "tokenizer": count, **settings}
    )


@pytest.mark.parametrize("is_chat", [False, True])
async def test_log_probabilities_are_read(is_chat: bool) -> None:
    model = LlamaIndexModel(Weigher(is_chat=is_chat))
    assert model.choose(QUESTION, ("2", "1")) == pytest.approx(math.tanh(2.3 / 2))
    assert await model.achoose(QUESTION, ("1", "2")) == pytest.approx(
        -math.tanh(2.3 / 2)
    )
    assert model.choose(QUESTION, ("yes", "no")) is None
    assert model.llm.async_calls == 1


def test_what_a_model_takes_is_tried_out_once() -> None:
    for model, counts in (
        (Weigher(), (1, 2)),
        (Weigher(refuses="max_tokens"), (2, 3)),
        (Weigher(tells=False), (1, 1)),
    ):
        adapted = LlamaIndexModel(model)
        for number in counts:
            adapted.choose(QUESTION, ("2", "1"))
            assert len(model.parameters) == number
    assert LlamaIndexModel(MockLLM()).choose("q", ("2", "1")) is None


def test_nodes_are_the_chunks_of_the_core() -> None:
    document = Document(text=TEXT, id_="d")
    nodes = parser(
        chunk_size=12, min_chunk_size=4, add_context=False, strip=False
    ).get_nodes_from_documents([document])
    model = HashEmbedding()
    core = IDMSSplitter(
        max_tokens=12,
        min_tokens=4,
        heading_path=False,
        counter=lambda text: len(text.split()),
    )
    chunks = core.split(
        read_text(TEXT),
        embedder=FunctionEmbedder(
            lambda texts: [model._vector(text) for text in texts], "hash"
        ),
    )
    assert [node.text for node in nodes] == [chunk.text for chunk in chunks]
    assert "".join(node.text for node in nodes) == TEXT
    for node, chunk in zip(nodes, chunks, strict=True):
        assert TEXT[node.start_char_idx : node.end_char_idx] == node.text
        assert node.metadata["idms_margin_source"] == "similarity"
        assert node.metadata["idms_margin"] == (chunk.extras["margin"] or 0.0)
        assert "idms" not in node.get_content(MetadataMode.EMBED) + node.get_content(
            MetadataMode.LLM
        )


def test_settings_survive_and_tell_apart() -> None:
    made = parser(chunk_size=30, merge="none")
    again = IDMSNodeParser.from_dict(
        made.to_dict(), embed_model=HashEmbedding(), tokenizer=count
    )
    documents = [Document(text=TEXT, id_="d")]
    texts = [node.text for node in made.get_nodes_from_documents(documents)]
    assert [node.text for node in again.get_nodes_from_documents(documents)] == texts
    assert [
        node.text
        for node in pickle.loads(pickle.dumps(made)).get_nodes_from_documents(documents)
    ] == texts
    assert [
        node.text
        for node in IngestionPipeline(transformations=[made]).run(documents=documents)
    ] == texts
    assert (
        len(
            {
                str(parser(**change).to_dict())
                for change in ({}, {"theta0": 0.1}, {"context": "adjacent"})
            }
        )
        == 3
    )


def test_defaults_and_presets_are_those_of_the_core() -> None:
    skipped = {"counter", "max_tokens", "min_tokens", "plain_headings"}
    models: dict[str, Any] = {"embed_model": HashEmbedding(), "llm": MockLLM()}
    for parser, core in (
        (IDMSNodeParser(**models), IDMSSplitter()),
        (IDMSNodeParser.paper(**models), IDMSSplitter.paper()),
    ):
        made: Any = parser.core_splitter(parser.chunk_size, len)
        made = getattr(made, "splitter", made)  # within what enriches
        names = defaults_of(IDMSSplitter).keys() - skipped
        assert {name: getattr(made, name) for name in names} == {
            name: getattr(core, name) for name in names
        }
        assert parser.min_chunk_size == core.min_tokens
    assert IDMSNodeParser().chunk_size == IDMSSplitter().max_tokens
    assert (
        IDMSNodeParser().core_splitter(300, len).least_tokens
        == IDMSSplitter().least_tokens
    )


ENRICHED = sections_with_a_definition()


def test_as_published_the_nodes_are_enriched() -> None:
    def answer(prompt: str) -> str:
        return "8" if "Rating:" in prompt else "1"

    documents = [
        Document(text=ENRICHED, id_="d", metadata={"file_type": "text/markdown"})
    ]
    published = IDMSNodeParser.paper(HashEmbedding(), answer)
    assert published.enrich == "paper" and published.add_context
    mine = IDMSNodeParser.paper(enrich=IDMSEnricher.paper(rounds=1))
    core: Any = mine.core_splitter(300, len)
    assert core.enricher.into_context and not core.splitter.heading_path
    with pytest.warns(UserWarning, match="log-probabilities"):
        nodes = published.get_nodes_from_documents(documents)
    assert all(node.metadata["idms_density"] >= 0 for node in nodes)
