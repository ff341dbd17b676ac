"""How far a run is, on a terminal, in a notebook and in a log."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

from structrag.asking.progress import ProgressLine, TellDocuments


def test_a_shorter_line_leaves_nothing_of_a_longer_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    line = ProgressLine()
    line("embedding", 1_000, 20_000)
    line("asking", 1, 2)
    line("asking", 2, 2)
    longer = len("embedding: 1,000 of 20,000")
    assert capsys.readouterr().err == (
        f"embedding: 1,000 of 20,000\r{'asking: 1 of 2'.ljust(longer)}\rasking: 2 of 2\n"
    )


def test_a_line_is_narrower_than_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("sys.stderr.fileno", lambda: 2)
    monkeypatch.setattr(
        "os.get_terminal_size", lambda descriptor: os.terminal_size((20, 9))
    )
    ProgressLine()("asking the language model", 1, 2)
    assert capsys.readouterr().err == "asking the language\r"


def test_steps_of_documents_are_shown_beside_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    line = ProgressLine()
    line("documents", 3, 9)
    line("embedding", 5, 5)
    shown = "documents: 3 of 9\rdocuments: 3 of 9, embedding: 5 of 5\r"
    assert capsys.readouterr().err == shown
    line("documents", 9, 9)
    line("embedding", 1, 1)
    lines = capsys.readouterr().err.splitlines()
    assert [text.rstrip() for text in lines] == [
        "documents: 9 of 9",
        "embedding: 1 of 1",
    ]


def test_a_notebook_writes_over_its_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", object())
    ProgressLine()("embedding", 1, 2)
    assert capsys.readouterr().err == "embedding: 1 of 2\r"


def test_a_log_has_a_line_now_and_then_and_the_end_of_each_stage(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = iter([0.0, 4.0, 11.0, 12.0, 13.0, 14.0])
    monkeypatch.setattr("structrag.asking.progress.monotonic", lambda: next(seconds))
    line = ProgressLine()
    for done in range(4):
        line("documents", done, 9)
    line("embedding", 5, 5)
    line("documents", 9, 9)
    assert capsys.readouterr().err == "documents: 2 of 9\ndocuments: 9 of 9\n"


def test_each_number_of_documents_is_told_once() -> None:
    told: list[tuple[Any, ...]] = []
    tell = TellDocuments(lambda *numbers: told.append(numbers), 3)
    for done in (2, 2, 3, 3):
        tell(done)
    assert told == [("documents", 0, 3), ("documents", 2, 3), ("documents", 3, 3)]
    TellDocuments(lambda *numbers: told.append(numbers), 1)(1)
    TellDocuments(None, 3)(1)
    assert len(told) == 3


def test_documents_that_are_done_stand_beside_no_step(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    line = ProgressLine()
    line("embedding", 1, 2)
    line("embedding", 3, 2)  # more than there were to be
    assert capsys.readouterr().err == "embedding: 1 of 2\rembedding: 3 of 2\n"


@pytest.mark.parametrize("error", [OSError, ValueError])
def test_a_terminal_of_unknown_width_has_eighty_columns(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: type[Exception],
) -> None:
    def refuse() -> int:
        raise error

    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("sys.stderr.fileno", refuse)
    ProgressLine()("x" * 99, 1, 2)
    assert capsys.readouterr().err == "x" * 79 + "\r"


def test_a_terminal_that_says_it_has_no_columns_has_eighty(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("sys.stderr.fileno", lambda: 2)
    monkeypatch.setattr(
        "os.get_terminal_size", lambda descriptor: os.terminal_size((0, 0))
    )
    ProgressLine()("x" * 99, 1, 2)
    assert capsys.readouterr().err == "x" * 79 + "\r"


def test_a_log_waits_ten_seconds_from_the_beginning_of_a_stage_or_its_last_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = iter([100.0, 109.0, 110.0, 119.0, 120.0, 121.0, 130.0, 131.0])
    monkeypatch.setattr("structrag.asking.progress.monotonic", lambda: next(seconds))
    line = ProgressLine()
    for done in range(5):
        line("asking", done, 9)
    for done in range(5, 8):
        line("embedding", done, 9)
    assert capsys.readouterr().err == (
        "asking: 2 of 9\nasking: 4 of 9\nembedding: 7 of 9\n"
    )


def test_a_line_that_says_no_ends_is_silent_for_short_stages(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = ProgressLine()
    line.says_ends = False
    line("embedding", 5, 5)
    assert capsys.readouterr().err == ""


def test_what_is_said_in_between_takes_the_place_of_the_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    line = ProgressLine()
    line.say("before")
    line("embedding", 1, 2)
    line.say("between")
    line.say("after")
    shown = "embedding: 1 of 2"
    assert capsys.readouterr().err == (
        f"before\n{shown}\r{' ' * len(shown)}\rbetween\nafter\n"
    )


def test_what_is_said_behind_a_stage_takes_the_place_of_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    line = ProgressLine()
    line("embedding", 2, 2)
    line.say("behind")
    assert capsys.readouterr().err == "embedding: 2 of 2\nbehind\n"


def test_two_documents_are_told_and_none_or_one_are_not() -> None:
    calls: list[tuple[Any, ...]] = []
    for total in (0, 1, 2):
        TellDocuments(lambda *numbers: calls.append(numbers), total)
    assert calls == [("documents", 0, 2)]
