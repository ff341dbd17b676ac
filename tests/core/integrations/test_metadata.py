"""The keys of metadata: both adapter packages write the same ones, and the table in
docs/reference.md has them all."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from fixture_cases import examples
from places import ROOT

import structrag.integrations.metadata as keys
from structrag.records import Chunk

REFERENCE = ROOT / "docs" / "reference.md"
ROWS = "".join(f"| part {i} | {i} |\n" for i in range(60))
TEXT = (
    "# Pump\n\nThe PX-10 moves water.\n\n## Parts\n\nTable 1: parts\n\n| Name | Price "
    "|\n|---|---|\n"
    + ROWS
    + "\n## Wiring\n\nSee the drawing of the PX-10.\n\n![Plan](plan.png)\n\nFigure 1: plan\n"
)
HTML = f"<h1>Pump</h1><p>{'It moves water. ' * 40}</p>"
SHARED = {
    "section_id",
    "heading_path",
    "table_header",
    "oversize",
    "routes",
    "scores",
    "views_hit",
    "section_paths",
}
PREFIXES = (
    "pic_",
    "idms_",
    "hiqa_",
    "d3_",
    "source_",
    "structrag_",
    "format_",
    "text_format",
)


def known(metadata: dict[str, Any]) -> set[str]:
    """The keys that mean the same in both packages."""
    return {key for key in metadata if key in SHARED or key.startswith(PREFIXES)}


def test_the_table_has_every_key() -> None:
    table = set(re.findall(r"`(\w+)`", REFERENCE.read_text(encoding="utf-8")))
    own = {value for name, value in vars(keys).items() if name.endswith("_KEY")}
    for table_of in TABLES:
        own |= set(table_of.values())
    hidden = pytest.importorskip("llama_index_structrag.conversion")
    assert own <= table
    assert {*hidden.OWN_KEYS, hidden.CONTEXT_KEY} <= table


@pytest.mark.parametrize("method", ["ContentAware", "PIC", "IDMS"])
@pytest.mark.parametrize("text", [TEXT, HTML], ids=["markdown", "html"])
def test_both_packages_split_with_the_same_keys(method: str, text: str) -> None:
    langchain, llama_index = (
        pytest.importorskip("langchain_structrag"),
        pytest.importorskip("llama_index_structrag"),
    )
    from llama_index.core.schema import Document

    chunks = getattr(langchain, f"{method}TextSplitter")(
        chunk_size=300
    ).create_documents([text])
    nodes = getattr(llama_index, f"{method}NodeParser")(
        chunk_size=75
    ).get_nodes_from_documents([Document(text=text)])
    told = {key for chunk in chunks for key in known(chunk.metadata)}
    assert told - {"table_header"} == {
        key for node in nodes for key in known(node.metadata)
    }
    assert (
        any(key.startswith(method.lower()) for key in told) or method == "ContentAware"
    )
    assert "source_end" in told or text == TEXT


def test_both_packages_retrieve_with_the_same_keys() -> None:
    langchain, llama_index = (
        pytest.importorskip("langchain_structrag"),
        pytest.importorskip("llama_index_structrag"),
    )
    from langchain_core.documents import Document
    from llama_index.core.schema import Document as LlamaDocument

    own, theirs = (
        [Document(TEXT, metadata={"source": "a.md"})],
        [LlamaDocument(text=TEXT, id_="a")],
    )
    for name in ("MultiViewRetriever", "HiQARetriever", "D3Retriever"):
        first = getattr(langchain, name).from_documents(own)
        second = getattr(llama_index, name).from_documents(theirs)
        question = "What does the wiring plan of the PX-10 show?"
        found, nodes = first.invoke(question), second.retrieve(question)
        told = {key for document in found for key in known(document.metadata)}
        assert told == {key for node in nodes for key in known(node.metadata)}


CHUNK = Chunk("c", "d", "s", 80, 195, "x", path=("A", "B"))
TABLES = [
    {**keys.OVERSIZE_KEYS, **keys.CONTEXT_KEYS, **keys.VIEWS_KEYS, **keys.SECTION_KEYS},
    keys.PIC_KEYS,
    keys.IDMS_KEYS,
    keys.HIQA_KEYS,
    keys.HIQA_HIT_KEYS,
    keys.D3_KEYS,
]


def test_what_is_known_of_a_chunk_is_copied_and_lists_are_json() -> None:
    extras = {"images": [{"file": "a.png"}], "part": 2, "source_start": 4, "other": 1}
    chunk = replace(CHUNK, kind="image", extras=extras)
    notes = keys.chunk_notes(chunk, keys.HIQA_KEYS)
    assert (notes["hiqa_kind"], notes["hiqa_part"]) == ("image", 2)
    assert notes["hiqa_images"] == '[{"file": "a.png"}]'
    images = keys.chunk_notes(chunk, keys.HIQA_KEYS, lists=True)["hiqa_images"]
    assert images == extras["images"] and images is not extras["images"]
    assert keys.source_notes(chunk) == {"source_start": 4, "source_end": 195}


@examples
def test_pages_of_a_chunk_are_a_number_or_from_to(
    starts: str | None, label: str
) -> None:
    meta = {"title": "T"} if starts is None else {"title": "T", "page_starts": starts}
    assert keys.place_notes(meta, CHUNK).get("page_label", "") == label
    assert keys.without_page_starts(meta) == {"title": "T"}
