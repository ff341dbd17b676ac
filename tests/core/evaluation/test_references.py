"""References within documents, and where they lead."""

from __future__ import annotations

import pytest

from structrag.evaluation.references import references
from structrag.reading.files import read_text
from structrag.reading.sections import parse


def test_references_lead_by_anchor_file_definition_and_number() -> None:
    guide = read_text(
        "# Guide\n\n## 3.2 Cold start\n\nLet the engine run for a minute.\n\n## Notes "
        "{#own-name}\n\n"
        "For engines in winter see section 3.2 before you begin. All about that is written in [the "
        "list][terms] of words. "
        "Other things are told [elsewhere](https://example.org/x#terms) by other people. "
        "Two things, [one](#32-cold-start) and [two](terms.md#terms), are told in different "
        "sections.\n\n"
        "[terms]: ../docs/terms.md#terms\n",
        format="markdown",
        id="docs/guide.md",
    )
    terms = read_text(
        "# Words\n\nWhat they mean is told in [the notes](guide.md#own-name) of the guide.\n\n## "
        "Terms\n\nSome.\n",
        format="markdown",
        id="docs/terms.md",
    )
    found = references([parse(guide), parse(terms)])
    assert [(each.words, each.target.title) for each in found] == [
        ("For engines in winter see section 3.2 before you begin.", "3.2 Cold start"),
        ("All about that is written in the list of words.", "Terms"),
        ("What they mean is told in the notes of the guide.", "Notes"),
    ]
    assert guide.text[found[0].start : found[0].end].strip() == found[0].words


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        (
            "The meaning of all words: [terms][] are told.",
            "The meaning of all words: terms are told.",
        ),
        (
            "The meaning of all words: [terms] are told.",
            "The meaning of all words: terms are told.",
        ),
        (
            "By [note][missing] all is told in [the list][terms].",
            "By [note][missing] all is told in the list.",
        ),
        (
            "All words are told in [the list](terms.md#terms).",
            "All words are told in the list.",
        ),
        ("All words are told in [the list](terms.md).", None),  # leads to no section
        ("See the [terms][].", None),  # too short for a question
        (
            "All words are told [elsewhere](https://terms.md#terms) by other people.",
            None,
        ),
    ],
)
def test_a_sentence_points_by_link_or_by_definition(
    sentence: str, words: str | None
) -> None:
    guide = read_text(
        f"# Guide\n\n{sentence}\n\n[terms]: terms.md#terms\n",
        format="markdown",
        id="guide.md",
    )
    terms = read_text(
        "# Words\n\nThey mean.\n\n## Terms\n\nSome.\n", format="markdown", id="terms.md"
    )
    found = references([parse(guide), parse(terms)])
    assert [(each.words, each.target.title) for each in found] == (
        [] if words is None else [(words, "Terms")]
    )


def test_sections_of_one_title_are_numbered_as_github_does() -> None:
    links = "".join(
        f"All that is written about {word} stands in [the notes](#notes{number}).\n\n"
        for word, number in (("pumps", ""), ("valves", "-1"), ("pipes", "-2"))
    )
    text = (
        f"# Notes\n\nOne.\n\n# Notes\n\nTwo.\n\n# Notes\n\nThree.\n\n# Links\n\n{links}"
    )
    document = read_text(text, format="markdown", id="guide.md")
    targets = [reference.target for reference in references([parse(document)])]
    assert [target.start for target in targets] == [0, 15, 30]
