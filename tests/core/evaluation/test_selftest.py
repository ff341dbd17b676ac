"""The self-test: what is asked, what is kept out of the index, and what the scores say."""

from __future__ import annotations

from fixture_cases import examples
from samples import TOPICS, manual

from structrag.evaluation.comparing import make_selftest
from structrag.reading.files import read_text
from structrag.text.tokens import count_tokens


def test_duplicate_short_and_long_sections_are_not_asked() -> None:
    words = (
        "The filter is rinsed with clear water and then left to dry for a day or two. "
        * 3
    )
    unique = "".join(f"## Topic {topic}\n\n{words}\n\n" for topic in TOPICS[:12])
    same = f"## Storage\n\n{words}\n\n## 4.2 storage\n\n{words}\n\n"
    rest = f"## Tiny\n\nYes.\n\n## 7\n\n{words}\n\n## Endless\n\n{words * 40}\n"
    test = make_selftest([read_text(unique + same + rest, format="markdown")])
    assert len(test.questions) == 12 and test.headings == 17
    assert test.left_out == {
        "with words that another heading has": 2,
        "above less than 20 tokens of text": 1,
        "without a word of three letters": 1,
        "above more than 1000 tokens of text": 1,
    }


def words_of(tokens: int) -> str:
    """A text that has so many tokens with its line's end."""
    text = "Rinse it"
    while count_tokens(f"{text}\n") < tokens:
        text += " now"
    assert count_tokens(f"{text}\n") == tokens
    return text


@examples
def test_a_section_of_20_tokens_up_to_the_budget_is_asked(
    tokens: int, reason: str | None
) -> None:
    sections = [f"## Topic {topic}\n{words_of(30)}" for topic in TOPICS[:12]]
    sections.insert(5, f"## Special\n{words_of(tokens)}")
    document = read_text("\n".join(sections), format="markdown")
    test = make_selftest([document], budget=60)
    assert test.left_out == ({} if reason is None else {reason: 1})
    is_asked = any(question.question == "Special" for question in test.questions)
    assert is_asked is (reason is None) and test.budget == 60


@examples
def test_a_heading_has_a_word_of_three_letters(title: str, is_asked: bool) -> None:
    sections = [f"## Topic {topic}\n\n{words_of(30)}" for topic in TOPICS[:12]]
    text = "\n\n".join([*sections, f"## {title}\n\n{words_of(30)}"])
    test = make_selftest([read_text(text, format="markdown")])
    assert (len(test.questions) == 13) is is_asked
    assert not is_asked or test.questions[-1].question == title.removeprefix("3.2 ")


def test_many_headings_are_drawn_the_same_each_time() -> None:
    first = make_selftest([manual()], most=11)
    assert first == make_selftest([manual()], most=11)
    asked = [
        question.question for question in first.questions if question.kind == "heading"
    ]
    assert len(asked) == 11 and first.left_out["not drawn"] == 10
    assert len(first.questions) == 22
