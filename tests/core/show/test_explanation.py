"""Figures of what a splitter saw."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from structrag import IDMSSplitter, PICSplitter, read_text
from structrag.chunks.asking_splitter import ReadingSplitter
from structrag.records import Chunk
from structrag.show import plot_explanation
from structrag.show.explanation import UNITS_A_ROW, _draw_title, _limits, _section_units

TEXT = "# Pumps\n\n" + " ".join(
    f"Pump {i} moves water. The {i}th filter is rinsed." for i in range(40)
)


DOCUMENT = read_text(TEXT, id="pumps", title="Pumps", format="markdown")


each_splitter = pytest.mark.parametrize(
    "splitter", [PICSplitter(), IDMSSplitter(margin="words")], ids=["PIC", "IDMS"]
)


@each_splitter
def test_an_explanation_is_a_figure_with_a_value_for_every_sentence(
    splitter: ReadingSplitter,
) -> None:
    from matplotlib import pyplot

    explanation = splitter.explain(DOCUMENT)
    figure = plot_explanation(explanation, title="What it saw")
    (axis,) = figure.axes
    assert axis.get_title(loc="left") == "What it saw"
    drawn = {value for line in axis.lines for value in line.get_ydata()}
    assert drawn >= {
        value
        for series in explanation.series
        for value in series.values
        if value == value
    }
    assert pyplot.get_fignums() == []  # nothing is left open


def test_title_and_legend_stand_above_the_first_of_several_rows() -> None:
    text = "".join(f"Pump {i} moves water. " for i in range(UNITS_A_ROW + 1))
    explanation = PICSplitter().explain(read_text(text, id="pumps"))
    first, last = plot_explanation(explanation).axes
    assert first.get_title(loc="left") and not last.get_title(loc="left")
    assert first.get_legend() is not None and last.get_legend() is None
    assert last.get_xlabel() and not first.get_xlabel()


@each_splitter
def test_a_notebook_shows_the_figure_and_it_is_the_same_each_time(
    splitter: ReadingSplitter, tmp_path: Path
) -> None:
    pytest.importorskip("IPython", reason="the extra 'dev' is not installed")
    from IPython.core.formatters import DisplayFormatter

    explanation = splitter.explain(DOCUMENT)
    shown = [
        DisplayFormatter().format(plot_explanation(explanation))[0]["image/png"]
        for _ in range(2)
    ]
    assert shown[0].startswith(b"\x89PNG") and shown[0] == shown[1]
    files = [tmp_path / name for name in ("a.png", "b.PNG")]
    figures = [plot_explanation(explanation, file) for file in files]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert all(figure.axes for figure in figures)
    for suffix, head in ((".svg", b"<?xml"), (".pdf", b"%PDF")):
        plot_explanation(explanation, tmp_path / f"c{suffix}")
        assert (tmp_path / f"c{suffix}").read_bytes().startswith(head)


@each_splitter
def test_chunks_are_bands_between_lines_and_sections_begin_at_thicker_ones(
    splitter: ReadingSplitter,
) -> None:
    from matplotlib.colors import to_hex

    explanation = splitter.explain(DOCUMENT)
    figure = plot_explanation(explanation)
    assert len(explanation.chunks) > 1
    lines = [
        line
        for axis in figure.axes
        for line in axis.lines
        if len(set(line.get_xdata())) == 1
    ]
    widths = [line.get_linewidth() for line in lines]
    assert widths[0] > widths[1] and set(widths[1:]) == {widths[1]}  # one section
    bands = [
        to_hex(band.get_facecolor()) for axis in figure.axes for band in axis.patches
    ]
    relevant = [chunk.extras.get("relevant") for chunk in explanation.chunks]
    for (left, right), (before, behind) in zip(
        pairwise(relevant), pairwise(bands), strict=False
    ):
        assert (before != behind) is (left is None or left != right)


def test_the_axis_shows_all_numbers_with_room_for_titles() -> None:
    nothing = np.array([np.nan])
    assert _limits(np.array([0.2, np.nan, 1.2]), np.array([0.7])) == pytest.approx(
        (0.08, 1.392)
    )
    assert _limits(np.array([0.5]), nothing) == pytest.approx((0.45, 0.58))
    assert _limits(nothing, nothing) == (0.0, 1.0)


def chunk(number: int, *path: str) -> Chunk:
    return Chunk(f"d:{number}", "d", f"d#{number}", number, number + 1, "x", path=path)


def test_sections_are_as_wide_as_their_chunks_together() -> None:
    chunks = [
        chunk(0, "A"),
        chunk(1, "A"),
        chunk(2, "A", "B"),
        chunk(3, "C"),
        chunk(4, "A"),
    ]
    assert _section_units(chunks, [0, 2, 5, 6, 9, 10]) == {0: 5, 2: 1, 3: 3, 4: 1}
    assert _section_units(chunks[:1], [0, 4]) == {0: 4}


@pytest.mark.parametrize(
    ("title", "most", "shown"),
    [
        ("Cleaning", 8, ["Cleaning"]),
        ("Cleaning", 7, ["Cleani…"]),
        ("Cleaning", 4, ["Cle…"]),
        ("Oil", 4, ["Oil"]),
        ("Oil", 3, []),
        ("", 3, []),
    ],
)
def test_titles_are_cut_to_their_sections(
    title: str, most: int, shown: list[str]
) -> None:
    drawn: list[tuple[str, tuple[int, int]]] = []

    class Axis:
        def annotate(self, text: str, place: tuple[int, int], **_: Any) -> None:
            drawn.append((text, place))

    _draw_title(Axis(), 5, ("Pump", title), most)
    assert drawn == [(text, (5, 1)) for text in shown]
    _draw_title(Axis(), 5, (), 50)
    assert len(drawn) == len(shown)


def test_the_legend_says_what_the_bands_are() -> None:
    legends = []
    for splitter in (PICSplitter(), IDMSSplitter(margin="words")):
        (axis,) = plot_explanation(splitter.explain(DOCUMENT)).axes
        legends.append([text.get_text() for text in axis.get_legend().get_texts()])
    assert legends == [
        ["similarity", "threshold", "relevant chunk", "other chunk", "section"],
        ["margin", "threshold", "chunks, by turns", "section"],
    ]


def test_a_chunk_is_a_band_over_its_sentences() -> None:
    explanation = IDMSSplitter(margin="words").explain(DOCUMENT)
    (axis,) = plot_explanation(explanation).axes
    starts = sorted(
        unit.start for series in explanation.series for unit in series.units
    )
    edges = [starts.index(chunk.start) for chunk in explanation.chunks] + [len(starts)]
    bands = [(band.get_x(), band.get_x() + band.get_width()) for band in axis.patches]
    assert bands == list(pairwise(edges))
    assert axis.get_xlim() == (0, len(starts))
    assert [text.get_text() for text in axis.texts] == ["Pumps"]
