"""Input that breaks splitters: the right result, never an exception."""

from __future__ import annotations

import pytest

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.fixed import FixedSplitter
from structrag.reading import read_text

BAD = {
    "one character": "x",
    "no headings": "Just a line of text.",
    "only headings": "# A\n## B\n### C\n# D\n",
    "NUL bytes": "# A\x00\n\nb\x00c\n",
    "lone surrogates": "# \ud800\n\n\udfff text\n",
    "mixed line ends": "# A\r\n\r\nb\rc\n\n# D\r\re\x85f\u2028g\n",
    "right to left": "# مقدمة\n\nمرحبا بالعالم؟ هذا نص طويل. " * 20,
    "Chinese": "# 标题\n\n" + "今天天气很好。我们去公园散步。" * 60,
    "Thai": "สวัสดีชาวโลกนี่คือข้อความยาว" * 60,
    "unclosed fence": "# A\n\n```\n# not a heading\n" + "code\n" * 100,
    "unclosed comment": "# A\n\n<!-- \n\n# B\n\ntext\n",
    "unclosed HTML": "<html><body><h1>T<p>one<div><table><tr><td>two",
    "not HTML": "<<<>>> < p > </ </p <!-",
    "one long line": "word " * 4000,
    "no spaces": "x" * 30_000,
    "marks without end": "e" + "\u0301" * 9000,
    "zero-width": "\u200b" * 50 + "x",
    "deep list": "".join("  " * i + "- a\n" for i in range(120)),
    "deep quote": ">" * 500 + " x\n",
    "special token": "a <|endoftext|> b",
    "front matter only": "---\ntitle: x\n---\n",
    "heading of spaces": "# a" + " " * 20_000 + "b\n",
}


@pytest.mark.parametrize("format", ["markdown", "text", "html", "auto"])
@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_split_without_loss(name: str, format: str) -> None:
    document = read_text(BAD[name], format=format)
    for splitter in (ContentAwareSplitter(max_tokens=50), FixedSplitter(50)):
        chunks = splitter.split(document)
        assert "".join(chunk.text for chunk in chunks) == (document.text if document.text.strip() else "")
        assert all(chunk.text.strip() for chunk in chunks)
        assert all(chunk.extras["index_tokens"] <= 50 or chunk.extras["oversize"] for chunk in chunks)


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\t \r\n", "\u3000", "<p> </p>", "<!-- only a comment -->"])
@pytest.mark.parametrize("format", ["html", "text", "markdown"])
def test_nothing_gives_no_chunk(text: str, format: str) -> None:
    document = read_text(text, format=format)
    if not document.text.strip():
        assert ContentAwareSplitter().split(document) == []
        assert FixedSplitter().split(document) == []
    else:
        assert format != "html"
