"""Plain text: headings by layout and numbering, run-in titles, what is no heading, blocks, real
documents."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable

import pytest
from fixture_cases import BODY, Case, cases
from hypothesis import given
from hypothesis import strategies as st
from places import DATA

from structrag.reading.outline import build_outline
from structrag.reading.plain import plain_blocks, plain_headings
from structrag.records import Document

SPACE = ["\n", "\r\n", "\r", "\f", "\v", "\x85", "\u2028", " ", "   ", "\t"]
MARKS = [
    "- ",
    "* ",
    "1. ",
    "2. ",
    "1.1 ",
    "A.1 ",
    "IV. ",
    "ARTICLE II",
    "Section 3.",
    "Exhibit B",
    "===",
    "---",
]
WORDS = ["TERM", "Term and Notices", "Notices. ", "text goes on ", "第一章", "é\u0301"]
PIECES = st.sampled_from(SPACE + MARKS + WORDS)
TEXTS = st.lists(PIECES, max_size=40).map("".join)


def outline(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in plain_headings(text)]


def read(folder: str) -> list[str]:
    path = DATA / folder / "documents.jsonl.gz"
    if not path.exists():
        pytest.skip(f"evaluation data not found: set STRUCTRAG_DATA ({path})")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


@given(TEXTS)
def test_headings_are_in_order_and_inside(text: str) -> None:
    headings = plain_headings(text)
    assert len(headings) != 1
    last = 0
    for heading in headings:
        assert last <= heading.start < heading.end <= len(text)
        assert "".join(heading.title.split()) in "".join(
            text[heading.start : heading.end].split()
        )
        assert heading.level >= 1
        last = heading.end
    assert {heading.level for heading in headings} == set(
        range(1, max((h.level for h in headings), default=0) + 1)
    )


@given(TEXTS, st.integers(0, 60), st.integers(0, 200))
def test_blocks_tile(text: str, start: int, length: int) -> None:
    start = min(start, len(text))
    end = min(start + length, len(text))
    blocks = plain_blocks(text, start, end)
    assert "".join(text[block.start : block.end] for block in blocks) == text[start:end]
    assert [block.start for block in blocks] == [
        start,
        *(block.end for block in blocks),
    ][: len(blocks)]
    for block in blocks:
        assert block.kind in {"paragraph", "list"}
        assert all(block.start < cut < block.end for cut in block.cuts)
        assert list(block.cuts) == sorted(set(block.cuts))


@given(TEXTS, st.sampled_from(["\n", "\r\n", "\r"]))
def test_line_ends_do_not_matter(text: str, end: str) -> None:
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    assert outline(plain.replace("\n", end)) == outline(plain)


@pytest.mark.parametrize("case", cases("plain_headings"))
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_headings_by_example(case: Case, line_end: str) -> None:
    headings = outline(case.text.replace("\n", line_end))
    assert "".join(f"{level} {title}\n" for level, title in headings) == case.expected


def test_a_heading_holds_its_underline_and_the_line_below_its_number() -> None:
    text = (
        f"Report\n======\n\n{BODY}\nMethods\n-------\n{BODY}\nResults\n=======\n{BODY}"
    )
    heading = plain_headings(text)[1]
    assert text[heading.start : heading.end] == "Methods\n-------\n"
    text = f"ARTICLE I\n\nDEFINITIONS\n\nSection 1. Terms Used. {BODY}\nARTICLE II TERM\n\n{BODY}"
    first = plain_headings(text)[0]
    assert text[first.start : first.end] == "ARTICLE I\n\nDEFINITIONS\n"


def test_a_page_break_may_stand_before_a_heading() -> None:
    text = f"1. Term\n\n{BODY}\f2. Fees\n\n{BODY}\n\f\n3. Notices\n\n{BODY}"
    assert [title for _, title in outline(text)] == ["1. Term", "2. Fees", "3. Notices"]


@pytest.mark.parametrize("mark", ["\v", "\x85", "\u2028"])
def test_other_separators_are_no_line_ends(mark: str) -> None:
    text = (
        f"{BODY}\nall of this is one line that goes on{mark}1. Term{mark}and on\n\n2. "
        f"Fees\n\n{BODY}"
    )
    assert outline(text) == []
    assert len(plain_blocks(f"a{mark}{mark}b", 0, 4)) == 1


def test_blocks() -> None:
    text = "\n\nOne line\nand more.\n\n\n- first\n- second\n  goes on\n- third\n\n1. alone\n"
    blocks = plain_blocks(text, 0, len(text))
    assert [(block.kind, text[block.start : block.end]) for block in blocks] == [
        ("paragraph", "\n\nOne line\nand more.\n\n\n"),
        ("list", "- first\n- second\n  goes on\n- third\n\n"),
        ("paragraph", "1. alone\n"),
    ]
    assert [text[cut : cut + 7] for cut in blocks[1].cuts] == ["- secon", "- third"]
    assert plain_blocks(text, 5, 5) == []
    assert [block.kind for block in plain_blocks("1. a\r2) b\r\r\rc", 0, 13)] == [
        "list",
        "paragraph",
    ]
    assert len(plain_blocks(" \n ", 0, 3)) == 1


def test_contracts() -> None:
    texts = read("cuad")
    found = [plain_headings(text) for text in texts]
    assert sum(map(len, found)) > 2000
    assert sum(1 for headings in found if headings) >= 80
    titles = [heading.title for headings in found for heading in headings]
    assert not [
        title
        for title in titles
        if "...." in title or "/s/" in title or title.endswith((",", ";"))
    ]
    for text, headings in zip(texts, found, strict=True):
        sections = build_outline(
            Document(text), headings, lambda start, end: []
        ).sections
        assert "".join(text[s.start : s.body_end] for s in sections) == text


@pytest.mark.parametrize("folder", ["qmsum", "covid_qa"])
def test_transcripts_and_flat_papers_have_none(folder: str) -> None:
    assert [text[:80] for text in read(folder) if plain_headings(text)] == []


@pytest.mark.parametrize(
    "unit",
    [
        "word ",
        "1. Term. The text. ",
        "a\n\n",
        "   1.   ",
        "TERM\n\n",
        "- a\n",
        "ARTICLE I\n\n",
        "1. Term\n\n",
        "x",
        " ",
        "\n",
        "aA. ",
    ],
)
def test_time_is_linear(unit: str) -> None:
    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        start = time.process_time()
        plain_headings(text), plain_blocks(text, 0, len(text))
        return time.process_time() - start

    seconds(1000)
    small, large = min(seconds(30_000) for _ in range(3)), seconds(240_000)
    assert large < 24 * small + 0.3


LONG_TITLE = "Provision " * 9 + "Provisions"  # ten words, a hundred characters


@pytest.mark.parametrize(
    ("line", "is_title"),
    [
        ("Costs of heating in winter and of light in the two halls", True),
        ("Costs of heating in winter and of light in the two big halls", False),
        (LONG_TITLE, True),
        (f"{LONG_TITLE}s", False),
        ("Costs of heating.", False),
        ("Costs of heating,", False),
        ("Costs of heating:", False),
        ("Costs. Of heating", True),
        ("Costs   of heating", False),  # a row of a table
        ("2019 – 2020", False),
    ],
)
def test_an_underlined_title_is_a_short_phrase(line: str, is_title: bool) -> None:
    text = f"Report\n===\n\n{BODY}\n{line}\n---\n{BODY}\nResults\n===\n\n{BODY}"
    expected = [(1, "Report"), (2, line), (1, "Results")]
    assert outline(text) == (expected if is_title else expected[::2])


@pytest.mark.parametrize("rule", ["---", "==="])
def test_an_underlined_line_stands_behind_a_blank_line(rule: str) -> None:
    text = (
        f"It goes on\nMethods\n{rule}\n\n{BODY}\nFees\n===\n\n{BODY}\nLaw\n===\n{BODY}"
    )
    assert outline(text) == [(1, "Fees"), (1, "Law")]


def test_a_line_between_two_rules_is_underlined_once() -> None:
    text = f"Report\n======\n------\n\n{BODY}\nResults\n===\n\n{BODY}"
    headings = plain_headings(text)
    assert [heading.title for heading in headings] == ["Report", "Results"]
    assert text[headings[0].start : headings[0].end] == "Report\n======\n"


@pytest.mark.parametrize(
    ("lines", "titles"),
    [
        # A number needs a blank line before it, a label does not.
        ("It goes on\n1. Term\n\n{body}", []),
        ("1. Term\n\n{body}It goes on\n2. Fees\n\n{body}", ["1. Term"]),
        ("1. Term\n\n{body}Section 1. Fees\n\n{body}", ["1. Term", "Section 1. Fees"]),
        # A title that fills its line has a blank line behind it or the first words of a text.
        ("1. Term\nAll of it is said.\n\n{body}", ["1. Term"]),
        ("1. Term\nand all of it.\n\n{body}", []),
        ("1. Term\n(all of it)\n\n{body}", []),
        ("1. Term\nA. First of all\n\n{body}", []),
        # Within a line a title ends where its text begins.
        ("1. Law. All said.  2. Fees\n\n{body}", ["1. Law"]),
        ("1. Term  2. Fees. All are due.\n\n{body}", ["2. Fees"]),
    ],
)
def test_what_stands_around_a_numbered_title(lines: str, titles: list[str]) -> None:
    text = f"EXHIBIT A\n\n{BODY}\n{lines}EXHIBIT B\n\n{BODY}".replace("{body}", BODY)
    expected = ["EXHIBIT A", *titles, "EXHIBIT B"]
    assert [title for _, title in outline(text)] == expected


def test_the_clauses_below_a_label_may_begin_on_the_next_line() -> None:
    text = (
        "ARTICLE I TERM\n"
        "They agree as follows:  1. Purpose. The client hires.  2. Fees. None are due.\n"
    )
    titles = [title for _, title in outline(text)]
    assert titles == ["ARTICLE I TERM", "1. Purpose", "2. Fees"]


@pytest.mark.parametrize(
    ("lines", "title"),
    [
        ("ARTICLE I\nDEFINITIONS\n\n", "ARTICLE I DEFINITIONS"),
        ("ARTICLE I\n\n\nDEFINITIONS\n\n", "ARTICLE I DEFINITIONS"),
        ("ARTICLE I\n\n\n\nDEFINITIONS\n\n", "ARTICLE I"),
        ("ARTICLE I\n\nTerms of  Use\n\n", "ARTICLE I Terms of Use"),
        ("ARTICLE I\n\nDEFINITIONS\nare below\n\n", "ARTICLE I"),
        ("ARTICLE I\n\nDEFINITIONS.\n\n", "ARTICLE I"),
        ("ARTICLE I\n\nDEFINITIONS,\n\n", "ARTICLE I"),
        ("ARTICLE I\n\ndefinitions\n\n", "ARTICLE I"),
        ("ARTICLE I\n\nIV TERMS\n\n", "ARTICLE I"),  # another number
        ("ARTICLE I TERM\n\nFEES DUE\n\n", "ARTICLE I TERM"),  # it has its title
    ],
)
def test_the_title_of_a_label_stands_within_three_lines(lines: str, title: str) -> None:
    text = f"{lines}it goes on {BODY}\nARTICLE II\n\nit goes on {BODY}"
    assert outline(text)[0] == (1, title)
    assert outline(text)[-1] == (1, "ARTICLE II")


@pytest.mark.parametrize(
    ("line", "is_title"),
    [
        ("RETURN OF GOODS", True),
        ("FEES, COSTS AND TAXES", True),
        ("RETURN OF GOODS.", False),
        ("RETURN OF GOODS;", False),
        ("RETURN: GOODS", False),
        ("RETURN OF 2 GOODS", False),
        ("IV RETURN OF GOODS", False),  # a number without a dot
        ("Return of Goods", True),
        ("Fees, Costs and Taxes", False),
        ("Return of Goods.", False),
        ("Return: Goods", False),
        ("Return of 2 Goods", False),
        ("return of goods", False),
        (LONG_TITLE, True),
        (f"{LONG_TITLE}s", False),
    ],
)
def test_a_title_without_a_number_is_clean(line: str, is_title: bool) -> None:
    text = f"1. Term\n\n{BODY}\n{line}\n\n{BODY}\n2. Fees\n\n{BODY}"
    titles = [title for _, title in outline(text)]
    assert titles == ["1. Term", *([line] if is_title else []), "2. Fees"]


@pytest.mark.parametrize(
    "lines",
    ["It goes on\nRETURN OF GOODS\n\n", "RETURN OF GOODS\nit goes on.\n\n"],
)
@pytest.mark.parametrize("case", [str.upper, str.title])
def test_a_title_without_a_number_stands_between_blank_lines(
    lines: str, case: Callable[[str], str]
) -> None:
    lines = lines.replace("RETURN", case("RETURN"))
    text = f"1. Term\n\n{BODY}\n{lines}{BODY}\n2. Fees\n\n{BODY}"
    assert [title for _, title in outline(text)] == ["1. Term", "2. Fees"]
    text = f"{lines}{BODY}\n1. Term\n\n{BODY}\n2. Fees\n\n{BODY}"
    assert [title for _, title in outline(text)] == ["1. Term", "2. Fees"]


@pytest.mark.parametrize(
    ("title", "paragraph", "is_title"),
    [
        # More than 80 characters, and more than the title has.
        ("Fees", "They are due when it is so. " + "x" * 53, True),
        ("Fees", "They are due when it is so. " + "x" * 52, False),
        (LONG_TITLE, "They are due when it is so. " + "x" * 73, True),
        (LONG_TITLE, "They are due when it is so. " + "x" * 72, False),
        # Running text within the first 400 characters.
        ("Fees", "9 " * 197 + "9a b c" + " 9" * 9, True),
        ("Fees", "9 " * 197 + "9 a b c" + " 9" * 9, False),
        # Below capitals a sentence is enough, or a number.
        ("FEES", "They are due.", True),
        ("FEES", "they are due!", True),
        ("FEES", "They are due", False),
        ("FEES", "THEY ARE DUE.", False),
        ("FEES", "They are due when it is so. " + "x" * 53, True),
        ("FEES", "They are due when it is so. " + "x" * 52, False),
        ("FEES", "3. all the rest", True),
        ("Fees", "They are due.", False),
        ("Fees", "3. all the rest", False),
    ],
)
def test_a_title_without_a_number_stands_above_a_text(
    title: str, paragraph: str, is_title: bool
) -> None:
    text = f"EXHIBIT A\n\n{BODY}\n{title}\n\n{paragraph}\n\nEXHIBIT B\n\n{BODY}"
    titles = [title for _, title in outline(text)]
    assert titles == ["EXHIBIT A", *([title] if is_title else []), "EXHIBIT B"]


def test_the_last_line_of_a_text_is_no_title_without_a_number() -> None:
    text = f"1. Term\n\n{BODY}\n2. Fees\n\n{BODY}\nRETURN OF GOODS\n"
    assert [title for _, title in outline(text)] == ["1. Term", "2. Fees"]


def test_a_title_that_occurs_three_times_is_a_running_head() -> None:
    for title in ("DELIVERY TERMS", "Delivery Terms"):
        two = f"{title}\n\n{BODY}\n" * 2
        assert [title for _, title in outline(two)] == [title] * 2
        text = f"1. Term\n\n{BODY}\n{two}{title.upper()}\n\n{BODY}\n2. Fees\n\n{BODY}"
        assert [title for _, title in outline(text)] == ["1. Term", "2. Fees"]
    numbered = "".join(f"{part}1. Term\n\n{BODY}\n" for part in ["", BODY, BODY])
    assert [title for _, title in outline(numbered)] == []
    text = f"ARTICLE I\n\n{BODY}\n" * 3  # articles of three contracts
    assert [title for _, title in outline(text)] == ["ARTICLE I"] * 3


def test_the_first_label_of_an_exhibit_counts() -> None:
    text = f"1. Term\n\n{BODY}\nEXHIBIT A\n\n{BODY}\nExhibit A\n\n{BODY}\nEXHIBIT B\n\n{BODY}"
    titles = [title for _, title in outline(text)]
    assert titles == ["1. Term", "EXHIBIT A", "EXHIBIT B"]


@pytest.mark.parametrize(
    ("lines", "titles"),
    [
        ("1. Term\n\n2. Fees\n\n{body}", ["1. Term", "2. Fees"]),
        ("1. Term\n\n2. Fees\n\n3. Law\n\n{body}", []),
        # Each below the one before: no list.
        (
            "1. Term\n\n1.1 Fees\n\n1.1.1 Law\n\n{body}",
            ["1. Term", "1.1 Fees", "1.1.1 Law"],
        ),
        (
            "1. Term\n\n1.1 Fees\n\n1.2 Law\n\n{body}",
            ["1. Term", "1.1 Fees", "1.2 Law"],
        ),
        ("1. Term\n\n1.1 Fees\n\n1.2 Law\n\n2. Ends\n\n{body}", []),
        # Of different kinds: no list.
        (
            "ARTICLE I TERM\n\nDUE FEES\n\n1. Law\n\n{body}",
            ["ARTICLE I TERM", "DUE FEES", "1. Law"],
        ),
    ],
)
def test_three_siblings_without_a_text_between_are_a_list(
    lines: str, titles: list[str]
) -> None:
    text = f"EXHIBIT A\n\n{BODY}\n{lines}EXHIBIT B\n\n{BODY}".replace("{body}", BODY)
    expected = ["EXHIBIT A", *titles, "EXHIBIT B"]
    assert [title for _, title in outline(text)] == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # Numbers stand below several articles, not below one.
        (
            ["ARTICLE I TERM", "1. Fees", "1.1 Costs", "ARTICLE II LAW"],
            [(1, "ARTICLE I TERM"), (2, "1. Fees"), (3, "1.1 Costs"), (1, "ARTICLE II LAW")],
        ),
        (
            ["ARTICLE I TERM", "1. Fees", "1.1 Costs"],
            [(1, "ARTICLE I TERM"), (1, "1. Fees"), (2, "1.1 Costs")],
        ),
        (
            ["ARTICLE I TERM", "1.1 Fees", "ARTICLE II LAW", "Open Points"],
            [(1, "ARTICLE I TERM"), (2, "1.1 Fees"), (1, "ARTICLE II LAW"), (2, "Open Points")],
        ),
        (
            ["Open Points", "1. Fees", "1.1 Costs"],
            [(1, "Open Points"), (1, "1. Fees"), (2, "1.1 Costs")],
        ),
        # Within an exhibit all stands one lower.
        (
            ["1. Fees", "EXHIBIT A", "ARTICLE I TERM", "Open Points", "1. Costs"],
            [(1, "1. Fees"), (1, "EXHIBIT A"), (2, "ARTICLE I TERM"), (3, "Open Points"),
             (2, "1. Costs")],
        ),
        (
            ["1. Fees", "EXHIBIT A", "OPEN POINTS", "1. Costs"],
            [(1, "1. Fees"), (1, "EXHIBIT A"), (2, "OPEN POINTS"), (2, "1. Costs")],
        ),
        # A title stands below the last number, which an exhibit or capitals end.
        (
            ["1. Fees", "1.1 Costs", "Open Points", "EXHIBIT A", "Other Points"],
            [(1, "1. Fees"), (2, "1.1 Costs"), (3, "Open Points"), (1, "EXHIBIT A"),
             (1, "Other Points")],
        ),
        (
            ["Other Points", "1. Fees", "1.1 Costs", "OPEN POINTS", "Other Views"],
            [(2, "Other Points"), (1, "1. Fees"), (2, "1.1 Costs"), (1, "OPEN POINTS"),
             (2, "Other Views")],
        ),
    ],
)  # fmt: skip
def test_levels_follow_from_kinds_and_numbers(
    lines: list[str], expected: list[tuple[int, str]]
) -> None:
    assert outline("".join(f"{line}\n\n{BODY}\n" for line in lines)) == expected
