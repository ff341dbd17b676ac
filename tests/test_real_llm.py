"""Every path of every method with a real, very small language model, in the core and both
frameworks: no exception, no lost text, every chunk a slice of its document. `make test-llm`."""

from __future__ import annotations

import asyncio
import os
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from structrag import (
    D3Index,
    D3Retriever,
    Document,
    HiQAFormatter,
    HiQARetriever,
    HiQASplitter,
    IDMSEnricher,
    IDMSSplitter,
    Index,
    MultiViewRetriever,
    PICSplitter,
    SelfAsk,
    TwoHop,
    read_text,
)
from structrag.model_calls.cache import Cache
from structrag.retrieval import Selection

pytestmark = [
    pytest.mark.slow,
    pytest.mark.llm,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        not os.environ.get("STRUCTRAG_LLM"), reason="run by make test-llm"
    ),
]

TEXT = """# The X100 pump

The X100 moves water from the tank to the boiler. It was built by Acme Works in 1968.

## Maintenance

Rinse the filter every week. The seal of the shaft wears out after two years, and a worn seal lets
water into the motor. Order the seal by its code, SK-22.

## Acme Works

Acme Works was founded in Bergen by Ada Holm. It employs forty people, who build pumps and valves.

| part | code | weight |
|---|---|---|
| seal | SK-22 | 40 g |
| filter | FT-7 | 120 g |

## Herons

Herons nest in alders near the water. In spring they come back and build where they built before.
"""
PLAIN = (
    "1 Overview\n\nThe pump moves water from the tank.\n\n1.1 Safety\n\nSwitch it off before you "
    "open it.\n\n2 Technical data\n\nIt weighs nine kilograms.\n"
)
QUESTION = "Where was the maker of the X100 founded?"


@pytest.fixture(scope="module")
def llm(smollm: tuple[Any, Any]) -> Any:
    from structrag.models import TransformersModel

    return TransformersModel(*smollm, max_new_tokens=40, window=2048)


