"""Comparing splitters: counts that can be checked by hand, and a method against itself."""

from __future__ import annotations

import pytest

from structrag.chunks.fixed import FixedSplitter
from structrag.errors import InvalidParameter
from structrag.evaluation import comparing
from structrag.evaluation.comparing import compare
from structrag.reading.files import read_text
from structrag.records import Chunk, Document

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


@pytest.mark.parametrize("documents", [[], [read_text("  \n", format="text")]])
def test_nothing_to_measure_is_said(documents: list[Document]) -> None:
    with pytest.raises(InvalidParameter, match="There is nothing to measure"):
        compare(documents, {"fixed": FixedSplitter()})


def test_bad_settings_are_said() -> None:
    with pytest.raises(InvalidParameter, match="same id"):
        compare([MIXED, MIXED], {"fixed": FixedSplitter()})


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
