"""Loaders that keep headings. Of files and folders, and a parser of blobs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from langchain_core.document_loaders import BaseBlobParser, BaseLoader, Blob
from langchain_core.documents import Document

from structrag.integrations.loading import FileReader, check_paths
from structrag.reading.isolated import Isolated
from structrag.reading.limits import Limits


class StructragLoader(FileReader, BaseLoader):
    """Loads Markdown, HTML, text and PDF files with their headings.

    Example:
        >>> (document,) = StructragLoader("docs/limits.md").load()
        >>> document.metadata
        {'source': 'docs/limits.md', 'text_format': 'markdown'}

    It makes one document per file, not one per page, because sections continue across pages. A PDF
    becomes Markdown by its layout (extra `pdf`), with its `title` and number of `pages` in the
    metadata. HTML keeps its markup, which the splitters and retrievers of this package read; for
    other splitters, convert it to Markdown with `HiQAFormatter`. `text_format` says how to read a
    text.

    From a folder it loads all files of these formats except hidden ones. A file that cannot be read
    is skipped with a warning; if the file itself was named, it raises.

    Args:
        path: A file, a folder, or a list of them.
        reader: The reader of PDF files, as in `structrag.read_file`: "layout", "docling" or your
            own function.
        isolated: Which files a reader process reads, with limits on memory and time: "auto" (PDF
            files), True (all files, for untrusted input) or False, as in `structrag.read_file`.
        password: The password of encrypted PDF files.
        images_to: A folder for the pictures of PDF files; the image blocks then name the files.
        limits: How large a file may be, and what reading it may take, as in `structrag.read_file`.
        metadata: Metadata to add to each document.

    Raises:
        InvalidParameter: `path` is not a path.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        reader: Any = "layout",
        isolated: Isolated = "auto",
        password: str | None = None,
        images_to: str | os.PathLike[str] | None = None,
        limits: Limits | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self.metadata = metadata or {}
        self.paths: list[Path] = [Path(one) for one in check_paths(path)]
        super().__init__(
            reader=reader,
            isolated=isolated,
            password=password,
            images_to=images_to,
            limits=limits,
        )

    def lazy_load(self) -> Iterator[Document]:
        """The documents, one by one.

        Raises:
            InvalidDocument: the path does not exist, or a named file cannot be read (a ValueError).
            MissingExtra: the package that reads PDF files is not installed (an ImportError).
        """
        for path in self.paths:
            for file, loaded in self.reading.load_all(path):
                metadata = {"source": str(file), **self.metadata, **loaded.metadata}
                yield Document(page_content=loaded.text, metadata=metadata)


class StructragParser(FileReader, BaseBlobParser):
    """Parses blobs as `StructragLoader` loads files, for loaders of other sources.

    Example:
        >>> blob = Blob.from_data("# Pumps", path="s3/pumps.md")
        >>> StructragParser().parse(blob)[0].metadata["text_format"]
        'markdown'

    Args:
        reader, isolated, password, images_to, limits: As in `StructragLoader`.
    """

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
