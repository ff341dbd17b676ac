"""Figures that a notebook shows by themselves; the one module of ours that imports matplotlib when
it is imported."""

from __future__ import annotations

import os
from io import BytesIO

from matplotlib.figure import Figure

from structrag.errors import InvalidParameter

SUFFIXES = (".png", ".svg", ".pdf")
SCREEN = 100  # dots an inch in a notebook


class ShownFigure(Figure):
    """A matplotlib Figure outside pyplot's list, so that none is left open; a notebook shows it
    where it is a cell's last value."""

    def _repr_png_(self) -> bytes:
        content = BytesIO()
        self.savefig(content, format="png", dpi=SCREEN, metadata={"Software": None})
        return content.getvalue()


def checked_path(path: str | os.PathLike[str] | None) -> str | None:
    """The path of a picture to write; InvalidParameter unless it ends in .png, .svg or .pdf."""
    if path is None:
        return None
    name = os.fspath(path)
    if not name.lower().endswith(SUFFIXES):
        raise InvalidParameter(f"The picture's path must end in .png, .svg or .pdf; got {name!r}.")
    return name


def save(figure: Figure, path: str | None, dpi: int) -> None:
    """Write the figure, equal bytes for equal figures where the format allows it; nothing for None."""
    if path is not None:
        figure.savefig(
            path, dpi=dpi, metadata={"Software": None} if path.lower().endswith(".png") else None
        )
