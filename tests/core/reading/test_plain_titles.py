"""Which lines are titles by their form."""

from __future__ import annotations

import pytest

from structrag.reading.plain import plain_headings
from structrag.reading.plain_titles import (
    MARK,
    continues,
    is_clean,
    read_number,
    roman_value,
    title_ends,
)

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
    assert [heading.level for heading in headings] == [1, 1, 1, 2]
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


def test_numbered_phrases_have_at_most_twelve_words() -> None:
    phrase = "Costs of heating in winter and of light in the two halls"
    assert len(phrase.split()) == 12
    for line, is_title in ((f"2. {phrase}", True), (f"2. {phrase} here", False)):
        text = f"1. Term\n\n{BODY}\n{line}\n\n{BODY}\n3. Fees\n\n{BODY}"
        assert ((1, line) in outline(text)) == is_title, line


def test_numbered_phrases_of_scripts_without_case_have_at_most_forty_characters() -> (
    None
):
    for size, is_title in ((40, True), (41, False)):
        line = f"2. {'总' * size}"
        text = f"1. 总则\n\n{BODY}\n{line}\n\n{BODY}\n3. 定义\n\n{BODY}"
        assert ((1, line) in outline(text)) == is_title, size


def test_numbered_phrases_begin_in_upper_case_and_end_without_a_comma() -> None:
    for phrase, is_title in (
        ("Costs of heating", True),
        ("costs of heating", False),
        ("“Costs” of heating", False),
        ("Costs of heating,", False),
    ):
        text = f"1. Term\n\n{BODY}\n2. {phrase}\n\n{BODY}\n3. Fees\n\n{BODY}"
        assert ((1, f"2. {phrase}") in outline(text)) == is_title, phrase


@pytest.mark.parametrize(
    ("numeral", "value"),
    [("i", 1), ("iv", 4), ("VIII", 8), ("IX", 9), ("XIV", 14), ("XX", 20), ("XC", 90)],
)
def test_roman_numbers(numeral: str, value: int) -> None:
    assert roman_value(numeral) == value


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ARTICLE IV", ("upper", "ARTICLE", (4,))),
        ("Article 3", ("upper", "Article", (3,))),
        ("Section II", ("upper", "Section", (2,))),
        ("Section 3.1", ("number", "Section", (3, 1))),
        ("§ 3", ("number", "§", (3,))),
        ('EXHIBIT "A"', ("outer", "outer", ())),
        ("Exhibit A.1", ("", "outer", ())),
        ("3 Terms", ("number", "arabic", (3,))),
        ("3.0 Terms", ("number", "arabic", (3,))),
        ("3.2.0 Terms", ("number", "arabic", (3, 2))),
        ("3.0.1 Terms", ("number", "arabic", (3, 0, 1))),
        ("0 Terms", ("number", "arabic", (0,))),
        ("A.1 Terms", ("number", "letter", (1, 1))),
        ("C.2.4 Terms", ("number", "letter", (3, 2, 4))),
        ("Section A.1", ("", "letter", (1, 1))),
        ("XIV. Terms", ("upper", "roman", (14,))),
        ("IV Terms", ("", "", ())),
        ("B. Terms", ("", "", ())),
    ],
)
def test_numbers_have_a_kind_a_family_and_a_value(
    line: str, expected: tuple[str, str, tuple[int, ...]]
) -> None:
    mark = MARK.match(line)
    assert mark is not None
    assert read_number(mark) == expected


Numbers = list[tuple[int, ...]]


@pytest.mark.parametrize(
    ("before", "number", "after"),
    [
        ([], (1,), [(1,)]),
        ([], (3,), [(3,)]),  # a list may begin with two numbers left out
        ([], (4,), None),
        ([], (1, 1, 1), [(1, 1, 1)]),
        ([], (1, 2), None),
        ([(3,)], (4,), [(4,)]),
        ([(3,)], (6,), [(6,)]),  # two are left out
        ([(3,)], (7,), None),
        ([(3,)], (1,), [(3,), (1,)]),  # a list inside
        ([(3,)], (2,), None),
        ([(1,)], (1, 1), [(1, 1)]),
        ([(1,)], (2, 2), [(2, 2)]),
        ([(1,)], (2, 3), None),
        ([(2, 4)], (2, 5), [(2, 5)]),
        ([(2, 4)], (3,), [(3,)]),
        ([(2, 4)], (2, 4), None),
        ([(5,), (1,)], (2,), [(5,), (2,)]),
        ([(5,), (2,)], (6,), [(6,)]),  # the list inside is over
        # Four are remembered.
        ([(9,), (8,), (7,), (6,)], (1,), [(8,), (7,), (6,), (1,)]),
    ],
)
def test_numbers_follow_those_before(
    before: Numbers, number: tuple[int, ...], after: Numbers | None
) -> None:
    numbers = list(before)
    assert continues(numbers, number) == (after is not None)
    assert numbers == (before if after is None else after)


@pytest.mark.parametrize(
    ("line", "alone", "title", "behind"),
    [
        ("ARTICLE IV", True, "", ""),
        ("EXHIBIT A", True, "", ""),
        ("ARTICLE IV", False, None, ""),
        ("4.", True, None, ""),
        ("1. TERM. It lasts.", False, "TERM", "It lasts."),
        ("1. TERM: It lasts.", True, "TERM", "It lasts."),
        ("1. TERM. it lasts.", False, None, ""),
        ("1. US V. CANADA. He signs.", False, "US V. CANADA", "He signs."),
        ("1. Use it now. Big Words. He signs.", False, None, ""),
        (f"1. Goods – {'W' * 40}", False, None, ""),
        (f"1. Goods – {'W' * 41}", False, "Goods", "W" * 41),
        ("1. Term.", True, "Term", ""),
        ("1. Term", False, None, ""),
        ("2 Term", True, "Term", ""),
        ("2  Term", True, "Term", ""),
        ("2   Term", True, None, ""),
        ("2.   Term", True, "Term", ""),
        ("2. Costs of heating", True, "Costs of heating", ""),
        ("2 Costs of heating", True, None, ""),
        ("2.1 Costs of heating", True, "Costs of heating", ""),
        ("Section 2 Costs of heating", True, "Costs of heating", ""),
        ("2. Costs shall rise", True, None, ""),
        ("2. Costs of 100 rooms", True, None, ""),
    ],
)
def test_titles_end_before_their_clauses_or_with_their_lines(
    line: str, alone: bool, title: str | None, behind: str
) -> None:
    mark = MARK.match(line)
    assert mark is not None
    ends = title_ends(line, mark, len(line), alone)
    if title is None:
        assert ends is None
    else:
        assert ends is not None
        assert (line[mark.end() : ends[0]], line[ends[1] :]) == (title, behind)


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
