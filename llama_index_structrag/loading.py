"""A reader that keeps headings, of files and folders."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from llama_index.core.readers.base import BaseReader
from llama_index.core.schema import Document

from structrag.errors import InvalidDocument
from structrag.integrations.loading import FileReader, LoadedText, check_paths
from structrag.integrations.metadata import FORMAT_KEY, PAGES_KEY
from structrag.reading.paging import PAGE_STARTS, PLACE_STARTS

READ_KEYS = (
    FORMAT_KEY,
    PAGES_KEY,
    PAGE_STARTS,
    PLACE_STARTS,
    "pages_without_text",
    "undecodable",
)


class StructragReader(FileReader, BaseReader):
    """Reads Markdown, HTML, text and PDF files with their headings.

    Example:
        >>> (document,) = StructragReader().load_data("docs/limits.md")
        >>> document.id_, document.metadata["text_format"]
        ('docs/limits.md', 'markdown')

    It makes one document per file, not one per page, with the path as its id, so that reading it
    again returns the same document. A PDF becomes Markdown by its layout (extra `pdf`), with its
    `title` and number of `pages` in the metadata. HTML keeps its markup, which the node parsers and
    retrievers of this package read; for other parsers, convert it to Markdown with `HiQAFormatter`.

    For single kinds of files in a folder:

        reader = StructragReader()
        SimpleDirectoryReader("manuals", file_extractor={".pdf": reader, ".md": reader}).load_data()

    Args:
        reader: The reader of PDF files, as in `structrag.read_file`: "layout", "docling" or your
            own function.
        isolated: Which files a reader process reads, with limits on memory and time: "auto" (PDF
            files), True (all files, for untrusted input) or False, as in `structrag.read_file`.
        password: The password of encrypted PDF files.
        images_to: A folder for the pictures of PDF files; the image blocks then name the files.
        limits: How large a file may be, and what reading it may take, as in `structrag.read_file`.
    """

    def lazy_load_data(
        self,
        file: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        extra_info: Mapping[str, Any] | None = None,
        fs: Any = None,
    ) -> Iterator[Document]:
        """The document of a file, those of a folder's files, or of a list of both.

        Args:
            file: A file, a folder (without `fs`), or a list of them. A file in a folder that cannot
                be read is skipped with a warning.
            extra_info: Metadata to add.
            fs: The fsspec file system that holds the files.

        Raises:
            InvalidParameter: `file` is none of these.
            InvalidDocument: the path does not exist, or the file cannot be read (a ValueError).
            MissingExtra: the package that reads PDF files is not installed (an ImportError).
        """
        for place in check_paths(file, "file"):
            if fs is None:
                for path, loaded in self.reading.load_all(Path(place)):
                    yield _document(str(path), loaded, extra_info)
                continue
            name = os.fspath(place)
            try:
                data = fs.read_bytes(name)
            except OSError as error:
                raise InvalidDocument(
                    f"Cannot read {name!r}: {error.strerror or error}."
                ) from error
            yield _document(name, self.reading.load_bytes(data, name), extra_info)


def _document(
    name: str, loaded: LoadedText, extra_info: Mapping[str, Any] | None
) -> Document:
    metadata = {
        "file_path": name,
        "file_name": PurePath(name).name,
        **(extra_info or {}),
    }
    hidden = [key for key in READ_KEYS if key in loaded.metadata]
    return Document(
        text=loaded.text,
        id_=name,
        metadata={**metadata, **loaded.metadata},
        excluded_embed_metadata_keys=hidden,
        excluded_llm_metadata_keys=hidden,
    )
