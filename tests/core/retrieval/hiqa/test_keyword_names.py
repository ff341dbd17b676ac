"""Names in titles and file names, and where a text names them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag import Hit
from structrag.retrieval.hiqa.keyword_names import (
    Names,
    file_names,
    inside_longer,
    name_key,
    pieces,
    title_names,
)


def found(text: str, *names: str) -> list[str]:
    keys = {name_key(name): name for name in names}
    return [keys[key] for key in Names(keys).longest(pieces(text))]


def test_worked_example() -> None:
    assert found("is3722hs vs IS3731", "IS3722", "IS3722HS", "IS3731") == [
        "IS3722HS",
        "IS3731",
    ]


@examples
def test_matching(text: str, name: str, there: bool) -> None:
    assert (found(text, name) == [name]) is there


def test_the_longest_wins_only_where_it_stands() -> None:
    assert found("Nova A10 beats Nova", "Nova", "Nova A10", "A10") == [
        "Nova A10",
        "Nova",
    ]
    assert found("Nova A10 Pro", "Nova A10", "A10 Pro") == ["Nova A10", "A10 Pro"]
    assert found("手机壳", "手机", "手机壳", "壳") == ["手机壳"]


words = st.lists(
    st.sampled_from(["nova", "a10", "pro", "x", "手机", "+", "3.0"]), max_size=8
)


@given(words, st.lists(words.filter(bool), max_size=4))
def test_matching_equals_trying_every_run(
    text: list[str], names: list[list[str]]
) -> None:
    parts = pieces(" ".join(text))
    keys = {name_key(" ".join(name)) for name in names}
    runs = [
        (i, j, key)
        for i in range(len(parts))
        for j in range(i + 1, len(parts) + 1)
        if (key := "".join(parts[i:j])) in keys
    ]
    assert sorted(Names(keys).spans(parts)) == sorted(runs)
    alone = [
        key
        for i, j, key in runs
        if not any(a <= i and j <= b and (a, b) != (i, j) for a, b, _ in runs)
    ]
    assert sorted(Names(keys).longest(parts)) == sorted(set(alone))


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 6), st.integers(1, 5)), unique=True
    )
)
def test_spans_inside_longer_ones(given_spans: list[tuple[int, int, int]]) -> None:
    spans = [(row, start, start + size) for row, start, size in given_spans]
    columns = [np.array([span[i] for span in spans], dtype=np.int64) for i in range(3)]
    expected = [
        any(
            other != span
            and other[0] == span[0]
            and other[1] <= span[1]
            and span[2] <= other[2]
            for other in spans
        )
        for span in spans
    ]
    assert inside_longer(*columns).tolist() == expected


def test_a_span_of_another_row_contains_none() -> None:
    rows, starts = np.array([0, 1, 1]), np.array([0, 0, 0])
    assert inside_longer(rows, starts, np.array([5, 1, 2])).tolist() == [
        False,
        True,
        False,
    ]
    assert inside_longer(rows[:2], starts[:2], np.array([5, 1])).tolist() == [
        False,
        False,
    ]


@examples
def test_names_in_titles(title: str, names: list[str]) -> None:
    assert sorted(title_names(title)) == sorted(names)


@examples
def test_names_in_file_names(source: str, names: list[str]) -> None:
    assert file_names(source) == names


def names(hits: Sequence[Hit]) -> str:
    return "".join(hit.chunk.doc_id for hit in hits)


@examples
def test_a_name_is_taken_out_however_it_is_written(text: str, rest: str) -> None:
    assert Names([name_key("Nova A10")]).removed(text) == rest


def test_several_names_are_taken_out_of_one_text() -> None:
    names = Names([name_key("Nova A10"), name_key("Vega")])
    assert names.removed("The Nova A10 or the Vega, then") == "The or the , then"


def test_a_text_whose_length_folding_changes_is_given_folded() -> None:
    assert (
        Names(["x1"]).removed("Die Straße des X1 ist ﬁn") == "die strasse des ist fin"
    )
    assert Names(["x1"]).removed("Die Größe des X1") == "die grösse des"
    assert Names(["x1"]).removed("Été du X1") == "Été du"


@given(
    st.text(alphabet="aA1 -ﬁßé.手", max_size=40),
    st.lists(st.text(alphabet="aA1é手", min_size=1, max_size=4), max_size=3),
)
def test_what_is_left_holds_nothing_new_and_no_text_without_names_changes(
    text: str, names: list[str]
) -> None:
    found = Names(name_key(name) for name in names if name_key(name))
    rest = found.removed(text)
    assert len(pieces(rest)) <= len(pieces(text))
    if not list(found.spans(pieces(text))):
        assert pieces(rest) == pieces(text)
