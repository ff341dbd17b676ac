"""Windows of a long text, and what a model is shown of them."""

from __future__ import annotations

from doubles import ScriptedModel
from window_making import K, W, around, core_of

from structrag.formatting.formatter import HiQAFormatter
from structrag.formatting.windows import windows


def test_messages_show_padding_and_the_end_of_what_went_before() -> None:
    model = ScriptedModel(lambda prompt: core_of(prompt).upper())
    HiQAFormatter(model, window_words=W, padding_words=K, prompt="Do it.").format(
        " ".join(f"w{i}" for i in range(3 * W))
    )
    first, second, third = model.prompts
    assert first.startswith("Do it.\n\n")
    assert "so far" not in first
    assert around(second)[0].split() == [f"w{i}" for i in range(W - K, W)]
    assert around(second)[1].split() == [f"w{i}" for i in range(2 * W, 2 * W + K)]
    assert f"as it was:\n{' '.join(f'w{i}' for i in range(W - 2 * K, W))}\n\n" in second
    assert f"so far:\n{' '.join(f'W{i}' for i in range(W - 2 * K, W))}\n\n" in second
    assert core_of(third).split() == [f"w{i}" for i in range(2 * W, 3 * W)]
    assert around(third)[1] == ""


def test_windows_tile_the_text() -> None:
    text = "  one two\n three\n\nfour five 手机 " + "z" * 450
    found = windows(text, 2, 1)
    assert "".join(text[w.start : w.end] for w in found) == text
    assert [text[w.start : w.end].split() for w in found][:3] == [
        ["one", "two"],
        ["three", "four"],
        ["five", "手"],
    ]
    assert text[found[-1].start : found[-1].end] == "z" * 250
    assert (
        text[found[1].padded_start : found[1].padded_end] == "two\n three\n\nfour five"
    )
    assert windows(" \n", 5, 1) == []
