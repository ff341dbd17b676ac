"""Where tables and images stand in a document."""

from __future__ import annotations

from typing import Any

import pytest
from fixture_cases import examples

from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.reading.files import read_text
from structrag.records import Chunk

HTML_PRICES = (
    "<table>\n<caption>Prices in euros</caption>\n<thead><tr><th>Product</th><th>Price</th></tr>"
    "<tr><th>code</th><th>gross</th></tr></thead>\n<tbody><tr><td>Nova&nbsp;A10</td><td>129.90</td></tr>\n"
    "<tr><td>Nova B11</td><td>149.00</td></tr></tbody>\n</table>"
)


def split(text: str, format: str = "markdown", **settings: Any) -> list[Chunk]:
    return HiQASplitter(**settings).split(read_text(text, format=format))


def tables(text: str, format: str = "markdown", **settings: Any) -> list[Chunk]:
    return [chunk for chunk in split(text, format, **settings) if chunk.kind == "table"]


@pytest.mark.parametrize("format", ["markdown", "html"])
def test_tables_of_html_in_markdown_and_in_pages(format: str) -> None:
    text = (
        f"<h1>Nova</h1>\n\n<p>See here.</p>\n\n{HTML_PRICES}\n\n<p>Done.</p>"
        if format == "html"
        else f"# Nova\n\nSee here.\n\n{HTML_PRICES}\n\nDone.\n"
    )
    (table,) = tables(text, format)
    lines = table.index_text.replace("\u00a0", " ").split("\n")
    assert lines[0] == "Nova"
    assert lines[-4:] == [
        "Product | Price | code | gross",
        "Nova A10",
        "Nova B11",
        "Done.",
    ]
    assert "129.90" in table.text
    assert "129.90" not in table.index_text
    assert "Prices in euros" in "".join(
        chunk.index_text for chunk in split(text, format)
    )
    if format == "markdown":
        assert table.text == HTML_PRICES + "\n\n"
        assert table.extras["caption"] == "Prices in euros"


def test_an_html_table_with_blank_lines_and_tables_in_a_row_are_found() -> None:
    spread = HTML_PRICES.replace("\n", "\n\n")
    chunks = split(f"Before.\n\n<div>\n{spread}\n{HTML_PRICES}</div>\n\nBehind.\n")
    assert [chunk.kind for chunk in chunks] == ["text", "table", "table", "text"]
    assert [chunk.text.count("129.90") for chunk in chunks] == [0, 1, 1, 0]
    assert chunks[2].text.endswith("</table></div>\n\n")


@examples
def test_what_is_no_table_is_text(text: str) -> None:
    (chunk,) = split(text)
    assert (chunk.kind, chunk.text, chunk.index_text) == ("text", text, text)


AROUND = "# Setup\n\nZero. One here. Two here.\n\n{}\n\nThree here. Four here. Five.\n"


def image(text: str, **settings: Any) -> Chunk:
    (found,) = [chunk for chunk in split(text, **settings) if chunk.kind == "image"]
    return found


def test_a_figure_is_an_image_with_its_caption() -> None:
    found = image(
        AROUND.format(
            '<figure>\n<img src="x.png" alt="a">\n<figcaption>Rear '
            "<b>side</b></figcaption>\n</figure>"
        )
    )
    assert found.extras["caption"] == "Rear side"
    assert found.index_text.split("\n")[:3] == ["Setup", "a", "Rear side"]


def test_several_images_in_one_block_are_one_segment() -> None:
    found = image(AROUND.format("![a](x.png) ![b](y.png)"))
    assert [each["file"] for each in found.extras["images"]] == ["x.png", "y.png"]
    assert found.extras["file"] == "x.png"
    assert found.index_text.split("\n")[:3] == ["Setup", "a", "b"]


def test_an_image_in_a_line_of_words_stays_text_and_is_listed() -> None:
    (chunk,) = split(
        "# A\n\nPress ![the button](b.png) twice, or <img src='c.png' alt='it'>.\n\n- see "
        "![d](d.png)\n"
    )
    assert chunk.kind == "text"
    assert chunk.extras["images"] == [
        {"file": "b.png", "alt": "the button"},
        {"file": "c.png", "alt": "it"},
        {"file": "d.png", "alt": "d"},
    ]


def test_an_image_in_code_or_escaped_is_none() -> None:
    text = "Write `![a](b.png)` or \\![a](b.png).\n\n```\n![x](y.png)\n```\n\n    ![x](y.png)\n"
    (chunk,) = split(text)
    assert "images" not in chunk.extras
