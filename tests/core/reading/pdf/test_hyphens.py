"""Words broken at the ends of rows."""

from __future__ import annotations

import pytest
from page_making import FULL, column, markdown, page

from structrag.reading.pdf.hyphens import Hyphens
from structrag.reading.pdf.layout import markdown_of_pages


@pytest.mark.parametrize(
    ("a", "b", "joined"),
    [
        ("an impor-", "tant thing", "an important thing"),
        ("a well-", "known man", "a well-known man"),
        ("the Smith-", "Jones family", "the Smith-Jones family"),
        ("2019-", "2020", "2019-2020"),
        ("short-", "and long-term", "short- and long-term"),
        ("soft\u00ad", "ened", "softened"),
        ("a dash -", "like this", "a dash - like this"),
        ("我们今天去", "公园", "我们今天去公园"),
        ("今天", "beta", "今天 beta"),
    ],
)
def test_line_ends(a: str, b: str, joined: str) -> None:
    assert joined in markdown(page(*column([FULL, f"{FULL[: 68 - len(a)]} {a}", b])))


def test_hyphens_follow_what_the_text_writes_elsewhere() -> None:
    lines = column(
        [
            FULL,
            "the e-",
            "mail is in the in-",
            "box and in the inbox an e-mail lies, so that",
            "the con-",
            "tent",
        ]
    )
    draft = markdown_of_pages([page(*lines)])
    assert "the e-mail is in the inbox and" in draft.text
    assert "the content" in draft.text
    assert [note for note in draft.uncertain if "by guess" in note] == [
        "Rejoined by guess: 1 word broken at line ends, such as 'con-tent'."
    ]


def test_a_suspended_hyphen_joins_nothing_unless_the_word_is_found_elsewhere() -> None:
    draft = markdown_of_pages(
        [
            page(
                *column(
                    [
                        f"{FULL[:60]} the pre-",
                        "and post-war years, a fact-",
                        "or, and a factor",
                    ]
                )
            )
        ]
    )
    assert "pre- and post-war years, a factor, and" in draft.text


@pytest.mark.parametrize(
    ("lines", "parts", "keeps", "is_guess"),
    [
        ([], ("state-of", "the"), True, False),
        ([], ("60", "335"), True, False),
        ([], ("Self", "made"), True, False),
        (["They reenter it"], ("Re", "enter"), False, False),
        (["They re-enter it"], ("Re", "enter"), True, False),
        # Both are there, or none: a guess.
        (["To reenter is to re-enter"], ("re", "enter"), False, True),
        ([], ("impor", "tant"), False, True),
        # Parts that are words of their own.
        (["water, Water and pump, pump"], ("water", "pump"), True, True),
        (["water and pump, pump"], ("water", "pump"), False, True),
        (["water, water and pump"], ("water", "pump"), False, True),
        (["pump, pump"], ("water", "pump"), False, True),
    ],
)
def test_whether_a_hyphen_stays(
    lines: list[str], parts: tuple[str, str], keeps: bool, is_guess: bool
) -> None:
    hyphens = Hyphens.of(lines)
    assert hyphens.keep(*parts) is keeps
    assert hyphens.guessed == (["-".join(parts)] if is_guess else [])


@pytest.mark.parametrize(
    ("lines", "parts", "expected"),
    [
        ([], ("pre", "and"), True),
        ([], ("Vor", "und"), True),
        ([], ("pre", "war"), False),
        (["A factor"], ("Fact", "or"), False),
        (["A fact"], ("fact", "or"), True),
    ],
)
def test_a_hyphen_before_and_stands_for_the_rest_of_a_later_word(
    lines: list[str], parts: tuple[str, str], expected: bool
) -> None:
    assert Hyphens.of(lines).is_suspended(*parts) is expected


@pytest.mark.parametrize("sign", ["-", "\u2010", "\u00ad", "- "])
def test_first_halves_at_line_ends_do_not_count(sign: str) -> None:
    hyphens = Hyphens.of([f"The old wa{sign}", "ter and the old pump"])
    assert hyphens.counts == {"the": 2, "old": 2, "ter": 1, "and": 1, "pump": 1}
