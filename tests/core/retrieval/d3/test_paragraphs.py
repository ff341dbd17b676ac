"""Text without blank lines: what is thousands of tokens long is no paragraph."""

from __future__ import annotations

import pytest
from doubles import HashEmbedder
from fixture_cases import examples

from structrag import D3Index, D3Retriever, read_text
from structrag.errors import InvalidParameter
from structrag.reading.settings import Reading
from structrag.retrieval.d3.condensing import SectionSplitter
from structrag.retrieval.d3.paragraphs import (
    ParagraphSplitter,
    PartSplitter,
    keyword_title,
    section_spans,
)
from structrag.text.tokens import count_tokens

TALK = "\n".join(
    f"Speaker {i % 3}: what I said in turn {i} was about subject number {i}, and nothing else."
    for i in range(400)
)
TABLE = "| part | size |\n|---|---|\n" + "".join(
    f"| lamp {i} | {i} mm wide, made of glass and steel |\n" for i in range(200)
)


def test_talk_without_blank_lines_is_cut_between_turns() -> None:
    document = read_text(TALK, format="text")
    chunks = ParagraphSplitter().split(document)
    assert len(chunks) > 10
    assert all(count_tokens(chunk.text) <= 500 for chunk in chunks)
    assert all(chunk.text.startswith("Speaker") for chunk in chunks)
    assert "".join(chunk.text for chunk in chunks).split() == TALK.split()


def test_the_three_units_agree_on_where_a_paragraph_ends() -> None:
    document = read_text(f"# One\n\n{TALK}\n\n# Two\n\nShort.\n", format="markdown")
    starts = {chunk.start for chunk in ParagraphSplitter().split(document)}
    assert {chunk.start for chunk in PartSplitter().split(document)} <= starts
    entries = SectionSplitter().split(document)
    assert len(entries) > 3 and all(
        count_tokens(entry.text) <= 1000 for entry in entries
    )


def test_a_long_table_repeats_its_header() -> None:
    chunks = ParagraphSplitter().split(read_text(TABLE, format="markdown"))
    assert len(chunks) > 2 and {chunk.kind for chunk in chunks} == {"table"}
    assert all("| part | size |" in chunk.index_text for chunk in chunks)
    assert "".join(chunk.text for chunk in chunks) == TABLE


def test_zero_and_the_published_preset_leave_it_whole() -> None:
    document = read_text(TALK, id="talk", format="text")
    assert len(ParagraphSplitter(paragraph_tokens=0).split(document)) == 1
    index = D3Index(preset="paper", embedder=HashEmbedder())
    index.add([document])
    assert len(index.paragraphs) == 1


def test_the_evidence_of_a_long_talk_fits_the_reader() -> None:
    index = D3Index(embedder=HashEmbedder())
    index.add([read_text(TALK, id="talk", format="text")])
    hits = D3Retriever(index).search("what was said in turn 222")
    assert "turn 222 " in " ".join(hit.chunk.text for hit in hits)
    assert sum(count_tokens(hit.chunk.text) for hit in hits) <= 1000


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="paragraph_tokens"):
        ParagraphSplitter(paragraph_tokens=-1)
    with pytest.raises(InvalidParameter, match="paragraph_tokens"):
        D3Index(paragraph_tokens=-1)


def test_a_title_made_up_is_three_keywords_or_words() -> None:
    pumps = (
        "The pump moves water. The pump and its filter need water. A filter is rinsed."
    )
    assert len(keyword_title(pumps, "english").split(", ")) == 3
    assert keyword_title("to be or not to be", "english") == "to be or"
    assert keyword_title("", "english") == ""


def test_parts_hold_whole_paragraphs_up_to_their_limit() -> None:
    text = "".join(f"one two three four five {i}.\n\n" for i in range(4))
    document = read_text(text, format="markdown")

    def sizes(most: int) -> list[int]:
        splitter = PartSplitter(most, counter=lambda text: len(text.split()))
        return [len(chunk.text.split()) for chunk in splitter.split(document)]

    assert sizes(12) == [12, 12] and sizes(11) == [6] * 4 and sizes(24) == [24]
    assert sizes(1) == [6] * 4  # a paragraph above the limit is a part by itself


