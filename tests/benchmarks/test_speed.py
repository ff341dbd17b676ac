"""The speed benchmarks on tiny inputs: they run, count right and save what they print. No timing is
asserted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import speed, speed_parse, speed_search, speed_store, speed_views
from benchmarks.machine import corpus_line, machine_line, versions_line
from benchmarks.speed_search_data import VIEWS, bare_search, make
from benchmarks.speed_tables import Table, by_turns, ratios, spread
from structrag.reading.files import read_text
from structrag.retrieval.multiview import MultiViewRetriever

TEXT = "# A\n\nOne two three.\n\n## B\n\nFour five.\n"


def test_turns_alternate_after_one_untimed_round() -> None:
    calls: list[str] = []
    timings = by_turns(
        {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 2
    )
    assert calls == ["a", "b"] * 3
    assert [len(timing.wall) for timing in timings.values()] == [2, 2]


def test_figures_print_as_median_and_range() -> None:
    assert spread([3.0, 1.0, 2.0]) == "2.0 (1.0-3.0)"
    assert ratios([6.0], [2.0, 3.0]) == [3.0, 2.0]


def test_corpus_hash_tells_texts_apart() -> None:
    assert corpus_line("x", ["ab", "c"]) != corpus_line("x", ["a", "bc"])
    assert corpus_line("x", ["ab"]).startswith("x: 1 texts, 0.00 MB, sha256 ")


def test_machine_and_versions_are_named() -> None:
    assert "Python 3." in machine_line()
    assert (
        versions_line(["numpy", "no-such-package"])
        == f"numpy {np.__version__}, no-such-package absent"
    )


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
        row, cosine = store.search_dense(view, made.vector, 1)[0]
        assert scores[number][row] == pytest.approx(cosine, abs=1e-5)
        lexical = np.zeros(30)
        for row, score in store.search_lexical(view, query, 30):
            lexical[row] = score
        np.testing.assert_allclose(scores[3 + number], lexical, atol=1e-5)


def test_change_and_saving_tables(tmp_path: Path) -> None:
    made = make(30)
    before = [
        hit.chunk.id
        for hit in MultiViewRetriever(made.index, k=5).search(made.queries[0])
    ]
    assert len(speed_search.change_table(made, repeat=1).rows) == 3
    assert [
        hit.chunk.id
        for hit in MultiViewRetriever(made.index, k=5).search(made.queries[0])
    ] == before
    half = make(30, dtype="float16")
    table = speed_search.saving_table({"float32": made, "float16": half}, tmp_path)
    assert [row[-1] for row in table.rows] == ["yes", "yes"]
    sizes = [table.figures[name]["bytes"] for name in ("float32", "float16")]
    assert sizes[1] < 0.8 * sizes[0]


def test_store_table() -> None:
    (table,) = speed_store.run(1, sizes=(2000,))
    (row,) = table.rows
    figures = table.figures["2000"]
    assert row[0] == "2,000" and figures["peak_mib"] > 50
    assert all(figures[name][0] > 0 for name in ("to_bare", "after_add", "parts"))


def test_langchain_search_table() -> None:
    pytest.importorskip("langchain_classic")
    assert [
        row[0] for row in speed_search.search_table({20: make(20, n_queries=2)}, 1).rows
    ] == ["20"]


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


def test_results_keep_the_parts_not_asked_for(tmp_path: Path) -> None:
    table = Table("T", ("a",), (("1",),), "corpus c", ("a note",))
    for part in ("search", "parse"):
        record = {
            "machine": "m",
            "versions": "v",
            "repeat": 1,
            "tables": [table.as_dict()],
        }
        speed.save(tmp_path, part, record)
    assert list(json.loads((tmp_path / "speed.json").read_text(encoding="utf-8"))) == [
        "parse",
        "search",
    ]
    page = (tmp_path / "speed.md").read_text(encoding="utf-8")
    assert (
        page.count("| 1 |") == 2 and "- Corpus: corpus c" in page and "- a note" in page
    )
