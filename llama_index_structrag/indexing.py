"""From LlamaIndex's models, stores, parsers and prompts to a structrag `Index`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from llama_index.core.llms import LLM
from llama_index.core.prompts import BasePromptTemplate, PromptTemplate
from llama_index.core.vector_stores.types import BasePydanticVectorStore, MetadataFilters
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

from llama_index_structrag.models import LlamaIndexModel, core_embedder
from llama_index_structrag.parsing import StructureNodeParser
from llama_index_structrag.settings import token_counter
from llama_index_structrag.stores import LlamaIndexDenseStore
from structrag.errors import InvalidParameter
from structrag.index.views import Prompts

_PROMPTS = ("merged", "summary", "keywords")
_PLACES = ("title", "text")


def index_options(
    *,
    embed_model: Any = None,
    llm: Any = None,
    node_parser: Any = None,
    vector_store: Any = None,
    **options: Any,
) -> dict[str, Any]:
    """The arguments of `Index` for LlamaIndex's objects; `options` are passed on."""
    chosen = {
        "embedder": core_embedder(embed_model),
        "llm": LlamaIndexModel(llm) if isinstance(llm, LLM) else llm,
        "splitter": _core_splitter(node_parser),
        "dense_store": _dense_store(vector_store, embed_model),
    }
    return {**{name: value for name, value in chosen.items() if value is not None}, **options}


def bind(index: Any) -> None:
    """Make the index known to its vector store, if it has one."""
    store = getattr(index, "dense_store", None)
    if isinstance(store, LlamaIndexDenseStore):
        store.index = index


def where_of(where: Any, filters: MetadataFilters | None) -> Any:
    """One condition on documents from our `where` and LlamaIndex's filters; both must hold, so only
    one may be given."""
    if filters is None:
        return where
    if where is not None:
        raise InvalidParameter(
            "where and filters cannot be used together; put both conditions into one of them."
        )
    chosen: MetadataFilters = filters

    def meets(metadata: Mapping[str, Any]) -> bool:
        matches: Callable[[str], bool] = build_metadata_filter_fn(lambda _: metadata, chosen)
        return bool(matches(""))

    return meets


def prompt_of(template: str, places: Sequence[str]) -> PromptTemplate:
    """A template of the core as LlamaIndex's, where braces other than those places stand for
    themselves."""
    return PromptTemplate(template.format(**{name: f"{{{name}}}" for name in places}))


def template_of(prompt: BasePromptTemplate, places: Sequence[str]) -> str:
    """Any kind of LlamaIndex prompt with those places as a template of the core."""
    marks: dict[str, Any] = {name: f"\x00{name}\x00" for name in places}
    template = prompt.format(**marks)
    template = template.replace("{", "{{").replace("}", "}}")
    for name in places:
        template = template.replace(f"\x00{name}\x00", f"{{{name}}}")
    return template


def prompts_of(prompts: Prompts) -> dict[str, BasePromptTemplate]:
    """The core's templates of views as LlamaIndex's."""
    return {f"{name}_prompt": prompt_of(getattr(prompts, name), _PLACES) for name in _PROMPTS}


def updated_prompts(prompts: Prompts, changes: Mapping[str, BasePromptTemplate]) -> Prompts:
    """The core's templates with those of `changes` replaced."""
    new = {
        name: template_of(changes[f"{name}_prompt"], _PLACES)
        for name in _PROMPTS
        if f"{name}_prompt" in changes
    }
    return replace(prompts, **new)


def _core_splitter(node_parser: Any) -> Any:
    """The splitter of the core, with the heading path unless the parser was told to leave it out."""
    if isinstance(node_parser, StructureNodeParser):
        if "add_context" not in node_parser.model_fields_set:
            node_parser = node_parser.model_copy(update={"add_context": True})
        return node_parser.core_splitter(
            node_parser.chunk_size, token_counter(node_parser.tokenizer)
        )
    if node_parser is not None and not hasattr(node_parser, "split"):
        raise InvalidParameter(
            "node_parser must be one of llama_index_structrag or a splitter of structrag, which "
            "know a document's "
            f"sections; got {type(node_parser).__name__}."
        )
    return node_parser


def _dense_store(vector_store: Any, embed_model: Any) -> Any:
    if vector_store is None:
        return None
    if embed_model is None:
        raise InvalidParameter(
            "embed_model must be given with vector_store: LSA's vectors change with every document "
            "added. "
            "For the global model pass embed_model=Settings.embed_model."
        )
    if isinstance(vector_store, BasePydanticVectorStore):
        return LlamaIndexDenseStore(vector_store)
    if hasattr(vector_store, "wants_vectors"):
        return vector_store
    raise InvalidParameter(
        "vector_store must be a LlamaIndex BasePydanticVectorStore; got "
        f"{type(vector_store).__name__}."
    )
