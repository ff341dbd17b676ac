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
from llama_index_fakes import HashEmbedding
from ticking import ticking

from llama_index_structrag import HiQANodeParser, HiQARetriever
from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.retrieval.hiqa.retriever import HiQARetriever as CoreRetriever

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


@pytest.mark.parametrize("name", list(PRODUCTS))
def test_the_product_named_comes_first(options: Any, name: str) -> None:
    retriever = HiQARetriever.from_documents(documents(), **options)
    best = retriever.retrieve(f"What is the voltage of the {name}?")[0]
    node = best.node
    assert node.ref_doc_id == name
    assert (
        all(name in keyword for keyword in node.metadata["hiqa_keywords"])
        and node.metadata["hiqa_keywords"]
    )
    assert set(node.metadata["score_parts"]) == {"dense", "bm25", "keywords"}
    assert best.score == pytest.approx(sum(node.metadata["score_parts"].values()))
    assert (
        MANUAL.format(name=name, volts=PRODUCTS[name])[
            node.start_char_idx : node.end_char_idx
        ]
        == node.text
    )
    json.dumps(node.to_dict())


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


def test_it_gives_what_the_core_gives() -> None:
    retriever = HiQARetriever.from_documents(
        documents(),
        embed_model=HashEmbedding(),
        alpha=0.3,
        beta=0.6,
        similarity_top_k=4,
    )
    core = CoreRetriever(retriever.index, k=4, alpha=0.3, beta=0.6)
    hits = core.search("voltage of the PX-20")
    assert [
        (n.node.ref_doc_id, n.score) for n in retriever.retrieve("voltage of the PX-20")
    ] == [(h.chunk.doc_id, h.score) for h in hits]
    assert isinstance(
        retriever.index.splitter, HiQASplitter
    ) and retriever.index.views == ("raw",)


async def test_documents_are_kept_in_an_engine(tmp_path: Any) -> None:
    pytest.importorskip("lancedb", reason="the extra 'lancedb' is not installed")
    options = {"embed_model": HashEmbedding(), "similarity_top_k": 3}
    near = HiQARetriever.from_documents(documents(), **options)
    store = f"lancedb:{tmp_path}"
    far = HiQARetriever.from_documents(documents(), store=store, **options)
    loaded = HiQARetriever.load(store, **options)
    for query in ("What is the voltage of the PX-20?", "wiring plan", "qqqq", ""):
        found = [node.node_id for node in near.retrieve(query)]
        assert [node.node_id for node in far.retrieve(query)] == found
        assert [node.node_id for node in await loaded.aretrieve(query)] == found
    assert [n.node_id for n in far.segments()] == [n.node_id for n in near.segments()]
    for retriever in (near, far):
        retriever.lexical = WordRetriever(retriever.segments())
    query = "voltage of the PX-30"
    assert [n.node_id for n in far.retrieve(query)] == [
        n.node_id for n in near.retrieve(query)
    ]
    assert far.delete("PX-20")
    assert "PX-20" not in {
        node.node.ref_doc_id for node in loaded.retrieve("voltage PX-20")
    }


def test_the_node_parsers_settings_count() -> None:
    cells = HiQARetriever.from_documents(
        documents(), node_parser=HiQANodeParser(table_cells=True)
    )
    plain = HiQARetriever.from_documents(documents())
    assert any("48 V" in node.text for node in cells.segments()) and not any(
        "48 V" in n.text for n in plain.segments()
    )


# -- a retriever of the host as the lexical route


@pytest.mark.parametrize("scored", [True, False])
def test_segments_indexed_elsewhere_take_the_place_of_bm25(
    options: Any, scored: bool
) -> None:
    retriever = HiQARetriever.from_documents(documents(), **options)
    host = WordRetriever(retriever.segments(), scored=scored)
    retriever.lexical = host
    found = retriever.retrieve("voltage of the Pump PX-20")
    assert host.queries == 1 and found[0].node.ref_doc_id == "PX-20"
    assert min(n.metadata["routes"].get("bm25", 99) for n in found) == 1
    alone = HiQARetriever(
        retriever.index, lexical=host, routes=["bm25"], similarity_top_k=50
    )
    expected = [n.node_id for n in host.retrieve("pump wiring")]
    assert [n.node_id for n in alone.retrieve("pump wiring")] == expected


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


def test_nodes_of_the_parser_are_mapped_by_their_place() -> None:
    retriever = HiQARetriever.from_documents(documents(), embed_model=HashEmbedding())
    retriever.lexical = WordRetriever(
        HiQANodeParser().get_nodes_from_documents(documents())
    )
    found = retriever.retrieve("voltage of the Pump PX-20")
    assert found[0].node.ref_doc_id == "PX-20" and any(
        "bm25" in n.metadata["routes"] for n in found
    )


def test_results_that_are_no_segment_are_an_error_and_some_are_left_out() -> None:
    retriever = HiQARetriever.from_documents(documents())
    foreign = TextNode(text="voltage of something else", id_="foreign")
    retriever.lexical = WordRetriever([foreign])
    with pytest.raises(
        ValueError,
        match=r"lexical must be a retriever over this index's segments; none of its 1 results is "
        r"one",
    ):
        retriever.retrieve("voltage")
    whole = TextNode(text="voltage", start_char_idx=0, end_char_idx=200)
    whole.relationships = retriever.segments()[0].relationships
    retriever.lexical = WordRetriever([whole])
    with pytest.raises(ValueError, match="Index what segments"):
        retriever.retrieve("voltage")
    retriever.lexical = WordRetriever([foreign, *retriever.segments()])
    assert "foreign" not in {
        n.node_id for n in retriever.retrieve("voltage of something")
    }
    retriever.lexical = None
    assert retriever.retrieve("voltage")


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
