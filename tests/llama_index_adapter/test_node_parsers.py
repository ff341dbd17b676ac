"""The node parsers: limits, offsets, metadata, relationships, ids, settings."""

from __future__ import annotations

import copy
import itertools
import json
import pickle

import pytest
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core import Document
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.schema import (
    ImageDocument,
    MetadataMode,
    NodeRelationship,
    TextNode,
)
from llama_index.core.utils import get_tokenizer
from llama_index.core.vector_stores.utils import node_to_metadata_dict

from llama_index_structrag import ContentAwareNodeParser, FixedNodeParser
from structrag.integrations.metadata import titles_of

GUIDE = (
    "# Guide\n\nIntro text.\n\n## Install\n\nRun pip.\n\n### Linux\n\nUse apt.\n\n## "
    "Use\n\nCall it.\n"
)
PARSERS = [ContentAwareNodeParser, FixedNodeParser]


MARKDOWN = st.lists(
    st.sampled_from(
        [
            "# A",
            "## B",
            "### C d e",
            "text here.",
            "One. Two. Three.",
            "- item",
            "| a | b |\n|---|---|\n| 1 | 2 |",
            "```\n# code\n  x\n```",
            "a 🙂 b",
            "今天天气很好。",
            "<|endoftext|>",
            "\r",
            "",
            "    indented",
            "w " * 40,
        ]
    ),
    max_size=12,
).map("\n".join)


def words(text: str) -> list[str]:
    return text.split()


def shouting_words(text: str) -> list[str]:
    return text.upper().split()


def count(text: str) -> int:
    return len(get_tokenizer()(text))


def embedded(node: TextNode) -> str:
    return node.get_content(metadata_mode=MetadataMode.EMBED)


def parse(text: str, parser=None, **metadata):
    return (parser or ContentAwareNodeParser()).get_nodes_from_documents(
        [Document(text=text, id_="d", metadata=metadata)]
    )


def test_the_class_name_is_all_that_changes(sentence_splitter):
    document = Document(text=GUIDE * 20, id_="d", metadata={"author": "A"})
    for parser in (sentence_splitter, ContentAwareNodeParser):
        nodes = parser(chunk_size=64, chunk_overlap=0).get_nodes_from_documents(
            [document]
        )
        assert len(nodes) > 5
        assert all(
            node.metadata["author"] == "A" and node.ref_doc_id == "d" for node in nodes
        )


def test_nodes_are_sections_with_their_path():
    nodes = parse(GUIDE)
    assert [node.text.splitlines()[0] for node in nodes] == [
        "# Guide",
        "## Install",
        "### Linux",
        "## Use",
    ]
    assert [list(titles_of(node.metadata["heading_path"])) for node in nodes] == [
        ["Guide"],
        ["Guide", "Install"],
        ["Guide", "Install", "Linux"],
        ["Guide", "Use"],
    ]
    assert nodes[2].metadata["heading_path"] == "Guide > Install > Linux"
    assert (
        embedded(nodes[2])
        == "heading_context: Guide > Install\n\n### Linux\n\nUse apt."
    )
    assert nodes[2].get_content(metadata_mode=MetadataMode.LLM) == embedded(nodes[2])


@pytest.mark.parametrize("make", PARSERS)
@settings(max_examples=60, deadline=None)
@given(text=MARKDOWN, size=st.integers(4, 60))
def test_nodes_keep_the_limit_and_quote_the_document(make, text, size):
    nodes = parse(text, make(chunk_size=size), title="A title of the document")
    assert [node.start_char_idx for node in nodes] == sorted(
        {node.start_char_idx for node in nodes}
    )
    for node in nodes:
        assert text[node.start_char_idx : node.end_char_idx] == node.text
        assert node.text.strip()
        assert count(embedded(node)) <= size or (
            node.metadata["oversize"] and len(node.text) <= 2
        )
    spans = [
        (0, 0),
        *((node.start_char_idx, node.end_char_idx) for node in nodes),
        (len(text), len(text)),
    ]
    assert not "".join(text[a[1] : b[0]] for a, b in itertools.pairwise(spans)).strip()


def test_a_cut_table_repeats_its_header_for_the_models_only():
    rows = [f"| r{i} | value {i} |" for i in range(40)]
    text = "# T\n\n" + "\n".join(["| key | value |", "|---|---|", *rows]) + "\n"
    nodes = parse(text, ContentAwareNodeParser(chunk_size=80))
    assert len(nodes) > 2
    for node in nodes[1:]:
        assert "| key | value |\n|---|---|" in embedded(node)
        assert "| key | value |" not in node.text
        assert count(embedded(node)) <= 80
        assert all(
            line.startswith("| r") and line.endswith(" |")
            for line in node.text.splitlines()
        )


