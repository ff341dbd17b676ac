"""Where tables and images stand in a document."""

from __future__ import annotations

from typing import Any

import pytest
from fixture_cases import examples

from structrag.chunks.divisions import divide
from structrag.chunks.hiqa.inline_text import Image
from structrag.chunks.hiqa.segments import Segment, Segmenter
from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.reading.files import read_text
from structrag.reading.sections import parse
from structrag.records import Block, Chunk

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


def cut(text: str, format: str = "markdown") -> tuple[Segmenter, list[Segment]]:
    """The segments of a text of one division."""
    outline = parse(read_text(text, format=format))
    segmenter = Segmenter(outline)
    (division,) = divide(outline)
    return segmenter, segmenter.segments(division)


def kinds(text: str, format: str = "markdown") -> list[tuple[str, str]]:
    """The kind and the text of each segment; they tile it."""
    segmenter, segments = cut(text, format)
    text = segmenter.text
    assert "".join(text[each.start : each.end] for each in segments) == text
    return [(each.kind, text[each.start : each.end]) for each in segments]


def neighbours(text: str) -> list[tuple[str, str]]:
    """The prose before and behind each table or image."""

    def words(block: Block | None) -> str:
        return text[block.text_start : block.end].strip() if block else ""

    _, segments = cut(text)
    special = [each for each in segments if each.kind != "text"]
    return [(words(each.before), words(each.after)) for each in special]


PIPES = "| a | b |\n|---|---|\n| 1 | 2 |\n"
HTML = "<table><tr><th>a</th></tr><tr><td>1</td></tr></table>"


def test_a_run_of_text_is_one_segment_and_each_table_and_image_is_one() -> None:
    text = f"One.\n\nMore.\n\n{PIPES}\nTwo.\n\n- x\n\n![i](i.png)\n\n{HTML}\n\n> q\n"
    assert kinds(text) == [
        ("text", "One.\n\nMore.\n\n"),
        ("table", f"{PIPES}\n"),
        ("text", "Two.\n\n- x\n\n"),
        ("image", "![i](i.png)\n\n"),
        ("table", f"{HTML}\n\n"),
        ("text", "> q\n"),
    ]
    assert neighbours(text) == [("More.", "Two."), ("- x", ""), ("", "> q")]


def test_prose_beside_a_table_is_without_headings() -> None:
    assert neighbours(f"# A\n\nOne.\n\n{PIPES}\nTwo.\n\n## E\n") == [("One.", "Two.")]
    # Code is no prose.
    assert neighbours(f"```\nx\n```\n\n{PIPES}\n```\ny\n```\n") == [("", "")]
    assert neighbours(PIPES) == [("", "")]


def test_headings_without_a_body_are_the_tail_of_the_last_segment() -> None:
    text = f"# A\n\n{PIPES}\nOne.\n\n## E\n"
    _, (table, words) = cut(text)
    assert (table.start, table.tail, words.tail) == (0, None, text.index("## E"))
    text = f"# A\n\nOne.\n\n{PIPES}\n## E\n"
    _, (words, table) = cut(text)
    assert (words.tail, table.tail) == (None, text.index("## E"))
    assert table.parts[0].table is not None
    assert table.parts[0].table.end == text.index("## E")


@pytest.mark.parametrize("blank", ["", "\n"])
def test_tags_alone_go_with_the_table_before_them_or_else_behind(blank: str) -> None:
    wrapped = f"<div>\n{blank}{HTML}\n{blank}</div>\n\n"
    assert kinds(f"{wrapped}Words.\n") == [("table", wrapped), ("text", "Words.\n")]
    two = f"<div>\n{blank}{HTML}\n{blank}<hr>\n{blank}{HTML}</div>\n"
    assert [(kind, part.count("table>")) for kind, part in kinds(two)] == [
        ("table", 2),
        ("table", 2),
    ]
    # Behind words they are text.
    assert kinds(f"Words.\n\n{wrapped}") == [
        ("text", f"Words.\n\n<div>\n{blank}"),
        ("table", wrapped.partition(f"<div>\n{blank}")[2]),
    ]


def test_tags_behind_the_words_that_follow_a_table_stay_with_them() -> None:
    text = f"{HTML}\n\nWords.\n\n<br>\n\n{HTML}\n"
    assert kinds(text) == [
        ("table", f"{HTML}\n\n"),
        ("text", "Words.\n\n<br>\n\n"),
        ("table", f"{HTML}\n"),
    ]


def test_a_heading_in_front_of_tags_goes_with_the_table_behind() -> None:
    text = f"# A\n\n<div>\n\n{HTML}\n\n</div>\n\n## E\n"
    _, (table,) = cut(text)
    assert (table.kind, table.start, table.end) == ("table", 0, len(text))
    assert table.tail == text.index("## E")


def test_text_of_html_beside_a_table_is_text() -> None:
    text = f"<p>x</p>\n{HTML}\n{HTML}\n<b>y</b>\n"
    assert kinds(text) == [
        ("text", "<p>x</p>\n"),
        ("table", f"{HTML}\n"),
        ("table", HTML),
        ("text", "\n<b>y</b>\n"),
    ]


