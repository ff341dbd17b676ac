"""A mark that a generated table of contents is put at is no body: its heading travels with the text
below it."""

from __future__ import annotations

import pytest

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.records import Document

RST = ".. contents::\n   :local:\n   :depth: 2"
MARKS = ("[TOC]", "[[TOC]]", "[[_TOC_]]", "{:toc}", "{{< toc >}}")


@pytest.mark.parametrize("splitter", [ContentAwareSplitter(), HiQASplitter()])
@pytest.mark.parametrize("mark", MARKS)
def test_markdown_title_with_a_contents_mark_joins_the_first_section(
    splitter: object, mark: str
) -> None:
    text = (
        f"# Nova A10\n\n{mark}\n\n## Battery\n\nIt holds 500 mAh.\n\n## Camera\n\nIt sees 12 "
        "megapixels.\n"
    )
    chunks = splitter.split(Document(text, format="markdown"))  # type: ignore[attr-defined]
    assert [chunk.path for chunk in chunks] == [
        ("Nova A10", "Battery"),
        ("Nova A10", "Camera"),
    ]
    assert "".join(chunk.text for chunk in chunks) == text


@pytest.mark.parametrize("mark", [".. contents::", ".. contents:: Inside", RST])
def test_restructuredtext_title_with_a_contents_directive_joins_the_first_section(
    mark: str,
) -> None:
    text = (
        f"Nova A10\n========\n\n{mark}\n\nBattery\n-------\n\nIt holds 500 "
        "mAh.\n\nCamera\n------\n\nIt sees well.\n"
    )
    chunks = HiQASplitter().split(Document(text))
    assert [chunk.path for chunk in chunks] == [
        ("Nova A10", "Battery"),
        ("Nova A10", "Camera"),
    ]
    assert "".join(chunk.text for chunk in chunks) == text


@pytest.mark.parametrize(
    "body",
    ["[TOC] below", "Words.\n\n[TOC]", "[toc](contents.md)", ".. note:: Read this."],
)
def test_other_bodies_stay_chunks_of_their_own(body: str) -> None:
    text = f"# Nova A10\n\n{body}\n\n## Battery\n\nIt holds 500 mAh.\n"
    chunks = HiQASplitter().split(Document(text, format="markdown"))
    assert [chunk.path for chunk in chunks] == [("Nova A10",), ("Nova A10", "Battery")]


def test_a_document_of_a_mark_alone_keeps_it() -> None:
    assert [
        chunk.text
        for chunk in HiQASplitter().split(Document("[TOC]\n", format="markdown"))
    ] == ["[TOC]\n"]


def test_an_excluded_title_takes_what_is_below_it_and_nothing_beside_it() -> None:
    text = "# A\n\na\n\n# Notes\n\nb\n\n## Deep\n\nc\n\n### Deeper\n\nd\n\n# Z\n\ne\n"
    splitter = ContentAwareSplitter(exclude_titles=["notes"])
    chunks = splitter.split(Document(text, format="markdown"))
    assert [chunk.path for chunk in chunks] == [("A",), ("Z",)]
