"""The limit given to a splitter shrinks until what is embedded keeps the host's."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from fixture_cases import examples

from llama_index_structrag.parsing import Fitted, fitted_flow, hide_longest, split_flow
from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.fixed import FixedSplitter
from structrag.model_calls.flow import drive
from structrag.model_calls.requests import Embed
from structrag.reading.files import read_text
from structrag.records import Chunk, Document

PATHS = "# One\n\n## Two\n\n" + "Words of one sentence. " * 30


def fitted(
    text: str,
    max_tokens: int,
    *,
    extra: int = 0,
    metadata: int = 0,
    label: int | None = None,
    limits: list[tuple[int, bool]] | None = None,
) -> list[Fitted[str]]:
    """The chunks of a text measured in characters, each with `extra` characters by the host."""

    def splitter_for(limit: int, titles: bool) -> ContentAwareSplitter:
        if limits is not None:
            limits.append((limit, titles))
        return ContentAwareSplitter(
            max_tokens=limit, flat_max_tokens=None, counter=len, context=titles
        )

    def make(chunk: Chunk) -> str:
        lead = "t" * (label or 0) + chunk.context if chunk.context else ""
        return "m" * (metadata + extra) + lead + chunk.text

    flow = fitted_flow(
        splitter_for,
        read_text(text, format="markdown"),
        make,
        len,
        max_tokens=max_tokens,
        metadata_tokens=metadata,
        label_tokens=label,
    )
    return drive(flow, lambda requests: [])


@pytest.mark.parametrize("size", [30, 80, 200, 2000])
@pytest.mark.parametrize("label", [None, 5])
def test_every_chunk_keeps_the_limit_with_what_the_host_adds(
    size: int, label: int | None
) -> None:
    parts = fitted(PATHS, size, metadata=10, label=label)
    assert "".join(part.chunk.text for part in parts) == PATHS
    assert all(part.size == len(part.node) <= size for part in parts)


def test_the_limit_shrinks_by_the_excess_and_not_further_than_one() -> None:
    limits: list[tuple[int, bool]] = []
    fitted("x" * 300, 80, extra=7, limits=limits)
    assert limits == [(80, False), (73, False)]
    limits.clear()
    parts = fitted("abcd", 3, extra=5, limits=limits)
    assert limits[-1] == (1, False) and {part.size for part in parts} == {6}


def test_a_splitter_that_asks_is_asked_through() -> None:
    class CallSettings:
        def split_flow(self, document: Document) -> Iterator[object]:
            (answer,) = yield [Embed((document.text,))]
            return [answer]

    document = read_text("words")
    assert drive(split_flow(CallSettings(), document), lambda requests: ["chunk"]) == [
        "chunk"
    ]
    chunks = drive(split_flow(FixedSplitter(), document), lambda requests: [])
    assert [chunk.text for chunk in chunks] == ["words"]


def test_the_longest_values_are_hidden_first() -> None:
    values = {"a": "x" * 5, "b": "x" * 9, "c": "x" * 9, "d": 12}

    def size_without(hidden: object) -> int:
        return sum(
            len(str(value)) for key, value in values.items() if key not in hidden
        )

    assert hide_longest(values, size_without, 25) == ([], 25)
    assert hide_longest(values, size_without, 16) == (["b"], 16)
    assert hide_longest(values, size_without, 7) == (["b", "c"], 7)
    assert hide_longest(values, size_without, -1) == (["b", "c", "a", "d"], 0)


@examples
def test_a_label_may_take_a_quarter_of_the_limit(
    size: int, first: tuple[int, bool]
) -> None:
    limits: list[tuple[int, bool]] = []
    fitted("# A\n\nOne.\n", size, label=5, limits=limits)
    assert limits[0] == first


class Texts:
    """Gives chunks of these texts, whatever the limit."""

    def __init__(self, *chunks: Chunk) -> None:
        self.chunks = list(chunks)

    def split(self, document: Document) -> list[Chunk]:
        return self.chunks


def limits_of(
    chunks: Sequence[Chunk], sizes: Sequence[int], *, label: int | None = 0
) -> list[tuple[int, bool]]:
    """The limits that a splitter is given, where its chunks have such sizes each time. The most is
    100 tokens."""
    limits: list[tuple[int, bool]] = []
    waiting = deque(sizes)

    def splitter_for(limit: int, titles: bool) -> Texts:
        limits.append((limit, titles))
        assert len(limits) < 9  # it comes to an end
        return Texts(*chunks)

    flow = fitted_flow(
        splitter_for,
        read_text("words"),
        lambda chunk: chunk.text,
        lambda text: waiting.popleft() if len(waiting) > 1 else waiting[0],
        max_tokens=100,
        label_tokens=label,
    )
    drive(flow, lambda requests: [])
    return limits


WITH_TITLE = Chunk("c", "d", "0", 0, 1, "x", context="A")
OVERSIZE = replace(WITH_TITLE, extras={"oversize": True})


@pytest.mark.parametrize(
    ("chunk", "sizes", "limits"),
    [
        (WITH_TITLE, [100], [(100, True)]),
        (WITH_TITLE, [101, 100], [(100, True), (99, True)]),
        # A quarter of the limit: titles may stay. One more: they go.
        (WITH_TITLE, [125, 100], [(100, True), (75, True)]),
        (WITH_TITLE, [126, 100], [(100, True), (100, False)]),
        # A chunk that is too long with them, however short: they go.
        (OVERSIZE, [101, 100], [(100, True), (100, False)]),
        (OVERSIZE, [100], [(100, True)]),
    ],
)
def test_titles_go_where_they_are_a_large_part_of_the_excess(
    chunk: Chunk, sizes: list[int], limits: list[tuple[int, bool]]
) -> None:
    assert limits_of([chunk], sizes) == limits
