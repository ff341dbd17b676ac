"""Documents without their headings: where these stood is where the segmentation begins."""

from __future__ import annotations

from benchmarks.unheaded import unheaded
from structrag import read_text

SECTION = "One sentence here. Another sentence there. A third sentence follows."


def test_sections_become_segments() -> None:
    made = unheaded(
        read_text(
            "\n\n".join(f"# Title {i}\n\n{SECTION}" for i in range(4)),
            format="markdown",
        )
    )
    assert made is not None
    assert "Title" not in made.document.text
    assert made.reference == (0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0)
