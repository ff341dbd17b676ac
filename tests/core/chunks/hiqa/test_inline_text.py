"""HiQASplitter: images of their own, images in a text, and a vision model that may fail."""

from __future__ import annotations

from typing import Any

from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.reading.files import read_text
from structrag.records import Chunk

AROUND = "# Setup\n\nZero. One here. Two here.\n\n{}\n\nThree here. Four here. Five.\n"


def split(text: str, **settings: Any) -> list[Chunk]:
    return HiQASplitter(**settings).split(read_text(text, format="markdown"))


def image(text: str, **settings: Any) -> Chunk:
    (found,) = [chunk for chunk in split(text, **settings) if chunk.kind == "image"]
    return found


def test_an_image_is_indexed_by_alt_title_and_two_sentences_on_each_side() -> None:
    found = image(AROUND.format('![The wiring](img/wires.png "Rear side")'))
    assert found.text == '![The wiring](img/wires.png "Rear side")\n\n'
    assert (
        found.index_text
        == "Setup\nThe wiring\nRear side\nOne here.\nTwo here.\nThree here.\nFour here."
    )
    assert found.extras["file"] == "img/wires.png"
    assert found.extras["alt"] == "The wiring"
    assert found.extras["images"] == [
        {"file": "img/wires.png", "alt": "The wiring", "title": "Rear side"}
    ]


def test_a_table_lists_the_images_in_its_cells() -> None:
    (chunk,) = split("| a | b |\n|---|---|\n| ![x](x.png) | ![y](y.png) |\n")
    assert chunk.kind == "table"
    assert [each["file"] for each in chunk.extras["images"]] == ["x.png", "y.png"]
    assert chunk.index_text == "a | b\nx"


def test_each_chunk_lists_its_own_images() -> None:
    text = (
        "# A\n\n"
        + "\n\n".join(
            f"Many words stand around number {i} ![p{i}](p{i}.png) here."
            for i in range(20)
        )
        + "\n"
    )
    chunks = split(text, max_tokens=40)
    assert len(chunks) > 5
    for chunk in chunks:
        assert [each["alt"] for each in chunk.extras["images"]] == [
            f"p{i}" for i in range(20) if f"![p{i}]" in chunk.text
        ]


def test_an_image_written_out_in_the_text_is_not_indexed_and_named_by_its_type() -> (
    None
):
    data = "data:image/svg+xml;base64," + "A" * 50_000
    found = image(AROUND.format(f"![The wiring]({data})"), max_tokens=60)
    assert "![The wiring](data:image/svg+xml)" in found.text
    assert found.extras["file"] == "data:image/svg+xml"
    assert found.extras["index_tokens"] <= 60


def test_images_of_a_page_come_with_the_chunk_they_stand_in() -> None:
    source = (
        "<h1>A</h1><p>Words <img src='1.png' alt='one'> and <img "
        "src='2.png'>more.</p><table><tr><th>a</th><th>b</th></tr>"
        "<tr><td>x <img src='3.png' "
        "alt='three'></td><td>1</td></tr></table><h1>B</h1><p>End.</p><img src=4.png alt=''>"
    )
    chunks = HiQASplitter().split(read_text(source, format="html"))
    assert [
        [image["file"] for image in chunk.extras.get("images", ())] for chunk in chunks
    ] == [
        ["1.png", "2.png"],
        ["3.png"],
        ["4.png"],
    ]
