"""How far a run is, on a terminal, in a notebook and in a log."""

from __future__ import annotations

import sys

import pytest

from structrag.model_calls.settings import ProgressLine


def test_a_log_has_a_line_now_and_then_and_the_end_of_each_stage(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = iter([0.0, 4.0, 11.0, 12.0, 13.0, 14.0])
    monkeypatch.setattr(
        "structrag.model_calls.settings.monotonic", lambda: next(seconds)
    )
    line = ProgressLine()
    for done in range(4):
        line("documents", done, 9)
    line("embedding", 5, 5)
    line("documents", 9, 9)
    assert capsys.readouterr().err == "documents: 2 of 9\ndocuments: 9 of 9\n"


def test_a_notebook_writes_over_its_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", object())
    ProgressLine()("embedding", 1, 2)
    assert capsys.readouterr().err == "embedding: 1 of 2\r"


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


def test_steps_are_shown_behind_the_stage_that_they_are_of(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    line = ProgressLine()
    for told in (
        ("pic", 0, 1),
        ("embedding sentences", 64, 64),
        ("documents", 0, 2),
        ("embedding chunks", 9, 9),
        ("documents", 2, 2),
        ("pic", 1, 1),
    ):
        line(*told)
    shown = capsys.readouterr().err.rstrip("\n").split("\r")
    assert [one.strip() for one in shown] == [
        "pic: 0 of 1",
        "pic: 0 of 1, embedding sentences: 64 of 64",
        "pic: 0 of 1, documents: 0 of 2",
        "pic: 0 of 1, documents: 0 of 2, embedding chunks: 9 of 9",
        "pic: 0 of 1, documents: 2 of 2",
        "pic: 1 of 1",
    ]
