"""Comparing splitters: counts that can be checked by hand, and a method against itself."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from doubles import HashEmbedder
from samples import TOPICS, manual

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.fixed import FixedSplitter
from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.chunks.pic.splitter import PICSplitter
from structrag.errors import InvalidParameter
from structrag.evaluation import comparing
from structrag.evaluation.comparing import compare
from structrag.evaluation.passages import Passages
from structrag.reading import markdown
from structrag.reading.files import read_text
from structrag.records import Chunk, Document, Heading

TABLE = "| a | b |\n|---|---|\n" + "".join(
    f"| row {i} | value {i} |\n" for i in range(12)
)
CODE = "```python\n" + "".join(f"x{i} = f(y{i})\n" for i in range(12)) + "```\n"
MIXED = read_text(
    "# Data\n\nOne sentence. And another one here.\n\n- an item\n- a second "
    f"item\n\n{TABLE}\n{CODE}",
    format="markdown",
    id="mixed",
)


def test_units_are_counted_and_cut() -> None:
    found = compare(
        [MIXED],
        {
            "whole": ContentAwareSplitter(max_tokens=None, flat_max_tokens=None),
            "small": FixedSplitter(10),
        },
    )
    assert found.units == {"sentence": 4, "table": 1, "code": 1}
    whole, small = found.methods
    assert whole.chunks == 1 and set(whole.cut.values()) == {0}
    assert small.cut["table"] == small.cut["code"] == 1 and small.cut["sentence"] == 0
    assert (
        small.tokens[0] <= small.tokens[1] <= small.tokens[2] <= small.tokens[3] <= 10
    )
    assert found.selftest is None
    assert (
        "at least 10 headings" in found.no_selftest
        and "1 headings" in found.no_selftest
    )


def test_every_method_pays_for_finding_the_sections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A document that was parsed just before is parsed anew while time is taken."""
    parsed: list[str] = []
    timing = False
    real_headings, real_split = markdown.markdown_headings, comparing.split_counted

    def headings(text: str, start: int = 0) -> list[Heading]:
        parsed.extend(["timed"] * timing)
        return real_headings(text, start)

    def split(*arguments: Any) -> Any:
        nonlocal timing
        timing = True
        try:
            return real_split(*arguments)
        finally:
            timing = False

    monkeypatch.setattr(markdown, "markdown_headings", headings)
    monkeypatch.setattr(comparing, "split_counted", split)
    compare(
        [MIXED],
        {
            "one": ContentAwareSplitter(),
            "other": PICSplitter(),
            "third": IDMSSplitter(),
        },
    )
    assert len(parsed) == 3


def test_a_method_does_not_differ_from_itself() -> None:
    found = compare(
        [manual()],
        {
            "first": ContentAwareSplitter(),
            "again": ContentAwareSplitter(),
            "small": FixedSplitter(30),
        },
    )
    assert found.selftest is not None
    for kind in ("heading", "reference"):
        same = found.selftest.difference["again"][kind]
        assert (same.mean, same.low, same.high) == (0, 0, 0)
        recall = found.selftest.recall["small"][kind]
        assert 0 <= recall.low <= recall.mean <= recall.high <= 1
        gap = found.selftest.difference["small"][kind]
        assert gap.mean == pytest.approx(
            recall.mean - found.selftest.recall["first"][kind].mean
        )
    json.dumps(asdict(found))


def test_an_embedder_is_used_and_named() -> None:
    embedder = HashEmbedder()
    found = compare([manual()], {"pic": PICSplitter()}, embedder=embedder)
    assert found.embedder == embedder.name


def test_a_splitter_that_asks_nothing_needs_nothing() -> None:
    (report,) = compare([manual()], {"fixed": FixedSplitter(50)}).methods
    assert (report.embedded_to_split, report.model_calls, report.embedded_to_index) == (
        0,
        0,
        report.chunks,
    )


@pytest.mark.parametrize("documents", [[], [read_text("  \n", format="text")]])
def test_nothing_to_measure_is_said(documents: list[Document]) -> None:
    with pytest.raises(InvalidParameter, match="There is nothing to measure"):
        compare(documents, {"fixed": FixedSplitter()})


def test_bad_settings_are_said() -> None:
    with pytest.raises(InvalidParameter, match="same id"):
        compare([MIXED, MIXED], {"fixed": FixedSplitter()})
    with pytest.raises(InvalidParameter, match="budget must be"):
        compare([MIXED], {"fixed": FixedSplitter()}, budget=5)


def test_a_blank_document_beside_others_does_not_matter() -> None:
    blank = read_text("", format="markdown", id="blank")
    one, two = (
        compare([manual()], {"a": FixedSplitter(50)}),
        compare([manual(), blank], {"a": FixedSplitter(50)}),
    )
    assert one.selftest == two.selftest and two.documents == 2


class Sized:
    """Gives one chunk of all the text for each number of tokens."""

    def __init__(self, **sizes: list[int]) -> None:
        self.sizes = sizes

    def split(self, document: Document) -> list[Chunk]:
        return [
            Chunk(
                f"{document.id}:{size}",
                document.id,
                "s",
                0,
                len(document.text),
                document.text,
                n_tokens=size,
            )
            for size in self.sizes[document.id]
        ]


def test_sizes_of_chunks_are_least_median_95_of_100_and_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = iter([10.0, 12.5, 20.0, 21.0])
    monkeypatch.setattr(comparing, "perf_counter", lambda: next(times))
    calls: list[tuple[str, int, int]] = []
    documents = [read_text("One. Two.", id=name) for name in "ab"]
    result = compare(
        documents,
        {"sized": Sized(a=[10, 99], b=[30, 20, 40])},
        progress=lambda *call: calls.append(call),
    )
    (report,) = result.methods
    # Of 10, 20, 30, 40 and 99 the 95th percentile is 40 + 0.8 * 59.
    assert (report.chunks, report.tokens) == (5, (10, 30, 87, 99))
    assert (report.embedded_to_index, report.embedded_to_split) == (5, 0)
    assert report.seconds == 2.5 + 1.0
    assert calls == [("sized", 1, 2), ("sized", 2, 2)]
    assert (result.documents, result.characters) == (2, 18)
    assert result.no_selftest.endswith("These documents have 0 headings.")


def test_why_headings_were_not_asked_is_said() -> None:
    result = compare([MIXED], {"fixed": FixedSplitter(50)})
    assert "have 1 headings (1 too few to ask)." in result.no_selftest


def test_a_method_that_searches_is_in_the_selftest_alone() -> None:
    result = compare([manual()], {"fixed": FixedSplitter(50), "evidence": Passages()})
    assert [report.name for report in result.methods] == ["fixed"]
    assert result.selftest is not None and result.no_selftest == ""
    assert list(result.selftest.recall) == ["fixed", "evidence"]
    assert result.selftest.recall["evidence"]["heading"].n == len(TOPICS) + 1


def test_the_least_budget_is_20_tokens() -> None:
    compare([MIXED], {"fixed": FixedSplitter()}, budget=20)
    with pytest.raises(InvalidParameter, match="budget must be"):
        compare([MIXED], {"fixed": FixedSplitter()}, budget=19)
