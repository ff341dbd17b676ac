"""IDMS's enrichment over the chunks of any LangChain splitter."""

from __future__ import annotations

import json

from doubles import HashEmbedder
from langchain_text_splitters import RecursiveCharacterTextSplitter
from samples import dense_document

from langchain_structrag import IDMSEnrichmentTransformer
from structrag import IDMSEnricher

FEW = IDMSEnricher(low=0.15, high=0.3, growth=1.0, min_chunks=2, min_tokens=0)


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
