"""Files of any size that are hard to read: much of one thing, or things inside each other.

They are the lines of `tests/fixtures/file_shapes.txt` below the suffix of their format: what is
repeated between ⟪ and ⟫, then perhaps as many of what closes one, ⟪so⟫; `¶` is a line's end, and
`400×⟨a⟩` is 400 of them. Those of office formats become packages by `format_making`.
"""

from __future__ import annotations

import re
import tempfile
from contextlib import suppress
from pathlib import Path

import format_making
from growth import COMMON, Shape
from places import ROOT

from structrag import ContentAwareSplitter, read_file
from structrag.errors import StructragError

_LINE = re.compile(r"(.*?)⟪(.*?)⟫(?:⟪(.*?)⟫)?(.*)")
_TIMES = re.compile(r"(\d+)×⟨(.*?)⟩", re.DOTALL)


def _shape(line: str) -> Shape:
    parts = _LINE.fullmatch(line)
    assert parts, line
    before, piece, closing, after = (
        _TIMES.sub(lambda t: int(t[1]) * t[2], (part or "").replace("¶", "\n"))
        for part in parts.groups()
    )
    return Shape(piece, before, after, closing)


def _shapes() -> dict[str, list[Shape]]:
    """The shapes of files by their suffix; of text formats the common ones too."""
    source = (ROOT / "tests/fixtures/file_shapes.txt").read_text(encoding="utf-8")
    shapes = {}
    for part in f"\n{source}".split("\n== .")[1:]:
        suffix, *lines = f".{part}".splitlines()
        shapes[suffix] = [_shape(line) for line in lines]
        if not hasattr(format_making, suffix[1:]):
            shapes[suffix] += map(Shape, COMMON)
    return shapes


SHAPES = _shapes()


def of_file(suffix: str, shape: Shape, size: int) -> bytes:
    """The bytes of a file of a shape."""
    make = getattr(format_making, suffix[1:], str.encode)
    data: bytes = make(shape.text(size))
    return data


def read_and_split(suffix: str, data: bytes) -> None:
    """Read a file, and split it; a refusal is an answer too."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"a{suffix}")
        path.write_bytes(data)
        with suppress(StructragError):
            ContentAwareSplitter().split(read_file(path, isolated=False))
