"""Real documents of every format through the splitters and retrievers, as applications do it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_fakes import EMBEDDING, facts
from places import DATA
from real_documents import EVERYTHING, drawn, queries_of, sources

from langchain_structrag import (
    ContentAwareTextSplitter,
    D3Retriever,
    FixedTextSplitter,
    HiQARetriever,
    HiQATransformer,
    IDMSTextSplitter,
    MultiViewRetriever,
    PICTextSplitter,
)
from langchain_structrag.conversion import to_core

pytestmark = [pytest.mark.slow, pytest.mark.timeout(0 if EVERYTHING else 300)]
SPLITTERS: list[Callable[[], Any]] = [
    partial(ContentAwareTextSplitter, chunk_overlap=100),
    partial(
        ContentAwareTextSplitter, chunk_size=300, min_chunk_size=100, add_context=True
    ),
    partial(FixedTextSplitter, chunk_size=500),
    PICTextSplitter,
    partial(IDMSTextSplitter, enrich="both"),
    HiQATransformer,
]
RETRIEVERS: dict[str, Callable[[], tuple[Any, dict[str, Any]]]] = {
    "views, LSA": lambda: (MultiViewRetriever, {}),
    "views, a store": lambda: (
        MultiViewRetriever,
        {"vectorstore": InMemoryVectorStore(EMBEDDING), "views": ["raw"]},
    ),
    "HiQA": lambda: (HiQARetriever, {"embedding": EMBEDDING}),
    "D3": lambda: (D3Retriever, {"embedding": EMBEDDING}),
}


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    """Some of each format, as a loader gives them."""
    if not DATA.is_dir():
        pytest.skip(f"no evaluation data at {DATA}; set STRUCTRAG_DATA to its folder")
    chosen = chain.from_iterable(
        drawn(group, 12, 1) for group in sources(DATA).values()
    )
    return [
        Document(source.text(), metadata={"source": source.id}) for source in chosen
    ]


@pytest.mark.parametrize("make", SPLITTERS)
def test_splitters(make: Callable[[], Any], documents: list[Document]) -> None:
    splitter = make()
    with_context = splitter._add_context
    for document in documents:
        text = to_core(document).text
        chunks = splitter.split_documents([document])
        assert bool(chunks) == bool(text.strip())
        for chunk in chunks:
            meta = chunk.metadata
            passage = text[meta["start_index"] : meta["end_index"]]
            assert passage.strip() and meta["source"] == document.metadata["source"]
            assert chunk.page_content.endswith(passage) if with_context else True
            # What an enrichment shortened is embedded; the passage is beside it.
            whole = meta.get("segment_text", "") or chunk.page_content
            assert with_context or whole == passage
        assert len({chunk.id for chunk in chunks}) == len(chunks)
        json.dumps([chunk.metadata for chunk in chunks])


@pytest.mark.parametrize("kind", RETRIEVERS)
def test_retrievers(kind: str, documents: list[Document], tmp_path: Path) -> None:
    cores = [to_core(host) for host in documents]
    texts = {core.id: core.text for core in cores}
    make, options = RETRIEVERS[kind]()
    retriever = make.from_documents(documents, **options)
    queries = queries_of(cores, 6)
    answers = [retriever.invoke(query) for query in queries]
    results = list(chain.from_iterable(answers))
    for result in results:
        meta = result.metadata
        assert (
            result.page_content
            == texts[meta["doc_id"]][meta["start_index"] : meta["end_index"]]
        )
        assert json.loads(json.dumps(meta)) == meta
    assert results
    retriever.save(tmp_path / "index")
    opened = make.load(tmp_path / "index", **options)
    assert [facts(opened.invoke(query)) for query in queries] == [
        facts(a) for a in answers
    ]
