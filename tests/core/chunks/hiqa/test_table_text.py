"""HiQASplitter: what is indexed of tables, and how they are cut."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.reading.files import read_text
from structrag.records import Chunk

PRICES = (
    "| Product | Price | Weight |\n|---|--:|---|\n| Nova A10 | 129.90 | 310 g |\n| Nova B11 | "
    "149.00 | 295 g |\n"
)
words = st.text("abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=9)
cells = st.lists(words, min_size=1, max_size=3).map(" ".join)


def split(text: str, format: str = "markdown", **settings: Any) -> list[Chunk]:
    return HiQASplitter(**settings).split(read_text(text, format=format))


def tables(text: str, format: str = "markdown", **settings: Any) -> list[Chunk]:
    return [chunk for chunk in split(text, format, **settings) if chunk.kind == "table"]


def test_a_table_is_indexed_by_line_before_headers_labels_and_sentence_behind() -> None:
    text = (
        f"# Nova\n\nIntro first. The prices are\nlisted here:\n\n{PRICES}\nAll with tax. "
        "Shipping is free.\n"
    )
    (table,) = tables(text)
    assert table.text == PRICES + "\n"
    assert table.index_text == (
        "Nova\nThe prices are listed here:\nProduct | Price | Weight\nNova A10\nNova B11\nAll with "
        "tax."
    )


def test_all_cells_are_indexed_on_request() -> None:
    (table,) = tables(PRICES, table_cells=True)
    assert (
        table.index_text
        == "Product | Price | Weight\nNova A10 | 129.90 | 310 g\nNova B11 | 149.00 | 295 g"
    )


def test_a_cell_that_is_a_passage_is_indexed() -> None:
    passage = "The title of the interface as it is shown to people who read it."
    (table,) = tables(
        f"| Name | Type | Meaning |\n|---|---|---|\n| title | str | {passage} |\n| x | int | 4 |\n"
    )
    assert table.extras["reduced"] == f"Name | Type | Meaning\ntitle | {passage}\nx"


def test_markup_in_headers_and_labels_is_read() -> None:
    (table,) = tables(
        "| **Name** | `a\\|b` |\n|---|---|\n| [Nova](x.html) *A10* | 1 |\n| {:id} &amp; b | 2 |\n| "
        "snake_case_x | 3 |\n"
    )
    assert table.extras["reduced"] == "Name | a|b\nNova A10\n{:id} & b\nsnake_case_x"


def test_a_nested_table_belongs_to_its_cell() -> None:
    (table,) = tables(
        "<table><tr><th>A</th><th>B</th></tr><tr><td>x<table><tr><td>in</td></tr></table></td><td>1</td></tr></table>\n"
    )
    assert table.extras["reduced"] == "A | B\nx in"


def test_a_missing_or_blank_header_is_the_first_row() -> None:
    (blank,) = tables("| | |\n|---|---|\n| Key | Value |\n| Colour | red |\n")
    assert blank.extras["reduced"] == "Key | Value\nColour"
    (none,) = tables(
        "<table><tr><td>Key</td><td>Value</td></tr><tr><td>Colour</td><td>red</td></tr></table>",
        "html",
    )
    assert none.extras["reduced"] == "Key | Value\nColour"


def test_missing_cells_are_empty_and_cells_too_many_are_kept() -> None:
    (table,) = tables("| a | b | c |\n|---|---|---|\n| x |\n| y | 1 | 2 | 3 |\n|\n")
    assert table.extras["reduced"] == "a | b | c\nx\ny"
    assert "| 3 |" in table.text


def test_a_header_that_leaves_no_room_makes_text() -> None:
    head = " | ".join(f"column number {i}" for i in range(40))
    chunks = split(
        f"| {head} |\n|{'---|' * 40}\n| x |{' 1 |' * 39}\n| y |{' 2 |' * 39}\n",
        max_tokens=80,
    )
    assert {chunk.kind for chunk in chunks} == {"text"}
    assert all(chunk.extras["index_tokens"] <= 80 for chunk in chunks)


@pytest.mark.parametrize("html", [False, True])
def test_a_long_table_is_cut_between_rows_with_its_headers(html: bool) -> None:
    rows = [f"| item {i} | {i}.25 | {i} g |\n" for i in range(60)]
    text = (
        "# Items\n\nTable 1: all items\n\n| Name | Price | Weight |\n|---|---|---|\n"
        + "".join(rows)
    )
    if html:
        rows = [
            f"<tr><td>item {i}</td><td>{i}.25</td><td>{i} g</td></tr>\n"
            for i in range(60)
        ]
        head = "<table>\n<thead><tr><th>Name</th><th>Price</th><th>Weight</th></tr></thead>\n"
        text = f"# Items\n\nTable 1: all items\n\n{head}{''.join(rows)}</table>\n"
    parts = tables(text, max_tokens=80)
    assert len(parts) > 5
    assert [chunk.extras["part"] for chunk in parts] == list(range(1, len(parts) + 1))
    assert {chunk.extras["parts"] for chunk in parts} == {len(parts)}
    labels = []
    for i, part in enumerate(parts):
        lines = part.index_text.split("\n")
        assert lines[:3] == ["Items", "Table 1: all items", "Name | Price | Weight"]
        labels += lines[3:]
        assert part.n_tokens <= 80
        assert part.text.lstrip().startswith(
            ("| item", "<tr>") if i else ("| Name", "<table>")
        )
        assert ("Name" in part.extras["header"]) if i else ("header" not in part.extras)
    assert labels == [f"item {i}" for i in range(60)]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(cells, min_size=2, max_size=4, unique=True),
    st.lists(
        st.tuples(cells, st.lists(st.integers(0, 999), min_size=1, max_size=3)),
        min_size=1,
        max_size=30,
    ),
    st.sampled_from([40, 80, None]),
)
def test_every_header_and_label_is_indexed_and_no_value(
    heads: list[str], rows: list[Any], limit: int | None
) -> None:
    values = [f"v{value}v{i}" for i, (_, row) in enumerate(rows) for value in row]
    body = "".join(
        f"| {label} | {' | '.join(f'v{value}v{i}' for value in row)} |\n"
        for i, (label, row) in enumerate(rows)
    )
    text = f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}\n{body}"
    chunks = split(text, max_tokens=limit)
    assume({chunk.kind for chunk in chunks} == {"table"})
    assert "".join(chunk.text for chunk in chunks) == text
    for chunk in chunks:
        shown = chunk.index_text
        assert all(head in shown for head in heads)
        assert not any(value in shown.split() for value in values)
    lines = [line for chunk in chunks for line in chunk.index_text.split("\n")]
    assert all(label in lines for label, _ in rows)
    assert limit is None or all(
        chunk.extras["index_tokens"] <= limit for chunk in chunks
    )


@pytest.mark.slow
def test_a_table_of_8000_rows_takes_linear_time() -> None:
    def seconds(n: int, row: str) -> float:
        text = "# T\n\n| Name | Price |\n|---|---|\n" + "".join(
            row.format(i) for i in range(n)
        )
        started = process_time()
        chunks = split(text, max_tokens=512)
        spent = process_time() - started
        assert "".join(chunk.text for chunk in chunks) == text
        assert all(chunk.kind == "table" for chunk in chunks)
        assert sum(chunk.index_text.count("item") for chunk in chunks) == n
        return spent

    seconds(500, "| item {0} | {0} |\n")
    small, large = (
        seconds(1_000, "| item {0} | {0} |\n"),
        seconds(8_000, "| item {0} | {0} |\n"),
    )
    assert large < 20 * small + 0.2  # a quadratic reader needs 64 times as long
    assert large < 5


def test_many_tables_that_are_never_closed_take_linear_time() -> None:
    started = process_time()
    text = "<table>\n\nwords\n\n" * 4000 + "</table>\n"
    assert "".join(chunk.text for chunk in split(text)) == text
    assert process_time() - started < 5
