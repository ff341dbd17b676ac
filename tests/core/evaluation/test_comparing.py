"""Comparing splitters: counts that can be checked by hand, and a method against itself."""

from __future__ import annotations

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


def test_an_embedder_is_used_and_named() -> None:
    embedder = HashEmbedder()
    found = compare([manual()], {"pic": PICSplitter()}, embedder=embedder)
    assert found.embedder == embedder.name


@pytest.mark.parametrize("documents", [[], [read_text("  \n", format="text")]])
def test_nothing_to_measure_is_said(documents: list[Document]) -> None:
    with pytest.raises(InvalidParameter, match="There is nothing to measure"):
        compare(documents, {"fixed": FixedSplitter()})


def test_bad_settings_are_said() -> None:
    with pytest.raises(InvalidParameter, match="same id"):
        compare([MIXED, MIXED], {"fixed": FixedSplitter()})
    with pytest.raises(InvalidParameter, match="budget must be"):
        compare([MIXED], {"fixed": FixedSplitter()}, budget=5)


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
    assert calls == [("sized", n, 2) for n in range(3)]
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
