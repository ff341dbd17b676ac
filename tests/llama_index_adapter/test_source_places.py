"""Hits of HTML lead to the markup, as the node parsers' nodes do."""

from __future__ import annotations

import pytest
from llama_index.core import Document
from llama_index.core.schema import MetadataMode
from llama_index_fakes import HashEmbedding

from llama_index_structrag import (
    ContentAwareNodeParser,
    D3Retriever,
    EvidenceRetriever,
    HiQARetriever,
    MultiViewRetriever,
)
from structrag import read_text

HTML = (
    "<h1>Pumps</h1>\n<p>A pump  moves <b>water</b>.</p>\n<h2>Filters</h2>\n<p>Rinse the filter "
    "&amp; dry it.</p>"
)


KINDS = [
    MultiViewRetriever,
    HiQARetriever,
    D3Retriever,
    EvidenceRetriever,
]


@pytest.mark.parametrize("kind", KINDS)
def test_hits_have_the_place_that_node_parsers_give(kind):
    page = Document(text=HTML, id_="page", metadata={"file_name": "page.html"})
    found = kind.from_documents([page], embed_model=HashEmbedding()).retrieve(
        "Rinse the filter"
    )
    assert found
    for hit in found:
        markup = HTML[
            hit.node.metadata["source_start"] : hit.node.metadata["source_end"]
        ]
        shown = read_text(f"<div>{markup}</div>", format="html").text
        assert " ".join(shown.split()) == " ".join(hit.node.text.split())
        assert "source_start" not in hit.node.get_content(
            metadata_mode=MetadataMode.LLM
        )
    nodes = ContentAwareNodeParser(
        chunk_size=300, chunk_overlap=0
    ).get_nodes_from_documents([page])
    if kind is MultiViewRetriever:
        places = {
            (node.metadata["source_start"], node.metadata["source_end"])
            for node in nodes
        }
        assert {
            (hit.node.metadata["source_start"], hit.node.metadata["source_end"])
            for hit in found
        } <= places


def test_hits_of_markdown_stand_in_their_file_as_in_the_text():
    page = Document(text="# A\n\nRinse the filter.", id_="page")
    found = MultiViewRetriever.from_documents(
        [page], embed_model=HashEmbedding()
    ).retrieve("filter")
    node = found[0].node
    assert node.metadata["source_start"] == node.start_char_idx == 0
    assert node.metadata["source_end"] == node.end_char_idx
