"""What node parsers that ask models share: models, many nodes, async."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, ClassVar

from llama_index.core.bridge.pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)
from llama_index.core.schema import BaseNode, MetadataMode
from llama_index.core.utils import get_tqdm_iterable
from typing_extensions import Self

from llama_index_structrag.models import core_embedder, core_model
from llama_index_structrag.parsing import SectionNodeParser
from llama_index_structrag.settings import refuse_saved, token_counter
from structrag.asking.cache import Cache
from structrag.asking.requests import Steps
from structrag.asking.runner import Runner
from structrag.asking.settings import Asking
from structrag.asking.steps import remembering, together
from structrag.chunks.asking_splitter import (
    ReadingSplitter,
    answered,
    groups_of,
    read_boundary_embedder,
)
from structrag.errors import InvalidParameter
from structrag.hosts.metadata import full_notes
from structrag.records import Chunk
from structrag.text.tokens import TokenCounter


def _read_embed_model(value: Any) -> Any:
    refuse_saved("embed_model", value)
    core_embedder(value)
    return value


def _read_llm(value: Any) -> Any:
    refuse_saved("llm", value)
    core_model(value)
    return value


def boundary_model(value: Any) -> Any:
    """What compares sentences in place of the embedding model.

    As the core takes it; a folder or a name is loaded once.
    """
    if value is None:
        return None
    return _static_model(value) if isinstance(value, str) else core_embedder(value)


@lru_cache(maxsize=4)
def _static_model(name: str) -> Any:
    return read_boundary_embedder(name)


def _read_boundary_embedder(value: Any) -> Any:
    refuse_saved("boundary_embedder", value)
    boundary_model(value)
    return value


def _boundary_embedder_name(value: Any) -> Any:
    return value if isinstance(value, str) else _embed_model_name(value)


def _embed_model_name(value: Any) -> dict[str, str] | None:
    embedder = core_embedder(value)
    return None if embedder is None else {"name": embedder.name}


def _llm_name(value: Any) -> dict[str, str] | None:
    model = core_model(value)
    return None if model is None else {"name": model.name}


_SCHEMA = WithJsonSchema({"type": "object"})
EmbedModel = Annotated[
    Any, BeforeValidator(_read_embed_model), PlainSerializer(_embed_model_name), _SCHEMA
]
BoundaryEmbedder = Annotated[
    Any,
    BeforeValidator(_read_boundary_embedder),
    PlainSerializer(_boundary_embedder_name),
    _SCHEMA,
]
LanguageModelField = Annotated[
    Any, BeforeValidator(_read_llm), PlainSerializer(_llm_name), _SCHEMA
]


def checked_cache(cache: Any) -> Cache | None:
    """The cache; InvalidParameter if it is none of structrag's."""
    if cache is not None and not isinstance(cache, Cache):
        raise InvalidParameter(
            f"cache must be a structrag Cache or None; got {type(cache).__name__}."
        )
    return cache


class ReadingNodeParser(SectionNodeParser):
    """Base of the node parsers that ask models.

    Subclasses give `core_splitter`, whose result has `split_steps`, and `_core`. Nodes are read in
    groups of bounded size: a group's prompts go out together, its sentences in full batches.
    `aget_nodes_from_documents` uses the models' own asynchronous calls. `to_dict`, and so the cache
    of an ingestion pipeline, knows the models by name and settings.
    """

    # Of a chunk's extras -> key of a node's metadata.
    KEYS: ClassVar[Mapping[str, str]] = {}

    chunk_size: int = Field(
        default=300, gt=0, description="Most tokens of a node's text as it is embedded."
    )
    min_chunk_size: int | None = Field(
        default=None,
        ge=0,
        description="Least tokens of a node; None: a share of chunk_size.",
    )
    respect_sections: bool = Field(
        default=True, description="Whether no node crosses the border of a section."
    )
    embed_model: EmbedModel = Field(
        default=None,
        description="LlamaIndex embedding model, or what structrag takes; None: LSA of each "
        "document's own sentences.",
    )
    llm: LanguageModelField = Field(
        default=None,
        description="LlamaIndex LLM, or a function from str to str; None: none.",
    )
    boundary_embedder: BoundaryEmbedder = Field(
        default=None,
        description="What compares sentences in place of embed_model: a model, or the folder of "
        "a static one.",
    )
    reuse_vectors: bool = Field(
        default=True,
        description="Whether an index takes the mean of a node's sentences as its vector.",
    )
    cache: Any = Field(
        default=None,
        exclude=True,
        description="A structrag Cache that keeps finished calls and vectors; None: none.",
    )
    batch_size: int = Field(
        default=64, gt=0, exclude=True, description="Most texts in one embedding call."
    )
    max_concurrency: int = Field(
        default=8,
        gt=0,
        exclude=True,
        description="Most language-model calls in flight.",
    )

    @model_validator(mode="after")
    def _check_core(self) -> Self:
        self._core(
            self.chunk_size,
            token_counter(self.tokenizer),
            self.min_chunk_size,
            self.add_context,
        )
        return self

    @abstractmethod
    def _core(
        self, limit: int, counter: TokenCounter, least: int | None, context: bool
    ) -> ReadingSplitter:
        """The core's splitter for these settings.

        With a limit and a least size in tokens, with titles in front or without.
        """

    def settings_of(self, splitter: type) -> dict[str, Any]:
        """The settings that the core's splitter has by the same name.

        Models are as the core takes them.
        """
        return {
            **self.shared(splitter, self),
            "boundary_embedder": boundary_model(self.boundary_embedder),
        }

    def notes(self, chunk: Chunk) -> dict[str, Any]:
        """What metadata tells of a chunk: its extras in `KEYS`."""
        return full_notes(chunk, self.KEYS, lists=self.metadata_lists)

    def _parse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        runner = self._runner()
        families: list[list[BaseNode]] = []  # the children of each node
        for group in get_tqdm_iterable(
            node_groups(nodes), show_progress, "Parsing nodes"
        ):
            families += runner.run(self._group_steps(group, runner))
        return self._finished(nodes, families)

    async def _aparse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **kw: Any
    ) -> list[BaseNode]:
        runner = self._runner()
        families: list[list[BaseNode]] = []  # the children of each node
        for group in get_tqdm_iterable(
            node_groups(nodes), show_progress, "Parsing nodes"
        ):
            families += await runner.arun(self._group_steps(group, runner))
        return self._finished(nodes, families)

    def _group_steps(
        self, nodes: Sequence[BaseNode], runner: Runner
    ) -> Steps[list[list[BaseNode]]]:
        counter = token_counter(self.tokenizer)
        return together(
            [
                remembering(answered(self._node_steps(node, counter), runner))
                for node in nodes
            ]
        )

    def _runner(self) -> Runner:
        return Runner(
            llm=core_model(self.llm),
            embedder=core_embedder(self.embed_model),
            asking=Asking(
                checked_cache(self.cache), self.batch_size, self.max_concurrency
            ),
        )


def node_groups(nodes: Sequence[BaseNode]) -> list[list[BaseNode]]:
    """The nodes in groups of bounded text."""
    return list(
        groups_of(
            nodes, lambda node: len(node.get_content(metadata_mode=MetadataMode.NONE))
        )
    )
