"""The sentences around a table or an image, and its caption."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest
from fixture_cases import examples

from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.reading.files import read_text
from structrag.records import Chunk
from structrag.text.tokens import count_tokens

PRICES = (
    "| Product | Price | Weight |\n|---|--:|---|\n| Nova A10 | 129.90 | 310 g |\n| Nova B11 | "
    "149.00 | 295 g |\n"
)


def split(text: str, format: str = "markdown", **settings: Any) -> list[Chunk]:
    return HiQASplitter(**settings).split(read_text(text, format=format))


def tables(text: str, format: str = "markdown", **settings: Any) -> list[Chunk]:
    return [chunk for chunk in split(text, format, **settings) if chunk.kind == "table"]


@pytest.mark.parametrize(
    "caption",
    [
        "Table 3. Prices",
        "**Table 3:** Prices",
        "Tab. 3 Prices",
        "表 3 Prices",
        ": Prices",
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_caption_is_known_before_and_behind(caption: str, first: bool) -> None:
    text = (
        f"One. Two.\n\n{caption}\n\n{PRICES}"
        if first
        else f"One. Two.\n\n{PRICES}\n{caption}\n\nThree.\n"
    )
    (table,) = tables(text)
    assert table.extras["caption"] == caption
    assert table.index_text.startswith(caption)


@pytest.mark.slow
def test_of_a_neighbour_of_a_megabyte_the_nearest_sentences_are_taken() -> None:
    long = "A sentence without a meaning stands here. " * 25_000
    (table,) = tables(f"{long}\n\n{PRICES}\n{long}\n", max_tokens=2000)
    assert table.index_text.count("A sentence") == 3
    assert count_tokens(table.index_text) < 60


AROUND = "# Setup\n\nZero. One here. Two here.\n\n{}\n\nThree here. Four here. Five.\n"


def image(text: str, **settings: Any) -> Chunk:
    (found,) = [chunk for chunk in split(text, **settings) if chunk.kind == "image"]
    return found


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
def test_a_caption_of_an_image_is_known_before_and_behind(
    caption: str, first: bool
) -> None:
    reference = "![](wires.png)"
    found = image(
        AROUND.format(
            f"{caption}\n\n{reference}" if first else f"{reference}\n\n{caption}"
        )
    )
    assert found.extras["caption"] == caption
    assert caption in found.index_text


@examples
def test_references_as_people_write_them(reference: str, file: str, alt: str) -> None:
    text = AROUND.format(reference) + "\n[ref]: y/z.svg\n"
    found = image(text)
    assert (found.extras["file"], found.extras["alt"]) == (file, alt)
    assert reference in found.text


@pytest.mark.slow
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
