"""The benchmark of readers of PDF: blocks, order of words, shares."""

from __future__ import annotations

import pytest

pytest.importorskip("reportlab", reason="it makes the PDF files")
pytest.importorskip("matplotlib", reason="its fonts are used")
pytest.importorskip("pypdfium2", reason="the extra 'pdf' is not installed")

from benchmarks.pdf_readers import (
    Block,
    blocks_of,
    common_subsequence,
    printed,
    shares,
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
