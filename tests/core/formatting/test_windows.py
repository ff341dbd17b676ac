"""Windows of a long text, and what a model is shown of them."""

from __future__ import annotations

from doubles import ScriptedModel
from window_making import K, W, around, core_of

from structrag.formatting.formatter import HiQAFormatter


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
