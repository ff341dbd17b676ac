"""Figures of what a splitter saw."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fixture_cases import examples

from structrag import IDMSSplitter, PICSplitter, read_text
from structrag.chunks.asking_splitter import Explanation, ReadingSplitter
from structrag.records import Chunk
from structrag.show import plot_explanation
from structrag.show.explanation import (
    HIGH,
    LOW,
    UNITS_A_ROW,
    _draw_title,
    _limits,
    _section_units,
)

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


def test_a_line_is_of_one_scope_with_points_amid_their_sentences() -> None:
    series = [
        scope(0, 0.1, 0.2, 0.3, thresholds=(0.15, 0.15, np.inf)),
        scope(3, count=3),  # too short to be looked at
        scope(6, 0.9, thresholds=(0.5,)),
    ]
    (axis,) = plot_explanation(explained(series, [chunk(0, "A")])).axes
    values, dashes = drawn_lines(axis, "-"), drawn_lines(axis, "--")
    places = [[0.5, 1.5, 2.5], [3.5, 4.5, 5.5], [6.5]]
    assert [xs for xs, _ in values] == [xs for xs, _ in dashes] == places
    nothing = pytest.approx([np.nan] * 3, nan_ok=True)
    assert [ys for _, ys in values] == [[0.1, 0.2, 0.3], nothing, [0.9]]
    assert dashes[0][1] == pytest.approx([0.15, 0.15, np.nan], nan_ok=True)
    assert [ys for _, ys in dashes[1:]] == [nothing, [0.5]]
    assert not axis.spines["top"].get_visible()


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


def test_160_sentences_stand_in_one_row() -> None:
    one = scope(0, *[0.5] * 160, thresholds=[0.4] * 160)
    assert len(plot_explanation(explained([one], [chunk(0)])).axes) == 1


def test_chunks_are_shaded_by_turns_or_where_they_are_relevant() -> None:
    from matplotlib.colors import to_hex

    one = scope(0, 0.1, 0.2, 0.3)

    def colors(*relevant: bool | None) -> list[str]:
        chunks = [
            replace(chunk(i), extras={} if flag is None else {"relevant": flag})
            for i, flag in enumerate(relevant)
        ]
        (axis,) = plot_explanation(explained([one], chunks)).axes
        return [to_hex(band.get_facecolor()) for band in axis.patches]

    assert colors(None, None, None) == [HIGH, LOW, HIGH]
    assert colors(False, True, True) == [LOW, HIGH, HIGH]


@examples
def test_a_row_holds_235_characters_of_titles(length: int, shown: int) -> None:
    """A section of two of five sentences has 94 of them, one for the space behind."""
    chunks = [chunk(0, "x" * length), chunk(2, "B")]
    one = scope(0, *[0.5] * 5)
    (axis,) = plot_explanation(explained([one], chunks)).axes
    title, other = [text.get_text() for text in axis.texts]
    assert (len(title), title.endswith("…"), other) == (shown, length > shown, "B")


def test_a_section_that_comes_again_is_another_one() -> None:
    chunks = [chunk(0, "A"), chunk(1, "B"), chunk(2, "A"), chunk(3, "A")]
    assert _section_units(chunks, [0, 2, 5, 6, 9]) == {0: 2, 1: 3, 2: 4}
    assert _section_units([], [0]) == {}
