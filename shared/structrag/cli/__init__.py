"""The command `structrag`: outlines, chunks, searches and comparisons of files."""

from __future__ import annotations

import sys
import warnings

from structrag.cli.printing import show_progress
from structrag.errors import StructragError, require


def main(arguments: list[str] | None = None) -> None:
    """Run the command line. What the user can mend ends with one sentence on standard error and
    exit status 2."""
    try:
        require("typer", extra="cli")
        from structrag.cli.app import application

        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            application()(args=arguments, standalone_mode=True)
    # Such as standard output on a full volume.
    except (StructragError, OSError) as error:
        _say(error)
        sys.exit(2)
    except KeyboardInterrupt:  # while it imports; typer says the same of a command
        sys.exit(130)


def _say(message: Exception | Warning | str) -> None:
    """One line on standard error. It may name files, and their names are others' words."""
    show_progress.say(f"structrag: {message}")


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    _say(message)
