"""Pictures as figures: what a notebook shows, and what is written to a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from structrag import PICSplitter, read_text
from structrag.errors import InvalidParameter
from structrag.show import plot_explanation

pytest.importorskip("matplotlib", reason="the extra 'plot' is not installed")

TEXT = "# Pumps\n\n" + " ".join(
    f"Pump {i} moves water. The {i}th filter is rinsed." for i in range(40)
)
DOCUMENT = read_text(TEXT, id="pumps", title="Pumps", format="markdown")


def test_another_suffix_is_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidParameter, match=r"path must end in .png, .svg or .pdf; got '.*x.jpg'"
    ):
        plot_explanation(PICSplitter().explain(DOCUMENT), tmp_path / "x.jpg")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a.png", "a.PNG", "a.svg", "a.Pdf"])
def test_pictures_are_png_svg_or_pdf(name: str) -> None:
    from structrag.show.figures import checked_path

    assert checked_path(Path(name)) == checked_path(name) == name
    assert checked_path(None) is None


def test_a_picture_in_a_notebook_or_file_names_no_program(tmp_path: Path) -> None:
    from structrag.show.figures import ShownFigure, save

    figure = ShownFigure(figsize=(1, 1))
    assert b"matplotlib" not in figure._repr_png_()
    save(figure, None, dpi=50)
    for name in ("a.png", "b.PNG"):
        save(figure, str(tmp_path / name), dpi=50)
        content = (tmp_path / name).read_bytes()
        assert content.startswith(b"\x89PNG") and b"matplotlib" not in content.lower()
    assert len(list(tmp_path.iterdir())) == 2
