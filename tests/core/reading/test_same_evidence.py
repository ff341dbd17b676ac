"""One document saved in many formats gives the same evidence in all of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import format_making
import pytest

from structrag import EvidenceRetriever, read_file

SECTIONS = {
    "Cleaning": (
        "Rinse the filter under warm water every day.",
        "Never use soap on the filter, since it closes the pores.",
    ),
    "Storage": (
        "Drain the pump before the first frost.",
        "Keep the drained pump in a dry cellar until spring.",
    ),
    "Repair": (
        "A worn seal lets water drip from the housing.",
        "Order a new seal by the number on the label of the pump.",
    ),
}
SENTENCES = [text for texts in SECTIONS.values() for text in texts]
QUESTIONS = (
    "How often is the filter rinsed?",
    "Where is the pump kept in winter?",
    "Why does water drip from the housing?",
)


def _lines(heading: str, paragraph: str, between: str = "\n") -> str:
    parts = []
    for title, texts in SECTIONS.items():
        parts.append(heading.replace("@", title).replace("~", "=" * len(title)))
        parts += [paragraph.replace("@", text) for text in texts]
    return between.join(parts) + "\n"


def _mail() -> bytes:
    return f"Subject: \r\nContent-Type: text/html\r\n\r\n{_html()}".encode()


def _html() -> str:
    return _lines("<h1>@</h1>", "<p>@</p>")


def _notebook() -> str:
    cell = {"cell_type": "markdown", "source": _lines("# @", "@", "\n\n")}
    return json.dumps({"metadata": {}, "cells": [cell]})


def _sections_of_xml() -> str:
    body = _lines("</sec><sec><title>@</title>", "<p>@</p>").removeprefix("</sec>")
    return f"<article><front/><body>{body}</sec></body></article>"


MAKERS: dict[str, Callable[[], str | bytes]] = {
    "md": lambda: _lines("# @", "@", "\n\n"),
    "html": _html,
    "rst": lambda: _lines("@\n~", "@", "\n\n"),
    "adoc": lambda: _lines("== @", "@", "\n\n"),
    "org": lambda: _lines("* @", "@", "\n\n"),
    "wiki": lambda: _lines("== @ ==", "@", "\n\n"),
    "tex": lambda: _lines("\\section{@}", "@", "\n\n"),
    "docx": lambda: format_making.docx(_lines("p:Heading1 @", "p @")),
    "odt": lambda: format_making.odt(_lines("h1 @", "p @")),
    "pptx": lambda: format_making.pptx(_lines("slide\ntitle @", "box @")),
    "epub": lambda: format_making.epub(_html().replace("\n", "")),
    "rtf": lambda: (
        "{\\rtf1 " + _lines("{\\pard\\outlinelevel0 @\\par}", "{\\pard @\\par}") + "}"
    ),
    "ipynb": _notebook,
    "xml": _sections_of_xml,
    "eml": _mail,
}


def evidence(path: Path) -> list[list[tuple[tuple[str, ...], list[str]]]]:
    """For each question its passages: their headings and which sentences stand in them."""
    retriever = EvidenceRetriever(max_tokens=30)  # signs of headings count too
    retriever.add([read_file(path)])
    return [
        [
            (hit.chunk.path, [text for text in SENTENCES if text in hit.chunk.text])
            for hit in retriever.search(question)
        ]
        for question in QUESTIONS
    ]


def saved(folder: Path, suffix: str) -> Path:
    content = MAKERS[suffix]()
    path = folder / f"pump.{suffix}"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("suffix", [suffix for suffix in MAKERS if suffix != "md"])
def test_the_same_evidence_as_of_markdown(suffix: str, tmp_path: Path) -> None:
    expected = evidence(saved(tmp_path, "md"))
    assert [passages[0][0][-1] for passages in expected] == list(SECTIONS)
    assert evidence(saved(tmp_path, suffix)) == expected