@pytest.fixture(autouse=True)
def warnings_pass() -> Iterator[None]:
    """That answers cannot be used is what warnings are for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def document() -> Document:
    return read_text(TEXT, format="markdown", id="pump", title="The X100 pump")


def whole(chunks: Any, text: str = TEXT) -> None:
    """Every chunk is a slice, and they hold the whole text."""
    assert chunks and all(
        text[chunk.start : chunk.end] == chunk.text for chunk in chunks
    )
    covered = set()
    for chunk in chunks:
        covered.update(range(chunk.start, chunk.end))
    assert not "".join(c for i, c in enumerate(text) if i not in covered).strip()


def covers_all_text(source: str, text: str) -> bool:
    """Whether every word of a source is in a text."""
    return set(re.findall(r"\w+", source)) <= set(re.findall(r"\w+", text))


# -- the core

SPLITTERS: dict[str, Callable[[], Any]] = {
    "PIC": lambda: PICSplitter(scope="document", min_tokens=10),
    "PIC by section": lambda: PICSplitter(scope="section", min_tokens=10),
    "PIC of the paper": PICSplitter.paper,
    "IDMS": lambda: IDMSSplitter(min_tokens=10, max_tokens=80),
    "IDMS by chunk": lambda: IDMSSplitter(context="chunk", min_tokens=10),
    "IDMS of the paper": IDMSSplitter.paper,
}


@pytest.mark.parametrize("name", SPLITTERS)
def test_splitters(llm: Any, name: str) -> None:
    whole(SPLITTERS[name]().split(document(), llm=llm))


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_enrichment(llm: Any, preset: str) -> None:
    everything: dict[str, Any] = {"low": 2.0, "high": 2.0, "min_tokens": 0, "rounds": 1}
    make = IDMSEnricher.paper if preset == "paper" else IDMSEnricher
    chunks = IDMSSplitter(margin="words", min_tokens=0, max_tokens=60).split(document())
    enriched = make(**everything).enrich(document(), chunks, llm=llm)
    assert [chunk.text for chunk in enriched] == [chunk.text for chunk in chunks]
    whole(enriched)


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_views(llm: Any, preset: str) -> None:
    index = Index(llm=llm, preset=preset)
    # else short sections are their own summaries
    index.view_settings = replace(index.view_settings, summary_min_tokens=5)
    report = index.add([document()])
    assert report.usage["calls"] and not report.usage["failed"]
    assert MultiViewRetriever(index, preset=preset).search(QUESTION)


@pytest.mark.parametrize(
    "make", [HiQAFormatter, HiQAFormatter.paper, HiQAFormatter.code]
)
def test_hiqa(llm: Any, make: Callable[..., HiQAFormatter]) -> None:
    formatted = make(llm=llm).format(PLAIN)
    assert covers_all_text(PLAIN, formatted.document.text)
    index = Index(splitter=HiQASplitter(), views=("raw",))
    index.add([formatted.document])
    for preset in ("default", "paper", "code"):
        assert HiQARetriever(index, preset=preset).search("How heavy is the pump?")


D3: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": {"preset": "paper"},
    "hierbase": {"strategy": "hierbase"},
    "hierbase of the paper": {"preset": "paper", "strategy": "hierbase"},
    "chain": {"selection": Selection(strategy="base+lexical", k=2)},
}


@pytest.fixture(scope="module")
def d3(llm: Any) -> dict[str, D3Index]:
    indexes = {}
    for preset in ("default", "paper"):
        indexes[preset] = D3Index(
            llm=llm, preset=preset, whole_tokens=0, cache=Cache(":memory:")
        )
        indexes[preset].add([document()])
    return indexes


@pytest.mark.parametrize("name", D3)
def test_d3(llm: Any, d3: dict[str, D3Index], name: str) -> None:
    options = D3[name]
    index = d3[options.get("preset", "default")]
    result = D3Retriever(index, llm=llm, **options).result(QUESTION)
    assert result.route is not None and result.route.cost.calls
    assert all(
        TEXT[hit.chunk.start : hit.chunk.end] == hit.chunk.text for hit in result.hits
    )


def test_several_hops(llm: Any, d3: dict[str, D3Index]) -> None:
    retriever = D3Retriever(d3["default"], llm=llm)
    for options in ({}, {"min_followups": 0}, {"max_followups": 1}):
        result = SelfAsk(retriever, llm, **options).answer(QUESTION)
        assert isinstance(result.answer, str)
    assert TwoHop(retriever).search(QUESTION) is not None


async def test_on_an_event_loop(llm: Any) -> None:
    index = Index(llm=llm)
    await index.aadd([document()])
    assert await MultiViewRetriever(index).asearch(QUESTION)
    d3 = D3Index(llm=llm)
    await d3.aadd([document()])
    retriever = D3Retriever(d3, llm=llm)
    await asyncio.gather(
        retriever.aresult(QUESTION), retriever.aresult("Where do herons nest?")
    )


def test_prompts_above_the_window(smollm: tuple[Any, Any]) -> None:
    from structrag.models import TransformersModel

    small = TransformersModel(*smollm, max_new_tokens=16, window=128)
    index = Index(llm=small, preset="paper")
    report = index.add([document()])
    assert not report.usage["failed"] and small.cuts.prompts
    whole(IDMSSplitter.paper().split(document(), llm=small))
    whole(PICSplitter.paper().split(document(), llm=small))
    assert D3Retriever(D3Index(), llm=small).search(QUESTION) == []


@pytest.mark.parametrize("name", ["qasper", "nq", "cuad", "qmsum"])
def test_the_beginning_of_a_real_document(
    smollm: tuple[Any, Any], data_dir: Path, name: str
) -> None:
    from benchmarks.question_sets import load, visible
    from structrag.models import TransformersModel

    llm = TransformersModel(*smollm, max_new_tokens=16, window=1024)
    source = visible(load(name)).documents[0]
    part = replace(source, text=source.text[:600], format="text", layout=None)
    paths: list[Any] = [
        PICSplitter(min_tokens=10),
        PICSplitter.paper(),
        IDMSSplitter(min_tokens=10),
        IDMSSplitter.paper(),
    ]
    for splitter in paths:
        whole(splitter.split(part, llm=llm), part.text)
    for options in ({}, {"preset": "paper"}):
        index = Index(llm=llm, **options)
        index.view_settings = replace(index.view_settings, summary_min_tokens=30)
        assert not index.add([part]).usage["failed"]
        whole(index.chunks(), part.text)
    pieces = IDMSSplitter(margin="words", min_tokens=0, max_tokens=80).split(part)
    for make in (IDMSEnricher, IDMSEnricher.paper):
        enricher = make(low=2.0, high=2.0, min_tokens=0)
        whole(enricher.enrich(part, pieces, llm=llm), part.text)
    for form in (HiQAFormatter, HiQAFormatter.paper):
        assert covers_all_text(part.text, form(llm=llm).format(part.text).document.text)
    for preset in ("default", "paper"):
        sections = D3Index(llm=llm, preset=preset, whole_tokens=0)
        sections.add([part])
        result = D3Retriever(sections, llm=llm, preset=preset).result(QUESTION)
        assert all(
            part.text[hit.chunk.start : hit.chunk.end] == hit.chunk.text
            for hit in result.hits
        )
        assert isinstance(
            SelfAsk(D3Retriever(sections), llm).answer(QUESTION).answer, str
        )


# -- LangChain


@pytest.fixture(scope="module")
def langchain() -> Any:
    pytest.importorskip(
        "langchain_core", reason="the extra 'langchain' is not installed"
    )
    from langchain_core.documents import Document as LangChainDocument

    import langchain_structrag

    return langchain_structrag, [
        LangChainDocument(page_content=TEXT, metadata={"source": "pump.md"})
    ]


LANGCHAIN: dict[str, Callable[[Any, Any], Any]] = {
    "PIC": lambda package, llm: package.PICTextSplitter(llm=llm),
    "PIC of the paper": lambda package, llm: package.PICTextSplitter.paper(llm=llm),
    "IDMS": lambda package, llm: package.IDMSTextSplitter(llm=llm, chunk_size=400),
    "IDMS of the paper": lambda package, llm: package.IDMSTextSplitter.paper(llm=llm),
}


@pytest.mark.parametrize("name", LANGCHAIN)
def test_langchain_splitters(langchain: Any, llm: Any, name: str) -> None:
    package, documents = langchain
    parts = LANGCHAIN[name](package, llm).split_documents(documents)
    words = set(
        " ".join(p.metadata.get("segment_text", p.page_content) for p in parts).split()
    )
    assert set(TEXT.split()) <= words


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_langchain_retrievers(langchain: Any, llm: Any, preset: str) -> None:
    package, documents = langchain
    multiview = package.MultiViewRetriever.from_documents(
        documents, llm=llm, preset=preset
    )
    assert multiview.invoke(QUESTION)
    d3 = package.D3Retriever.from_documents(documents, llm=llm, preset=preset)
    assert isinstance(d3.invoke(QUESTION), list)
    assert isinstance(package.SelfAsk(d3, llm).invoke(QUESTION)["answer"], str)
    assert isinstance(package.TwoHopRetriever(retriever=d3).invoke(QUESTION), list)


def test_langchain_formatter(langchain: Any, llm: Any) -> None:
    package, _ = langchain
    from langchain_core.documents import Document as LangChainDocument

    source = LangChainDocument(page_content=PLAIN, metadata={"source": "manual.txt"})
    (formatted,) = package.HiQAFormatter(llm=llm).transform_documents([source])
    assert covers_all_text(PLAIN, formatted.page_content)


# -- LlamaIndex


@pytest.fixture(scope="module")
def llama_index() -> Any:
    pytest.importorskip(
        "llama_index.core", reason="the extra 'llama-index' is not installed"
    )
    from llama_index.core import Document as LlamaIndexDocument

    import llama_index_structrag

    metadata = {"file_type": "text/markdown"}
    return llama_index_structrag, [
        LlamaIndexDocument(text=TEXT, id_="pump", metadata=metadata)
    ]


LLAMA_INDEX: dict[str, Callable[[Any, Any], Any]] = {
    "PIC": lambda package, llm: package.PICNodeParser(llm=llm),
    "PIC of the paper": lambda package, llm: package.PICNodeParser.paper(llm=llm),
    "IDMS": lambda package, llm: package.IDMSNodeParser(llm=llm, chunk_size=100),
    "IDMS of the paper": lambda package, llm: package.IDMSNodeParser.paper(llm=llm),
}


@pytest.mark.parametrize("name", LLAMA_INDEX)
def test_llama_index_parsers(llama_index: Any, llm: Any, name: str) -> None:
    package, documents = llama_index
    nodes = LLAMA_INDEX[name](package, llm).get_nodes_from_documents(documents)
    assert set(TEXT.split()) <= set(" ".join(node.text for node in nodes).split())


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_llama_index_retrievers(llama_index: Any, llm: Any, preset: str) -> None:
    package, documents = llama_index
    multiview = package.MultiViewRetriever.from_documents(
        documents, llm=llm, preset=preset
    )
    assert multiview.retrieve(QUESTION)
    d3 = package.D3Retriever.from_documents(documents, llm=llm, preset=preset)
    assert isinstance(d3.retrieve(QUESTION), list)
    assert isinstance(str(package.SelfAskQueryEngine(d3, llm).query(QUESTION)), str)
    assert isinstance(package.TwoHopRetriever(d3).retrieve(QUESTION), list)


def test_llama_index_formatter(llama_index: Any, llm: Any) -> None:
    package, _ = llama_index
    from llama_index.core import Document as LlamaIndexDocument

    (formatted,) = package.HiQAFormatter(llm=llm)(
        [LlamaIndexDocument(text=PLAIN, id_="m")]
    )
    assert covers_all_text(PLAIN, formatted.text)


def test_a_gguf_file_is_a_language_model(smollm_file: Path) -> None:
    from structrag.models import TransformersModel

    model = TransformersModel(str(smollm_file), max_new_tokens=8)
    assert "Paris" in model.complete("What is the capital of France? One word.")
