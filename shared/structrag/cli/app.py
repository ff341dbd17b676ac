"""The commands put together, one line each."""

from __future__ import annotations

from typing import Annotated

import typer

from structrag._version import __version__
from structrag.cli.eval import compare, eval
from structrag.cli.mcp import mcp
from structrag.cli.search import index, search
from structrag.cli.split import outline, resolve, split
from structrag.cli.view import view

COMMANDS = (outline, split, index, search, resolve, view, compare, eval, mcp)


def application() -> typer.Typer:
    """The program with all its commands."""
    app = typer.Typer(
        no_args_is_help=True,
        rich_markup_mode="markdown",
        add_completion=False,
        help="Split and search documents by their own structure.",
    )
    app.callback(invoke_without_command=True)(_root)
    for command in COMMANDS:
        app.command()(command)
    return app


def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.")
    ] = False,
) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit
