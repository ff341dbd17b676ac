"""IDMS's enrichment over the nodes of any LlamaIndex parser."""

from __future__ import annotations

import pickle

from llama_index.core import Document
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import (
    BaseNode,
    ImageNode,
    MetadataMode,
)
from samples import dense_document

from llama_index_structrag import IDMSEnrichment
from structrag import IDMSEnricher
from structrag.chunks import EnrichmentPrompts

FEW = IDMSEnricher(low=0.15, high=0.3, growth=1.0, min_chunks=2, min_tokens=0)


def seen(node: BaseNode, mode: MetadataMode) -> str:
    return node.get_content(metadata_mode=mode)


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
    component = IDMSEnrichment(enrich=IDMSEnricher(growth=0.1, prompts=prompts))
    for again in (
        IDMSEnrichment.from_dict(component.to_dict()),
        pickle.loads(pickle.dumps(component)),
    ):
        assert again.enrich == component.enrich


def test_nodes_without_text_are_passed_on() -> None:
    image = ImageNode(image_path="a.png")
    assert list(IDMSEnrichment()([image])) == [image]
    assert list(IDMSEnrichment()([])) == []
