"""Windows converted by a model, and what happens to answers that are not believed."""

from __future__ import annotations

from typing import Any

import pytest
from window_making import PLAIN, W, core_of, lost, numbered, small

from structrag.reading.markdown import markdown_headings


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            lambda prompt: core_of(prompt)[: len(core_of(prompt)) // 2],
            "words where the source has",
        ),
        ("", "is empty"),
        ("Nothing that was there.", "words where the source has"),
        ("loop\n" * 10_000, "has 10000 words"),
        (
            lambda prompt: core_of(prompt) + "\n" + "the battery lasts\n" * 10_000,
            "words where the source has",
        ),
        (
            lambda prompt: core_of(prompt) + " It also sings, dances and cooks dinner.",
            "words that the source has not",
        ),
        (lambda prompt: core_of(prompt).replace("a", "o"), "leaves out"),
        (RuntimeError("overloaded"), "RuntimeError: overloaded"),
        (lambda prompt: 7, "InvalidAnswer"),
    ],
)
def test_a_model_that_lies_is_asked_once_more_and_then_not_believed(
    script: Any, reason: str
) -> None:
    formatter = small(script, window_words=60)
    formatted = formatter.format(PLAIN)
    report = formatted.report
    assert not lost(PLAIN, formatted)
    assert report.windows == report.retries == report.fallbacks == 2
    assert formatter.usage.calls == 4
    assert formatter.usage.fallbacks["windows"] == 2
    assert [
        note.startswith(f"Window {i + 1} was formatted by rules")
        for i, note in enumerate(report.uncertain)
    ] == [True] * 2
    assert reason in report.uncertain[0]
    assert [h.title for h in markdown_headings(formatted.document.text)] == [
        "1. Battery",
        "2. Camera",
        "3. Warranty",
    ]


def test_only_the_window_that_failed_falls_back() -> None:
    text = numbered(3 * W)

    def answer(prompt: str) -> str:
        core = core_of(prompt)
        return (
            "" if f"w{W} " in core else f"# Title\n\n{core}" if "w0" in core else core
        )

    report = small(answer).format(text).report
    assert (report.windows, report.retries, report.fallbacks) == (3, 1, 1)
    assert (
        report.uncertain[0]
        == "Window 1: the answer has 1 word that the source has not, such as 'title'."
    )
    assert report.uncertain[1].startswith(
        "Window 2 was formatted by rules: the model's answer is empty"
    )


def test_the_second_answer_counts() -> None:
    formatter = small(
        lambda prompt: (
            core_of(prompt) if "Your last answer cannot be used" in prompt else "no"
        )
    )
    formatted = formatter.format(numbered(W))
    assert formatted.document.text.split() == numbered(W).split()
    assert (
        formatted.report.retries,
        formatted.report.fallbacks,
        formatter.usage.calls,
    ) == (
        1,
        0,
        2,
    )
