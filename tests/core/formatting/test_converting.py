"""Windows converted by a model, and what happens to answers that are not believed."""

from __future__ import annotations

from window_making import W, core_of, numbered, small


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
        == "Window 1: the answer has 1 word that the source does not have, such as 'title'."
    )
    assert report.uncertain[1].startswith(
        "Window 2 was formatted by rules: the model's answer is empty"
    )


def test_a_code_block_left_open_is_noted_with_its_window() -> None:
    answers = iter(["w0 w1 w2 w3", "```\nw4 w5 w6 w7", "w8 w9"])
    text = " ".join(f"w{i}" for i in range(10))
    formatted = small(lambda prompt: next(answers), window_words=4).format(text)
    assert formatted.report.uncertain == (
        "Window 2: a code block was left open and closed at the window's end.",
    )
