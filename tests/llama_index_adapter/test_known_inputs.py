"""Inputs on which LlamaIndex's own parsers go wrong, and what ours owe instead.

Codes: M Markdown, S sentences, N HTML, C caches, E async.
"""

from __future__ import annotations

import asyncio
import pickle

import pytest
from fixture_cases import examples
from llama_index.core import Document
from llama_index.core.ingestion import IngestionCache, IngestionPipeline
from llama_index.core.ingestion.pipeline import get_transformation_hash
from llama_index.core.node_parser import (
    HierarchicalNodeParser,
    MarkdownNodeParser,
    SentenceSplitter,
)
from llama_index.core.schema import MetadataMode, TextNode

from llama_index_structrag import ContentAwareNodeParser, FixedNodeParser
from structrag.hosts.metadata import titles_of


def parse(text: str, metadata=None, **options):
    return ContentAwareNodeParser(**options)(
        [Document(text=text, id_="d", metadata=metadata or {})]
    )


def paths(nodes):
    return [list(titles_of(node.metadata["heading_path"])) for node in nodes]


def test_m1_no_heading_inside_a_tilde_fence():
    (node,) = parse("# A\n\n~~~\n# not a heading\n~~~\n\ntext\n")
    assert node.text == "# A\n\n~~~\n# not a heading\n~~~\n\ntext"


def test_m2_setext_headings():
    assert paths(parse("Title\n=====\n\nbody\n\nSub\n---\n\nmore\n")) == [
        ["Title"],
        ["Title", "Sub"],
    ]


def test_m3_the_path_has_the_own_heading():
    nodes = parse("# A\n\na\n\n## B\n\nb\n\n### C\n\nc\n")
    assert paths(nodes) == [["A"], ["A", "B"], ["A", "B", "C"]]


def test_m4_a_slash_in_a_title_is_one_level():
    assert paths(parse("# A/B\n\n## C\n\nc\n")) == [["A/B", "C"]]


def test_m5_a_longer_fence_holds_a_shorter_one():
    nodes = parse("# A\n\n````md\n```\n# no\n```\n````\n\n## B\n\ny\n")
    assert paths(nodes) == [["A"], ["A", "B"]]
    assert nodes[0].text == "# A\n\n````md\n```\n# no\n```\n````"


def test_m6_m7_inline_code_and_front_matter_are_no_structure():
    assert paths(parse("# A\n\n```code``` inline\n\n## B\n\nb\n")) == [
        ["A"],
        ["A", "B"],
    ]
    nodes = parse("---\ntitle: x\n# comment\n---\n\n# A\n\nx\n")
    assert paths(nodes)[-1] == ["A"]
    assert ["comment"] not in paths(nodes)


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


def test_m12_in_front_of_a_second_one_of_ours():
    text = "# A\n\none two. one two.\n\n# B\n\none two. one two.\n"
    parsers = [ContentAwareNodeParser(), FixedNodeParser(chunk_size=8)]
    nodes = IngestionPipeline(transformations=parsers, disable_cache=True).run(
        documents=[Document(text=text, id_="d")]
    )
    assert len(nodes) == 4
    assert [text[node.start_char_idx : node.end_char_idx] for node in nodes] == [
        node.text for node in nodes
    ]
    assert len({node.node_id for node in nodes}) == 4


def test_text_that_another_parser_did_not_place_has_no_offsets():
    source = Document(text="x y z", id_="d").as_related_node_info()
    node = TextNode(text="y", id_="n", relationships={"1": source})
    (made,) = ContentAwareNodeParser()([node])
    assert (made.start_char_idx, made.end_char_idx, made.ref_doc_id) == (
        None,
        None,
        "d",
    )


def test_m13_small_pieces_of_repeated_words_lie_where_they_are():
    text = " ".join(f"w{i}" for i in range(60))
    for source in (text, f"{text} {text}"):
        nodes = parse(source, chunk_size=16)
        assert len(nodes) >= 9
        assert all(
            source[node.start_char_idx : node.end_char_idx] == node.text
            for node in nodes
        )
        starts = [node.start_char_idx for node in nodes]
        assert starts == sorted(set(starts))
    assert HierarchicalNodeParser.from_defaults(
        [64, 16], chunk_overlap=0
    )  # the parser this was seen with


def test_s1_s6_repeated_sentences():
    nodes = parse(
        "Repeat this now please. " * 6,
        {"file_name": "x.txt"},
        chunk_size=8,
        add_context=False,
    )
    assert [node.start_char_idx for node in nodes] == [0, 24, 48, 72, 96, 120]
    text = "Total: 0. " * 10 + "End."
    nodes = parse(text, {"file_name": "x.txt"}, chunk_size=20, add_context=False)
    assert all(
        text[node.start_char_idx : node.end_char_idx] == node.text for node in nodes
    )
    ends = [0, *(node.end_char_idx for node in nodes)]
    assert not "".join(
        text[a : node.start_char_idx] for a, node in zip(ends, nodes, strict=False)
    ).strip()


