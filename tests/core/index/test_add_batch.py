"""Models that fail or answer badly never keep a document out of an index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder, Reluctant, ScriptedModel, reluctant_index
from fixture_cases import examples
from samples import GUIDE_VIEWS, guide

from structrag import (
    Cache,
    ContentAwareSplitter,
    Document,
    FunctionEmbedder,
    HiQASplitter,
    IDMSSplitter,
    Index,
    MultiViewRetriever,
    read_text,
)
from structrag.index.add_batch import (
    AddReport,
    split_windows,
)

BODIES = [
    " ".join(
        f"The pump number {i} moves water through inlet {i} and valve {i + part}."
        for i in range(40)
    )
    for part in (1, 2)
]


TEXT = (
    f"# Intake\n\n{BODIES[0]}\n\n# Outlet\n\n{BODIES[1]}\n\n# Notes\n\nShort and with "
    "{braces} and {0}.\n"
)


BAD: dict[str, Any] = {
    "raises": ConnectionError("the service is down"),
    "times out": TimeoutError(),
    "stops iterating": StopIteration("done"),
    "refuses": "I'm sorry, but I can't help with that.",
    "empty": "",
    "blank": " \n\t ",
    "ten times the text": " ".join(BODIES) * 5,
    "no string": lambda prompt: None,
    "bytes": lambda prompt: b"{}",
    "half JSON of nothing": '{"summary": "',
    "empty JSON": "{}",
    "wrong types": '{"summary": 7, "keywords": {"a": true}}',
    "JSON null": "null",
    "deep": "[" * 50_000,
    "repeats the prompt": lambda prompt: prompt,
    "lone surrogate": "\ud800",
    "null characters": "\x00\x00",
}


FAILING = {"raises", "times out", "stops iterating", "no string", "bytes"}


def add(
    script: Any, *, preset: str = "default", **options: Any
) -> tuple[Index, AddReport]:
    index = Index(
        embedder=HashEmbedder(), llm=ScriptedModel(script), preset=preset, **options
    )
    return index, index.add([Document(TEXT, id="d", title="Manual", format="markdown")])


@pytest.mark.parametrize("preset", ["default", "paper"])
@pytest.mark.parametrize("name", BAD)
def test_indexing_finishes(name: str, preset: str) -> None:
    index, report = add(BAD[name], preset=preset)
    rows = range(len(index))
    assert report.added == 1 and len(index) >= 3
    raw = [index.store.reader().view_text(row, "raw") for row in rows]
    assert all(raw) and "".join(chunk.text for chunk in index.chunks()) == TEXT
    fell_back = sum(report.usage["fallbacks"].values())
    # Only what failed is made again; what was answered badly has its answer.
    assert (
        index.store.stored("d").degraded == (fell_back if name in FAILING else 0)
        and fell_back > 0
    )
    assert "views fell back to the extractive default" in str(report)
    for view in ("summary", "keywords"):
        texts = [index.store.reader().view_text(row, view) for row in rows]
        refused = any("sorry" in (text or "") for text in texts)
        assert any(texts) and refused is (
            (name, preset, view) == ("refuses", "paper", "summary")
        )
    plain = Index(embedder=HashEmbedder(), preset=preset)
    plain.add([Document(TEXT, id="d", title="Manual", format="markdown")])
    assert [plain.store.reader().view_text(row, "raw") for row in rows] == raw
    found = MultiViewRetriever(index, k=len(index)).search("pump water inlet")
    assert len(found) == len(index) and "dense:raw" in found[0].routes


@pytest.mark.parametrize("name", ["raises", "refuses", "empty", "no string"])
def test_what_falls_back_is_the_extractive_view(name: str) -> None:
    index, report = add(BAD[name], splitter=ContentAwareSplitter(max_tokens=None))
    plain = Index(
        embedder=HashEmbedder(), splitter=ContentAwareSplitter(max_tokens=None)
    )
    plain.add([Document(TEXT, id="d", title="Manual", format="markdown")])
    for row in range(len(index)):
        for view in index.views:
            assert index.store.reader().view_text(
                row, view
            ) == plain.store.reader().view_text(row, view)
    long = sum(len(chunk.text) > 1000 for chunk in index.chunks())
    assert report.usage["fallbacks"] == {"summary": long, "keywords": len(index)}
    assert f"{long + len(index)} views fell back to the extractive default: " in str(
        report
    )
    reason = {
        "raises": "ConnectionError: the service is down",
        "refuses": "the answer cannot be used: \"I'm sorry, but I can't help with that.\"",
        "empty": "the answer cannot be used: ''",
        "no string": "InvalidAnswer: The language model must return a string; got NoneType.",
    }[name]
    assert report.usage["reasons"] == {"summary": reason, "keywords": reason}
    assert index.usage.reasons == report.usage["reasons"]
    assert str(report).endswith(
        f"keywords {len(index)} ({reason}), summary {long} ({reason})"
    )


@pytest.mark.parametrize("cached", [True, False])
def test_document_whose_view_fell_back_is_asked_for_again_and_nothing_else(
    cached: bool, tmp_path: Path
) -> None:
    llm = Reluctant(GUIDE_VIEWS, word="crane")
    index = reluctant_index(llm, Cache(tmp_path / "c") if cached else None)
    document = guide()
    first = index.add([document])
    assert (
        first.usage["fallbacks"] == {"summary": 1, "keywords": 1}
        and first.usage["calls"] == 2
    )
    second = index.add([document])
    assert second.usage["calls"] == 1 and not second.usage["fallbacks"]
    assert second.replaced == 1 and not second.unchanged
    third = index.add([document])
    assert third.usage["calls"] == 0 and third.unchanged == 1
    assert [
        index.store.reader().view_text(row, "keywords") for row in range(len(index))
    ] == ["Oslo, bridge"] * 2


@pytest.mark.parametrize("cached", [True, False])
def test_document_that_comes_out_equal_is_unchanged(
    cached: bool, tmp_path: Path
) -> None:
    llm = Reluctant(GUIDE_VIEWS, word="crane", times=9)
    index = reluctant_index(llm, Cache(tmp_path / "c") if cached else None)
    document = guide()
    index.add([document])
    changes, embedded = index.store.changes, len(index.embedder.texts)
    report = index.add([document])
    assert (report.added, report.replaced, report.unchanged, report.chunks) == (
        0,
        0,
        1,
        0,
    )
    assert (
        report.usage["fallbacks"] == {"summary": 1, "keywords": 1}
        and report.usage["calls"] == 1
    )
    assert index.store.changes == changes and len(index.embedder.texts) == embedded
    changed = index.add([guide(meta={"year": 2020})])
    assert (
        changed.replaced == 1 and index.store.document("guide.md").meta["year"] == 2020
    )


@pytest.mark.parametrize("cached", [True, False])
def test_an_answer_that_cannot_be_used_is_not_asked_for_again(
    cached: bool, tmp_path: Path
) -> None:
    document = guide()
    llm = Reluctant(GUIDE_VIEWS, word="crane", refuses=True)
    index = reluctant_index(llm, Cache(tmp_path / "c") if cached else None)
    first = index.add([document])
    assert (
        first.usage["fallbacks"] == {"summary": 1, "keywords": 1}
        and first.usage["calls"] == 2
    )
    assert index.store.stored(document.id).degraded == 0 and not any(
        index.kept.values()
    )
    again = index.add([document])
    assert (
        again.unchanged == 1
        and again.usage["calls"] == 0
        and not again.usage["reasons"]
    )
    index.save(tmp_path / "index")
    loaded = Index.load(
        tmp_path / "index",
        embedder=HashEmbedder(),
        llm=llm.model,
        splitter=ContentAwareSplitter(max_tokens=None),
    )
    assert loaded.add([document]).unchanged == 1 and llm.calls == 2
    # With the cache another index gets the same answers, and falls back alike.
    other = reluctant_index(llm, Cache(tmp_path / "c")).add([document])
    assert other.usage["calls"] == (0 if cached else 2)
    assert other.usage["fallbacks"] == (first.usage["fallbacks"] if cached else {})


@pytest.mark.parametrize(("answer", "asked"), [(OSError("no GPU"), 2), ("", 1)])
def test_an_image_is_described_again_only_if_its_call_failed(
    answer: Any, asked: int
) -> None:
    prompts: list[str] = []

    def describe(reference: str) -> Any:
        prompts.append(reference)
        if isinstance(answer, Exception):
            raise answer
        return answer

    index = Index(
        embedder=HashEmbedder(), splitter=HiQASplitter(describe_image=describe)
    )
    document = read_text(
        "# Pump\n\nIt leaks.\n\n![A pump](pump.png)\n", format="markdown", id="d"
    )
    report = index.add([document])
    assert report.usage["fallbacks"] == {"chunks": 1}
    expected = (
        "OSError: no GPU"
        if isinstance(answer, Exception)
        else "an answer cannot be used"
    )
    assert report.usage["reasons"] == {"chunks": expected}
    assert index.add([document]).unchanged == 1
    assert len(prompts) == asked


@examples
def test_invented_keywords_only_where_they_are_allowed(
    options: Any, keywords: str
) -> None:
    index = Index(
        llm=ScriptedModel('["pumps", "submarine"]'), embedder=HashEmbedder(), **options
    )
    report = index.add(
        [read_text("# Pump\n\nIt leaks.\n\nThe pump is red.\n", format="markdown")]
    )
    assert [
        index.store.reader().view_text(row, "keywords") for row in range(len(index))
    ] == [keywords]
    assert not report.usage["fallbacks"]
    # What is allowed decides what is indexed.
    other = Index(llm=ScriptedModel("[]"), embedder=HashEmbedder(), **options)
    assert other.settings_name() == index.settings_name()
    assert index.settings_name() != Index(embedder=HashEmbedder()).settings_name()


def test_answers_kept_without_a_cache_are_dropped_with_the_document(
    tmp_path: Path,
) -> None:
    llm = Reluctant(GUIDE_VIEWS, word="crane", times=2)
    index = reluctant_index(llm, None)
    document = guide()
    index.add([document])
    index.delete(document.id)
    assert index.add([document]).usage["calls"] == 2
    assert any(index.kept.values())
    index.add([document])
    assert not any(index.kept.values())


@examples
def test_the_first_line_is_repeated_where_it_takes_half_the_room_at_most(
    limit: int, is_repeated: bool
) -> None:
    line = " ".join(f"level{i}" for i in range(10))
    body = " ".join(f"One{i} two{i} three{i} four{i}." for i in range(6))
    embedder = HashEmbedder(max_tokens=limit)
    windows = split_windows(f"{line}\n{body}", embedder, overflow="windows")
    assert [line in window for window in windows] == (
        [True] * 3 if is_repeated else [True, False]
    )
    assert max(len(window.split()) for window in windows) <= limit
    fitting = " ".join(f"word{i}" for i in range(limit))
    assert split_windows(fitting, embedder, overflow="windows") == [fitting]
    assert len(split_windows(f"{fitting} more", embedder, overflow="windows")) == 2


def test_a_chunk_longer_than_the_encoder_reads_scores_as_its_best_window() -> None:
    embedder = HashEmbedder(dimensions=512, max_tokens=40)
    sentences = [
        f"Sentence{i} tells of topic{i} and thing{i} with detail{i}." for i in range(30)
    ]
    index = Index(
        embedder=embedder,
        views=("raw",),
        splitter=ContentAwareSplitter(max_tokens=None),
    )
    index.add(
        [
            Document(
                f"# Long\n\n{' '.join(sentences)}\n",
                id="d",
                format="markdown",
                title="Manual",
            )
        ]
    )
    (hit,) = index.search("topic29 thing29 detail29")
    windows = embedder.texts
    assert len(windows) > 4 and all(len(text.split()) <= 40 for text in windows)
    assert all(
        any(sentence in window for window in windows) for sentence in sentences
    ), "no sentence is lost or cut"
    query = embedder.vector("topic29 thing29 detail29")
    assert hit.score == pytest.approx(
        max(float(embedder.vector(window) @ query) for window in windows), abs=1e-6
    )
    assert hit.score > float(embedder.vector(hit.chunk.index_text) @ query) + 0.1


def test_windows_can_be_made_smaller_and_paper_leaves_truncation_to_the_encoder() -> (
    None
):
    text = " ".join(f"Sentence{i} tells of topic{i}." for i in range(100))
    smaller, paper = HashEmbedder(max_tokens=60), HashEmbedder(max_tokens=60)
    Index(embedder=smaller, views=("raw",), window_tokens=20).add(
        [Document(text, id="d")]
    )
    assert (
        len(smaller.texts) >= 20
        and max(len(window.split()) for window in smaller.texts) <= 20
    )
    Index(embedder=paper, views=("raw",), preset="paper").add(
        [Document(f"# A\n{text}", id="d", format="markdown")]
    )
    assert paper.texts == [text]


def test_a_function_with_a_limit_gets_windows_by_a_cautious_count() -> None:
    seen: list[str] = []

    def embed(texts: list[str]) -> np.ndarray:
        seen.extend(texts)
        return np.ones((len(texts), 4))

    text = " ".join(f"Sentence{i} tells of topic{i}." for i in range(100))
    index = Index(
        embedder=FunctionEmbedder(embed, name="ones", max_tokens=50), views=("raw",)
    )
    index.add([Document(text, id="d")])
    assert len(seen) > 10 and max(map(len, seen)) <= 150
    seen.clear()
    index.add(
        [
            Document("word " * 30, id="150 characters"),
            Document("word " * 30 + "x", id="151"),
        ]
    )
    assert sorted(map(len, seen)) == [1, 150]  # equal windows are embedded once


# -- what is prepared, by itself


def test_what_a_splitter_and_the_views_lack_is_counted_together() -> None:
    def describe(reference: str) -> str:
        raise OSError("no GPU")

    index = Index(
        embedder=HashEmbedder(),
        llm=ScriptedModel(ConnectionError("down")),
        splitter=HiQASplitter(describe_image=describe),
        views=["raw", "keywords"],
    )
    text = "# Pump\n\nIt leaks.\n\n![A pump](pump.png)\n"
    with pytest.warns(UserWarning, match="Every call of the language model failed"):
        report = index.add([read_text(text, format="markdown", id="d")])
    counts = report.usage["fallbacks"]
    assert counts["chunks"] == 1 and counts["keywords"] > 0
    assert index.store.stored("d").degraded == counts["chunks"] + counts["keywords"]


def test_vectors_of_a_splitter_stay_out_of_other_views() -> None:
    embedder = HashEmbedder()
    splitter = IDMSSplitter(margin="words")
    document = read_text(
        "# Pumps\n\n" + " ".join(f"Pump {i} hums." for i in range(30)), id="d"
    )
    for views in (["raw", "summary"], ["summary"]):
        index = Index(embedder=embedder, splitter=splitter, views=views)
        index.add([document])
        assert index.reader().views == tuple(views)
        for view in views:
            assert index.search("hums", view=view)


def test_what_is_left_alone_is_counted_apart_from_what_is_replaced() -> None:
    index = Index(embedder=HashEmbedder(), views=["raw"])
    long = "# A\n\nOne.\n\n# B\n\nTwo.\n"
    first = [
        Document("Pumps.", id="same"),
        Document("Valves.", id="other"),
        Document("", id="blank"),
    ]
    index.add(first)
    second = [
        *first[:1],
        Document(long, id="other", format="markdown"),
        Document("New.", id="new"),
        Document("Newer.", id="newer"),
    ]
    report = index.add(second)
    counts = (report.added, report.replaced, report.unchanged, report.chunks)
    assert counts == (2, 1, 1, 4)
    assert report.usage["embedded"] == 4 and index.usage.embedded == 6
    assert str(report).startswith(
        "2 documents added, 1 replaced, 1 unchanged; 4 chunks; 0 language-model calls, "
        "4 texts embedded"
    )


def test_a_report_is_of_its_own_call_alone() -> None:
    failing = True

    def script(prompt: str) -> str:
        if failing:
            raise ConnectionError("down")
        return '["pump"]'

    index = Index(
        embedder=HashEmbedder(), llm=ScriptedModel(script), views=["keywords"]
    )
    fallbacks = []
    for names in ("ab", "c", "d"):
        failing = names != "d"
        documents = [Document(f"The pump {name} leaks.", id=name) for name in names]
        if failing:
            with pytest.warns(UserWarning, match="Every call"):
                report = index.add(documents)
        else:
            report = index.add(documents)
        fallbacks.append(report.usage["fallbacks"])
    assert fallbacks == [{"keywords": 2}, {"keywords": 1}, {}]
    assert report.usage["reasons"] == {} and index.usage.fallbacks == {"keywords": 3}
    assert "fell back" not in str(report)
