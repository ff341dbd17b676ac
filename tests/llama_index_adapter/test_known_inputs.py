"""Inputs on which LlamaIndex's own parsers go wrong, and what ours owe instead. Codes: M Markdown,
S sentences, N HTML, C caches, E async."""

from __future__ import annotations

import pytest
from llama_index.core import Document
from llama_index.core.ingestion import IngestionCache, IngestionPipeline
from llama_index.core.node_parser import (
    MarkdownNodeParser,
    SentenceSplitter,
)
from llama_index.core.schema import TextNode

from llama_index_structrag import ContentAwareNodeParser, FixedNodeParser
from structrag.integrations.metadata import titles_of


def parse(text: str, metadata=None, **options):
    return ContentAwareNodeParser(**options)(
        [Document(text=text, id_="d", metadata=metadata or {})]
    )


def paths(nodes):
    return [list(titles_of(node.metadata["heading_path"])) for node in nodes]


def test_m8_m9_carriage_returns_and_tabs_stay_in_the_text_and_out_of_the_path():
    text = "# A\r\n\r\n## B\r\n\r\ntext\r\n"
    (node,) = parse(text)
    assert (node.text, paths([node])) == (text.rstrip(), [["A", "B"]])
    (node,) = parse("#\tA\n\nx\n")
    assert (node.text, node.start_char_idx, paths([node])) == ("#\tA\n\nx", 0, [["A"]])


def test_m10_m11_repeated_text_has_its_own_offsets():
    text = "# A\n\nwrite # B here\n\n# B\n\nx\n"
    assert [node.start_char_idx for node in parse(text)] == [0, 21]
    assert [node.start_char_idx for node in parse("# A\n\nsame\n\n# A\n\nsame\n")] == [
        0,
        11,
    ]
    (joined,) = parse("# A\n\nwrite # B here\n\n# B\n")
    assert joined.text == "# A\n\nwrite # B here\n\n# B"


@pytest.mark.parametrize("make", [ContentAwareNodeParser, FixedNodeParser])
def test_m12_behind_a_parser_that_keeps_offsets_ours_refer_to_the_document(make):
    text = "# A\n\none two.\n\n# B\n\nthree four.\n"
    pipeline = IngestionPipeline(
        transformations=[MarkdownNodeParser(), make(chunk_size=1000)],
        disable_cache=True,
    )
    nodes = pipeline.run(documents=[Document(text=text, id_="d")])
    assert [(node.start_char_idx, node.ref_doc_id) for node in nodes] == [
        (0, "d"),
        (15, "d"),
    ]
    assert [text[node.start_char_idx : node.end_char_idx] for node in nodes] == [
        node.text for node in nodes
    ]
    assert nodes[0].next_node.node_id == nodes[1].node_id


def test_text_that_another_parser_did_not_place_has_no_offsets():
    source = Document(text="x y z", id_="d").as_related_node_info()
    node = TextNode(text="y", id_="n", relationships={"1": source})
    (made,) = ContentAwareNodeParser()([node])
    assert (made.start_char_idx, made.end_char_idx, made.ref_doc_id) == (
        None,
        None,
        "d",
    )


def test_c4_equal_text_of_two_documents_keeps_two_sources_without_the_shared_cache():
    pipeline = IngestionPipeline(
        transformations=[ContentAwareNodeParser()], disable_cache=True
    )
    nodes = [*pipeline.run(documents=[Document(text="same text", id_="A")])]
    nodes += pipeline.run(documents=[Document(text="same text", id_="B")])
    assert [node.ref_doc_id for node in nodes] == ["A", "B"]
    assert nodes[0].node_id != nodes[1].node_id


def test_a_cached_pipeline_gives_equal_nodes_and_sees_changed_settings():
    cache = IngestionCache()
    documents = [Document(text="# A\n\na b c d e f g h.\n\n## B\n\nb\n", id_="d")]
    first = IngestionPipeline(
        transformations=[ContentAwareNodeParser()], cache=cache
    ).run(documents=documents)
    again = IngestionPipeline(
        transformations=[ContentAwareNodeParser()], cache=cache
    ).run(documents=documents)
    assert [node.to_dict() for node in again] == [node.to_dict() for node in first]
    other = IngestionPipeline(
        transformations=[ContentAwareNodeParser(chunk_size=5)], cache=cache
    ).run(documents=documents)
    assert len(other) > len(first)


@pytest.mark.slow
@pytest.mark.long
def test_two_workers_give_the_nodes_of_one(socket_enabled):
    from llama_index.core.storage.docstore import SimpleDocumentStore

    documents = [
        Document(text=f"# D{i}\n\ntext {i}\n\n## S\n\nmore\n", id_=f"d{i}")
        for i in range(5)
    ]
    parser = ContentAwareNodeParser(chunk_size=12, tokenizer=None)
    alone = IngestionPipeline(
        transformations=[parser],
        docstore=SimpleDocumentStore(),
        docstore_strategy="duplicates_only",
    ).run(documents=documents)
    pair = IngestionPipeline(
        transformations=[parser],
        docstore=SimpleDocumentStore(),
        docstore_strategy="duplicates_only",
    ).run(documents=documents, num_workers=2)
    assert [node.to_dict() for node in pair] == [node.to_dict() for node in alone]


def test_our_nodes_survive_a_sentence_splitter_behind_them():
    text = "# A\n\none two.\n\n## B\n\nthree four.\n"
    nodes = SentenceSplitter(chunk_size=100, chunk_overlap=0)(parse(text))
    assert [node.metadata["heading_path"] for node in nodes] == ["A", "A > B"]