@pytest.mark.parametrize("options", [{}, {"include_metadata": False}])
def test_s2_s3_s4_long_metadata_is_no_error(options):
    metadata = {"header_path": " / ".join(["A long heading title"] * 20)}
    (node,) = parse("hello world", metadata, chunk_size=64, **options)
    assert node.get_content(metadata_mode=MetadataMode.EMBED) == "hello world"
    document = Document(text="hello world", metadata=metadata)
    document.excluded_embed_metadata_keys = document.excluded_llm_metadata_keys = [
        "header_path"
    ]
    (node,) = ContentAwareNodeParser(chunk_size=64)([document])
    assert node.get_content(metadata_mode=MetadataMode.LLM) == "hello world"
    assert node.metadata["metadata_not_embedded"] == ""


def test_s5_empty_text_has_no_node():
    assert parse("") == []


@examples
def test_n1_to_n7_html_keeps_every_word_once_and_in_order(html, words):
    nodes = parse(html, format="html")
    found = (
        " ".join(node.text for node in nodes)
        .replace("|", " ")
        .replace("-", " ")
        .split()
    )
    assert [word for word in found if word not in {"*", "•"}] == words
    starts = [node.start_char_idx for node in nodes]
    assert starts == sorted(starts) and None not in starts


def test_n6_the_place_in_the_markup():
    html = "<h1>T</h1><pre>x = 1</pre><h2>U</h2><p>p</p>"
    nodes = parse(html, format="html")
    assert (
        html[nodes[1].metadata["source_start"] : nodes[1].metadata["source_end"]]
        == "U</h2><p>p"
    )


def words(text: str) -> list[str]:
    return text.split()


def characters(text: str) -> list[str]:
    return list(text)


def key(**options) -> str:
    return get_transformation_hash(
        [TextNode(text="x")], ContentAwareNodeParser(**options)
    )


def test_c1_c2_settings_that_differ_have_keys_that_differ():
    variants = [
        {},
        {"tokenizer": words},
        {"tokenizer": characters},
        {"tokenizer": lambda text: text.split()},
        {"tokenizer": lambda text: text.split(",")},
        {"id_func": lambda i, doc: f"a{i}"},
        {"id_func": lambda i, doc: f"b{i}"},
        {"chunk_size": 7},
        {"strip": False},
    ]
    assert len({key(**options) for options in variants}) == len(variants)
    assert key() == key() and key(tokenizer=words) == key(tokenizer=words)


def test_c4_equal_text_of_two_documents_keeps_two_sources_without_the_shared_cache():
    pipeline = IngestionPipeline(
        transformations=[ContentAwareNodeParser()], disable_cache=True
    )
    nodes = [*pipeline.run(documents=[Document(text="same text", id_="A")])]
    nodes += pipeline.run(documents=[Document(text="same text", id_="B")])
    assert [node.ref_doc_id for node in nodes] == ["A", "B"]
    assert nodes[0].node_id != nodes[1].node_id


def test_c5_c6_round_trips():
    parser = ContentAwareNodeParser(chunk_size=5, tokenizer=characters)
    assert (
        ContentAwareNodeParser.from_dict(ContentAwareNodeParser().to_dict()).to_dict()
        == ContentAwareNodeParser().to_dict()
    )
    document = Document(text="hello world foo", id_="d")
    assert pickle.loads(pickle.dumps(parser))([document]) == parser([document])
    assert len(parser([document])) >= 3


def test_c7_offsets_are_not_searched_for():
    nodes = parse("ab ab", chunk_size=2, tokenizer=characters)
    assert [(node.text, node.start_char_idx) for node in nodes][-1][1] >= 3


def test_e1_sync_equals_async():
    text = (
        "# T\n\ntext\n\n<table><tr><th>k</th><th>v</th></tr><tr><td>alpha</td><td>1</td></tr>"
        "<tr><td>beta</td><td>2</td></tr></table>\n\nend\n"
    )
    parser = ContentAwareNodeParser(chunk_size=12)
    document = Document(text=text, id_="d")
    assert asyncio.run(
        parser.aget_nodes_from_documents([document])
    ) == parser.get_nodes_from_documents([document])


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


def test_a_document_store_skips_what_it_has():
    from llama_index.core.storage.docstore import SimpleDocumentStore

    pipeline = IngestionPipeline(
        transformations=[ContentAwareNodeParser()],
        docstore=SimpleDocumentStore(),
        docstore_strategy="duplicates_only",
    )
    document = Document(text="# A\n\na\n", id_="d")
    assert len(pipeline.run(documents=[document])) == 1
    assert pipeline.run(documents=[document]) == []


def test_our_nodes_survive_a_sentence_splitter_behind_them():
    text = "# A\n\none two.\n\n## B\n\nthree four.\n"
    nodes = SentenceSplitter(chunk_size=100, chunk_overlap=0)(parse(text))
    assert [node.metadata["heading_path"] for node in nodes] == ["A", "A > B"]
