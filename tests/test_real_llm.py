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


@pytest.fixture(params=["sample", "qasper", "nq", "cuad", "qmsum"])
def source(request: pytest.FixtureRequest) -> Document:
    """The sample, or the beginning of a real document."""
    if request.param == "sample":
        return document()
    request.getfixturevalue("data_dir")
    from benchmarks.question_sets import load, visible

    first = visible(load(request.param)).documents[0]
    return replace(first, text=first.text[:600], format="text", layout=None)


@pytest.mark.parametrize("name", SPLITTERS)
def test_splitters(llm: Any, source: Document, name: str) -> None:
    whole(SPLITTERS[name]().split(source, llm=llm), source.text)


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_enrichment(llm: Any, source: Document, preset: str) -> None:
    everything: dict[str, Any] = {"low": 2.0, "high": 2.0, "min_tokens": 0}
    make = IDMSEnricher.paper if preset == "paper" else IDMSEnricher
    chunks = IDMSSplitter(margin="words", min_tokens=0, max_tokens=60).split(source)
    enriched = make(**everything).enrich(source, chunks, llm=llm)
    assert [chunk.text for chunk in enriched] == [chunk.text for chunk in chunks]
    whole(enriched, source.text)


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_views(llm: Any, source: Document, preset: str) -> None:
    index = Index(llm=llm, preset=preset)
    # else short sections are their own summaries
    index.view_settings = replace(index.view_settings, summary_min_tokens=5)
    report = index.add([source])
    assert report.usage["calls"] and not report.usage["failed"]
    whole(index.chunks(), source.text)
    assert MultiViewRetriever(index, preset=preset).search(source.text[:100])


@pytest.mark.parametrize("make", [HiQAFormatter, HiQAFormatter.paper])
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


# -- both frameworks


@pytest.fixture(scope="module", params=["langchain", "llama_index"])
def framework(request: pytest.FixtureRequest) -> Any:
    frameworks = pytest.importorskip("frameworks")
    return next(one for one in frameworks.FRAMEWORKS if one.name == request.param)


@pytest.mark.parametrize("paper", [False, True])
@pytest.mark.parametrize("name", ["PIC", "IDMS"])
def test_splitters_of_frameworks(
    framework: Any, llm: Any, name: str, paper: bool
) -> None:
    make = framework.splitter_class(name)
    splitter = (make.paper if paper else make)(llm=llm)
    parts = framework.split(splitter, framework.document(TEXT, "pump"))
    words = [part.metadata.get("segment_text") or part.text for part in parts]
    assert set(TEXT.split()) <= set(" ".join(words).split())


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_retrievers_of_frameworks(framework: Any, llm: Any, preset: str) -> None:
    documents = [framework.document(TEXT, "pump")]
    multiview, d3 = (
        framework.kind(name).from_documents(documents, llm=llm, preset=preset)
        for name in ("MultiView", "D3")
    )
    assert framework.ask(multiview, QUESTION)
    answer = framework.answer(framework.self_ask(d3, llm), QUESTION)["answer"]
    assert isinstance(answer, str)
    assert isinstance(framework.ask(d3, QUESTION), list)


def test_formatters_of_frameworks(framework: Any, llm: Any) -> None:
    formatter = framework.get("HiQAFormatter")(llm=llm)
    (formatted,) = framework.format(formatter, framework.document(PLAIN, "manual"))
    assert covers_all_text(PLAIN, framework.passage(formatted).text)


def test_a_gguf_file_is_a_language_model(smollm_file: Path) -> None:
    from structrag.models import TransformersModel

    model = TransformersModel(str(smollm_file), max_new_tokens=8)
    assert "Paris" in model.complete("What is the capital of France? One word.")
