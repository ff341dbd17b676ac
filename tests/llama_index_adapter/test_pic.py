"""PICNodeParser: exact offsets, hard limits, LlamaIndex's own models, native async, the pipeline
and its cache."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import pytest
from llama_index.core import Document, MockEmbedding
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.llms import MockLLM
from llama_index.core.schema import BaseNode, MetadataMode
from llama_index.core.utils import get_tokenizer

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


def test_nodes_are_exact_slices_within_the_limit_and_tell_what_was_seen() -> None:
    parser = PICNodeParser(embed_model=Words(), chunk_size=90)
    nodes = parser.get_nodes_from_documents(documents())
    assert len({node.id_ for node in nodes}) == len(nodes) > 6
    for node in nodes:
        assert node.text == TEXT[node.start_char_idx : node.end_char_idx]
        assert (
            len(get_tokenizer()(node.get_content(metadata_mode=MetadataMode.EMBED)))
            <= 90
        )
        assert (
            isinstance(node.metadata["pic_relevant"], bool)
            and "pic_threshold" in node.metadata
        )
        assert "pic_" not in node.get_content(metadata_mode=MetadataMode.EMBED)
        assert "pic_" not in node.get_content(metadata_mode=MetadataMode.LLM)
    assert nodes[0].next_node.node_id == nodes[1].id_ and nodes[0].ref_doc_id == "a"


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


def test_without_models_as_published_and_pickled() -> None:
    parser = pickle.loads(pickle.dumps(PICNodeParser(chunk_size=90, strip=False)))
    nodes = parser.get_nodes_from_documents(documents()[:1])
    assert "".join(node.text for node in nodes) == TEXT
    published = PICNodeParser.paper(embed_model=Words()).get_nodes_from_documents(
        documents()[:1]
    )
    flags = [node.metadata["pic_relevant"] for node in published]
    assert len(flags) > 2 and all(a != b for a, b in pairwise(flags))


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


def test_a_document_brings_its_instructions_in_its_metadata() -> None:
    queries: list[str] = []

    class Queries(Words):
        def _get_query_embedding(self, query: str) -> list[float]:
            queries.append(query)
            return vector(query)

    parser = PICNodeParser.paper(Queries(), instructions_key="questions", as_query=True)
    questions = [["What do cats do?"], ["Where are dogs?", "Where are wolves?"]]
    documents = [
        Document(text=TEXT, metadata={"questions": texts}) for texts in questions
    ]
    parser.get_nodes_from_documents(documents)
    assert sorted(set(queries)) == sorted([*questions[0], *questions[1]])