def words(text: str) -> int:
    return len(text.split())


def spans_of(text: str, limit: int, most: int) -> list[tuple[str, int, int]]:
    """The text, part and number of parts of each span; tokens are words."""
    reading = Reading(counter=words)
    document = read_text(text, format="markdown")
    spans = section_spans(reading.outline(document), reading, limit, most)
    return [(text[span.start : span.end], span.part, span.parts) for span in spans]


def test_a_section_of_exactly_the_limit_is_one_span() -> None:
    text = "# A\n\none two three\n\nfour five\n\n# B\n\nsix\n"
    whole = "# A\n\none two three\n\nfour five\n\n"
    assert spans_of(text, 5, 0) == [(whole, 0, 0), ("# B\n\nsix\n", 0, 0)]
    assert spans_of(text, 0, 0) == spans_of(text, 5, 0)
    assert spans_of(text, 4, 0) == [
        ("# A\n\none two three\n\n", 1, 2),
        ("four five\n\n", 2, 2),
        ("# B\n\nsix\n", 0, 0),
    ]


def test_a_heading_without_a_body_is_a_span_and_blank_text_is_none() -> None:
    text = "\n\n# A\n\n## B\n\none\n"
    assert spans_of(text, 9, 0) == [("# A\n\n", 0, 0), ("## B\n\none\n", 0, 0)]
    assert spans_of("\n \n", 9, 0) == []


def test_a_text_without_headings_is_runs_of_a_thousand_tokens() -> None:
    one, two = "word " * 600, "word " * 400
    text = f"{one}\n\n{two}\n\nlast"
    reading = Reading(counter=words)
    document = read_text(text, format="markdown")
    spans = section_spans(reading.outline(document), reading)
    assert [words(text[span.start : span.end]) for span in spans] == [1000, 1]
    assert all(span.pseudo and not span.part for span in spans)


@examples
def test_a_block_of_exactly_the_limit_is_one_paragraph(
    most: int, expected: list[str]
) -> None:
    document = read_text("# A\n\nOne two three. Four five six.\n", format="markdown")
    chunks = ParagraphSplitter(most, counter=words).split(document)
    assert [chunk.text.strip() for chunk in chunks] == expected
    assert [chunk.context for chunk in chunks] == ["A"] * len(expected)


def test_only_later_pieces_of_a_table_repeat_its_header() -> None:
    table = "| part |\n|---|\n| a b c d |\n| e f g h |\n"
    document = read_text(f"# A\n\n{table}", format="markdown")
    first, second = ParagraphSplitter(12, counter=words).split(document)
    assert (first.text + second.text).strip() == table.strip()
    assert first.index_text.count("| part |") == 1
    assert second.index_text.count("| part |") == 1


def test_parts_have_a_limit_of_at_least_one_token() -> None:
    with pytest.raises(InvalidParameter, match="max_tokens must be"):
        PartSplitter(0)
    with pytest.raises(InvalidParameter, match="paragraph_tokens must be"):
        PartSplitter(1, -1)
    assert ParagraphSplitter(0).split(read_text(" \n", format="markdown")) == []


def test_a_title_of_two_keywords_has_two() -> None:
    assert keyword_title("The pump.", "english") == "pump"


def test_front_matter_is_no_span_and_parts_know_their_headings() -> None:
    text = "---\ntitle: x\n---\n\n# A\n\n## B\n\none two\n"
    assert spans_of(text, 9, 0) == [("# A\n\n", 0, 0), ("## B\n\none two\n", 0, 0)]
    (part,) = PartSplitter(9, counter=words).split(read_text(text, format="markdown"))
    assert (part.context, part.text.strip()) == ("x > A > B", "one two")