def test_relationships_stay_inside_a_document():
    documents = [Document(text=GUIDE, id_="a"), Document(text=GUIDE, id_="b")]
    nodes = ContentAwareNodeParser().get_nodes_from_documents(documents)
    assert [node.ref_doc_id for node in nodes] == ["a"] * 4 + ["b"] * 4
    for group in (nodes[:4], nodes[4:]):
        assert NodeRelationship.PREVIOUS not in group[0].relationships
        assert NodeRelationship.NEXT not in group[-1].relationships
        for before, after in itertools.pairwise(group):
            assert before.next_node.node_id == after.node_id
            assert after.prev_node.node_id == before.node_id
    assert nodes[0].source_node.hash == documents[0].hash
    alone = ContentAwareNodeParser(
        include_prev_next_rel=False
    ).get_nodes_from_documents(documents)
    assert all(set(node.relationships) == {NodeRelationship.SOURCE} for node in alone)


def test_metadata_is_flat_json_and_ours_is_hidden():
    metadata = {"author": "A", "secret": "s"}
    document = Document(
        text=GUIDE, id_="d", metadata=metadata, excluded_llm_metadata_keys=["secret"]
    )
    node = ContentAwareNodeParser().get_nodes_from_documents([document])[2]
    json.dumps(node.metadata)
    node_to_metadata_dict(node, flat_metadata=True)
    assert (
        node.get_metadata_str(MetadataMode.LLM)
        == "author: A\nheading_context: Guide > Install"
    )
    assert (
        node.get_metadata_str(MetadataMode.EMBED)
        == "author: A\nsecret: s\nheading_context: Guide > Install"
    )
    assert document.metadata == {"author": "A", "secret": "s"}
    assert document.excluded_llm_metadata_keys == ["secret"]


def test_nodes_do_not_share_metadata_with_the_document():
    document = Document(text=GUIDE, id_="d", metadata={"tags": ["a"]})
    nodes = ContentAwareNodeParser().get_nodes_from_documents([document])
    nodes[0].metadata["tags"].append("b")
    assert document.metadata["tags"] == nodes[1].metadata["tags"] == ["a"]


def test_nodes_have_their_own_place_and_not_those_of_the_whole_document():
    places = {"page_starts": "0:1 3:2", "place_starts": '[[0, "row 1"]]'}
    document = Document(text="one two three", metadata={**places, "by": "me"})
    for node in ContentAwareNodeParser()([document]):
        assert node.source_node.metadata == {"by": "me"}
        assert node.metadata["place"] == "row 1" and not places.keys() & node.metadata
    assert document.metadata.items() >= places.items()


def test_metadata_too_long_to_embed_never_raises_and_the_limit_holds():
    path = " / ".join(["A long heading title"] * 20)
    (node,) = parse(
        "hello world",
        ContentAwareNodeParser(chunk_size=64),
        header_path=path,
        lang="en",
    )
    assert node.text == "hello world"
    assert node.metadata["header_path"] == path
    assert node.metadata["metadata_not_embedded"] == "header_path"
    assert embedded(node) == "lang: en\n\nhello world"
    assert path in node.get_content(metadata_mode=MetadataMode.LLM)


def test_metadata_that_fits_is_counted():
    text = "# T\n\n" + "word " * 300
    nodes = parse(text, ContentAwareNodeParser(chunk_size=64), note="n " * 20)
    assert all(
        count(embedded(node)) <= 64 and "note: n" in embedded(node) for node in nodes
    )


@examples
def test_the_format_comes_from_the_metadata(metadata, titles):
    parser = ContentAwareNodeParser(plain_headings=False)
    (node,) = parse("# A\n\nbody", parser, **metadata)
    assert list(titles_of(node.metadata["heading_path"])) == titles


def test_a_picture_without_text_passes_through():
    picture = ImageDocument(image="aGk=", id_="p")
    assert ContentAwareNodeParser().get_nodes_from_documents([picture]) == [picture]


def test_ids_depend_on_document_span_and_text_only():
    ids = [node.node_id for node in parse(GUIDE)]
    assert ids == [node.node_id for node in parse(GUIDE)]
    assert len(set(ids)) == 4
    edited = parse(GUIDE.replace("Call it", "Push it"))
    assert [node.node_id for node in edited][:3] == ids[:3] and edited[
        3
    ].node_id != ids[3]
    (other,) = ContentAwareNodeParser().get_nodes_from_documents(
        [Document(text="# Guide", id_="e")]
    )
    assert other.node_id != parse("# Guide")[0].node_id
    kept = parse(GUIDE, ContentAwareNodeParser(strip=False, add_context=False))
    assert [node.node_id for node in kept] == ids


def test_id_func_is_honoured():
    parser = ContentAwareNodeParser(id_func=lambda i, doc: f"{doc.node_id}/{i}")
    assert [node.node_id for node in parse(GUIDE, parser)] == [
        "d/0",
        "d/1",
        "d/2",
        "d/3",
    ]


