"""Input that breaks splitters: the right result, never an exception."""

from __future__ import annotations

import pytest
from samples import BAD

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.fixed import FixedSplitter
from structrag.reading.files import read_text


@pytest.mark.parametrize("format", ["markdown", "text", "html", "auto"])
@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_split_without_loss(name: str, format: str) -> None:
    document = read_text(BAD[name], format=format)
    for splitter in (ContentAwareSplitter(max_tokens=50), FixedSplitter(50)):
        chunks = splitter.split(document)
        assert "".join(chunk.text for chunk in chunks) == (
            document.text if document.text.strip() else ""
        )
        assert all(chunk.text.strip() for chunk in chunks)
        assert all(
            chunk.extras["index_tokens"] <= 50 or chunk.extras["oversize"] for chunk in chunks
        )


@pytest.mark.parametrize(
    "text", ["", " ", "\n\n", "\t \r\n", "\u3000", "<p> </p>", "<!-- only a comment -->"]
)
@pytest.mark.parametrize("format", ["html", "text", "markdown"])
def test_nothing_gives_no_chunk(text: str, format: str) -> None:
    document = read_text(text, format=format)
    if not document.text.strip():
        assert ContentAwareSplitter().split(document) == []
        assert FixedSplitter().split(document) == []
    else:
        assert format != "html"
