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


def test_a_section_does_not_point_to_itself_nor_to_two_of_one_number() -> None:
    sentence = "All that is known of it stands in section 2."
    assert targets_of(f"# 1 One\n\nx\n\n# 2 Two\n\n{sentence}\n") == []
    twice = f"# 1 One\n\n{sentence}\n\n# 2 Two\n\nx\n\n# 2 Again\n\ny\n"
    assert targets_of(twice) == []


def test_items_of_lists_and_quotes_are_read_without_their_marks() -> None:
    items = (
        "- Of the first one see section 2 here.\n"
        "2. Of the second one see section 2 here.\n\n"
        "> Of the third one see section 2 here.\n\n"
        "    Of code there see section 2 here.\n"
    )
    text = f"# 1 One\n\n{items}\n# 2 Two\n\nx\n"
    assert targets_of(text) == [
        (f"Of the {number} one see section 2 here.", "2 Two")
        for number in ("first", "second", "third")
    ]


def test_links_lead_to_anchors_that_headings_have_or_are_given() -> None:
    text = (
        "# Start\n\nOf all this it is said [there](#Cold-Start) in more words.\n\n"
        "Of the rest it is said [there](#own) in more words.\n\n"
        "Of nothing it is said [there](#start-1) in more words.\n\n"
        "# Cold start!\n\nx {#lost}\n\n# Oil {#own}\n\ny\n"
    )
    assert [title for _, title in targets_of(text)] == ["Cold start!", "Oil"]


def test_a_link_to_the_html_page_of_a_document_leads_to_it() -> None:
    documents = [
        read_text(
            f"# A\n\nOf all this it is said [there]({address}) in more words.\n",
            format="markdown",
            id=f"docs/{number}.md",
        )
        for number, address in enumerate(
            ("other/b.html#b", "./other/../other/b.md#b", "c.html#b", "//x.org/b.md#b")
        )
    ]
    other = read_text("# B\n\nx\n", format="markdown", id="docs/other/b.md")
    outlines = [parse(document) for document in (*documents, other)]
    assert [reference.doc_id for reference in references(outlines)] == [
        "docs/0.md",
        "docs/1.md",
    ]


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


def test_the_first_section_can_be_pointed_to() -> None:
    sentence = "All that is known of it stands in section 1."
    text = f"# 1 One\n\nx\n\n# 2 Two\n\n{sentence}\n"
    assert targets_of(text) == [(sentence, "1 One")]


def test_a_link_to_a_whole_document_leads_to_no_section() -> None:
    text = (
        "# !!!\n\nx\n\n# A\n\nOf all this it is said [there](guide.md) in more words.\n"
    )
    assert targets_of(text) == []


def test_only_the_marks_in_front_of_a_sentence_are_left_out() -> None:
    item = "- 2. Of 3. and - see section 2 for more of it."
    text = f"# 1 One\n\n{item}\n\n# 2 Two\n\nx\n"
    ((words, _),) = targets_of(text)
    assert words.endswith("and - see section 2 for more of it.")
