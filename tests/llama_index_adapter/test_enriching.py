"""IDMS's enrichment over the nodes of any LlamaIndex parser."""

from __future__ import annotations

import asyncio
import json
import pickle
from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import (
    BaseNode,
    ImageNode,
    MetadataMode,
    TextNode,
    TransformComponent,
)
from llama_index_fakes import HashEmbedding
from samples import dense_document

from llama_index_structrag import IDMSEnrichment
from structrag import IDMSEnricher
from structrag.chunks import EnrichmentPrompts

FEW = IDMSEnricher(low=0.15, high=0.3, growth=1.0, min_chunks=2, min_tokens=0)


def others_nodes(**metadata: Any) -> list[BaseNode]:
    """Defining, dull and dense nodes, as another parser gives them."""
    return [
        TextNode(
            text=chunk.text,
            metadata=metadata,
            start_char_idx=chunk.start,
            end_char_idx=chunk.end,
        )
        for chunk in dense_document()[1]
    ]


def seen(node: BaseNode, mode: MetadataMode) -> str:
    return node.get_content(metadata_mode=mode)


def test_nodes_of_any_parser_are_shortened_and_explained() -> None:
    text = dense_document()[0].text
    nodes = others_nodes()
    before = [node.to_dict() for node in nodes]
    component = IDMSEnrichment(embed_model=HashEmbedding(), enrich=FEW)
    assert isinstance(component, TransformComponent)
    enriched = component(nodes)
    assert [node.to_dict() for node in nodes] == before
    assert asyncio.run(component.acall(nodes)) == enriched
    actions = [node.metadata["idms_action"] for node in enriched]
    assert {"reduced", "supplemented"} <= set(actions)
    for node, new in zip(nodes, enriched, strict=True):
        assert new.node_id == node.node_id
        assert seen(new, MetadataMode.NONE) == seen(node, MetadataMode.NONE)
        added = json.loads(new.metadata["idms_added"])
        for item in added:
            assert item["text"] in text[item["start"] : item["end"]]
            assert item["text"] in seen(new, MetadataMode.LLM)
            assert item["text"] in seen(new, MetadataMode.EMBED)
        if new.metadata["idms_action"] == "reduced":
            # The reader gets the shorter text too, as LangChain's does.
            reduced = new.metadata["idms_reduced"]
            assert seen(new, MetadataMode.EMBED) == reduced
            assert seen(new, MetadataMode.LLM) == reduced
        if new.metadata["idms_action"] == "none":
            assert seen(new, MetadataMode.LLM) == seen(node, MetadataMode.LLM)


def test_it_stands_in_a_pipeline_behind_another_parser() -> None:
    parser = SentenceSplitter(chunk_size=64, chunk_overlap=16)
    pipeline = IngestionPipeline(transformations=[parser, IDMSEnrichment(enrich=FEW)])
    text = dense_document()[0].text
    document = Document(text=text, metadata={"file_name": "a.md"})
    nodes = pipeline.run(documents=[document])
    assert len(nodes) > 2
    assert all("idms_density" in node.metadata for node in nodes)
    assert not any("idms_" in seen(node, MetadataMode.LLM) for node in nodes)


def test_settings_and_prompts_go_through_dicts_and_pickle() -> None:
    prompts = EnrichmentPrompts(rating="From 0 to 10: {text}")
    component = IDMSEnrichment(enrich=IDMSEnricher(rounds=1, prompts=prompts))
    for again in (
        IDMSEnrichment.from_dict(component.to_dict()),
        pickle.loads(pickle.dumps(component)),
    ):
        assert again.enrich == component.enrich


def test_nodes_without_text_are_passed_on() -> None:
    image = ImageNode(image_path="a.png")
    assert list(IDMSEnrichment()([image])) == [image]
    assert list(IDMSEnrichment()([])) == []


@pytest.mark.parametrize("enrich", ["none", "all", 3])
def test_what_is_no_enrichment_is_refused(enrich: Any) -> None:
    with pytest.raises(ValueError, match="enrich must be"):
        IDMSEnrichment(enrich=enrich)
