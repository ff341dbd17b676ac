"""HiQA's hierarchical contextual augmentation as a LangChain document transformer, and a chat model
that describes its images."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from langchain_core.messages import HumanMessage
from langchain_core.runnables import Runnable
from typing_extensions import Unpack

from langchain_structrag.models import (
    answer_text,
    check_answers,
    inner_config,
    model_name,
)
from langchain_structrag.splitting import (
    LengthFunction,
    SplitterArguments,
    StructureSplitter,
    further_settings,
)
from structrag.chunks.hiqa.splitter import HiQASplitter, HiQASplitterSettings
from structrag.integrations.images import PROMPT, open_image
from structrag.integrations.metadata import HIQA_KEYS
from structrag.integrations.splitters import UNLIMITED, take_settings
from structrag.model_calls.stripping import without_thoughts
from structrag.text.tokens import count_tokens


class HiQAArguments(HiQASplitterSettings, SplitterArguments, total=False):
    """Arguments of `HiQATransformer` but for its sizes."""


class HiQAPaperArguments(HiQAArguments, total=False):
    """Arguments of `HiQATransformer.paper` and `code`."""

    chunk_size: int
    length_function: Callable[[str], int]
    add_context: bool


class HiQATransformer(StructureSplitter):
    """Splits documents into texts, tables and images under their titles (HiQA).

    Example:
        >>> from langchain_core.documents import Document
        >>> document = Document("# Sizes\\n\\n| part | mm |\\n|---|---|\\n| A | 1 |\\n")
        >>> (table,) = HiQATransformer(add_context=True).transform_documents([document])
        >>> table.metadata["hiqa_kind"], table.page_content  # the table as it is to be indexed
        ('table', 'Sizes\\npart | mm\\nA')

    It is a `TextSplitter` too, so `split_documents`, `create_documents`, `split_text` and
    `from_tiktoken_encoder` work. `HiQARetriever` takes whole documents, not chunks; pass this class
    as its `splitter` to change settings.

    Metadata is that of `ContentAwareTextSplitter`, and `hiqa_kind` ("text", "table" or "image");
    `hiqa_images`, a JSON string (a list with `metadata_lists`) with `file` and `alt` (and `title`)
    of every image in the segment, for display; `hiqa_caption`, `hiqa_description` (by the vision
    model), `hiqa_part` and `hiqa_parts`, `hiqa_degraded` (the vision model failed). Keys that do
    not apply are "", 0 or False.

    Args:
        chunk_size: Hard limit of a segment's index text, including the heading path, and of the
            text of each part of a cut table. An image in a data URL may be longer.
        length_function: The function that measures sizes: estimated tokens by default, of which the
            heading path takes at most 64.
        add_context: True: `page_content` is the index text: the heading path, then for a table its
            caption, headers and row labels, for an image its alt text, caption and the sentences
            around it; `segment_text` in the metadata is then the unchanged passage. False:
            `page_content` is the passage, an exact slice.
        settings: The other settings of `structrag.HiQASplitter`: metadata, path_tokens,
            table_cells, describe_image (a function, or an `ImageDescriber`), exclude_titles,
            plain_headings, language, sentence_splitter. `format`, `strip_whitespace` and
            `metadata_lists` as in `ContentAwareTextSplitter`, and the arguments of every LangChain
            splitter; there is no overlap.

    Raises:
        InvalidParameter: a setting is not allowed (a ValueError).
    """

    KEYS: ClassVar[Mapping[str, str]] = HIQA_KEYS

    def __init__(
        self,
        *,
        chunk_size: int = 512,
        chunk_overlap: int = 0,
        length_function: LengthFunction = count_tokens,
        add_context: bool = False,
        **settings: Unpack[HiQAArguments],
    ) -> None:
        others = further_settings(HiQATransformer, settings, HiQAArguments)
        core_settings = take_settings(HiQASplitter, others)
        super().__init__(
            chunk_size,
            chunk_overlap,
            length_function,
            add_context=add_context,
            **others,
        )
        self.core: Any = HiQASplitter(
            max_tokens=chunk_size, counter=self._counter(), **core_settings
        )

    @classmethod
    def paper(cls, **settings: Unpack[HiQAPaperArguments]) -> HiQATransformer:
        """As published: the whole path, whole section texts of any length, and uncut tables."""
        preset: dict[str, Any] = {"chunk_size": UNLIMITED, "path_tokens": None}
        return cls(**{**preset, **settings})

    def _has_index_text(self) -> bool:
        return self._add_context


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
