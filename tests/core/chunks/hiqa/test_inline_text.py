"""HiQASplitter: images of their own, images in a text, and a vision model that may fail."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest

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


@pytest.mark.parametrize(
    "caption",
    [
        "Figure 2: The rear side.",
        "*Rear side of the box*",
        "**Fig. 2** Rear side",
        "图 2 Rear side",
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_caption_is_known_before_and_behind(caption: str, first: bool) -> None:
    reference = "![](wires.png)"
    found = image(
        AROUND.format(f"{caption}\n\n{reference}" if first else f"{reference}\n\n{caption}")
    )
    assert found.extras["caption"] == caption
    assert caption in found.index_text


@pytest.mark.parametrize(
    ("reference", "file", "alt"),
    [
        ("![a *b*](x.png)", "x.png", "a b"),
        ("[![a](x.png)](page.html)", "x.png", "a"),
        ("![a][ref]", "y/z.svg", "a"),
        ("![ref]", "y/z.svg", "ref"),
        ("![a](x.png){ width=50% }", "x.png", "a"),
        ("![a](two words.png)", "two words.png", "a"),
        ("![图](图 片.png)", "图 片.png", "图"),
        ("![a](<b c.png>)", "b c.png", "a"),
        ('<img src="x.png?a=1&amp;b=2" alt="a &quot;b&quot;">', "x.png?a=1&b=2", 'a "b"'),
        ('<a href="p"><img alt=a src=x.png></a>', "x.png", "a"),
        ('<p align="center">\n  <img src="x.png" alt="a">\n</p>', "x.png", "a"),
        ('<picture><source srcset="big.png"><img src="x.png" alt="a"></picture>', "x.png", "a"),
    ],
)
def test_references_as_people_write_them(reference: str, file: str, alt: str) -> None:
    text = AROUND.format(reference) + "\n[ref]: y/z.svg\n"
    found = image(text)
    assert (found.extras["file"], found.extras["alt"]) == (file, alt)
    assert reference in found.text


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


def test_a_table_lists_the_images_in_its_cells() -> None:
    (chunk,) = split("| a | b |\n|---|---|\n| ![x](x.png) | ![y](y.png) |\n")
    assert chunk.kind == "table"
    assert [each["file"] for each in chunk.extras["images"]] == ["x.png", "y.png"]
    assert chunk.index_text == "a | b\nx"


def test_an_image_in_code_or_escaped_is_none() -> None:
    text = "Write `![a](b.png)` or \\![a](b.png).\n\n```\n![x](y.png)\n```\n\n    ![x](y.png)\n"
    (chunk,) = split(text)
    assert "images" not in chunk.extras


def test_each_chunk_lists_its_own_images() -> None:
    text = (
        "# A\n\n"
        + "\n\n".join(
            f"Many words stand around number {i} ![p{i}](p{i}.png) here." for i in range(20)
        )
        + "\n"
    )
    chunks = split(text, max_tokens=40)
    assert len(chunks) > 5
    for chunk in chunks:
        assert [each["alt"] for each in chunk.extras["images"]] == [
            f"p{i}" for i in range(20) if f"![p{i}]" in chunk.text
        ]


def test_an_image_without_any_words_is_known_by_its_file_name() -> None:
    (found,) = split("![](https://example.org/img/rear-side.png?size=2)\n")
    assert found.index_text == "rear-side.png"


def test_an_image_written_out_in_the_text_is_not_indexed_and_named_by_its_type() -> None:
    data = "data:image/svg+xml;base64," + "A" * 50_000
    found = image(AROUND.format(f"![The wiring]({data})"), max_tokens=60)
    assert data in found.text
    assert found.extras["file"] == "data:image/svg+xml;base64"
    assert found.extras["index_tokens"] <= 60


def test_what_does_not_fit_is_cut_between_words() -> None:
    found = image(AROUND.format(f"![{'many words of an alt text ' * 40}](x.png)"), max_tokens=50)
    assert 40 < found.extras["index_tokens"] <= 50
    assert found.index_text.startswith("Setup\nmany words")


def test_a_vision_model_describes_each_image_once() -> None:
    asked = []

    def describe(reference: str) -> str:
        asked.append(reference)
        return f"A drawing\nof {reference}. "

    text = (
        AROUND.format("![a](x.png)") + "\n![b](x.png)\n\n![c](y.png)\n\nPress ![inline](z.png).\n"
    )
    found = [chunk for chunk in split(text, describe_image=describe) if chunk.kind == "image"]
    assert asked == ["x.png", "y.png"]
    assert [chunk.extras["description"] for chunk in found] == ["A drawing of x.png."] * 2 + [
        "A drawing of y.png."
    ]
    assert "\na\nA drawing of x.png.\n" in found[0].index_text


@pytest.mark.parametrize("answer", [RuntimeError("out of memory"), None, "", " \n", 7])
def test_a_vision_model_that_fails_costs_its_description_only(answer: Any) -> None:
    def describe(reference: str) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    text = AROUND.format("![a](x.png) ![b](y.png)")
    found = image(text, describe_image=describe)
    assert found.extras["description_failures"] == 2
    assert found.extras["degraded"] is True
    assert "description" not in found.extras
    assert found.index_text == image(text).index_text


def test_images_of_a_page_are_known_by_alt_text_and_address() -> None:
    page = read_text(
        "<h1>Setup</h1><p>One. Two.</p><p><img src='x.png' alt='The wiring'></p><p>Three.</p>",
        format="html",
    )
    (found,) = [chunk for chunk in HiQASplitter().split(page) if chunk.kind == "image"]
    assert found.index_text == "Setup\nThe wiring\nOne.\nTwo.\nThree."
    assert (found.extras["alt"], found.extras["file"]) == ("The wiring", "x.png")


def test_images_of_a_page_come_with_the_chunk_they_stand_in() -> None:
    source = (
        "<h1>A</h1><p>Words <img src='1.png' alt='one'> and <img "
        "src='2.png'>more.</p><table><tr><th>a</th><th>b</th></tr>"
        "<tr><td>x <img src='3.png' "
        "alt='three'></td><td>1</td></tr></table><h1>B</h1><p>End.</p><img src=4.png alt=''>"
    )
    chunks = HiQASplitter().split(read_text(source, format="html"))
    assert [[image["file"] for image in chunk.extras.get("images", ())] for chunk in chunks] == [
        ["1.png", "2.png"],
        ["3.png"],
        ["4.png"],
    ]


@pytest.mark.parametrize(
    "text",
    [
        "![" * 20_000,
        "![a](" * 20_000,
        "![" * 9000 + "a" + "](b)" * 9000,
        "![a](b) `" * 5000,
        "<img " * 9000,
    ],
)
def test_references_that_never_end_take_linear_time(text: str) -> None:
    started = process_time()
    assert "".join(chunk.text for chunk in split(text)) == text
    assert process_time() - started < 20
