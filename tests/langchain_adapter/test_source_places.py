"""Hits of HTML lead to the markup, as the splitters' chunks do."""

from __future__ import annotations

import pytest
from langchain_core.documents import Document
from langchain_fakes import EMBEDDING

from langchain_structrag import (
    ContentAwareTextSplitter,
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
def test_hits_have_the_place_that_splitters_give(kind: type) -> None:
    page = Document(HTML, metadata={"source": "page.html"})
    found = kind.from_documents([page], EMBEDDING).invoke("Rinse the filter")
    assert found
    for hit in found:
        markup = HTML[hit.metadata["source_start"] : hit.metadata["source_end"]]
        assert "Rinse" in markup or "pump" in markup
        shown = read_text(f"<div>{markup}</div>", format="html").text
        assert " ".join(shown.split()) == " ".join(hit.page_content.split())
    split = ContentAwareTextSplitter(chunk_size=300).split_documents([page])
    if kind is MultiViewRetriever:
        places = {(d.metadata["source_start"], d.metadata["source_end"]) for d in split}
        assert {
            (d.metadata["source_start"], d.metadata["source_end"]) for d in found
        } <= places


def test_hits_of_markdown_stand_in_their_file_as_in_the_text() -> None:
    found = MultiViewRetriever.from_documents(
        [Document("# A\n\nRinse the filter.")], EMBEDDING
    ).invoke("filter")
    metadata = found[0].metadata
    assert metadata["source_start"] == metadata["start_index"] == 0
    assert metadata["source_end"] == metadata["end_index"]
