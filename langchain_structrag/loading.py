"""Loaders that keep headings. Of files and folders, and a parser of blobs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from langchain_core.document_loaders import BaseBlobParser, BaseLoader, Blob
from langchain_core.documents import Document

from structrag.integrations.loading import FileReading, check_paths


class StructragLoader(BaseLoader):
    """Loads Markdown, HTML, text and PDF files with their headings.

    Example:
        >>> (document,) = StructragLoader("docs/limits.md").load()
        >>> document.metadata
        {'source': 'docs/limits.md', 'text_format': 'markdown'}

    One document a file, never one a page: sections go over pages. A PDF becomes Markdown by its
    layout (extra `pdf`), with its `title` and number of `pages` in the metadata. HTML keeps its
    markup, which the splitters and retrievers here read; for other splitters put `HiQAFormatter`
    behind, which makes Markdown of it. `text_format` tells them how to read a text.

    Of a folder all files of these kinds are taken, hidden ones aside. One that cannot be read is
    left out with a warning; a file that is named itself raises.

    Args:
        path: A file, a folder, or a list of them.
        reader: Who reads PDF files, as in `structrag.read_file`: "layout", "docling"
            or your own function.
        isolated: Whether each PDF is read in a process of its own, with limits of memory and time;
            for files that strangers send.
        password: For encrypted PDF files.
        images_to: A folder for the pictures of PDF files, which their image blocks then name.

    Raises:
        InvalidParameter: `path` is none.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        reader: Any = "layout",
        isolated: bool = False,
        password: str | None = None,
        images_to: str | os.PathLike[str] | None = None,
    ) -> None:
        self.paths: list[Path] = [Path(one) for one in check_paths(path)]
        self.reading: FileReading = FileReading(reader, isolated, password, images_to)

    def lazy_load(self) -> Iterator[Document]:
        """The documents, one after the other.

        Raises:
            InvalidDocument: nothing is there, or a named file cannot be read (a ValueError).
            MissingExtra: a PDF, and the package of its reader is not installed (an ImportError).
        """
        for path in self.paths:
            for file, loaded in self.reading.load_all(path):
                metadata = {"source": str(file), **loaded.metadata}
                yield Document(page_content=loaded.text, metadata=metadata)


class StructragParser(BaseBlobParser):
    """Parses blobs as `StructragLoader` loads files, for the loaders of other places.

    Example:
        >>> blob = Blob.from_data("# Pumps", path="s3/pumps.md")
        >>> StructragParser().parse(blob)[0].metadata["text_format"]
        'markdown'

    Args:
        reader, isolated, password, images_to: As in `StructragLoader`.
    """

    def __init__(
        self,
        *,
        reader: Any = "layout",
        isolated: bool = False,
        password: str | None = None,
        images_to: str | os.PathLike[str] | None = None,
    ) -> None:
        self.reading: FileReading = FileReading(reader, isolated, password, images_to)

    def lazy_parse(self, blob: Blob) -> Iterator[Document]:
        """One document, with the blob's metadata and its `source`."""
        name = str(blob.source or "")
        if blob.data is None and blob.path is not None:
            loaded = self.reading.load(Path(blob.path))
        else:
            loaded = self.reading.load_bytes(blob.as_bytes(), name, blob.mimetype)
        source = {"source": name} if name else {}
        metadata = {**blob.metadata, **source, **loaded.metadata}
        yield Document(page_content=loaded.text, metadata=metadata)
