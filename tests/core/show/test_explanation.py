"""Figures of what a splitter saw."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from structrag import IDMSSplitter, PICSplitter, read_text
from structrag.chunks.asking_splitter import ReadingSplitter
from structrag.show import plot_explanation
from structrag.show.explanation import UNITS_A_ROW

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
        value for series in explanation.series for value in series.values if value == value
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
        DisplayFormatter().format(plot_explanation(explanation))[0]["image/png"] for _ in range(2)
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
    lines = [line for axis in figure.axes for line in axis.lines if len(set(line.get_xdata())) == 1]
    widths = [line.get_linewidth() for line in lines]
    assert widths[0] > widths[1] and set(widths[1:]) == {widths[1]}  # one section
    bands = [to_hex(band.get_facecolor()) for axis in figure.axes for band in axis.patches]
    relevant = [chunk.extras.get("relevant") for chunk in explanation.chunks]
    for (left, right), (before, behind) in zip(pairwise(relevant), pairwise(bands), strict=False):
        assert (before != behind) is (left is None or left != right)
