"""Visible text under construction, with the way back to the page."""

from __future__ import annotations

import pytest

from structrag.reading.html.text import MappedText, unescaped

Run = tuple[str, int, int, bool]  # as `add` takes it


def written(runs: list[Run]) -> MappedText:
    text = MappedText()
    for run in runs:
        text.add(*run)
    return text


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("Fish &amp; chips", "Fish & chips"),
        ("&#8364;", "€"),
        ("&#65;&#065;&#000000000065;", "AAA"),
        ("&#0;", "\ufffd"),
        ("&#1114109;", "\U0010fffd"),
        ("&#1114112;", "\ufffd"),
        ("&#9999999;", "\ufffd"),  # seven digits
        ("&#12345678;", "\ufffd"),  # eight
        (f"&#{'9' * 5000};x", "\ufffdx"),
    ],
)
def test_references_become_their_characters(markup: str, expected: str) -> None:
    assert unescaped(markup) == expected


def test_nothing_is_written_at_first() -> None:
    text = MappedText()
    assert (text.length, text.newlines(), text.fresh, text.space) == (0, 0, True, -1)
    assert text.source_map(7).text_starts == (0,)
    assert text.source_map(7).source_starts == (7,)


@pytest.mark.parametrize(
    ("runs", "text_starts", "source_starts", "exact"),
    [
        # An exact run goes on where the source does.
        ([("ab", 3, 5, True), ("c", 5, 6, True)], (0, 3), (3, 20), (True, False)),
        (
            [("ab", 3, 5, True), ("c", 6, 7, True)],
            (0, 2, 3),
            (3, 6, 20),
            (True, True, False),
        ),
        # What stands for one place of the source is one run.
        ([("x", 4, 8, False), ("yz", 4, 9, False)], (0, 3), (4, 20), (False, False)),
        (
            [("x", 4, 8, False), ("yz", 8, 9, False)],
            (0, 1, 3),
            (4, 8, 20),
            (False, False, False),
        ),
        (
            [("x", 4, 5, False), ("y", 5, 6, True), ("z", 6, 7, False)],
            (0, 1, 2, 3),
            (4, 5, 6, 20),
            (False, True, False, False),
        ),
    ],
)
def test_runs_that_go_on_are_one(
    runs: list[Run],
    text_starts: tuple[int, ...],
    source_starts: tuple[int, ...],
    exact: tuple[bool, ...],
) -> None:
    source_map = written(runs).source_map(20)
    assert source_map.text_starts == text_starts
    assert source_map.source_starts == source_starts
    assert source_map.exact == exact


@pytest.mark.parametrize(("place", "expected"), [(0, 5), (4, 5), (5, 5), (9, 9)])
def test_what_is_inserted_stands_behind_the_text_before_it(
    place: int, expected: int
) -> None:
    text = written([("ab", 3, 5, True)])
    text.insert("--", place)
    text.add("c", 9, 10, exact=True)
    source_map = text.source_map(20)
    assert "".join(text.parts) == "ab--c" and text.length == 5
    assert [source_map.to_source(i) for i in range(6)] == [
        3,
        4,
        expected,
        expected,
        9,
        20,
    ]


def test_inserting_nothing_changes_nothing() -> None:
    text = written([("ab", 3, 5, True)])
    text.insert("", 9)
    text.add("c", 5, 6, exact=True)
    assert text.source_map(20).text_starts == (0, 3)


def test_a_text_is_appended_with_its_map() -> None:
    text = written([("ab", 3, 5, True)])
    other = written([("c", 12, 13, True), ("-", 15, 16, False)])
    text.extend(other)
    source_map = text.source_map(20)
    assert "".join(text.parts) == "abc-" and text.length == 4
    assert [source_map.to_source(i) for i in range(5)] == [3, 4, 12, 15, 20]
    text.insert("|")  # behind all that was written
    assert text.source_map(20).to_source(4) == 16
    text = written([("ab", 13, 15, True)])
    text.extend(written([("c", 3, 4, True)]))  # a caption may stand behind its rows
    text.insert("|")
    assert text.source_map(20).to_source(3) == 15


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (["a"], 0),
        (["a\n"], 1),
        (["a\n", "b"], 0),
        (["a", "b\n"], 1),
        (["a", "\n"], 1),
        (["a\n", "\n"], 2),
        (["\n\n", "a\n"], 1),
        (["a", "\n\n"], 2),
        (["a\n", "\n\n"], 2),
        (["a\n\n\n"], 2),
    ],
)
def test_line_feeds_at_the_end_are_counted_up_to_two(
    parts: list[str], expected: int
) -> None:
    text = MappedText()
    for part in parts:
        text.insert(part)
    assert text.newlines() == expected
