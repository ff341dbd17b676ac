"""Metadata that every vector store takes, and parsing what was parsed."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.schema import MetadataMode

from llama_index_structrag import (
    ContentAwareNodeParser,
    FixedNodeParser,
    HiQANodeParser,
    IDMSNodeParser,
    PICNodeParser,
)

PARSERS = [
    ContentAwareNodeParser,
    FixedNodeParser,
    PICNodeParser,
    IDMSNodeParser,
    partial(IDMSNodeParser, enrich="both"),
    HiQANodeParser,
]
ROWS = "".join(f"| part {i} | {i} |\n" for i in range(60))
GUIDE = (
    "A preface.\n\n# Guide\n\nPumps move water. Seals leak.\n\n## Cleaning\n\nRinse the filter. "
    f"Dry it.\n\n![Plan](plan.png)\n\n## Parts\n\n| Name | Price |\n|---|---|\n{ROWS}"
)


def documents() -> list[Document]:
    return [
        Document(
            text="Just a paragraph.", id_="plain", metadata={"file_name": "plain.txt"}
        ),
        Document(
            text="<h1>Page</h1><p>One &amp; two.</p><p>Three.</p>",
            id_="page",
            metadata={"file_name": "page.html"},
        ),
        Document(text=GUIDE, id_="guide", metadata={"file_name": "guide.md"}),
    ]


@pytest.mark.parametrize("make", PARSERS)
def test_only_keys_that_are_there_are_excluded(make: Any) -> None:
    for node in make(chunk_size=60).get_nodes_from_documents(documents()):
        for keys in (
            node.excluded_embed_metadata_keys,
            node.excluded_llm_metadata_keys,
        ):
            assert len(set(keys)) == len(keys) and set(keys) <= node.metadata.keys()
        for mode in (MetadataMode.EMBED, MetadataMode.LLM):
            shown = node.get_content(metadata_mode=mode)
            assert "section_id" not in shown and "heading_context: \n" not in shown


def test_a_node_is_short_as_json() -> None:
    nodes = ContentAwareNodeParser().get_nodes_from_documents([documents()[2]])
    sizes = [len(json.dumps(node.to_dict())) - len(node.text) for node in nodes]
    assert max(sizes) < 2000
    assert all(len(node.excluded_embed_metadata_keys) <= 8 for node in nodes)


def test_lists_where_they_are_asked_for() -> None:
    parser = HiQANodeParser(metadata_lists=True)
    nodes = parser.get_nodes_from_documents([documents()[2]])
    (image,) = (node for node in nodes if node.metadata["hiqa_kind"] == "image")
    assert image.metadata["heading_path"] == ["Guide", "Cleaning"]
    assert image.metadata["hiqa_images"][0]["file"] == "plan.png"
