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
