"""What the node parsers that read the text share: models, many nodes at once, native async."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, ClassVar

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema
from llama_index.core.llms import LLM
from llama_index.core.schema import BaseNode, MetadataMode
from llama_index.core.utils import get_tqdm_iterable

from llama_index_structrag.models import LlamaIndexEmbedder, LlamaIndexModel
from llama_index_structrag.parsing import StructureNodeParser
from llama_index_structrag.settings import token_counter
from structrag.cache import Cache
from structrag.chunks.reading import answered, groups_of, read_boundary_embedder
from structrag.driving import remembering, together
from structrag.errors import InvalidParameter
from structrag.models.embedders import as_embedder
from structrag.models.llm import as_language_model
from structrag.records import Chunk
from structrag.requests import STATIC
from structrag.steps import Embedder, LanguageModel, Runner, Steps


def core_embedder(value: Any) -> Embedder | None:
    """A LlamaIndex embedding model, or what structrag takes, as an embedder; None stays None."""
    if value is None:
        return None
    return LlamaIndexEmbedder(value) if isinstance(value, BaseEmbedding) else as_embedder(value)


def core_model(value: Any) -> LanguageModel | None:
    """A LlamaIndex LLM, or what structrag takes, as a language model; None stays None."""
    return LlamaIndexModel(value) if isinstance(value, LLM) else as_language_model(value)


def _read_embed_model(value: Any) -> Any:
    _refuse_saved("embed_model", value)
    core_embedder(value)
    return value


def _read_llm(value: Any) -> Any:
    _refuse_saved("llm", value)
    core_model(value)
    return value


def _refuse_saved(name: str, value: Any) -> None:
    if isinstance(value, dict):
        raise InvalidParameter(
            f"{name} must be passed again to read these settings, as from_dict(data, {name}=...): they were made with "
            f"{value.get('name')!r}."
        )


def boundary_model(value: Any) -> Any:
    """What compares sentences in place of the embedding model, as the core takes it; a folder or a name is loaded once."""
    if value is None or value == STATIC:
        return value
    return _static_model(value) if isinstance(value, str) else core_embedder(value)


@lru_cache(maxsize=4)
def _static_model(name: str) -> Any:
    return read_boundary_embedder(name)


def _read_boundary_embedder(value: Any) -> Any:
    _refuse_saved("boundary_embedder", value)
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
EmbedModel = Annotated[Any, BeforeValidator(_read_embed_model), PlainSerializer(_embed_model_name), _SCHEMA]
BoundaryEmbedder = Annotated[
    Any, BeforeValidator(_read_boundary_embedder), PlainSerializer(_boundary_embedder_name), _SCHEMA
]
LanguageModelField = Annotated[Any, BeforeValidator(_read_llm), PlainSerializer(_llm_name), _SCHEMA]


class ReadingNodeParser(StructureNodeParser):
    """Base of the node parsers that ask models. Subclasses give `core_splitter`, whose result has `split_steps`.

    Nodes are read in groups of bounded size: a group's prompts go out together, its sentences in full batches. `aget_nodes_from_documents`
    uses the models' own asynchronous calls. `to_dict`, and so the cache of an ingestion pipeline, knows the models by name and settings.
    """

    EXTRAS: ClassVar[Mapping[str, str]] = {}  # of a chunk -> key of a node's metadata

    embed_model: EmbedModel = Field(
        default=None,
        description="LlamaIndex embedding model, or what structrag takes; None: LSA of each document's own sentences.",
    )
    llm: LanguageModelField = Field(
        default=None, description="LlamaIndex LLM, or a function from str to str; None: none."
    )
    boundary_embedder: BoundaryEmbedder = Field(
        default=None,
        description="What compares sentences in place of embed_model: 'static', its static vectors; the folder of a static model; a model.",
    )
    cache: Any = Field(
        default=None, exclude=True, description="A structrag Cache that keeps finished calls and vectors; None: none."
    )
    batch_size: int = Field(default=64, gt=0, exclude=True, description="Most texts in one embedding call.")
    max_concurrency: int = Field(default=8, gt=0, exclude=True, description="Most language-model calls in flight.")

    def settings_of(self, splitter: type) -> dict[str, Any]:
        """The settings that the core's splitter has by the same name, models as the core takes them."""
        return {**self.shared(splitter, self), "boundary_embedder": boundary_model(self.boundary_embedder)}

    def told(self, chunk: Chunk) -> dict[str, Any]:
        """What the metadata tells of a chunk: its extras that are known."""
        return {key: chunk.extras[name] for name, key in self.EXTRAS.items() if chunk.extras.get(name) is not None}

    def _parse_nodes(self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any) -> list[BaseNode]:
        runner = self._runner()
        made: list[list[BaseNode]] = []
        for group in get_tqdm_iterable(node_groups(nodes), show_progress, "Parsing nodes"):
            made += runner.run(self._group_steps(group, runner))
        return self._finished(nodes, made)

    async def _aparse_nodes(self, nodes: Sequence[BaseNode], show_progress: bool = False, **kw: Any) -> list[BaseNode]:
        runner = self._runner()
        made: list[list[BaseNode]] = []
        for group in get_tqdm_iterable(node_groups(nodes), show_progress, "Parsing nodes"):
            made += await runner.arun(self._group_steps(group, runner))
        return self._finished(nodes, made)

    def _group_steps(self, nodes: Sequence[BaseNode], runner: Runner) -> Steps[list[list[BaseNode]]]:
        counter = token_counter(self.tokenizer)
        return together([remembering(answered(self._node_steps(node, counter), runner)) for node in nodes])

    def _runner(self) -> Runner:
        return Runner(
            llm=core_model(self.llm),
            embedder=core_embedder(self.embed_model),
            cache=checked_cache(self.cache),
            batch_size=self.batch_size,
            max_concurrency=self.max_concurrency,
        )


def checked_cache(cache: Any) -> Cache | None:
    """The cache; InvalidParameter if it is none of structrag's."""
    if cache is not None and not isinstance(cache, Cache):
        raise InvalidParameter(f"cache must be a structrag Cache or None; got {type(cache).__name__}.")
    return cache


def node_groups(nodes: Sequence[BaseNode]) -> list[list[BaseNode]]:
    """The nodes in groups of bounded text."""
    return list(groups_of(nodes, lambda node: len(node.get_content(metadata_mode=MetadataMode.NONE))))
