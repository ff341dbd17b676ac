"""A LlamaIndex model that sees, as what describes images."""

from __future__ import annotations

import os
from dataclasses import dataclass

from llama_index.core.llms import LLM, ChatMessage, ImageBlock, TextBlock

from llama_index_structrag.models import LlamaIndexModel
from structrag.integrations.images import PROMPT, open_image
from structrag.model_calls.answer_parsing.stripping import without_thoughts


@dataclass(frozen=True)
class ImageDescriber:
    """Describes images by a chat model, for HiQA's nodes.

    Example:
        >>> from llama_index.core.llms import MockLLM
        >>> describe = ImageDescriber(MockLLM(), folder="docs")  # or OpenAI(model="gpt-4o")
        >>> describe("data:image/png;base64,AAAA")[:27]  # the mock says what it was asked
        'user: Describe this picture'

    `HiQANodeParser(describe_image=describe)` takes it. Web addresses are passed on for the model's
    provider to fetch; images in data URLs are sent. Addresses come from documents, which may be
    untrusted, so files are read only from `folder` and below it; without a folder no files are
    read.

    Attributes:
        llm: A LlamaIndex LLM that accepts images.
        prompt: The prompt for each image.
        folder: The folder that relative addresses refer to.
    """

    llm: LLM
    prompt: str = PROMPT
    folder: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        LlamaIndexModel(self.llm)

    @property
    def name(self) -> str:
        """For cache keys and the fingerprints of an index: the model with its settings (never an
        API key) and the prompt."""
        return f"{LlamaIndexModel(self.llm).name}: {self.prompt}"

    def __call__(self, address: str) -> str:
        """The description of the image at an address.

        Raises:
            InvalidDocument: the address is a file outside `folder`, or the file cannot be read.
        """
        message = ChatMessage(
            role="user", blocks=[TextBlock(text=self.prompt), self._block(address)]
        )
        text = self.llm.chat([message]).message.content or ""
        return without_thoughts(self.prompt, text) or ""

    def _block(self, address: str) -> ImageBlock:
        image = open_image(address, self.folder)
        if image.url:
            return ImageBlock(url=image.url)
        return ImageBlock(image=image.data, image_mimetype=image.media_type or None)
