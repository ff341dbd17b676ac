"""The keys of metadata: both adapter packages write the same ones, and the table in
docs/reference.md has them all."""

from __future__ import annotations

import re
from typing import Any

import pytest
from fixture_cases import examples
from places import ROOT

import structrag.integrations.metadata as keys
from structrag.integrations.metadata import (
    D3_KEYS,
    HIQA_KEYS,
    IDMS_KEYS,
    PIC_KEYS,
    context_notes,
    d3_notes,
    full_notes,
    header_notes,
    oversize_notes,
    page_label,
    score_notes,
    source_notes,
    without_page_starts,
)
from structrag.records import Chunk, Hit

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
    "two_hop_entities",
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
    for method in (PIC_KEYS, IDMS_KEYS, HIQA_KEYS, D3_KEYS):
        own |= set(method.values())
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
        told = {key for document in found for key in known(document.metadata.full())}
        assert told == {key for node in nodes for key in known(node.metadata.full())}
        two = langchain.TwoHopRetriever(retriever=first).invoke(question)
        twice = llama_index.TwoHopRetriever(second).retrieve(question)
        assert (
            known(two[0].metadata.full()) == known(twice[0].metadata.full())
            and "two_hop_entities" in two[0].metadata
        )


def test_a_chunk_of_an_index_has_its_place_with_it() -> None:
    extras = {"source_start": 4, "source_end": 9, "other": 1}
    chunk = Chunk("c", "d", "0", 0, 1, "x", extras=extras)
    assert source_notes(chunk) == {"source_start": 4, "source_end": 9}
    plain = Chunk("c", "d", "0", 3, 4, "x")
    assert source_notes(plain) == {"source_start": 3, "source_end": 4}


def test_all_is_noted_of_every_chunk() -> None:
    plain = Chunk("c", "d", "0", 0, 1, "x")
    assert oversize_notes(plain) == {"oversize": False}
    assert context_notes(plain) == {"context_shortened": False}
    assert header_notes(plain) == {"table_header": ""}
    for method in (PIC_KEYS, IDMS_KEYS, HIQA_KEYS):
        notes = full_notes(plain, method)
        assert notes.keys() == set(method.values())
        assert all(type(value) in (str, int, float, bool) for value in notes.values())
    extras = {"oversize": True, "context_shortened": True}
    chunk = Chunk("c", "d", "0", 0, 1, "x", extras=extras)
    assert oversize_notes(chunk) == {"oversize": True}
    assert context_notes(chunk) == {"context_shortened": True}
    nothing = {"routes": {}, "scores": {}, "score_parts": {}}
    assert score_notes(Hit(chunk, 1.0, 1)) == nothing
    hit = Hit(chunk, 1.0, 1, {"bm25": 3}, {"bm25": 2}, {"bm25": 1})
    assert score_notes(hit) == {
        "routes": {"bm25": 3},
        "scores": {"bm25": 2.0},
        "score_parts": {"bm25": 1.0},
    }
    table = Chunk("c", "d", "0", 0, 1, "x", context="| a |")
    assert header_notes(table) == {"table_header": "| a |"}


PLAIN = Chunk("c", "d", "s", 80, 195, "x", path=("A", "B"))


@pytest.mark.parametrize(
    ("method_keys", "notes"),
    [
        (
            PIC_KEYS,
            {
                "pic_relevant": False,
                "pic_mean_similarity": 0.0,
                "pic_threshold": 0.0,
                "pic_degraded": False,
            },
        ),
        (
            IDMS_KEYS,
            {
                "idms_margin": 0.0,
                "idms_margin_source": "",
                "idms_margin_fallbacks": 0,
                "idms_degraded": False,
                "idms_density": 0.0,
                "idms_action": "none",
                "idms_reduced": "",
                "idms_added": "[]",
            },
        ),
        (
            HIQA_KEYS,
            {
                "hiqa_kind": "text",
                "hiqa_images": "[]",
                "hiqa_caption": "",
                "hiqa_description": "",
                "hiqa_part": 0,
                "hiqa_parts": 0,
                "hiqa_degraded": False,
                "table_header": "",
            },
        ),
    ],
)
def test_a_chunk_of_which_nothing_is_known_has_every_key(
    method_keys: dict[str, str], notes: dict[str, Any]
) -> None:
    assert full_notes(PLAIN, method_keys) == notes
    lists = {key: [] if value == "[]" else value for key, value in notes.items()}
    assert full_notes(PLAIN, method_keys, lists=True) == lists


@examples
def test_pages_of_a_chunk_are_a_number_or_from_to(
    starts: str | None, label: str
) -> None:
    meta = {"title": "T"} if starts is None else {"title": "T", "page_starts": starts}
    assert page_label(meta, PLAIN) == label
    assert without_page_starts(meta) == {"title": "T"}


def test_one_paragraph_and_one_chunk_have_empty_lists() -> None:
    assert d3_notes(PLAIN) == {"d3_kind": "text"}
