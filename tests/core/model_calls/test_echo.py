"""Answers that repeat the prompt: what is stripped, and what is left alone."""

from __future__ import annotations

import pytest

from structrag.model_calls.stripping import without_echo

PROMPT = 'Summarise the text. Answer with JSON: {"summary": "..."}\n\nText:\nPumps move water.\n'
ANSWER = '{"summary": "Pumps."}'
CHATML = (
    "<|im_start|>system\nYou are a helpful AI assistant.<|im_end|>\n<|im_start|>user\n"
    f"{PROMPT.strip()}<|im_end|>\n<|im_start|>assistant\n{ANSWER}"
)


@pytest.mark.parametrize(
    "answer",
    [
        PROMPT + ANSWER,
        PROMPT.strip() + " " + ANSWER,
        CHATML,
        CHATML + "<|im_end|>",
        f"<s>[INST] {PROMPT}[/INST] {ANSWER}</s>",
        f"<start_of_turn>user\n{PROMPT}<end_of_turn>\n<start_of_turn>model\n{ANSWER}",
        f"<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n{PROMPT.strip()}<|eot_id|>"
        f"<|start_header_id|>assistant<|end_header_id|>\n\n{ANSWER}<|eot_id|>",
    ],
)
def test_the_prompt_in_front_is_stripped(answer: str) -> None:
    assert without_echo(PROMPT, answer) == ANSWER


@pytest.mark.parametrize(
    "answer",
    [
        ANSWER,
        "",
        f"You asked: {PROMPT}My answer is no.",
        PROMPT[:60],
        "<|im_start|>assistant\n" + ANSWER,
    ],
)
def test_other_answers_stay_as_they_are(answer: str) -> None:
    assert without_echo(PROMPT, answer) == answer


def test_many_marks_at_the_end_are_stripped() -> None:
    prompt = "Which animal barks? Answer with one word, nothing else."
    for end in ("</s>", " <|im_end|>\n", "<end_of_turn> </s> "):
        answer = f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\nDogs.{end * 5_000}"
        assert without_echo(prompt, answer) == "Dogs."
        assert without_echo(prompt, f"{answer} x").endswith("x")


def test_a_prompt_that_is_repeated_again_and_again_is_one_echo() -> None:
    assert without_echo(PROMPT, f"{PROMPT}\n\n" * 3) == ""
    assert without_echo(PROMPT, PROMPT * 2 + " Dogs.") == "Dogs."
    assert without_echo(PROMPT, f"{PROMPT} Dogs. {PROMPT}") == f"Dogs. {PROMPT.strip()}"


@pytest.mark.parametrize(
    "answer", [PROMPT, PROMPT.strip(), CHATML.removesuffix(ANSWER)]
)
def test_an_echo_alone_is_no_answer(answer: str) -> None:
    assert without_echo(PROMPT, answer) == ""
