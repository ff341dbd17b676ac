"""Images that documents refer to, opened for a vision model of the host."""

from __future__ import annotations

import os
from base64 import b64decode
from dataclasses import dataclass
from mimetypes import guess_type
from pathlib import Path

from structrag.errors import InvalidDocument

PROMPT = (
    "Describe this picture from a document in one or two sentences: what it shows, and every "
    "name and label on it."
)


@dataclass(frozen=True, slots=True)
class ImageSource:
    """An address of the web, which the model's provider fetches, or the image itself."""

    url: str = ""
    data: bytes = b""
    media_type: str = ""


def open_image(address: str, folder: str | os.PathLike[str] | None) -> ImageSource:
    """What stands at an image's address: of the web as it is, written as data, or a file in
    `folder` or below it.

    Raises InvalidDocument for a file outside `folder`, since an address comes from a document, for
    any file without a folder, and for what cannot be read.
    """
    scheme, _, rest = address.partition(":")
    if scheme.lower() in ("http", "https"):
        return ImageSource(url=address)
    if scheme.lower() == "data":
        kind, _, data = rest.partition(",")
        try:
            return ImageSource(data=b64decode(data), media_type=kind.partition(";")[0])
        except ValueError as error:
            raise InvalidDocument(
                f"The image {address[:40]!r}... is not valid base64: {error}."
            ) from error
    path = _file(address, folder)
    try:
        return ImageSource(
            data=path.read_bytes(), media_type=guess_type(path.name)[0] or "image/png"
        )
    except OSError as error:
        raise InvalidDocument(f"Cannot read the image {str(path)!r}: {error.strerror}.") from error


def _file(address: str, folder: str | os.PathLike[str] | None) -> Path:
    if folder is None:
        raise InvalidDocument(
            f"The image {address!r} is a file; give the folder of the documents as folder=..."
        )
    root = Path(folder).resolve()
    path = (root / address).resolve()
    if not path.is_relative_to(root):
        raise InvalidDocument(f"The image {address!r} is outside {str(root)!r}, and is not read.")
    return path
