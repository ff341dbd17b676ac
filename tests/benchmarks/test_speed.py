"""The speed benchmarks on tiny inputs: they run, count right and save what they print. No timing is
asserted."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import speed_parse
from benchmarks.speed_search_data import VIEWS, bare_search, make
from benchmarks.speed_tables import by_turns

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