def test_callbacks_and_progress(capsys):
    handler = LlamaDebugHandler(print_trace_on_end=False)
    parser = ContentAwareNodeParser.from_defaults(
        callback_manager=CallbackManager([handler])
    )
    parser.get_nodes_from_documents([Document(text=GUIDE)], show_progress=True)
    assert len(handler.get_event_pairs(CBEventType.NODE_PARSING)) == 1
    assert "Parsing nodes" in capsys.readouterr().err


CHANGES = {
    "chunk_size": 500,
    "tokenizer": words,
    "format": "text",
    "drop_navigation": False,
    "language": "german",
    "strip": False,
    "chunk_overlap": 3,
    "flat_chunk_size": 9,
    "min_chunk_size": 5,
    "add_context": False,
    "exclude_titles": ["Use"],
    "plain_headings": False,
    "include_metadata": False,
    "metadata_lists": True,
    "include_prev_next_rel": False,
    "id_func": lambda i, doc: str(i),
    "sentence_splitter": words,
}


def test_every_setting_is_in_the_dictionary():
    assert set(CHANGES) | {"callback_manager", "algorithm_version"} == set(
        ContentAwareNodeParser.model_fields
    )
    plain = ContentAwareNodeParser().to_dict()
    assert plain == ContentAwareNodeParser().to_dict()
    seen = [
        plain,
        *(
            ContentAwareNodeParser(**{name: value}).to_dict()
            for name, value in CHANGES.items()
        ),
    ]
    seen.append(ContentAwareNodeParser(tokenizer=shouting_words).to_dict())
    seen.append(ContentAwareNodeParser(tokenizer=lambda text: list(text)).to_dict())
    seen.append(ContentAwareNodeParser(id_func=lambda i, doc: f"n{i}").to_dict())
    assert len({json.dumps(found, sort_keys=True) for found in seen}) == len(seen)
    assert not any(" at 0x" in json.dumps(found) for found in seen)


@pytest.mark.parametrize("make", PARSERS)
def test_round_trips_give_the_same_nodes(make):
    parser = make(chunk_size=20, language="german", strip=False)
    expected = parse(GUIDE, parser)
    assert parse(GUIDE, make.from_dict(parser.to_dict())) == expected
    assert parse(GUIDE, make.from_json(parser.to_json())) == expected
    assert parse(GUIDE, pickle.loads(pickle.dumps(parser))) == expected
    assert parse(GUIDE, copy.deepcopy(parser)) == expected
    assert parser.class_name() == make.__name__


def test_callables_are_passed_again_not_imported():
    data = ContentAwareNodeParser(tokenizer=words).to_dict()
    assert data["tokenizer"].endswith(".words")
    with pytest.raises(ValueError, match=r"from_dict\(data, tokenizer=\.\.\.\)"):
        ContentAwareNodeParser.from_dict(data)
    again = ContentAwareNodeParser.from_dict(data, tokenizer=words)
    assert again.to_dict() == data
    with pytest.raises(ValueError, match=r"from_dict\(data, id_func=\.\.\.\)"):
        ContentAwareNodeParser.from_dict(
            ContentAwareNodeParser(id_func=CHANGES["id_func"]).to_dict()
        )


def test_pickle_keeps_the_tokenizer_or_says_why_not():
    parser = ContentAwareNodeParser(tokenizer=words, chunk_size=4)
    assert pickle.loads(pickle.dumps(parser)).tokenizer is words
    local = ContentAwareNodeParser(tokenizer=lambda text: list(text), chunk_size=5)
    with pytest.raises(ValueError, match="tokenizer must be a module-level function"):
        pickle.dumps(local)
    assert max(len(embedded(node)) for node in parse("hello world foo", local)) <= 5


def test_the_global_tokenizer_is_followed_and_travels(monkeypatch):
    parser = ContentAwareNodeParser(chunk_size=4)
    before = parser.to_dict()
    monkeypatch.setattr("llama_index.core.global_tokenizer", words)
    assert parser.to_dict() != before
    assert all(
        len(embedded(node).split()) <= 4
        for node in parse("one two three four five six", parser)
    )
    assert pickle.loads(pickle.dumps(parser)).tokenizer is words


def test_the_global_settings_reach_it(monkeypatch):
    from llama_index.core import Settings

    parser = ContentAwareNodeParser()
    monkeypatch.setattr(Settings, "_node_parser", parser)
    Settings.chunk_size = 12
    assert parser.chunk_size == 12 and len(parse("word " * 40, parser)) > 3


def test_raw_nodes_without_a_source_are_their_own_document():
    nodes = ContentAwareNodeParser()([TextNode(text=GUIDE, id_="n")])
    assert all(
        node.ref_doc_id == "n"
        and GUIDE[node.start_char_idx : node.end_char_idx] == node.text
        for node in nodes
    )
