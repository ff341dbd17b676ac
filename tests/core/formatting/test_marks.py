"""Marks in answers: however they are misspelt, none stays in a document."""

from __future__ import annotations

import re
import time

import pytest
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st
from window_making import core_of, numbered, small

from structrag.formatting.answers import bare

CORE = "The pump moves water.\n\nIt is cleaned once a year, and in the end it is oiled."


@examples
def test_misspelt_marks_are_taken_out(begin: str, end: str) -> None:
    assert bare(f"{begin}\n{CORE}\n{end}", CORE) == CORE
    assert bare(f"Sure!\n\n{begin}\n{CORE}", CORE).endswith(CORE)
    formatted = small(lambda prompt: f"{begin}\n{core_of(prompt)}\n{end}").format(
        numbered(100)
    )
    assert formatted.document.text.split() == numbered(100).split()
    assert formatted.report.retries == formatted.report.fallbacks == 0


LETTER = st.sampled_from("abcdefghijklmnopqrstuvwxyz")


@st.composite
def misspelt(draw: st.DrawFn, word: str) -> str:
    """A mark with a letter changed, other brackets, other case and something around it."""
    i = draw(st.integers(0, len(word) - 1))
    change = draw(st.sampled_from(["none", "drop", "double", "swap", "insert"]))
    if change == "drop":
        word = word[:i] + word[i + 1 :]
    elif change == "double":
        word = word[: i + 1] + word[i:]
    elif change == "swap":
        word = word[:i] + word[i : i + 2][::-1] + word[i + 2 :]
    elif change == "insert":
        word = word[:i] + draw(LETTER).upper() + word[i:]
    word = draw(st.sampled_from([word, word.lower(), word.title()]))
    less, greater = draw(
        st.sampled_from([("<", ">"), ("＜", "＞"), ("&lt;", "&gt;"), ("\\<", "\\>")])
    )
    space = draw(st.sampled_from(["", " ", "\n"]))
    left, right = draw(
        st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda n: sum(n) > 1)
    )
    mark = f"{less * left}{space}{word}{space}{greater * right}"
    dress = draw(st.sampled_from(["{}", "**{}**", "`{}`", "- {}", "# {}", "  {}  "]))
    return dress.format(mark)


@given(begin=misspelt("BEGIN"), end=misspelt("END"), inline=st.booleans())
def test_no_mark_stays_however_it_is_misspelt(
    begin: str, end: str, inline: bool
) -> None:
    gap = " " if inline else "\n"
    answer = bare(f"{begin}{gap}{CORE}{gap}{end}", CORE)
    assert re.findall(r"\w+", answer) == re.findall(r"\w+", CORE), answer
    assert not re.search(r"[<>＜＞]|&[lg]t;", answer), answer


@pytest.mark.slow
@examples
def test_long_answers_take_time_in_proportion(part: str) -> None:
    started = time.process_time()
    bare(part * 20_000, CORE)
    assert time.process_time() - started < 5
