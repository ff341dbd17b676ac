"""PICNodeParser: exact offsets, hard limits, LlamaIndex's own models, native async, the pipeline
and its cache."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core import Document, MockEmbedding
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.llms import MockLLM
from llama_index.core.schema import BaseNode

from llama_index_structrag import PICNodeParser
from structrag.chunks.pic.splitter import PICSplitter
from structrag.integrations.splitters import defaults_of

TEXT = "# Animals\n\n" + " ".join(
    f"Sentence number {i} talks about {'cats' if i % 3 else 'dogs and wolves'} here."
    for i in range(40)
)
seen: list[str] = []


def vector(text: str) -> list[float]:
    return [float(text.count("cat")), float(text.count("dog")), 1.0]


class Words(BaseEmbedding):
    """Counts two words; notes what it is asked."""

    def _get_query_embedding(self, query: str) -> list[float]:
        return vector(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return vector(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        seen.append(text)
        return vector(text)


class OnlyAsync(Words):
    def _get_text_embedding(self, text: str) -> list[float]:
        raise AssertionError("called synchronously")

    def _get_query_embedding(self, query: str) -> list[float]:
        raise AssertionError("called synchronously")

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return vector(text)


def documents() -> list[Document]:
    return [
        Document(
            text=TEXT, id_=name, metadata={"file_name": f"{name}.md", "lang": "en"}
        )
        for name in "abc"
    ]


def told(nodes: list[BaseNode]) -> list[tuple[Any, ...]]:
    return [(node.id_, node.get_content(), node.metadata) for node in nodes]


async def test_async_is_native_and_equal() -> None:
    expected = PICNodeParser(
        embed_model=Words(), llm=MockLLM(), chunk_size=90
    ).get_nodes_from_documents(documents())
    parser = PICNodeParser(embed_model=OnlyAsync(), llm=MockLLM(), chunk_size=90)
    found = await parser.aget_nodes_from_documents(documents())
    assert [(node.text, node.metadata) for node in found] == [
        (node.text, node.metadata) for node in expected
    ]
    again = PICNodeParser(embed_model=Words(), llm=MockLLM(), chunk_size=90)
    assert told(await again.aget_nodes_from_documents(documents())) == told(expected)


def test_settings_and_models_are_told_apart_in_ids_and_pipeline_caches() -> None:
    one = PICNodeParser(
        embed_model=MockEmbedding(embed_dim=4), llm=MockLLM(), chunk_size=90
    )
    other = PICNodeParser(
        embed_model=MockEmbedding(embed_dim=5), llm=MockLLM(max_tokens=7), chunk_size=90
    )
    assert one.to_dict()["embed_model"] != other.to_dict()["embed_model"]
    assert one.to_dict()["llm"] != other.to_dict()["llm"]
    assert one.class_name() == one.to_dict()["class_name"] == "PICNodeParser"
    with pytest.raises(ValueError, match="embed_model must be passed again"):
        PICNodeParser.from_dict(one.to_dict())
    again = PICNodeParser.from_dict(
        one.to_dict(), embed_model=MockEmbedding(embed_dim=4), llm=MockLLM()
    )
    assert told(again.get_nodes_from_documents(documents())) == told(
        one.get_nodes_from_documents(documents())
    )
    plain = PICNodeParser.from_defaults(chunk_size=90)
    assert PICNodeParser.from_dict(plain.to_dict()).to_dict() == plain.to_dict()


def test_a_pipeline_runs_it_and_keeps_its_result() -> None:
    pipeline = IngestionPipeline(
        transformations=[PICNodeParser(embed_model=Words(), chunk_size=90)]
    )
    first = pipeline.run(documents=documents())
    seen.clear()
    assert told(pipeline.run(documents=documents())) == told(first) and not seen


def test_defaults_and_presets_are_those_of_the_core() -> None:
    for parser, core in (
        (PICNodeParser(), PICSplitter()),
        (PICNodeParser.paper(), PICSplitter.paper()),
    ):
        made = parser.core_splitter(parser.chunk_size, len)
        skipped = {"counter", "max_tokens", "min_tokens"}
        assert {
            n: getattr(made, n) for n in defaults_of(PICSplitter) if n not in skipped
        } == {n: getattr(core, n) for n in defaults_of(PICSplitter) if n not in skipped}
    assert PICNodeParser().chunk_size == PICSplitter().max_tokens
    assert (
        PICNodeParser().core_splitter(300, len).least_tokens
        == PICSplitter().least_tokens
    )
