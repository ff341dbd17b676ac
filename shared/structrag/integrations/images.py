"""Images of documents, opened for a vision model of the host."""

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
    """An image by its address of the web, or itself.

    Attributes:
        url: The address, which the model's provider fetches; "" where `data` is the image.
        data: The bytes of the image.
        media_type: Of `data`, such as "image/png"; "" where nothing tells.
    """

    url: str = ""
    data: bytes = b""
    media_type: str = ""


def open_image(address: str, folder: str | os.PathLike[str] | None) -> ImageSource:
    """Open the image at an address.

    An address of the web stays as it is, an image written as data is decoded, and a file in
    `folder` or below it is read.

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
    media_type = guess_type(path.name)[0] or "image/png"
    try:
        return ImageSource(data=path.read_bytes(), media_type=media_type)
    except OSError as error:
        raise InvalidDocument(
            f"Cannot read the image {str(path)!r}: {error.strerror}."
        ) from error


def _file(address: str, folder: str | os.PathLike[str] | None) -> Path:
    if folder is None:
        raise InvalidDocument(
            f"The image {address!r} is a file; pass the folder of the documents as folder=..."
        )
    root = Path(folder).resolve()
    path = (root / address).resolve()
    if not path.is_relative_to(root):
        raise InvalidDocument(
            f"The image {address!r} is outside {str(root)!r} and is not read."
        )
    return path
