"""Base of the node parsers that call models: models, many nodes, async."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any

from llama_index.core.bridge.pydantic import BaseModel, Field, model_validator
from llama_index.core.schema import BaseNode, MetadataMode
from llama_index.core.utils import get_tqdm_iterable

from llama_index_structrag.models import core_embedder, core_model
from llama_index_structrag.parsing import (
    Fitter,
    ParserArguments,
    StructureNodeParser,
)
from llama_index_structrag.settings import Named
from structrag.chunks.model_splitter import answered, groups_of, read_boundary_embedder
from structrag.errors import InvalidParameter
from structrag.integrations.arguments import LSA, chosen_embedding, with_one_embedder
from structrag.integrations.splitters import decides_on_vectors
from structrag.model_calls.cache import Cache
from structrag.model_calls.requests import Flow, gather, memoised
from structrag.model_calls.runner import Runner


def boundary_model(value: Any) -> Any:
    """The model that compares sentences in place of the embedding model, as the core takes it. A
    folder or a name is loaded once."""
    return _static_model(value) if isinstance(value, str) else core_embedder(value)


@lru_cache(maxsize=4)
def _static_model(name: str) -> Any:
    return read_boundary_embedder(name)


def _boundary_name(value: Any) -> Any:
    return value if isinstance(value, str) else core_embedder(value)


_name: Any = attrgetter("name")
EmbedModel = Annotated[Any, Named(core_embedder, _name)]
BoundaryEmbedder = Annotated[Any, Named(_boundary_name, _name)]
LanguageModelField = Annotated[Any, Named(core_model, _name)]


def checked_cache(cache: Any) -> Cache | None:
    """The cache; InvalidParameter if it is none of structrag's."""
    if cache is not None and not isinstance(cache, Cache):
        raise InvalidParameter(
            f"cache must be a structrag Cache or None; got {type(cache).__name__}."
        )
    return cache


class ModelFields(BaseModel):
    """The models of a component and how they are called, as fields."""

    @model_validator(mode="before")
    @classmethod
    def _own_names(cls, data: Any) -> Any:
        """Take other names of `embed_model` as well."""
        return (
            with_one_embedder(data, "embed_model") if isinstance(data, dict) else data
        )

    embed_model: EmbedModel = Field(
        default=None,
        description=(
            "A LlamaIndex embedding model, or any embedder that structrag accepts; None: LSA of "
            "each document's own sentences."
        ),
    )
    llm: LanguageModelField = Field(
        default=None,
        description="A LlamaIndex LLM, or a function from str to str; None: no language model.",
    )
    cache: Any = Field(
        default=None,
        exclude=True,
        description="A structrag Cache that keeps finished calls and vectors; None: no cache.",
    )
    batch_size: int = Field(
        default=64,
        gt=0,
        exclude=True,
        description="The largest number of texts in one embedding call.",
    )
    max_concurrency: int = Field(
        default=8,
        gt=0,
        exclude=True,
        description="The largest number of concurrent calls of the language model.",
    )

    def _runner(self) -> Runner:
        is_lsa = isinstance(self.embed_model, str) and self.embed_model == LSA
        return Runner(
            llm=core_model(self.llm),
            embedder=None if is_lsa else core_embedder(self.embed_model),
            cache=checked_cache(self.cache),
            batch_size=self.batch_size,
            max_concurrency=self.max_concurrency,
        )


def shown_groups(
    nodes: Sequence[BaseNode], show_progress: bool, what: str = "Parsing nodes"
) -> Iterable[list[BaseNode]]:
    """The nodes in groups of bounded text, with a bar of progress if asked for."""
    groups = groups_of(
        nodes, lambda node: len(node.get_content(metadata_mode=MetadataMode.NONE))
    )
    shown: Iterable[list[BaseNode]] = get_tqdm_iterable(
        list(groups), show_progress, what
    )
    return shown


class ReadingParserArguments(ParserArguments, total=False):
    """The fields of `ReadingNodeParser` but for its models."""

    min_chunk_size: int | None
    cache: Any
    batch_size: int
    max_concurrency: int


class ReadingNodeParser(ModelFields, StructureNodeParser):
    """Base of the node parsers that call models. Documents are read in groups of limited size: the
    prompts of a group are sent together, its sentences in full batches. `aget_nodes_from_documents`
    uses the models' own asynchronous calls. `to_dict`, and thus the cache of an ingestion pipeline,
    identifies the models by name and settings.
    """

    if TYPE_CHECKING:  # the settings of the core are fields as well

        def __init__(self, **settings: Any) -> None: ...

    chunk_size: int = Field(
        default=300, gt=0, description="The token limit of a node's embedded text."
    )
    min_chunk_size: int | None = Field(
        default=None,
        ge=0,
        description="The smallest number of tokens of a node; None: a share of chunk_size.",
    )
    boundary_embedder: BoundaryEmbedder = Field(
        default=None,
        description=(
            "The model that compares sentences instead of embed_model, or the folder of a static "
            "one."
        ),
    )

    @classmethod
    def core_settings(cls, values: Any) -> dict[str, Any]:
        """The settings of the core, with its models."""
        settings = super().core_settings(values)
        model = boundary_model(settings["boundary_embedder"])
        return {**settings, "boundary_embedder": model}

    def _least(self, limit: int, most: int) -> int | None:
        """`min_chunk_size`, in a smaller limit than `chunk_size` at most `most`."""
        least = self.min_chunk_size
        if least is None or limit == self.chunk_size:
            return least
        return min(least, most)

    def _runner(self) -> Runner:
        """Warns where LSA takes the place of a model."""
        if self.embed_model is None and decides_on_vectors(self):
            chosen_embedding("embed_model", None)
        return super()._runner()

    def _parse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        runner, fitter = self._runner(), Fitter(self)
        families: list[list[BaseNode]] = []  # the children of each node
        for group in shown_groups(nodes, show_progress):
            families += runner.run(self._group_flow(group, runner, fitter))
        return self._finished(nodes, families)

    async def _aparse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **kw: Any
    ) -> list[BaseNode]:
        runner, fitter = self._runner(), Fitter(self)
        families: list[list[BaseNode]] = []  # the children of each node
        for group in shown_groups(nodes, show_progress):
            families += await runner.arun(self._group_flow(group, runner, fitter))
        return self._finished(nodes, families)

    def _group_flow(
        self, nodes: Sequence[BaseNode], runner: Runner, fitter: Fitter
    ) -> Flow[list[list[BaseNode]]]:
        flow = [self._node_flow(node, fitter) for node in nodes]
        return gather([memoised(answered(one, runner)) for one in flow])
