"""HiQARetriever in LlamaIndex: look-alike manuals, the host's stores and retrievers as routes,
packing, tuning."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode
from llama_index.core.utils import get_tokenizer
from ticking import ticking

from llama_index_structrag import HiQARetriever

MANUAL = """# Pump {name}

Intro text of the pump.

## Electrical data

Values at 25 C.

| Name | Value |
|---|---|
| Voltage | {volts} V |
| Current | 300 mA |

## Wiring

Connect it as shown.

![Wiring plan](img/{name}.png)
"""
PRODUCTS = {"PX-10": 12, "PX-20": 24, "PX-30": 48}


class WordRetriever(BaseRetriever):
    """Nodes by how many words of the query their embedded text holds; only synchronous."""

    def __init__(self, nodes: Any, *, scored: bool = True, delay: float = 0.0) -> None:
        self.nodes, self.scored, self.delay, self.queries = (
            list(nodes),
            scored,
            delay,
            0,
        )
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.queries += 1
        time.sleep(self.delay)
        asked = set(query_bundle.query_str.lower().split())
        held = [
            (
                len(
                    asked
                    & set(
                        node.get_content(metadata_mode=MetadataMode.EMBED)
                        .lower()
                        .split()
                    )
                ),
                node,
            )
            for node in self.nodes
        ]
        best = sorted((pair for pair in held if pair[0]), key=lambda pair: -pair[0])[
            :50
        ]
        return [
            NodeWithScore(node=node, score=float(score) if self.scored else None)
            for score, node in best
        ]


class AsyncWordRetriever(WordRetriever):
    """The same, asynchronous only."""

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        await asyncio.sleep(0)
        return super()._retrieve(query_bundle)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        raise AssertionError("the asynchronous call should have been used")


def documents() -> list[Document]:
    return [
        Document(
            text=MANUAL.format(name=name, volts=volts),
            id_=name,
            metadata={"volts": volts, "file_name": f"{name}.md"},
        )
        for name, volts in PRODUCTS.items()
    ]


def test_it_serves_a_query_engine_with_tables_in_full_and_images() -> None:
    retriever = HiQARetriever.from_documents(
        documents(), similarity_top_k=5, where={"doc_id": "PX-20"}
    )
    response = RetrieverQueryEngine.from_args(retriever, llm=MockLLM()).query(
        "voltage of the PX-20"
    )
    assert "| Voltage | 24 V |" in str(response) and "segment_index_text" not in str(
        response
    )
    images = [
        json.loads(node.metadata["hiqa_images"])
        for node in response.source_nodes
        if "hiqa_images" in node.metadata
    ]
    assert [{"file": "img/PX-20.png", "alt": "Wiring plan"}] in images


# -- a retriever of the host as the lexical route


def test_segments_carry_the_index_text_and_lead_back() -> None:
    retriever = HiQARetriever.from_documents(documents())
    nodes = retriever.segments()
    assert len(nodes) == len(retriever.index)
    for mode in (MetadataMode.EMBED, MetadataMode.LLM, MetadataMode.NONE):
        assert all(node.get_content(metadata_mode=mode) == node.text for node in nodes)
    renamed = [TextNode(text=node.text, metadata=node.metadata) for node in nodes]
    for host in (WordRetriever(nodes), WordRetriever(renamed)):
        retriever.lexical = host
        assert retriever.retrieve("voltage PX-10")[0].node.ref_doc_id == "PX-10"


async def test_the_hosts_async_call_is_used_and_a_blocking_one_leaves_the_loop_free() -> (
    None
):
    retriever = HiQARetriever.from_documents(documents())
    retriever.lexical = AsyncWordRetriever(retriever.segments())
    assert (await retriever.aretrieve("voltage of the PX-30"))[
        0
    ].node.ref_doc_id == "PX-30"
    retriever.lexical = WordRetriever(retriever.segments(), delay=0.2)
    async with ticking() as ticks:
        await retriever.aretrieve("voltage of the PX-30")
    assert ticks() > 5


# -- packing and tuning


@pytest.mark.parametrize("limit", [0, 30, 60, 120, 100_000])
def test_packed_nodes_fit_as_language_models_see_them(limit: int) -> None:
    query = "voltage of the PX-20"
    every = HiQARetriever.from_documents(documents(), similarity_top_k=10).retrieve(
        query
    )
    found = HiQARetriever.from_documents(
        documents(), similarity_top_k=10, max_tokens=limit
    ).retrieve(query)
    count = get_tokenizer()
    assert (
        sum(
            len(count(n.node.get_content(metadata_mode=MetadataMode.LLM)))
            for n in found
        )
        <= limit
    )
    whole = [n.node_id for n in found if not n.metadata["hiqa_cut"]]
    assert whole == [n.node_id for n in every if n.node_id in whole]
    assert (len(found) == len(every)) == (limit == 100_000)


# -- settings
