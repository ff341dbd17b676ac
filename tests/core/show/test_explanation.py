"""Figures of what a splitter saw."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from structrag import IDMSSplitter, PICSplitter, read_text
from structrag.chunks.model_splitter import ReadingSplitter
from structrag.show import plot_explanation

TEXT = "# Pumps\n\n" + " ".join(
    f"Pump {i} moves water. The {i}th filter is rinsed." for i in range(40)
)


DOCUMENT = read_text(TEXT, id="pumps", title="Pumps", format="markdown")


each_splitter = pytest.mark.parametrize(
    "splitter", [PICSplitter(), IDMSSplitter(margin="words")], ids=["PIC", "IDMS"]
)


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
