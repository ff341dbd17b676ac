"""Which lines are titles by their form."""

from __future__ import annotations

import pytest

from structrag.reading.plain import plain_headings
from structrag.reading.plain_titles import is_clean

BODY = (
    "The parties agree that all of the terms which follow are binding on both of them and on "
    "their heirs, and so forth.\n"
)


def outline(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in plain_headings(text)]


def test_other_numbers() -> None:
    text = (
        f"A.1 Proofs\n\n{BODY}\nA.2 Tables\n\n{BODY}\nIII. Data\n\n{BODY}\nIV. "
        f"Results\n\n{BODY}\nChapter 1\n\n{BODY}"
    )
    assert [title for _, title in outline(text)] == [
        "A.1 Proofs",
        "A.2 Tables",
        "III. Data",
        "IV. Results",
        "Chapter 1",
    ]


def test_run_in_titles_end_where_the_text_begins() -> None:
    text = (
        "1.  DEFINITIONS:   In addition to terms defined, these are used.\n\n"
        "2.TERM, EXTENSION AND RENEWAL:   (a) Initial Term. Unless ended, it goes on.\n\n"
        "   3. Use of  the Logo. The Company agrees.   4.1 Signs at Games   We shall put up signs "
        "that are seen from afar.\n"
    )
    headings = plain_headings(text)
    assert [text[heading.start : heading.end] for heading in headings] == [
        "1.  DEFINITIONS:   ",
        "2.TERM, EXTENSION AND RENEWAL:   ",
        "   3. Use of  the Logo. ",
        "4.1 Signs at Games   ",
    ]
    assert [heading.level for heading in headings] == [1, 1, 1, 1]  # 4 is missing
    assert headings[2].title == "3. Use of the Logo"
    assert [text[heading.end : heading.end + 3] for heading in headings] == [
        "In ",
        "(a)",
        "The",
        "We ",
    ]


def test_clauses_in_one_line() -> None:
    text = (
        "They agree as follows: 1. PURPOSE. The client hires the firm. 2. FEES: None, see 4. "
        "TERM above. 3. TERM. One year."
    )
    headings = plain_headings(text)
    assert [text[heading.start : heading.end] for heading in headings] == [
        "1. PURPOSE. ",
        "2. FEES: ",
        "3. TERM. ",
    ]


def test_capitals_and_title_case() -> None:
    text = f"LIMITED WARRANTY\n\n{BODY}\nReturn of Goods\n\n{BODY}\nGENERAL\n\n1. Term. {BODY}\n"
    assert outline(text) == [
        (1, "LIMITED WARRANTY"),
        (2, "Return of Goods"),
        (1, "GENERAL"),
        (1, "1. Term"),
    ]
    assert outline(f"Results\n\n{BODY}\nOpen Questions\n\n{BODY}") == [
        (1, "Results"),
        (1, "Open Questions"),
    ]


def test_scripts_without_case() -> None:
    body = "今天天气很好。" * 20 + "\n"
    assert outline(f"1. 总则\n\n{body}\n1.1 适用范围\n\n{body}\n2. 定义\n\n{body}") == [
        (1, "1. 总则"),
        (2, "1.1 适用范围"),
        (1, "2. 定义"),
    ]


def test_lines_with_initials_are_names_and_no_titles() -> None:
    for line, is_title in (
        ("Signed By J Smith", False),
        ("Board of XY Holdings", False),
        ("Signed By John Smith", True),
    ):
        titles = outline(f"Return of Goods\n\n{BODY}\n{line}\n\n{BODY}")
        assert ((1, line) in titles) == is_title, line


def test_clean_titles_have_at_most_ten_words_and_a_hundred_characters() -> None:
    title = " ".join(["Provision"] * 9 + ["Provisions"])
    assert len(title) == 100 and is_clean(title)
    assert not is_clean(f"{title}s")
    assert is_clean("Goods " * 9 + "Goods") and not is_clean("Goods " * 10 + "Goods")


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("An Act", True),
        ("A Term", False),  # the first word has two letters
        ("ABC", True),
        ("AB", False),
        ("Terms of It", False),  # the last has three
        ("Term,", False),
        ("Goods and Smith Inc", False),
        ("42", False),
    ],
)
def test_clean_titles(title: str, expected: bool) -> None:
    assert is_clean(title) is expected
