"""Figures of what a splitter saw."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fixture_cases import examples

from structrag import IDMSSplitter, PICSplitter, read_text
from structrag.chunks.model_splitter import Explanation, ReadingSplitter
from structrag.records import Chunk
from structrag.show import plot_explanation
from structrag.show.explanation import (
    UNITS_A_ROW,
    _draw_title,
    _limits,
)

TEXT = "# Pumps\n\n" + " ".join(
    f"Pump {i} moves water. The {i}th filter is rinsed." for i in range(40)
)


DOCUMENT = read_text(TEXT, id="pumps", title="Pumps", format="markdown")


each_splitter = pytest.mark.parametrize(
    "splitter", [PICSplitter(), IDMSSplitter(margin="words")], ids=["PIC", "IDMS"]
)


def test_title_and_legend_stand_above_the_first_of_several_rows() -> None:
    text = "".join(f"Pump {i} moves water. " for i in range(UNITS_A_ROW + 1))
    explanation = PICSplitter().explain(read_text(text, id="pumps"))
    first, last = plot_explanation(explanation).axes
    assert first.get_title(loc="left") and not last.get_title(loc="left")
    assert first.get_legend() is not None and last.get_legend() is None
    assert last.get_xlabel() and not first.get_xlabel()


@pytest.mark.slow
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


def test_the_axis_shows_all_numbers_with_room_for_titles() -> None:
    nothing = np.array([np.nan])
    assert _limits(np.array([0.2, np.nan, 1.2]), np.array([0.7])) == pytest.approx(
        (0.08, 1.392)
    )
    assert _limits(np.array([0.5]), nothing) == pytest.approx((0.45, 0.58))
    assert _limits(nothing, nothing) == (0.0, 1.0)


def chunk(number: int, *path: str) -> Chunk:
    return Chunk(f"d:{number}", "d", f"d#{number}", number, number + 1, "x", path=path)


@examples
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


def scope(first: int, *values: float, count: int = 0, thresholds: Any = ()) -> Any:
    """What was seen of the sentences from `first` on; the nth begins at character n."""
    units = tuple(SimpleNamespace(start=first + i) for i in range(count or len(values)))
    return SimpleNamespace(units=units, values=values, thresholds=thresholds)


def explained(series: list[Any], chunks: list[Chunk]) -> Explanation:
    return Explanation(DOCUMENT, tuple(series), tuple(chunks))


def drawn_lines(axis: Any, style: str) -> list[tuple[list[float], list[float]]]:
    """The places and numbers of the lines of one style, borders left out."""
    lines = [line for line in axis.lines if len(line.get_xdata()) != 2]
    return [
        (list(line.get_xdata()), [float(y) for y in line.get_ydata()])
        for line in lines
        if line.get_linestyle() == style
    ]


def bands_of(axis: Any) -> list[tuple[float, float]]:
    return [(band.get_x(), band.get_x() + band.get_width()) for band in axis.patches]


def borders_of(axis: Any) -> list[float]:
    lines = [line for line in axis.lines if len(line.get_xdata()) == 2]
    return [line.get_xdata()[0] for line in lines]


@examples
def test_161_sentences_stand_in_two_rows_of_81(
    begins: tuple[int, ...],
    above: list[tuple[int, int]],
    below: list[tuple[int, int]],
) -> None:
    assert UNITS_A_ROW == 160
    edges = [*begins, 161]
    series = [
        scope(start, *[0.5] * (end - start), thresholds=[0.4] * (end - start))
        for start, end in pairwise(edges)
    ]
    chunks = [chunk(start, "A") for start in begins]
    first, second = plot_explanation(explained(series, chunks)).axes
    assert (bands_of(first), bands_of(second)) == (above, below)
    assert (first.get_xlim(), second.get_xlim()) == ((0, 81), (81, 162))
    assert borders_of(first) == [start for start in begins if start < 81]
    assert borders_of(second) == [start for start in begins if start >= 81]
    assert [len(drawn_lines(axis, "-")) for axis in (first, second)] == [
        len(above),
        len(below),
    ]


@examples
def test_a_row_holds_235_characters_of_titles(length: int, shown: int) -> None:
    """A section of two of five sentences has 94 of them, one for the space behind."""
    chunks = [chunk(0, "x" * length), chunk(2, "B")]
    one = scope(0, *[0.5] * 5)
    (axis,) = plot_explanation(explained([one], chunks)).axes
    title, other = [text.get_text() for text in axis.texts]
    assert (len(title), title.endswith("…"), other) == (shown, length > shown, "B")
