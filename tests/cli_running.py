"""Runs commands of the command line, over a small manual."""

from __future__ import annotations

import pytest

from structrag.cli import main

MANUAL = (
    "# Pump\n\nAbout it.\n\n## Cleaning\n\nRinse the filter monthly.\n\n## Storage\n\nKeep it "
    "dry.\n"
)


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err
