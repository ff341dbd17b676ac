"""PIC for LlamaIndex, in place of `SemanticSplitterNodeParser`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from typing_extensions import Self, Unpack

from llama_index_structrag.reading import ReadingNodeParser, ReadingParserArguments
from llama_index_structrag.settings import with_settings
from structrag.chunks.pic.splitter import PICSettings, PICSplitter
from structrag.integrations.metadata import PIC_KEYS
from structrag.integrations.splitters import UNLIMITED

if TYPE_CHECKING:
    _Fields = ReadingNodeParser
else:
    _Fields = with_settings(ReadingNodeParser, PICSplitter, "context")


class PICParserArguments(PICSettings, ReadingParserArguments, total=False):
    """The fields of `PICNodeParser`."""


class PICNodeParser(_Fields):
    """Nodes are runs of sentences that are relevant to a pseudo-instruction, such as the document's
    summary, or runs of sentences that are not.

    Example:
        >>> from llama_index.core import Document
        >>> text = "# Pump\\n\\nIt moves water. Rinse its filter. Invoices are due in March."
        >>> parser = PICNodeParser(chunk_size=24)  # or with embed_model and llm
        >>> for node in parser.get_nodes_from_documents([Document(text=text)]):
        ...     print(repr(node.text))
        '# Pump\\n\\nIt moves water. Rinse its filter.'
        'Invoices are due in March.'

    A replacement for `SemanticSplitterNodeParser(embed_model=...)`. See `ContentAwareNodeParser`
    for offsets, limits and metadata, and `structrag.chunks.pic.splitter.PICSplitter` for the
    settings. Metadata, which no model sees: `pic_relevant`; `pic_mean_similarity` and
    `pic_threshold`, 0.0 if the text was too short to compare; `pic_degraded`, whether the LLM
    failed to write a summary.
    """

    CORE: ClassVar[Any] = PICSplitter
    KEYS: ClassVar[Mapping[str, str]] = PIC_KEYS

    def __init__(
        self,
        *,
        embed_model: Any = None,
        llm: Any = None,
        **settings: Unpack[PICParserArguments],
    ) -> None:
        super().__init__(embed_model=embed_model, llm=llm, **settings)

    @classmethod
    def class_name(cls) -> str:
        return "PICNodeParser"

    @classmethod
    def paper(
        cls,
        embed_model: Any = None,
        llm: Any = None,
        **settings: Unpack[PICParserArguments],
    ) -> Self:
        """As published (section 3.2): the document's summary, the mean as threshold, no size
        bounds, no sections."""
        sizes = {"chunk_size": UNLIMITED, "min_chunk_size": 0, "add_context": False}
        published = {**cls.core_settings(PICSplitter.paper()), **sizes}
        models = {"embed_model": embed_model, "llm": llm}
        return cls(**{**published, **models, **settings})

    def _sizes(self, limit: int, titles: bool) -> dict[str, Any]:
        return {"min_tokens": self._least(limit, limit // 2), "context": titles}
