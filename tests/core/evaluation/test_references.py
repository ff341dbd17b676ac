"""References within documents, and where they lead."""

from __future__ import annotations

from fixture_cases import examples

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


@examples
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


def targets_of(text: str, *, id: str = "guide.md") -> list[tuple[str, str]]:
    """The references of one document, as (words, title of the target)."""
    document = read_text(text, format="markdown", id=id)
    return [
        (reference.words, reference.target.title)
        for reference in references([parse(document)])
    ]


@examples
def test_a_sentence_has_six_to_sixty_words(words: int, count: int) -> None:
    sentence = "See section 2 " + " ".join(["now"] * (words - 3)) + "."
    assert len(targets_of(f"# 1 One\n\n{sentence}\n\n# 2 Two\n\nx\n")) == count


def test_links_lead_to_anchors_that_headings_have_or_are_given() -> None:
    text = (
        "# Start\n\nOf all this it is said [there](#Cold-Start) in more words.\n\n"
        "Of the rest it is said [there](#own) in more words.\n\n"
        "Of nothing it is said [there](#start-1) in more words.\n\n"
        "# Cold start!\n\nx {#lost}\n\n# Oil {#own}\n\ny\n"
    )
    assert [title for _, title in targets_of(text)] == ["Cold start!", "Oil"]


def test_in_plain_text_only_numbers_lead_to_sections() -> None:
    text = (
        "1 Pumps\n\nThey are cleaned as it says in section 2 of this.\n"
        "They are [cleaned](#seals) as it says there in other words.\n\n"
        "2 Seals\n\nThey hold.\n\n3 Oil\n\nUse little.\n"
    )
    outline = parse(read_text(text, format="text", id="a.txt"))
    assert [
        (reference.words, reference.target.title) for reference in references([outline])
    ] == [("They are cleaned as it says in section 2 of this.", "2 Seals")]
