"""Texts without what is withheld."""

from __future__ import annotations

from collections.abc import Sequence

from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.fixed import FixedSplitter
from structrag.evaluation.comparing import withheld_chunks, withheld_spans
from structrag.evaluation.measure import Span
from structrag.reading.files import read_text
from structrag.reading.sections import parse


@given(
    st.lists(
        st.sampled_from(
            [
                "# One two\n",
                "Some words here.\n",
                "\n",
                "- One two\n",
                "1. one two 7\n",
                "x\n",
            ]
        ),
        max_size=12,
    )
)
@settings(max_examples=60, deadline=None)
def test_what_is_left_is_the_text_without_what_is_withheld(lines: list[str]) -> None:
    document = read_text("".join(lines), format="markdown", id="d")
    withheld = withheld_spans([parse(document)], [])
    for splitter in (ContentAwareSplitter(max_tokens=8), FixedSplitter(5)):
        kept = withheld_chunks(splitter.split(document), withheld)
        for chunk in kept:
            assert chunk.context == "" and chunk.index_text.strip()
            assert set(chunk.index_text) <= set(chunk.text) | {"\n"}
        left = "".join("".join(chunk.index_text for chunk in kept).split())
        ranges = withheld.get("d", [])
        expected = "".join(
            c
            for i, c in enumerate(document.text)
            if not any(a <= i < b for a, b in ranges)
        )
        assert left == "".join(expected.split())


def spans_of(text: str, sentences: Sequence[Span] = ()) -> list[str]:
    """The parts of a Markdown document that are withheld."""
    outline = parse(read_text(text, id="d", format="markdown"))
    ranges = withheld_spans([outline], sentences).get("d", [])
    return [text[start:end] for start, end in ranges]


@examples
def test_a_line_that_holds_nothing_but_a_heading_is_withheld(
    line: str, is_withheld: bool
) -> None:
    text = f"Some words.\n\n{line}\n\nMore words.\n\n# Drop scopes\n\nBody.\n"
    parts = ["# Drop scopes\n"]
    assert spans_of(text) == ([line, *parts] if is_withheld else parts)


def test_sentences_front_matter_and_definitions_are_withheld() -> None:
    text = "---\ntitle: x\n---\nOne. Two.\n\n[a]: b.md\n\nThree.\n"
    start = text.index("Two")
    parts = spans_of(text, [("d", start, start + 4)])
    assert [part.strip() for part in parts] == [
        "---\ntitle: x\n---",
        "Two.",
        "[a]: b.md",
    ]
