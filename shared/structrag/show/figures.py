"""Figures that a notebook shows by themselves. This is the one module of ours that imports
matplotlib when it is imported."""

from __future__ import annotations

import os
from io import BytesIO

from matplotlib.figure import Figure

from structrag.errors import InvalidParameter

SUFFIXES = (".png", ".svg", ".pdf")
SCREEN = 100  # dots an inch in a notebook


class ShownFigure(Figure):
    """A matplotlib Figure that a notebook shows as a cell's last value. It is not in pyplot's list,
    so that none is left open."""

    def _repr_png_(self) -> bytes:
        content = BytesIO()
        self.savefig(content, format="png", dpi=SCREEN, metadata={"Software": None})
        return content.getvalue()


def checked_path(path: str | os.PathLike[str] | None) -> str | None:
    """The path of a picture to write.

    Raises InvalidParameter unless it ends in .png, .svg or .pdf.
    """
    if path is None:
        return None
    name = os.fspath(path)
    if not name.lower().endswith(SUFFIXES):
        raise InvalidParameter(
            f"The picture's path must end in .png, .svg or .pdf; got {name!r}."
        )
    return name


def save(figure: Figure, path: str | None, dpi: int) -> None:
    """Write the figure; nothing for None. Equal figures give equal bytes where the format allows
    it."""
    if path is not None:
        is_png = path.lower().endswith(".png")
        figure.savefig(path, dpi=dpi, metadata={"Software": None} if is_png else None)
