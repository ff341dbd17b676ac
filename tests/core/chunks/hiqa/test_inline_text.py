"""HiQASplitter: images of their own, images in a text, and a vision model that may fail."""

from __future__ import annotations

from typing import Any

import pytest
from fixture_cases import examples

from structrag.chunks.hiqa.inline_text import (
    Image,
    html_figure,
    html_tables,
    link_definitions,
    lone_images,
    markdown_images,
    may_have_images,
    plain_cell,
)
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


def test_an_image_without_any_words_is_known_by_its_file_name() -> None:
    (found,) = split("![](https://example.org/img/rear-side.png?size=2)\n")
    assert found.index_text == "rear-side.png"


def test_an_image_written_out_in_the_text_is_not_indexed_and_named_by_its_type() -> (
    None
):
    data = "data:image/svg+xml;base64," + "A" * 50_000
    found = image(AROUND.format(f"![The wiring]({data})"), max_tokens=60)
    assert "![The wiring](data:image/svg+xml)" in found.text
    assert found.extras["file"] == "data:image/svg+xml"
    assert found.extras["index_tokens"] <= 60


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
    assert [
        [image["file"] for image in chunk.extras.get("images", ())] for chunk in chunks
    ] == [
        ["1.png", "2.png"],
        ["3.png"],
        ["4.png"],
    ]


@pytest.mark.parametrize(
    ("markup", "cell"),
    [
        ("  a   b ", "a b"),
        ("a \\| b", "a | b"),
        ("**Nova** [phone](nova.html)", "Nova phone"),
        ("`x_y` and snake_case", "x_y and snake_case"),
        ("_so_ it is", "so it is"),
        ("H<sub>2</sub>O", "H2O"),
        ("one<br>two", "one two"),
        ("one<br/>two", "one two"),
        ("a &amp; b", "a & b"),
        ("**", "**"),
        ("<br>", "<br>"),  # nothing else is left
        (f"{'x' * 1996}**b**", f"{'x' * 1996}**b**"),
        (f"{'x' * 1995}**b**", f"{'x' * 1995}b"),  # 2,000 characters
        ("", ""),
    ],
)
def test_cells_as_people_read_them(markup: str, cell: str) -> None:
    assert plain_cell(markup) == cell


def test_the_first_definition_of_a_label_counts() -> None:
    text = (
        '[Wires]: a.png "Rear"\n[wires]: b.png\n   [x y]: <c d.png>\n    [no]: e.png\n'
        "[two words]: f.png 'g'\n[bad]: h.png words\n"
    )
    assert link_definitions(text) == {
        "WIRES": {"href": "a.png", "title": "Rear"},
        "X Y": {"href": "c d.png", "title": ""},
        "TWO WORDS": {"href": "f.png", "title": ""},
    }


REFERENCES = link_definitions('[w]: w.png "Wires"\n')


@pytest.mark.parametrize(
    ("markup", "images"),
    [
        ("![a](x.png)", [Image("x.png", "a")]),
        ("![](x.png)", [Image("x.png", "")]),
        ('![a *b*](x.png "t")', [Image("x.png", "a b", "t")]),
        ("![a](x.png 't  u')", [Image("x.png", "a", "t u")]),
        ("![a](x.png (t))", [Image("x.png", "a", "t")]),
        ("![a](<x y.png>)", [Image("x y.png", "a")]),
        ("![a](x y.png)", [Image("x y.png", "a")]),
        ("![a](x(1).png)", [Image("x(1).png", "a")]),
        ("![a [b] c](x.png)", [Image("x.png", "a [b] c")]),
        (
            "![a][w] ![w][] ![w]",
            [Image("w.png", "a", "Wires"), *[Image("w.png", "w", "Wires")] * 2],
        ),
        ("![a][none] ![none]", []),
        ("\\![a](x.png)", []),
        ("`![a](x.png)` ![b](y.png)", [Image("y.png", "b")]),
        ("``![a](x.png)` `` ![b](y.png)", [Image("y.png", "b")]),
        ("`` ![a](x.png)", [Image("x.png", "a")]),  # no code span
        ("`a` ![b](y.png) `c`", [Image("y.png", "b")]),  # between two code spans
        ("``a`` ![b](y.png) ``c``", [Image("y.png", "b")]),
        ("``a` ![b](y.png)``", []),  # a run of another length ends none
        ("a\\`![b](y.png)`", [Image("y.png", "b")]),
        ("![a]![b](y.png)", [Image("y.png", "b")]),
        ("![", []),
        ("<img src=x.png>", [Image("x.png", "")]),
        ("<IMG alt='a &amp; b' src=' x.png ' title=t>", [Image("x.png", "a & b", "t")]),
        ("![![a](x.png)](y.png)", [Image("y.png", "a")]),
        ("no image", []),
    ],
)
def test_images_of_markdown(markup: str, images: list[Image]) -> None:
    assert markdown_images(markup, REFERENCES) == images


@examples
def test_images_alone(markup: str, count: int) -> None:
    assert len(lone_images(markup, REFERENCES)) == count


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<img src=a.png>", ([Image("a.png", "")], "")),
        (
            "<figure><img src=a.png><figcaption>The <b>wiring</b>\n here</figcaption></figure>",
            ([Image("a.png", "")], "The wiring here"),
        ),
        (
            "<figure><figcaption>a</figcaption><img src=b><img src=c></figure>",
            ([Image("b", ""), Image("c", "")], "a"),
        ),
        ("<figure><img src=a.png></figcaption>words</figure>", None),
        (
            "<img src=a.png><figcaption>b <figcaption>c</figcaption> d</figcaption>",
            ([Image("a.png", "")], "b c d"),
        ),
        ("<video src=a.mp4></video>", None),
        ("<figure><img src=a.png>words</figure>", None),
        ("<figure><img src=a.png><figcaption>b</figcaption>words</figure>", None),
        ("<figure><figcaption>b</figcaption></figure>", None),
        ("", None),
    ],
)
def test_figures_of_html(markup: str, expected: tuple[list[Image], str] | None) -> None:
    assert html_figure(markup) == expected


@examples
def test_tables_of_html(markup: str, spans: list[str], left_open: int) -> None:
    found, depth = html_tables(markup)
    assert ([markup[start:end] for start, end in found], depth) == (spans, left_open)


def test_an_image_as_json() -> None:
    assert Image("a.png", "b", "c").as_json() == {
        "file": "a.png",
        "alt": "b",
        "title": "c",
    }
    assert Image("data:image/png;base64,AAAA", "").as_json() == {
        "file": "data:image/png;base64",
        "alt": "",
    }


def test_an_image_written_out_is_known_by_its_type_and_title() -> None:
    image = '![a](data:image/png;base64,AA "t")'
    (found,) = markdown_images(image, {})
    assert found.as_json() == {
        "file": "data:image/png;base64",
        "alt": "a",
        "title": "t",
    }


@pytest.mark.parametrize("markup", ["![a](x.png)", "x<img src=a>", "x<IMG src=a>"])
def test_markup_that_may_hold_an_image(markup: str) -> None:
    assert may_have_images(markup)
    assert not may_have_images(markup.replace("!", "").replace("<", ""))


@examples
def test_what_stands_between_images_alone(markup: str, is_alone: bool) -> None:
    assert bool(lone_images(markup, {})) is is_alone
