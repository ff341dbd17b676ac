"""The heading path in front of a chunk."""

from __future__ import annotations

import pytest
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag.text.heading_path import heading_context, title_beside
from structrag.text.tokens import count_tokens


@given(
    st.text(max_size=30), st.lists(st.text(max_size=40), max_size=6), st.integers(0, 20)
)
def test_limit_holds(title: str, path: list[str], limit: int) -> None:
    text, shortened = heading_context(title, path, count_tokens, limit=limit)
    assert count_tokens(text) <= limit
    if not shortened:
        assert all(" ".join(part.split()) in text for part in path)


@pytest.mark.parametrize(
    ("title", "path", "left"),
    [
        ("Pumps", ["Pumps", "Cleaning"], ""),
        (" pumps ", ["PUMPS"], ""),
        ("Pumps", ["Cleaning"], "Pumps"),
        ("Pumps", [], "Pumps"),
        ("Pumps", [""], "Pumps"),
        ("", ["Pumps"], ""),
        ("Pumps - Acme 2.1", ["Pumps"], "Acme 2.1"),
        ("Pumps: a manual", ["Pumps"], "a manual"),
        ("Pumps: cleaning - Acme", ["Pumps: cleaning"], "Acme"),
        ("Acme 2.1 | Pumps", ["Pumps"], "Acme 2.1"),
        ("Acme: Pumps", ["pumps"], "Acme"),
        ("Pumps-X", ["Pumps"], "Pumps-X"),  # a name, not a site
        ("Heat pumps", ["pumps"], "Heat pumps"),
        # No title of a site.
        ("Pumps - " + "x" * 1000, ["Pumps"], "Pumps - " + "x" * 1000),
    ],
)
def test_of_a_title_stands_what_the_first_heading_does_not_say(
    title: str, path: list[str], left: str
) -> None:
    assert title_beside(title, path) == left


def test_of_a_very_long_title_only_the_beginning_is_looked_at() -> None:
    counted: list[int] = []

    def counter(text: str) -> int:
        counted.append(len(text))
        return count_tokens(text)

    for title in ("word " * 400_000, "x" * 2_000_000):
        text, shortened = heading_context("", (title, "Battery"), counter, limit=64)
        assert shortened and text.endswith("Battery") and count_tokens(text) <= 64
        assert sum(counted) < 200_000


def word_count(text: str) -> int:
    return len(text.split())


@examples
def test_a_path_is_shortened_until_it_fits(
    title: str, path: list[str], limit: int, expected: tuple[str, bool]
) -> None:
    assert heading_context(title, path, word_count, limit=limit) == expected
