"""Names in titles and file names, and where a text names them."""

from __future__ import annotations

from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag.retrieval.hiqa.keywords import (
    Names,
    file_names,
    name_key,
    pieces,
    title_names,
)


def found(text: str, *names: str) -> list[str]:
    keys = {name_key(name): name for name in names}
    return [keys[key] for key in Names(keys).longest(pieces(text))]


@examples
def test_matching(text: str, name: str, there: bool) -> None:
    assert (found(text, name) == [name]) is there


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


@examples
def test_names_in_titles(title: str, names: list[str]) -> None:
    assert sorted(title_names(title)) == sorted(names)


@examples
def test_names_in_file_names(source: str, names: list[str]) -> None:
    assert file_names(source) == names


@examples
def test_a_name_is_taken_out_however_it_is_written(text: str, rest: str) -> None:
    assert Names([name_key("Nova A10")]).removed(text) == rest
