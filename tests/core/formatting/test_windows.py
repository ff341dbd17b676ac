"""Windows of a long text, and what a model is shown of them."""

from __future__ import annotations

from doubles import ScriptedModel
from window_making import K, W, around, core_of

from structrag.formatting.formatter import HiQAFormatter
from structrag.formatting.windows import (
    BEGIN,
    END,
    Window,
    last_words,
    message,
    windows,
)


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


FIVE = "one two three four five"


def test_places_of_windows_are_characters_of_the_text() -> None:
    assert windows(FIVE, 2, 1) == [
        Window(1, 0, 8, 0, 13, 0, 0),
        # The tail before a core is twice the padding.
        Window(2, 8, 19, 4, 23, 0, 0),
        Window(3, 19, 23, 14, 23, 8, 8),
    ]
    (alone,) = windows("  one ", 1, 3)
    assert (alone.start, alone.end) == (0, 6)
    assert (alone.padded_start, alone.padded_end) == (2, 5)


def test_last_words() -> None:
    assert last_words("one two\nthree ", 2) == "two\nthree"
    assert last_words("one two three", 3) == "one two three"
    assert last_words("one two three", 5) == "one two three"
    assert last_words("one two three", 1) == "three"
    assert last_words("one", 0) == last_words(" ", 1) == ""


def test_a_message_shows_what_went_before_and_the_marked_core() -> None:
    window = windows(FIVE, 2, 1)[1]
    text = message(FIVE, window, "Do it.", "one two", "ONE TWO")
    assert text.startswith("Do it.\n\n") and text.count("Do it.") == 1
    assert text.endswith(
        "\n\nThe end of the text before, as it was:\none two"
        "\n\nThe end of your Markdown so far:\nONE TWO"
        f"\n\nThe text:\n\ntwo \n{BEGIN}\nthree four\n{END}\nfive"
    )
    twice = message(FIVE, window, "Do it.", "one two", "ONE TWO", repeat=True)
    head = text[: text.index("\n\nThe end of the text")]
    assert twice == f"{text}\n\n{head}"
