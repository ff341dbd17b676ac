"""What an answer must keep to be believed, and what is put back."""

from __future__ import annotations

import pytest
from window_making import W, core_of, numbered, small

from structrag.formatting.answers import fault_of, restored
from structrag.formatting.windows import BEGIN, END


def test_words_left_out_are_put_back_where_they_stood() -> None:
    text = " ".join(f"w{i}" for i in range(60))
    formatted = small(
        lambda prompt: core_of(prompt).replace("w30 w31 ", ""), window_words=60
    ).format(text)
    assert formatted.document.text.split() == text.split()
    assert formatted.report.restored == 2
    assert formatted.report.uncertain == (
        "Window 1: the model left out 2 words, put back: 'w30 w31'.",
    )


@pytest.mark.parametrize(
    ("core", "answer", "expected"),
    [
        ("a b c d", "a d", "a b c d"),
        ("a b c d", "c d", "a b\n\nc d"),
        ("one two three", "# one three", "# one three\n\ntwo"),
        ("x y z w\nrest", "# x z w\n\nrest", "# x z w\n\ny\n\nrest"),
        (
            "h k\n1 2 3\nrest",
            "| h | k |\n| --- | --- |\n| 1 | 3 |\n\nrest",
            "| h | k |\n| --- | --- |\n| 1 | 3 |\n\n2\n\nrest",
        ),
        ("# x\ny", "y", "x\n\ny"),
        ("a a a", "a", "a a a"),
        ("a b", "b a", "b a"),
    ],
)
def test_restoring(core: str, answer: str, expected: str) -> None:
    text, passages = restored(core, answer)
    assert text == expected
    assert bool(passages) == (text != answer)


@pytest.mark.parametrize(
    "wrap",
    [
        "```markdown\n{}\n```",
        "```\n{}\n```\n",
        "Here is the Markdown:\n\n```md\n{}\n```",
        "~~~\n{}\n~~~",
        f"{BEGIN}\n{{}}\n{END}",
        f"Sure!\n{BEGIN}\n{{}}\n{END}\nAnything else?",
        f"{{}}\n{END}",
    ],
)
def test_what_a_model_puts_around_its_answer_is_taken_off(wrap: str) -> None:
    formatted = small(lambda prompt: wrap.format(core_of(prompt))).format(
        numbered(2 * W)
    )
    assert formatted.document.text.strip() == numbered(2 * W).strip()
    assert formatted.report.retries == 0


@pytest.mark.parametrize(
    ("core", "answer", "fault"),
    [
        ("a b", "# 1. a b", ""),
        ("", "", ""),
        ("---", "***", ""),
        ("---", "word", "has words where the source has none"),
        (
            " ".join("x" * 20),
            " ".join("x" * 14),
            "leaves out 6 of the source's 20 words",
        ),
        (
            " ".join("x" * 20),
            " ".join("x" * 13),
            "has 13 words where the source has 20",
        ),
        (
            " ".join("x" * 20),
            " ".join("x" * 31),
            "has 31 words where the source has 20",
        ),
        (" ".join("x" * 20), " ".join("x" * 19), ""),
        (" ".join("x" * 20), " ".join("x" * 24), ""),
        (" ".join("x" * 20), " ".join("x" * 25), "has 5 words that the source has not"),
        ("Cafe\u0301 ﬁnd Straße", "CAFÉ find strasse", ""),
        (
            "one two",
            "# 2 one\n\n# 1 two",
            "numbers the heading '1 two' after one numbered 2",
        ),
        ("one two", "# 1.9 one\n\n# 1.10 two", ""),
        ("9 one 1 two", "# 9 one\n\n# 1 two", ""),  # as the source has it
        ("今天天气很好", "今天天气很好", ""),
        ("今天天气很好", "今天天气", "has 4 words where the source has 6"),
    ],
)
def test_guards(core: str, answer: str, fault: str) -> None:
    assert fault_of(core, answer) == fault
