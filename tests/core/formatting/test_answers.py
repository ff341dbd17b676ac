"""What an answer must keep to be believed, and what is put back."""

from __future__ import annotations

import pytest
from fixture_cases import examples
from window_making import W, core_of, numbered, small

from structrag.formatting.answers import bare, fault_of, restored
from structrag.formatting.converting import BEGIN, END


def test_words_left_out_are_put_back_where_they_stood() -> None:
    text = " ".join(f"w{i}" for i in range(60))
    formatted = small(
        lambda prompt: core_of(prompt).replace("w30 w31 ", ""), window_words=60
    ).format(text)
    assert formatted.document.text.split() == text.split()
    assert formatted.report.restored == 2
    assert formatted.report.uncertain == (
        "Window 1: the model left out 2 words, which were restored: 'w30 w31'.",
    )


@examples
def test_restoring(core: str, answer: str, expected: str) -> None:
    text, passages = restored(core, answer)
    assert text == expected
    assert bool(passages) == (text != answer)


def test_a_fence_stays_where_the_core_begins_with_one() -> None:
    fenced = "```\nmake all\n```"
    assert bare(fenced, " \n```\nmake all\n```") == fenced
    assert bare(fenced, "make all") == "make all"


@examples
def test_guards(core: str, answer: str, fault: str) -> None:
    assert fault_of(core, answer) == fault


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
