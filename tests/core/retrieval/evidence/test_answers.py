"""Whole answers: what introduces something comes with it, in Markdown, HTML and text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from places import ROOT

from structrag import EvidenceRetriever, read_text
from structrag.records import Hit
from structrag.retrieval.evidence.passages import is_listed

# A label and its value, a caption, a question, steps, and what they stand among.
CASES = [
    json.loads(line)
    for line in (ROOT / "tests/fixtures/answers.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]
AROUND = [
    "Pumps move water from one place to another and are found in houses, ships and mines. "
    "Their history begins with the screw of Archimedes, and the first steam pumps drained mines.",
    "The company was founded in 1911 by two brothers who repaired bicycles. It moved to its "
    "present building after the fire of 1936 and has belonged to its workers ever since.",
    "Visitors reach the works by tram, which stops at the gate every ten minutes. There is a "
    "small museum with a model of the first machine, open on Sundays.",
] * 2


def doc(fmt: str, case: str) -> str:
    if fmt == "html":
        around = "".join(f"<p>{text}</p>" for text in AROUND)
        return f"<h1>Manual</h1>{around}<h2>Reference</h2>{case}<h2>Rest</h2>{around}"
    around = "\n\n".join(AROUND)
    if fmt == "markdown":
        return (
            f"# Manual\n\n{around}\n\n## Reference\n\n{case}\n\n## Rest\n\n{around}\n"
        )
    return f"{around}\n\n{case}\n\n{around}\n"


def found(fmt: str, case: str, question: str, **limits: int) -> list[Hit]:
    document = read_text(doc(fmt, case), format=fmt, id="d")
    return EvidenceRetriever.from_documents([document]).search(question, **limits)


def is_lead(text: str) -> bool:
    return text.rstrip().rstrip("*_").endswith((":", "：", "?", "？"))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_label_brings_its_value(case: dict[str, Any]) -> None:
    for most in (1000, 400, case.get("least", 400)):
        hits = found(case["format"], case["text"], case["question"], max_tokens=most)
        shown = [f"{hit.chunk.context}\n{hit.chunk.text}" for hit in hits]
        assert any(all(word in text for word in case["must"]) for text in shown)
        assert not any(is_lead(hit.chunk.text) for hit in hits)


REFERENCES = "\n".join(
    f"[{number}] J. Smith and A. Jones. Pumps of type {number} and their seals. "
    f"In Proc. of Pumping, pp. {number}-{number + 9}, 20{10 + number}."
    for number in range(1, 20)
)


def test_entries_of_references_come_behind_the_text() -> None:
    text = (
        "# Pumps\n\nA pump needs a seal, which wears out within the first year of its use. "
        f"It is changed by loosening the four bolts.\n\nMore on seals.\n\n{REFERENCES}\n"
    )
    retriever = EvidenceRetriever.from_documents([read_text(text, id="d")])
    first, *_ = retriever.search("pumps and their seals", max_tokens=200)
    assert "wears out" in first.chunk.text and "[3]" not in first.chunk.text


TITLES = ("Filters", "Hidden files", "Order of rules", "Archives", "Settings")
CONTENTS = {
    "links": [f"- [{title}](#part-{title[0]})" for title in TITLES],
    "titles": [f"* {title}" for title in TITLES],
    "inside": [f"{' ' * (2 * (n > 1))}{n}. {t}" for n, t in enumerate(TITLES)],
    "dots": [f"{title} {'.' * 40} {len(title)}" for title in TITLES],
    "spaced dots": [f"{n} {t} {'. ' * 20}{n}" for n, t in enumerate(TITLES, 1)],
}


@pytest.mark.parametrize("contents", CONTENTS.values(), ids=CONTENTS)
def test_entries_of_contents_are_known(contents: list[str]) -> None:
    text = "\n".join(contents)
    assert all(is_listed(text, text.index(line), {*TITLES}) for line in contents)


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_contents_come_behind_the_text(form: str) -> None:
    body = "What a name begins with decides whether it is read, and a flag asks for it."
    if form == "html":
        entries = "".join(f"<li>{title}</li>" for title in TITLES)
        parts = "".join(f"<h2>{title}</h2><p>{body}</p>" for title in TITLES)
        text = f"<h1>Guide</h1><h2>Contents</h2><ul>{entries}</ul>{parts}"
    else:
        parts = "\n\n".join(f"## {title}\n\n{body}" for title in TITLES)
        lines = "\n".join(CONTENTS["titles"])
        text = f"# Guide\n\n## Contents\n\n{lines}\n\n{parts}\n"
    retriever = EvidenceRetriever.from_documents([read_text(text, id="d", format=form)])
    first, second, *_ = retriever.search("hidden files and filters", 5)
    assert {hit.chunk.path[-1] for hit in (first, second)} == {
        "Hidden files",
        "Filters",
    }


def test_items_with_other_words_and_short_sections_count_whole() -> None:
    text = "\n\n".join(f"## {n}. {t}\n\nIt has {t}." for n, t in enumerate(TITLES))
    prices = "\n".join(f"{name} {'.' * 30} {n}" for n, name in enumerate("abcdef"))
    for plain in (text, prices, "- Filters: by name\n- Archives: unpacked\n- More"):
        assert not any(is_listed(plain, at, {*TITLES}) for at in range(len(plain)))


def test_near_passages_are_one() -> None:
    text = "# Seals\n\n" + "\n\n".join(
        f"{words} is told here in one short paragraph of its own, as everything is."
        for words in ("The red seal", "A bolt", "The red ring")
    )
    hits = found("markdown", text, "red", max_tokens=200)
    assert len(hits) <= 2
