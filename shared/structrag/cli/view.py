"""`structrag view`: one page of what splitters did and a query finds."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from structrag.cli.options import (
    Embedder,
    Format,
    Isolated,
    MaxTokens,
    Paths,
    Reader,
    documents,
    embedder_of,
    splitters,
)
from structrag.cli.printing import show_progress
from structrag.errors import InvalidParameter
from structrag.show.view import gather, write_page
from structrag.text.numbers import pluralise


def view(
    paths: Paths,
    method: Annotated[
        str,
        typer.Option(
            help=(
                "Methods separated by commas: content_aware, pic, idms, fixed, hiqa and, with "
                "-q, evidence. Default: content_aware,pic,idms and, with -q, evidence."
            )
        ),
    ] = "",
    query: Annotated[
        str,
        typer.Option(
            "-q",
            "--query",
            help="A question; the page then shows what each method finds for it.",
        ),
    ] = "",
    k: Annotated[int, typer.Option("-k", help="The number of hits per method.")] = 10,
    embedder: Embedder = "",
    max_tokens: MaxTokens = 300,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The HTML file to write.")
    ] = Path("structrag.html"),
    open_page: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in a browser.")
    ] = False,
    format: Format = "auto",
    reader: Reader = "layout",
    isolated: Isolated = True,
) -> None:
    """Write an HTML page that shows documents and their chunks.

    It has the outline, the text and the chunks of several methods side by side. With `-q` it also
    shows what each method finds, and how the sentences of the evidence match the query word by
    word.
    """
    _check_output(output, paths)
    default = (
        "content_aware,pic,idms,evidence" if query.strip() else "content_aware,pic,idms"
    )
    chosen = splitters(method or default, max_tokens)
    # A folder may hold the page of the last run.
    model = embedder_of(embedder)
    read = documents(paths, format=format, reader=reader, isolated=isolated)
    data = gather(
        [
            document
            for document in read
            if Path(str(document.meta["source"])).resolve() != output.resolve()
        ],
        chosen,
        query=query,
        k=k,
        embedder=model,
        progress=show_progress,
    )
    size = write_page(data, output)
    names = ", ".join(chosen)
    shown = pluralise(len(data["documents"]), "document")
    typer.echo(f"{output}: {shown} by {names}; {size / 1000:,.0f} kB")
    if open_page:
        webbrowser.open(output.resolve().as_uri())


def _check_output(output: Path, paths: list[Path]) -> None:
    """Refuse to write over a document."""
    if output.suffix.lower() not in {".html", ".htm"}:
        raise InvalidParameter(
            f"--output must end in .html or .htm; got {str(output)!r}."
        )
    if any(path.resolve() == output.resolve() for path in paths):
        raise InvalidParameter(
            f"--output must not be one of the documents; got {str(output)!r}. Give another name."
        )
