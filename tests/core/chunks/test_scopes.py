"""Which units share a threshold, and which borders no chunk crosses."""

from __future__ import annotations

from doubles import HashEmbedder

from structrag.chunks.pic.splitter import PICSplitter
from structrag.reading.files import read_text


def test_sections_are_never_crossed_unless_that_is_wished() -> None:
    text = "".join(
        f"# H{i}\n\nAlpha beta gamma. Delta epsilon. Zeta {i}.\n\n" for i in range(6)
    )
    document = read_text(text, format="markdown", id="d")
    starts = {text.index(f"# H{i}") for i in range(6)}
    chunks = PICSplitter().split(document, embedder=HashEmbedder())
    assert starts <= {chunk.start for chunk in chunks}
    # The text has its heading.
    assert [chunk.context for chunk in chunks] == [""] * len(chunks)
    (whole,) = PICSplitter(respect_sections=False, threshold=-1.0).split(
        document, embedder=HashEmbedder()
    )
    assert whole.text == text


def test_a_section_below_the_least_size_is_one_chunk() -> None:
    document = read_text(
        "# A\n\nOne. Two. Three.\n\n# B\n\nFour. Five.", format="markdown", id="d"
    )
    for scope in ("document", "section"):
        chunks = PICSplitter(scope=scope).split(document, embedder=HashEmbedder())
        assert [chunk.path for chunk in chunks] == [("A",), ("B",)]