@pytest.mark.parametrize("inner", ["", "\n<table><tr><td>x</td></tr></table>\n\n"])
def test_a_table_cut_by_empty_lines_is_joined_to_its_end(inner: str) -> None:
    table = (
        "<table><tr><th>a</th></tr>\n\n"
        f"<tr><td>1{inner}</td></tr>\n\n<tr><td>2</td></tr></table>\n\n"
    )
    assert kinds(f"{table}Words.\n") == [("table", table), ("text", "Words.\n")]


def test_words_behind_a_table_that_is_never_closed_are_text_and_later_ones_tables() -> (
    None
):
    never = "<table><tr><td>never\n\nWords.\n\n"
    assert kinds(f"{never}{HTML}\n") == [("text", never), ("table", f"{HTML}\n")]
    assert kinds(f"{never}Last.\n") == [("text", f"{never}Last.\n")]


def test_a_closing_tag_in_code_closes_no_table() -> None:
    text = "<table><tr><th>a</th></tr>\n\n```\n</table>\n```\n\nWords.\n"
    assert kinds(text) == [("text", text)]


def test_images_of_a_stretch_are_those_that_stand_in_it() -> None:
    text = (
        "One ![a](a.png) two.\n\n`![x](x.png)` ![b](b.png)\n\n```\n![c](c.png)\n```\n"
    )
    segmenter, (segment,) = cut(text)
    middle = text.index("`![x]")
    a, b = Image("a.png", "a"), Image("b.png", "b")
    assert segmenter.images(segment, 0, len(text)) == [a, b]
    assert segmenter.images(segment, 0, middle) == [a]
    assert segmenter.images(segment, middle, len(text)) == [b]
    assert segmenter.images(segment, text.index("two"), middle) == []


def test_a_definition_anywhere_gives_an_image_its_address() -> None:
    text = "One ![a][ref] two.\n\n[ref]: a.png\n"
    segmenter, segments = cut(text)
    assert segmenter.images(segments[0], 0, len(text)) == [Image("a.png", "a")]
    assert cut("One [ref] two.\n\n[ref]: a.png\n")[0].references == {}


def test_images_of_a_page_belong_to_the_stretch_of_their_place() -> None:
    page = "<p>One <img src=a.png> two.</p><p>Three <img src=b.png alt=b></p>"
    segmenter, (segment,) = cut(page, "html")
    first, second = segmenter.placed
    files = [
        [image.file for image in segmenter.images(segment, start, end)]
        for start, end in (
            (0, segment.end),
            (0, second.offset),
            (first.offset, second.offset),
            (first.offset + 1, second.offset + 1),
            (second.offset + 1, segment.end),
        )
    ]
    assert files == [["a.png", "b.png"], ["a.png"], ["a.png"], ["b.png"], []]


def test_markup_of_markdown_is_text_in_other_formats() -> None:
    text = f"One.\n\n![i](i.png)\n\n{HTML}\n"
    assert kinds(text, "text") == [("text", text)]


def test_a_figure_is_an_image_and_words_beside_it_are_none() -> None:
    figure = "<figure><img src=a.png><figcaption>c</figcaption></figure>\n"
    _, (segment,) = cut(figure)
    part = segment.parts[0]
    assert (part.kind, part.images, part.caption) == (
        "image",
        (Image("a.png", ""),),
        "c",
    )
    assert kinds(f"<div>Words {figure}</div>\n")[0][0] == "text"
    # Inside a paragraph too.
    assert kinds('<a href="p"><img src=x.png></a>\n')[0][0] == "image"
    assert kinds("<b>words</b> <img src=x.png>\n")[0][0] == "text"


SPREAD = "<table><tr><th>a</th></tr>\n\n<tr><td>1</td></tr></table>\n\n"


def test_tables_cut_by_empty_lines_are_joined_one_by_one() -> None:
    assert kinds(f"<b>x</b>\n\n{SPREAD}{SPREAD}Words.\n") == [
        ("text", "<b>x</b>\n\n"),
        ("table", SPREAD),
        ("table", SPREAD),
        ("text", "Words.\n"),
    ]


def test_a_table_cut_by_empty_lines_behind_one_that_is_never_closed_is_text() -> None:
    text = f"<table><tr><td>never\n\nWords.\n\n{SPREAD}Last.\n"
    assert kinds(text) == [("text", text)]


def test_all_tags_in_front_of_a_table_go_with_it() -> None:
    text = f"<div>\n\n<center>\n\n<br>\n\n{HTML}\n"
    assert kinds(text) == [("table", text)]


def test_tags_between_words_and_a_table_are_no_prose() -> None:
    text = f"{HTML}\n\nWords.\n\n<br>\n\n{HTML}\n"
    assert neighbours(text) == [("", "Words."), ("", "")]
    assert neighbours(f"{HTML}\n\n{PIPES}") == [("", ""), ("", "")]


def test_references_to_images_are_read_in_markdown_only() -> None:
    segmenter, (segment,) = cut("One ![a](a.png) and ![b][c].\n\n[c]: c.png\n", "text")
    assert segmenter.images(segment, 0, segment.end) == []
    assert segmenter.references == {}


def test_an_image_of_a_page_that_stands_alone_is_the_one_in_its_place() -> None:
    page = (
        "<p>One <img src=a.png> two.</p><p><img src=b.png alt=b></p>"
        "<p>Three.</p><p><img src=c.png alt=c></p>"
    )
    _, segments = cut(page, "html")
    images = [each.parts[0].images for each in segments if each.kind == "image"]
    assert images == [(Image("b.png", "b"),), (Image("c.png", "c"),)]
