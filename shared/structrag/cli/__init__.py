"""The command `structrag`: outlines, chunks, searches and comparisons of files."""

from __future__ import annotations

import sys

from structrag.errors import StructragError, require


def main(arguments: list[str] | None = None) -> None:
    """Run the command line.

    What the user can mend ends with one sentence on standard error and exit status 2.
    """
    try:
        require("typer", extra="cli")
        from structrag.cli.app import application

        application()(args=arguments, standalone_mode=True)
    except StructragError as error:
        print(f"structrag: {error}", file=sys.stderr)  # noqa: T201 - the command line talks
        sys.exit(2)
