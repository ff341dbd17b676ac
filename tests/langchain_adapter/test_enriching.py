"""IDMS's enrichment over the chunks of any LangChain splitter."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from doubles import HashEmbedder
from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_text_splitters import RecursiveCharacterTextSplitter
from samples import dense_document

from langchain_structrag import IDMSEnrichmentTransformer
from structrag import FunctionModel, IDMSEnricher
from structrag.chunks import EnrichmentPrompts

FEW = IDMSEnricher(low=0.15, high=0.3, growth=1.0, min_chunks=2, min_tokens=0)


def others_chunks(**metadata: Any) -> list[Document]:
    """A defining chunk, dull ones and dense ones, as another splitter of LangChain gives them."""
    return [
        Document(chunk.text, metadata={**metadata, "start_index": chunk.start})
        for chunk in dense_document()[1]
    ]


def test_chunks_of_any_splitter_are_shortened_and_explained() -> None:
    text = dense_document()[0].text
    chunks = others_chunks(source="a.md")
    before = [chunk.model_copy(deep=True) for chunk in chunks]
    transformer = IDMSEnrichmentTransformer(HashEmbedder(), enrich=FEW)
    assert isinstance(transformer, BaseDocumentTransformer)
    enriched = transformer.transform_documents(chunks)
    assert chunks == before
    assert asyncio.run(transformer.atransform_documents(chunks)) == enriched
    actions = [chunk.metadata["idms_action"] for chunk in enriched]
    assert {"reduced", "supplemented"} <= set(actions)
    for chunk, new in zip(chunks, enriched, strict=True):
        assert new.metadata["segment_text"] == chunk.page_content
        assert new.metadata["source"] == "a.md"
        added = json.loads(new.metadata["idms_added"])
        for item in added:
            assert item["text"] in text[item["start"] : item["end"]]
            assert item["text"] not in chunk.page_content
        lines = [item["text"] for item in added]
        body = new.metadata["idms_reduced"] or chunk.page_content
        assert new.page_content == "\n".join([*lines, body])


def test_chunks_of_a_splitter_with_overlap() -> None:
    splitter = RecursiveCharacterTextSplitter(
        chunk_size=300, chunk_overlap=100, add_start_index=True
    )
    text = dense_document()[0].text
    chunks = splitter.create_documents([text], [{"source": "a.md"}])
    enriched = IDMSEnrichmentTransformer(
        HashEmbedder(), enrich=FEW
    ).transform_documents(chunks)
    assert len(enriched) == len(chunks)
    for chunk, new in zip(chunks, enriched, strict=True):
        for item in json.loads(new.metadata["idms_added"]):
            assert item["text"] not in chunk.page_content


def test_every_prompt_is_a_setting() -> None:
    asked: list[str] = []

    def answer(prompt: str) -> str:
        asked.append(prompt.split(":")[0])
        return {"RATE": "7", "NAMES": '["Nova"]', "MISSING": "[]"}.get(asked[-1], "x")

    prompts = EnrichmentPrompts(
        reduce="SHORTER: {text}",
        missing="MISSING: {passage} {sentences}",
        rating="RATE: {text}",
        entities="NAMES: {text}",
    )
    enricher = IDMSEnricher.paper(prompts=prompts)
    density = type(enricher.density)(entities="llm", rate=True, max_share=1.0)
    enricher = IDMSEnricher.paper(prompts=prompts, density=density, low=0.0, high=0.001)
    IDMSEnrichmentTransformer(
        HashEmbedder(), FunctionModel(answer, name="a"), enrich=enricher
    ).transform_documents(
        [Document(f"Nova is phone {i}. The Nova rings. It rings.") for i in range(9)]
    )
    assert {"RATE", "NAMES", "MISSING"} <= set(asked)


def test_chunks_are_compared_within_their_document() -> None:
    chunks = others_chunks(source="a.md")
    other = [
        Document(chunk.page_content, metadata={**chunk.metadata, "source": "b.md"})
        for chunk in chunks
    ]
    transformer = IDMSEnrichmentTransformer(HashEmbedder())
    alone = transformer.transform_documents(chunks)
    both = transformer.transform_documents([*chunks, *other])
    assert both[: len(chunks)] == alone
    unnamed = others_chunks()  # a second text begins where a start does not rise
    first = transformer.transform_documents([*unnamed, *unnamed])
    assert [d.page_content for d in first] == [d.page_content for d in both]


@pytest.mark.parametrize("enrich", ["none", "all", 3])
def test_what_is_no_enrichment_is_refused(enrich: Any) -> None:
    with pytest.raises(ValueError, match="enrich must be"):
        IDMSEnrichmentTransformer(enrich=enrich)


def test_no_chunk_and_blank_chunks() -> None:
    transformer = IDMSEnrichmentTransformer()
    assert list(transformer.transform_documents([])) == []
    (blank,) = transformer.transform_documents([Document(" ")])
    assert blank.page_content == " "
