"""Excel files, made by openpyxl."""

from __future__ import annotations

import datetime
import io
import os
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

from structrag.errors import InvalidDocument
from structrag.reading.office.xlsx import to_markdown

openpyxl = pytest.importorskip("openpyxl")
DATA = Path(os.environ.get("STRUCTRAG_DATA", "")) / "formats" / "xlsx"


def saved(book: Any) -> bytes:
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def book_of(cells: dict[str, Any], title: str = "Stock") -> Any:
    book = openpyxl.Workbook()
    book.active.title = title
    for reference, value in cells.items():
        book.active[reference] = value
    return book


def test_a_region_of_cells_is_a_table_with_its_header() -> None:
    cells = {"A1": "Pumps", "A2": "Part", "B2": "Count", "A3": "Seal", "B3": 12}
    book = book_of({**cells, "D6": "Counted", "E6": datetime.date(2025, 1, 1)})
    draft = to_markdown(saved(book))
    assert draft.text == (
        "# Stock\n\nPumps\n\n| Part | Count |\n| --- | --- |\n| Seal | 12 |\n\n"
        "|  |  |\n| --- | --- |\n| Counted | 2025-01-01 |\n"
    )
    starts = {label: draft.text[start:].split("\n")[0] for start, label in draft.places}
    assert starts == {
        "sheet Stock": "# Stock",
        "sheet Stock A1": "Pumps",
        "sheet Stock A2:B2": "| Part | Count |",
        "sheet Stock A3:B3": "| Seal | 12 |",
        "sheet Stock D6:E6": "|  |  |",
    }


def test_a_merged_cell_has_its_text_in_each_row() -> None:
    cells = {"A1": "Kind", "B1": "Size", "A2": "Seal", "B2": 1, "B3": 2}
    book = book_of(cells)
    book.active.merge_cells("A2:A3")
    assert to_markdown(saved(book)).text.endswith("| Seal | 1 |\n| Seal | 2 |\n")


@pytest.mark.parametrize(
    ("value", "number_format", "text"),
    [
        (0.1 + 0.2, "General", "0.3"),
        (1e6, "0.00", "1000000"),
        (True, "General", "TRUE"),
        (
            datetime.datetime(2024, 2, 29, 13, 5),
            "yyyy-mm-dd hh:mm",
            "2024-02-29 13:05:00",
        ),
        (0.75, "h:mm", "18:00:00"),
        (1.5, "[h]:mm", "36:00:00"),
        (1, "yyyy-mm-dd", "1900-01-01"),
        (45000, '"day" 0', "day 45000"),
        (45000, "[Red]0", "45000"),
        ("a_x000D_b", "General", "a b"),
    ],
)
def test_values_read_by_their_number_format(
    value: Any, number_format: str, text: str
) -> None:
    book = book_of({"A1": "Name", "B1": "Value", "A2": "x", "B2": value})
    book.active["B2"].number_format = number_format
    assert to_markdown(saved(book)).text.endswith(f"| x | {text} |\n")


def test_hidden_sheets_are_kept_and_said() -> None:
    book = book_of({"A1": "seen"})
    hidden = book.create_sheet("Old")
    hidden["A1"], hidden.sheet_state = "kept", "hidden"
    draft = to_markdown(saved(book))
    assert draft.text.endswith("# Old\n\nkept\n")
    assert draft.uncertain == ("Sheet Old is hidden; its text was kept.",)
    assert draft.places[-1][1] == "sheet Old A1 (hidden)"


def test_comments_and_charts_come_behind_the_tables() -> None:
    book = book_of({"A1": "x"})
    book.active["A1"].comment = openpyxl.comments.Comment("look here", "me")
    assert to_markdown(saved(book)).text.endswith("x\n\n> A1: look here\n")


def test_sparse_sheets_cost_nothing() -> None:
    cells = {"A1": "a", "XFD1048576": "b"}
    cells |= {f"{openpyxl.utils.get_column_letter(i)}{i}": "d" for i in range(5, 3_000)}
    book = book_of(cells)
    book.active.merged_cells.add("A1:XFD1048575")
    data = saved(book)
    started = time.process_time()
    text = to_markdown(data).text
    assert text.count("d") == 2_995
    assert time.process_time() - started < 5


def test_other_files_are_refused_by_name() -> None:
    with pytest.raises(InvalidDocument, match=r"a\.xlsx.*cut off"):
        to_markdown(saved(book_of({"A1": 1}))[:-60], "a.xlsx")


@pytest.mark.skipif(not DATA.is_dir(), reason="needs the data set of formats")
def test_real_sheets_have_the_texts_of_openpyxl() -> None:
    found = wanted = 0
    for path in sorted(DATA.glob("*.xlsx")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                book = openpyxl.load_workbook(path, data_only=True)
            except (KeyError, ValueError):
                continue
        text = " ".join(to_markdown(path.read_bytes(), path.name).text.split())
        for sheet in book.worksheets:
            for row in sheet.iter_rows(values_only=True):
                values = [v for v in row if isinstance(v, str) and "_" not in v]
                words = [
                    " ".join(value.split()).replace("|", "\\|") for value in values
                ]
                wanted += len(words)
                found += sum(word in text for word in words)
    assert found >= 0.995 * wanted
