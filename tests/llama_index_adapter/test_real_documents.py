"""Real documents of every format through the parsers and retrievers, as applications do it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import MetadataMode
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index_fakes import HashEmbedding
from places import DATA
from real_documents import EVERYTHING, drawn, queries_of, sources

from llama_index_structrag import (
    ContentAwareNodeParser,
    D3Retriever,
    FixedNodeParser,
    HiQANodeParser,
    HiQARetriever,
    IDMSNodeParser,
    MultiViewRetriever,
    PICNodeParser,
)
from llama_index_structrag.conversion import index_document
from structrag.text.tokens import count_tokens

pytestmark = [pytest.mark.slow, pytest.mark.timeout(0 if EVERYTHING else 300)]
PARSERS: list[Callable[..., Any]] = [
    partial(ContentAwareNodeParser, chunk_size=200, chunk_overlap=40),
    partial(FixedNodeParser, chunk_size=150),
    PICNodeParser,
    partial(IDMSNodeParser, enrich="both"),
    HiQANodeParser,
]
RETRIEVERS: dict[str, Callable[[], tuple[Any, dict[str, Any]]]] = {
    "views, LSA": lambda: (MultiViewRetriever, {}),
    "views, a store": lambda: (
        MultiViewRetriever,
        {
            "embed_model": HashEmbedding(),
            "vector_store": SimpleVectorStore(),
            "views": ["raw"],
        },
    ),
    "HiQA": lambda: (HiQARetriever, {"embed_model": HashEmbedding()}),
    "D3": lambda: (D3Retriever, {"embed_model": HashEmbedding()}),
}


def pieces(text: str) -> list[str]:
    """As many pieces as the text counts tokens: a tokenizer that costs little."""
    return [""] * count_tokens(text)


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    """Some of each format, as a reader gives them."""
    if not DATA.is_dir():
        pytest.skip(f"no evaluation data at {DATA}; set STRUCTRAG_DATA to its folder")
    chosen = chain.from_iterable(
        drawn(group, 12, 1) for group in sources(DATA).values()
    )
    return [
        Document(text=source.text(), id_=source.id, metadata={"file_path": source.id})
        for source in chosen
    ]


@pytest.mark.parametrize("make", PARSERS)
def test_parsers(make: Callable[..., Any], documents: list[Document]) -> None:
    parser = make(tokenizer=pieces)
    texts = {host.doc_id: index_document(host).text for host in documents}
    nodes = IngestionPipeline(transformations=[parser], disable_cache=True).run(
        documents=documents
    )
    for node in nodes:
        passage = texts[node.ref_doc_id][node.start_char_idx : node.end_char_idx]
        assert node.text == passage and passage.strip()
        size = count_tokens(node.get_content(metadata_mode=MetadataMode.EMBED))
        assert size <= parser.chunk_size or node.metadata["oversize"]
        json.dumps(node.metadata)
    assert {node.ref_doc_id for node in nodes} == {
        name for name in texts if texts[name].strip()
    }
    assert len({node.node_id for node in nodes}) == len(nodes)


@pytest.mark.parametrize("kind", RETRIEVERS)
def test_retrievers(kind: str, documents: list[Document], tmp_path: Path) -> None:
    cores = [index_document(host) for host in documents]
    texts = {core.id: core.text for core in cores}
    make, options = RETRIEVERS[kind]()
    retriever = make.from_documents(documents, **options)
    queries = queries_of(cores, 6)
    answers = [retriever.retrieve(query) for query in queries]
    results = list(chain.from_iterable(answers))
    for result in results:
        node = result.node
        assert (
            node.text == texts[node.ref_doc_id][node.start_char_idx : node.end_char_idx]
        )
        assert json.loads(json.dumps(node.metadata)) == node.metadata
    assert results
    retriever.save(tmp_path / "index")
    opened = make.load(tmp_path / "index", **options)
    again = [opened.retrieve(query) for query in queries]
    assert [[r.to_dict() for r in a] for a in again] == [
        [r.to_dict() for r in a] for a in answers
    ]
