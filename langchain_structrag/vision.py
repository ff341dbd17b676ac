"""A LangChain chat model that sees, as what describes images."""

from __future__ import annotations

import os
from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.runnables import Runnable

from langchain_structrag.models import (
    answer_text,
    check_answers,
    inner_config,
    model_name,
)
from structrag.integrations.images import PROMPT, open_image
from structrag.model_calls.answer_parsing.stripping import without_thoughts


@dataclass(frozen=True)
class ImageDescriber:
    """Describes images by a chat model, for HiQA's segments.

    Example:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> model = FakeListChatModel(responses=["A pump."])  # or ChatOpenAI(model="gpt-4o")
        >>> describe = ImageDescriber(model, folder="docs")
        >>> describe("data:image/png;base64,AAAA")
        'A pump.'

    `HiQATransformer(describe_image=describe)` takes it. Web addresses are passed on for the model's
    provider to fetch; images in data URLs are sent. Addresses come from documents, which may be
    untrusted, so files are read only from `folder` and below it; without a folder no files are
    read.

    Attributes:
        model: A chat model that accepts images, or a chain with one.
        prompt: The prompt for each image.
        folder: The folder that relative addresses refer to.
        name: For the fingerprints of an index: the model with its settings (never an API key) and
            the prompt. For a model that holds a function, see `LangChainModel`.
    """

    model: Runnable[Any, Any]
    prompt: str = PROMPT
    folder: str | os.PathLike[str] | None = None
    name: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        check_answers(self.model, takes_text=False)
        if not self.name:
            object.__setattr__(self, "name", f"{model_name(self.model)}: {self.prompt}")

    def __call__(self, address: str) -> str:
        """The description of the image at an address.

        Raises:
            InvalidDocument: the address is a file outside `folder`, or the file cannot be read.
        """
        content: list[str | dict[Any, Any]] = [
            {"type": "text", "text": self.prompt},
            self._block(address),
        ]
        answer = self.model.invoke([HumanMessage(content=content)], inner_config())
        return without_thoughts(self.prompt, str(answer_text(answer))) or ""

    def _block(self, address: str) -> dict[str, str]:
        """The image as a content block."""
        image = open_image(address, self.folder)
        if image.url:
            return {"type": "image", "url": image.url}
        return {
            "type": "image",
            "base64": b64encode(image.data).decode(),
            "mime_type": image.media_type,
        }
