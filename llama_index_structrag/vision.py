"""A LlamaIndex model that sees, as what describes images."""

from __future__ import annotations

import os
from dataclasses import dataclass

from llama_index.core.llms import LLM, ChatMessage, ImageBlock, TextBlock

from llama_index_structrag.models import LlamaIndexModel
from structrag.integrations.images import PROMPT, open_image
from structrag.model_calls.answer_parsing.thoughts import without_thoughts


@dataclass(frozen=True)
class ImageDescriber:
    """Describes images by a chat model, for HiQA's nodes.

    Example:
        >>> from llama_index.core.llms import MockLLM
        >>> describe = ImageDescriber(MockLLM(), folder="docs")  # or OpenAI(model="gpt-4o")
        >>> describe("data:image/png;base64,AAAA")[:27]  # the mock says what it was asked
        'user: Describe this picture'

    `HiQANodeParser(describe_image=describe)` takes it.
    Addresses of the web are handed on for the model's provider to fetch, images written as data are
    sent. Files are read from `folder` and what is below it alone, since an address comes from a
    document; without a folder none are.

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
        """For cache keys and the fingerprints of an index. The model with its settings, never a
        key, and the prompt."""
        return f"{LlamaIndexModel(self.llm).name}: {self.prompt}"

    def __call__(self, address: str) -> str:
        """The description of the image at an address.

        Raises:
            InvalidDocument: it is a file outside `folder`, or one that cannot be read.
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
