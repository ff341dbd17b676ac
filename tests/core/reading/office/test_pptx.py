"""PowerPoint files, made by python-pptx."""

from __future__ import annotations

import io
from typing import Any

import pytest

from structrag.errors import InvalidDocument
from structrag.reading.office.pptx import to_markdown

pptx = pytest.importorskip("pptx")
CHART = pytest.importorskip("pptx.chart.data")
INCH = 914_400


def saved(presentation: Any) -> bytes:
    out = io.BytesIO()
    presentation.save(out)
    return out.getvalue()


def with_slide(layout: int = 5, title: str = "Plan") -> tuple[Any, Any]:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[layout])
    if title:
        slide.shapes.title.text = title
    return presentation, slide


def test_order_is_that_of_the_show_and_hidden_slides_are_said() -> None:
    presentation, slide = with_slide(title="Last")
    slide._element.set("show", "0")
    untitled = presentation.slides.add_slide(presentation.slide_layouts[6])
    untitled.shapes.add_textbox(0, 0, INCH, INCH).text_frame.text = "goes on"
    first = presentation.slides.add_slide(presentation.slide_layouts[5])
    first.shapes.title.text = "First"
    order = presentation.slides._sldIdLst
    order.insert(0, order[2])
    draft = to_markdown(saved(presentation), "a.pptx")
    assert draft.text == "# First\n\n# Last\n\ngoes on\n"
    assert draft.title == "First"
    assert draft.places == ((0, "slide 1"), (9, "slide 2 (hidden)"), (17, "slide 3"))
    assert draft.uncertain == ("Slide 2 is hidden; its text was kept.",)


def test_lists_keep_their_levels_and_notes_stand_behind() -> None:
    presentation, slide = with_slide(layout=1)
    frame = slide.placeholders[1].text_frame
    frame.text = "Buy"
    inner = frame.add_paragraph()
    inner.text, inner.level = "# pumps", 1
    frame.add_paragraph().text = "Sell"
    slide.notes_slide.notes_text_frame.text = "Say it slowly."
    text = to_markdown(saved(presentation)).text
    assert text == ("# Plan\n\n- Buy\n  - \\# pumps\n- Sell\n\n> Say it slowly.\n")


def test_tables_have_their_spans() -> None:
    presentation, slide = with_slide()
    table = slide.shapes.add_table(3, 2, 0, 0, INCH, INCH).table
    for i, text in enumerate(["Year", "", "Seal", "2025", "", "2026"]):
        table.cell(i // 2, i % 2).text = text
    table.cell(0, 0).merge(table.cell(0, 1))
    table.cell(1, 0).merge(table.cell(2, 0))
    assert to_markdown(saved(presentation)).text.endswith(
        "| Year |  |\n| --- | --- |\n| Seal | 2025 |\n| Seal | 2026 |\n"
    )


def test_charts_are_tables_and_pictures_their_alternative_text() -> None:
    presentation, slide = with_slide()
    data = CHART.CategoryChartData()
    data.categories = ["Q1", "Q2"]
    data.add_series("East", (1, 2.5))
    data.add_series("West", (3, 4))
    kind = pptx.enum.chart.XL_CHART_TYPE.COLUMN_CLUSTERED
    frame = slide.shapes.add_chart(kind, 0, 0, INCH, INCH, data)
    frame._element.nvGraphicFramePr.cNvPr.set("descr", "Sales rise")
    assert to_markdown(saved(presentation)).text.endswith(
        "|  | East | West |\n| --- | --- | --- |\n| Q1 | 1 | 3 |\n| Q2 | 2.5 | 4 |\n\n"
        "Sales rise\n"
    )


def test_shapes_of_groups_are_read_at_any_depth() -> None:
    presentation, slide = with_slide()
    shapes = slide.shapes
    for _ in range(100):
        shapes = shapes.add_group_shape().shapes
    shapes.add_textbox(0, 0, INCH, INCH).text_frame.text = "deep"
    assert to_markdown(saved(presentation)).text == "# Plan\n\ndeep\n"


def test_other_files_are_refused_by_name() -> None:
    with pytest.raises(InvalidDocument, match=r"show\.pptx.*PDF"):
        to_markdown(b"%PDF-1.7", "show.pptx")
    openpyxl = pytest.importorskip("openpyxl")
    with pytest.raises(InvalidDocument, match=r"show\.pptx.*no slides"):
        to_markdown(saved(openpyxl.Workbook()), "show.pptx")
