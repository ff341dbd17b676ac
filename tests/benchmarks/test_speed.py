"""The speed benchmarks on tiny inputs: they run, count right and save what they print. No timing is
asserted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from benchmarks import speed_parse, speed_views
from benchmarks.speed_search_data import VIEWS, bare_search, make
from benchmarks.speed_tables import by_turns
from structrag.reading.files import read_text

TEXT = "# A\n\nOne two three.\n\n## B\n\nFour five.\n"


def test_turns_alternate_after_one_untimed_round() -> None:
    calls: list[str] = []
    timings = by_turns(
        {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 2
    )
    assert calls == ["a", "b"] * 3
    assert [len(timing.wall) for timing in timings.values()] == [2, 2]


def test_growth_counts_and_gives_the_input_back() -> None:
    table = speed_parse.growth_table(TEXT, repeat=1, sizes_mb=(0.001, 0.002))
    assert [row[-1] for row in table.rows] == ["yes", "yes"]
    assert table.figures["0.002"]["peak_bytes"] > 0


def test_markdown_peers() -> None:
    pytest.importorskip("langchain_text_splitters")
    pytest.importorskip("llama_index.core")
    table = speed_parse.corpus_table("tiny", [TEXT], 1)
    assert table.rows[0][0] == speed_parse.OURS
    assert table.rows[0][-1] == "1 of 1"
    small = speed_parse.small_sections_table(repeat=1, sizes_kb=(1,))
    assert small.rows[0][0] == "1"


def test_html_peers() -> None:
    for package in ("langchain_text_splitters", "llama_index.core", "bs4"):
        pytest.importorskip(package)
    page = (
        "<html><head><title>t</title></head><body><h1>A</h1><p>one "
        "<b>two</b></p><div>three</div></body></html>"
    )
    rows = {
        row[0]: row[-1] for row in speed_parse.html_table("tiny", [page], repeat=1).rows
    }
    assert rows[speed_parse.OURS] == "100.0 %"
    # Text that stands in a div alone.
    assert rows["LlamaIndex HTMLNodeParser"] != "100.0 %"


def test_bare_search_is_the_arithmetic_of_ours() -> None:
    made = make(30)
    query = made.queries[0]
    scores = bare_search(made)(query)
    store = made.index.store
    for number, view in enumerate(VIEWS):
        row, cosine = store.reader().search_dense(view, made.vector, 1)[0]
        assert scores[number][row] == pytest.approx(cosine, abs=1e-5)
        lexical = np.zeros(30)
        for row, score in store.reader().search_lexical(view, query, 30):
            lexical[row] = score
        np.testing.assert_allclose(scores[3 + number], lexical, atol=1e-5)


class Embedder:
    """Vectors of a text's length; a text has as many tokens as words."""

    name = "lengths"
    max_tokens = 256

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        return np.array([[1.0, len(text)] for text in texts])

    async def aembed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        return self.embed(texts, query=query)


def test_views_count_texts_and_tokens() -> None:
    table = speed_views.views_table(
        [read_text(TEXT, format="markdown", id="d")], Embedder(), 1
    )
    raw, both = table.figures["raw"][0], table.figures["raw + summary"][0]
    assert raw["chunks"] == raw["texts"] == 2
    assert (
        raw["tokens"] == len(TEXT.split()) + 1
    )  # the heading path "A" in front of the second chunk
    assert both["texts"] == 2  # short sections are their own summary
