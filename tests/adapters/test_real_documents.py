"""Real documents of every format through splitters and retrievers, as applications do it."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from frameworks import SPLITTERS
from places import DATA
from real_documents import EVERYTHING, drawn, queries_of, sources

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.timeout(0 if EVERYTHING else 300),
]


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """Some of each format, as a loader gives them."""
    if not DATA.is_dir():
        pytest.skip(f"no evaluation data at {DATA}; set STRUCTRAG_DATA to its folder")
    chosen = chain.from_iterable(
        drawn(group, 12, 1) for group in sources(DATA).values()
    )
    return {source.id: source.text() for source in chosen}


def documents(framework: Any, texts: dict[str, str]) -> list[Any]:
    key = framework.path_key
    return [framework.document(text, id, **{key: id}) for id, text in texts.items()]


@pytest.mark.parametrize("name", SPLITTERS)
def test_splitters(framework: Any, name: str, texts: dict[str, str]) -> None:
    hosts = documents(framework, texts)
    read = {
        host.metadata[framework.path_key]: framework.to_core(host).text
        for host in hosts
    }
    splitter = framework.splitter(name, 150)
    chunks = framework.split(splitter, *hosts)
    for chunk in chunks:
        text = read[chunk.metadata[framework.path_key]]
        assert text[chunk.start : chunk.end] == chunk.text and chunk.text.strip()
        # HiQA's limit in LangChain is one of the index text.
        is_shown = (framework.name, name) == ("langchain", "HiQA")
        assert is_shown or framework.size(chunk) <= 150 or chunk.metadata["oversize"]
        json.dumps(dict(chunk.metadata))
    assert {chunk.metadata[framework.path_key] for chunk in chunks} == {
        id for id, text in read.items() if text.strip()
    }
    assert len({chunk.id for chunk in chunks}) == len(chunks)


@pytest.mark.parametrize(
    "name", ["MultiView by LSA", "MultiView in a store", "HiQA", "D3"]
)
def test_retrievers(
    framework: Any, name: str, texts: dict[str, str], tmp_path: Path
) -> None:
    hosts = documents(framework, texts)
    cores = [framework.to_core(host) for host in hosts]
    read = {core.id: core.text for core in cores}
    options: dict[str, Any] = {"embedding": "lsa"} if name.endswith("LSA") else {}
    options |= {**framework.store(), "views": ["raw"]} if name.endswith("store") else {}
    kind = name.partition(" ")[0]
    retriever = framework.index(kind, hosts, **options)
    queries = queries_of(cores, 6)
    answers = [framework.ask(retriever, query) for query in queries]
    for one in chain.from_iterable(answers):
        assert read[one.doc_id][one.start : one.end] == one.text
        facts = one.metadata.full()
        assert json.loads(json.dumps(facts)) == facts
    assert any(answers)
    retriever.save(tmp_path / "index")
    opened = framework.kind(kind).load(
        tmp_path / "index", **(options or {"embedding": framework.embedding()})
    )
    assert [framework.ask(opened, query) for query in queries] == answers
