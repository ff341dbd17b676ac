"""The papers' settings as LlamaIndex users reach them."""

from __future__ import annotations

from llama_index.core import Document
from llama_index.core.schema import MetadataMode
from llama_index_fakes import HashEmbedding
from samples import dense_document

from llama_index_structrag import (
    IDMSNodeParser,
)
from structrag import IDMSEnricher


def test_the_reader_of_a_reduced_node_gets_the_shorter_text() -> None:
    enrich = IDMSEnricher(low=99.0, high=99.5, supplement=False, min_tokens=0)
    parser = IDMSNodeParser(
        embed_model=HashEmbedding(),
        margin="words",
        enrich=enrich,
        add_context=False,
        chunk_size=120,
    )
    source = Document(text=dense_document()[0].text)
    nodes = parser.get_nodes_from_documents([source])
    reduced = [n for n in nodes if n.metadata["idms_action"] == "reduced"]
    assert reduced
    for node in reduced:
        for mode in (MetadataMode.EMBED, MetadataMode.LLM):
            shown = node.get_content(metadata_mode=mode)
            assert shown == node.metadata["idms_reduced"]
        place = slice(node.start_char_idx, node.end_char_idx)
        assert source.text[place] == node.text
