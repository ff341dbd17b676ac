"""An answer that cannot be used is not kept: the next run asks again, and only what was not
answered well."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from doubles import HashEmbedder, Reluctant, ScriptedModel

from structrag import (
    Cache,
    ContentAwareSplitter,
    Document,
    HiQAFormatter,
    Index,
    PICSplitter,
    SelfAsk,
    read_text,
)
from structrag.asking.requests import Ask
from structrag.asking.runner import Runner
from structrag.chunks.enriching.density import DensitySettings, density_steps
from structrag.chunks.enriching.enricher import IDMSEnricher
from structrag.retrieval.d3.condensing import SectionSplitter
from structrag.retrieval.d3.index import D3Index
from structrag.retrieval.d3.outlines import Routing
from structrag.retrieval.d3.retriever import D3Retriever

WORDS = "The red engine pulls the long train over the high bridge near Oslo every morning. " * 20
TEXT = f"# Guide\n\n## Engines\n\n{WORDS}\n\n## Bridges\n\n{WORDS.replace('engine', 'crane')}\n"
VIEWS = json.dumps({"summary": "A red machine crosses a bridge.", "keywords": ["Oslo", "bridge"]})


def guide(**options: Any) -> Document:
    return read_text(TEXT, id="guide.md", **options)


def make_index(llm: Reluctant, cache: Cache | None) -> Index:
    return Index(
        embedder=HashEmbedder(),
        llm=llm.model,
        cache=cache,
        splitter=ContentAwareSplitter(max_tokens=None),
    )


@pytest.mark.parametrize("cached", [True, False])
def test_document_whose_view_fell_back_is_asked_for_again_and_nothing_else(
    cached: bool, tmp_path: Path
) -> None:
    llm = Reluctant(VIEWS, word="crane")
    index = make_index(llm, Cache(tmp_path / "c") if cached else None)
    document = guide()
    first = index.add([document])
    assert first.usage["fallbacks"] == {"summary": 1, "keywords": 1} and first.usage["calls"] == 2
    second = index.add([document])
    assert second.usage["calls"] == 1 and not second.usage["fallbacks"]
    assert second.replaced == 1 and not second.unchanged
    third = index.add([document])
    assert third.usage["calls"] == 0 and third.unchanged == 1
    assert [index.store.view_text(row, "keywords") for row in range(len(index))] == [
        "Oslo, bridge"
    ] * 2


@pytest.mark.parametrize("cached", [True, False])
def test_document_that_comes_out_equal_is_unchanged(cached: bool, tmp_path: Path) -> None:
    llm = Reluctant(VIEWS, word="crane", times=9)
    index = make_index(llm, Cache(tmp_path / "c") if cached else None)
    document = guide()
    index.add([document])
    changes, embedded = index.store.changes, len(index.embedder.texts)
    report = index.add([document])
    assert (report.added, report.replaced, report.unchanged, report.chunks) == (0, 0, 1, 0)
    assert report.usage["fallbacks"] == {"summary": 1, "keywords": 1} and report.usage["calls"] == 1
    assert index.store.changes == changes and len(index.embedder.texts) == embedded
    changed = index.add([guide(meta={"year": 2020})])
    assert changed.replaced == 1 and index.store.document("guide.md").meta["year"] == 2020


def test_answer_of_an_earlier_run_that_cannot_be_used_is_not_served(tmp_path: Path) -> None:
    document = guide()
    llm = Reluctant(VIEWS, word="crane")
    make_index(llm, Cache(tmp_path / "c")).add([document])
    report = make_index(llm, Cache(tmp_path / "c")).add([document])
    assert report.usage["calls"] == 1 and not report.usage["fallbacks"]
    assert make_index(llm, Cache(tmp_path / "c")).add([document]).usage["calls"] == 0


def test_merged_answer_that_lacks_a_view_is_asked_for_again(tmp_path: Path) -> None:
    answers = iter(
        ['{"summary": "A red machine."}', '{"summary": "A red machine.", "keywords": ["Oslo"]}']
    )
    llm = ScriptedModel(lambda prompt: next(answers))
    index = Index(
        embedder=HashEmbedder(),
        llm=llm,
        cache=Cache(tmp_path / "c"),
        splitter=ContentAwareSplitter(max_tokens=None),
    )
    document = read_text(f"# Engines\n\n{WORDS}", id="a.md")
    assert index.add([document]).usage["fallbacks"] == {"keywords": 1}
    assert not index.add([document]).usage["fallbacks"]


def test_answers_kept_without_a_cache_are_dropped_with_the_document(tmp_path: Path) -> None:
    llm = Reluctant(VIEWS, word="crane", times=2)
    index = make_index(llm, None)
    document = guide()
    index.add([document])
    index.delete(document.id)
    assert index.add([document]).usage["calls"] == 2
    assert index.kept
    index.add([document])
    assert not index.kept


def test_runner_keeps_what_the_check_allows_and_equal_requests_are_equal(tmp_path: Path) -> None:
    answers = iter(["no", "yes", "never"])
    llm = ScriptedModel(lambda prompt: next(answers))
    runner = Runner(llm=llm, cache=Cache(tmp_path / "c"))

    def steps() -> Any:
        return (yield [Ask("?", "t", usable=lambda answer: answer == "yes"), Ask("?", "t")])

    assert runner.run(steps()) == ["no", "no"]
    assert runner.run(steps()) == ["yes", "yes"]
    assert runner.run(steps()) == ["yes", "yes"]
    assert Ask("?", usable=bool) == Ask("?") and len({Ask("?", usable=bool), Ask("?")}) == 1


async def _add_twice(index: Index, document: Document) -> Any:
    await index.aadd([document])
    return await index.aadd([document])


def test_asynchronously(tmp_path: Path) -> None:
    import asyncio

    llm = Reluctant(VIEWS, word="crane")
    report = asyncio.run(_add_twice(make_index(llm, Cache(tmp_path / "c")), guide()))
    assert report.usage["calls"] == 1 and not report.usage["fallbacks"]


def split_twice(split: Any, llm: Reluctant, cache: Cache) -> list[tuple[int, Any]]:
    """Calls made and result, of three runs with one cache."""
    found = []
    for _ in range(3):
        before = llm.calls
        result = split(Runner(llm=llm.model, embedder=HashEmbedder(), cache=cache))
        found.append((llm.calls - before, result))
    return found


def test_pic_summary(tmp_path: Path) -> None:
    document = guide()
    llm = Reluctant("A red machine crosses a bridge near Oslo.")
    splitter = PICSplitter()
    runs = split_twice(
        lambda runner: splitter.split(document, runner=runner), llm, Cache(tmp_path / "c")
    )
    assert [calls for calls, _ in runs] == [1, 1, 0]
    assert runs[0][1][0].extras["degraded"] and "degraded" not in runs[1][1][0].extras


def test_section_summaries(tmp_path: Path) -> None:
    document = guide()
    llm = Reluctant("A red machine crosses a bridge near Oslo.", word="crane")
    runs = split_twice(
        lambda runner: SectionSplitter().split(document, runner=runner), llm, Cache(tmp_path / "c")
    )
    assert [calls for calls, _ in runs] == [2, 1, 0]
    assert [sum(bool(c.extras.get("degraded")) for c in chunks) for _, chunks in runs] == [1, 0, 0]


@pytest.mark.parametrize(
    ("settings", "answer"),
    [
        (DensitySettings(rate=True), "7"),
        (DensitySettings(entities="llm"), '["Oslo"]'),
        (DensitySettings(entities="llm"), "[]"),
    ],
)
def test_ratings_and_entities(settings: DensitySettings, answer: str, tmp_path: Path) -> None:
    chunks = Index(
        embedder=HashEmbedder(), views="raw", splitter=ContentAwareSplitter(max_tokens=None)
    )
    chunks.add([guide()])
    llm = Reluctant(answer, word="crane")
    runs = split_twice(
        lambda runner: runner.run(density_steps(chunks.chunks(), settings)),
        llm,
        Cache(tmp_path / "c"),
    )
    assert [calls for calls, _ in runs] == [2, 1, 0]


def test_shortened_and_supplemented_text(tmp_path: Path) -> None:
    index = Index(
        embedder=HashEmbedder(), views="raw", splitter=ContentAwareSplitter(max_tokens=None)
    )
    index.add([guide()])
    document, chunks = guide(), index.chunks()

    def answer(prompt: str) -> str:
        return (
            "[]"
            if "Missing entities" in prompt
            else "The red engine or crane pulls a train to Oslo."
        )

    same = {"low": 9.0, "high": 0.0, "min_tokens": 1, "density": DensitySettings(max_share=1.0)}
    for half, first in ({"supplement": False}, "reduced"), ({"reduce": False}, "none"):
        llm = Reluctant(answer)
        enricher = IDMSEnricher(**{**same, **half})
        cache = Cache(tmp_path / first)
        runs = split_twice(
            lambda runner, own=enricher: own.enrich(document, chunks, runner=runner), llm, cache
        )
        assert runs[0][0] and runs[1][0] and not runs[2][0], (half, runs)
        assert runs[2][1][0].extras["action"] == first


@pytest.mark.parametrize("format_", ["ids", "names"])
def test_d3_routing(format_: str, tmp_path: Path) -> None:
    sections = "".join(f"## Part {i}\n\n{WORDS}\n\n" for i in range(3))
    index = D3Index(embedder=HashEmbedder())
    index.add([read_text(f"# Guide\n\n{sections}")])
    llm = Reluctant("[2]" if format_ == "ids" else "Part 1")
    settings = Routing(answer_format=format_)
    found = []
    for _ in range(3):
        before = llm.calls
        retriever = D3Retriever(
            index,
            llm=llm.model,
            cache=Cache(tmp_path / "c"),
            router="llm",
            strategy="fused",
            routing=settings,
        )
        found.append((retriever.result("Where is the red engine?").route.how, llm.calls - before))
    assert [calls for _, calls in found] == [1, 1, 0]


def test_d3_selection(tmp_path: Path) -> None:
    index = D3Index(embedder=HashEmbedder())
    index.add([guide()])
    llm = Reluctant("[1]")
    found = []
    for _ in range(3):
        before = llm.calls
        retriever = D3Retriever(
            index, llm=llm.model, cache=Cache(tmp_path / "c"), router="scores", strategy="base"
        )
        found.append((len(retriever.search("Where is the red engine?")), llm.calls - before))
    assert [calls for _, calls in found] == [1, 1, 0]
    assert [hits for hits, _ in found] == [0, 1, 1]


def test_self_ask(tmp_path: Path) -> None:
    index = D3Index(embedder=HashEmbedder())
    index.add([guide()])
    llm = Reluctant("So the final answer is: Oslo")
    found = []
    for _ in range(3):
        before = llm.calls
        result = SelfAsk(D3Retriever(index, llm=llm.model, cache=Cache(tmp_path / "c"))).answer(
            "Where to?"
        )
        found.append((result.stopped, llm.calls - before))
    assert [stopped for stopped, _ in found] == ["no_reply", "final_answer", "final_answer"]
    assert found[2][1] == 0


def test_formatter_asks_again_for_the_last_answer_only(tmp_path: Path) -> None:
    text = "Engines\n\n" + "The red engine pulls the long train over the bridge.\n" * 12
    llm = Reluctant(
        lambda prompt: (
            "# Engines\n\n" + "The red engine pulls the long train over the bridge.\n" * 12
        ),
        times=1,
    )
    calls = []
    for _ in range(3):
        before = llm.calls
        HiQAFormatter(llm=llm.model, cache=Cache(tmp_path / "c")).format(text)
        calls.append(llm.calls - before)
    assert calls == [2, 1, 0]
