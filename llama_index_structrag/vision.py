"""A LlamaIndex model that sees, as what describes images."""

from __future__ import annotations

import os
from base64 import b64decode
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llama_index.core.llms import LLM, ChatMessage, ImageBlock, TextBlock

from llama_index_structrag.models import LlamaIndexModel
from structrag.errors import InvalidDocument

PROMPT = "Describe this picture from a document in one or two sentences: what it shows, and every name and label on it."


@dataclass(frozen=True)
class ImageDescriber:
    """Describes images by a chat model: `HiQANodeParser(describe_image=ImageDescriber(llm, folder="docs"))`.

    Addresses of the web are handed on for the model's provider to fetch, images written as data are sent. Files are read from `folder` and
    what is below it alone, since an address comes from a document; without a folder none are.

    Attributes:
        llm: A LlamaIndex LLM that takes images.
        prompt: What it is asked.
        folder: Where the documents' relative addresses begin.
    """

    llm: LLM
    prompt: str = PROMPT
    folder: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        LlamaIndexModel(self.llm)

    @property
    def name(self) -> str:
        """For cache keys and the fingerprints of an index: the model with its settings, never a key, and the prompt."""
        return f"{LlamaIndexModel(self.llm).name}: {self.prompt}"

    def __call__(self, address: str) -> str:
        """The description of the image at an address.

        Raises:
            InvalidDocument: it is a file outside `folder`, or one that cannot be read.
        """
        message = ChatMessage(role="user", blocks=[TextBlock(text=self.prompt), self._block(address)])
        return self.llm.chat([message]).message.content or ""

    def _block(self, address: str) -> ImageBlock:
        scheme, _, rest = address.partition(":")
        if scheme.lower() in ("http", "https"):
            return ImageBlock(url=address)
        if scheme.lower() == "data":
            kind, _, data = rest.partition(",")
            return ImageBlock(image=b64decode(data), image_mimetype=kind.partition(";")[0] or None)
        path = self._file(address)
        try:
            return ImageBlock(image=path.read_bytes())
        except OSError as error:
            raise InvalidDocument(f"Cannot read the image {str(path)!r}: {error.strerror}.") from error

    def _file(self, address: str) -> Path:
        if self.folder is None:
            raise InvalidDocument(f"The image {address!r} is a file; give the folder of the documents as folder=...")
        folder: Any = Path(self.folder).resolve()
        path: Path = (folder / address).resolve()
        if not path.is_relative_to(folder):
            raise InvalidDocument(f"The image {address!r} is outside {str(folder)!r}, and is not read.")
        return path
