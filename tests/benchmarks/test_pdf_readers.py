"""The benchmark of readers of PDF: blocks, order of words, shares."""

from __future__ import annotations

import io

import pytest

pytest.importorskip("reportlab", reason="it makes the PDF files")
pytest.importorskip("matplotlib", reason="its fonts are used")
pytest.importorskip("pypdfium2", reason="the extra 'pdf' is not installed")

from benchmarks.pdf_readers import (
    Block,
    agreement,
    blocks_of,
    bookmarks_of,
    common_subsequence,
    for_latex,
    latex,
    latex_table,
    outlines_table,
    printed,
    shares,
    without_bookmarks,
)
from structrag.reading.pdf.document import pdf_document

TEXT = """# Pump { #pump }

It moves *water*
and `oil`.

- One part
- Two parts

## Parts

| Part | Price |
|---|---|
| Hose | 3 |

    code here
"""


def test_blocks_are_what_is_printed_in_order() -> None:
    assert blocks_of(TEXT) == [
        Block("heading", "Pump", 1),
        Block("paragraph", "It moves water and oil."),
        Block("item", "One part"),
        Block("item", "Two parts"),
        Block("heading", "Parts", 2),
        Block("table", rows=(("Part", "Price"), ("Hose", "3"))),
        Block("code", "code here"),
    ]


def test_the_longest_common_subsequence() -> None:
    assert common_subsequence("abcbdab", "bdcaba") == 4
    assert common_subsequence("ab", "ba") == 1
    assert common_subsequence("", "a") == common_subsequence("a", "") == 0
    assert common_subsequence("aaa" * 50, "aa") == 2


def test_shares_of_words_and_headings() -> None:
    blocks = [Block("heading", "One", 1), Block("paragraph", "two three four")]
    assert shares(blocks, "# One\n\ntwo three four\n") == [1.0, 1.0, 1.0, 1.0]
    assert shares(blocks, "# Other\n\n# One\n\nfour two\n") == [0.75, 0.5, 1.0, 0.5]


@pytest.mark.parametrize("columns", [1, 2])
def test_a_printed_document_is_read_again(columns: int) -> None:
    blocks = blocks_of(TEXT)
    found, in_order, headings, _ = shares(
        blocks, pdf_document(printed(blocks, columns)).text
    )
    assert (found, in_order, headings) == (1.0, 1.0, 1.0)


def test_a_source_of_latex_writes_signs_out_and_takes_the_first_heading_for_the_title() -> (
    None
):
    blocks = for_latex(
        blocks_of("Text.\n\n# Pümp\n\n## 50 % & more_so\n\n#### Seals\n")
    )
    source = latex(blocks, r"\documentclass{article}")
    assert [block.text for block in blocks] == [
        "Pump",
        "Text.",
        "50 % & more_so",
        "Seals",
    ]
    parts = [
        r"\title{Pump}",
        "Text.",
        r"\section{50 \% \& more\_so}",
        r"\subsection{Seals}",
    ]
    places = [source.index(part) for part in parts]
    assert places == sorted(places)


def test_without_pdflatex_its_columns_are_not_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    assert "Not measured: no pdflatex." in latex_table({"a": blocks_of(TEXT)})


def with_bookmarks(titles: list[str]) -> bytes:
    """A PDF of a page for each title, printed small, that only its bookmark shows as a heading."""
    from reportlab.pdfgen.canvas import Canvas

    buffer = io.BytesIO()
    canvas = Canvas(buffer, invariant=1)
    for title in titles:
        canvas.drawString(72, 700, title)
        canvas.drawString(
            72, 650, "The pump moves the water up to the tank on the roof."
        )
        canvas.bookmarkPage(title)
        canvas.addOutlineEntry(title, title)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def test_bookmarks_are_the_headings_to_find() -> None:
    titles = ["of the pump", "of the hose", "of the tank"]
    data = with_bookmarks(titles)
    assert bookmarks_of(data) == (titles, 3)
    assert agreement(titles, pdf_document(data).text) == (3, 3, 3)
    assert agreement(titles, without_bookmarks(data)) == (0, 0, 0)
    assert bookmarks_of(b"no PDF") == ([], 0)


def test_real_files_with_fewer_bookmarks_are_left_out() -> None:
    table = outlines_table(
        [
            with_bookmarks(["of the pump", "of it"]),
            with_bookmarks(["a b", "b c", "c d"]),
        ]
    )
    assert table.startswith("## Real files, 1 of them, 3 bookmarks, 3 pages\n")
    assert "(ours) | 100.0 [100.0, 100.0] | 100.0 [100.0, 100.0] | 100.0 " in table


@pytest.mark.parametrize(
    ("titles", "text", "shares"),
    [
        (
            ["The pump", "Chapter 3 hose", "Tank"],
            "# 1.2 The pump\n\n# Hose!\n\n# Other\n",
            (2, 3, 3),
        ),
        (
            ["1.2 Pump", "Hose", "The filter of all new pumps of t"],
            "# 1.2 Pump [3, p. 7]\n\n# Hose of rubber\n\n# The filter of all new pumps of tanks\n",
            (2, 3, 3),
        ),
        (
            ["Pump", "Hose"],
            "# Manual\n\n## Pump\n\n### Seal\n\n## Other\n\n## Hose\n",
            (2, 5, 3),
        ),
        (["Pump", "Tank"], "# Pump\n\n## Seal\n", (1, 2, 1)),
    ],
    ids=["numbers", "bookmarks that end early", "title and deeper ones", "missing"],
)
def test_bookmarks_and_headings_agree(
    titles: list[str], text: str, shares: tuple[int, int, int]
) -> None:
    assert agreement(titles, text) == shares
