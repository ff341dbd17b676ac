"""From LlamaIndex's models, stores, parsers and prompts to a structrag `Index`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import LLM
from llama_index.core.prompts import BasePromptTemplate, PromptTemplate
from llama_index.core.vector_stores.types import BasePydanticVectorStore, MetadataFilters
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

from llama_index_structrag.models import LlamaIndexEmbedder, LlamaIndexModel
from llama_index_structrag.parsing import StructureNodeParser
from llama_index_structrag.settings import token_counter
from llama_index_structrag.stores import LlamaIndexDenseStore
from structrag.errors import InvalidParameter
from structrag.index.index import Index
from structrag.views import Prompts

_PROMPTS = ("merged", "summary", "keywords")


def index_options(
    *, embed_model: Any = None, llm: Any = None, node_parser: Any = None, vector_store: Any = None, **options: Any
) -> dict[str, Any]:
    """The arguments of `Index` for LlamaIndex's objects; `options` are passed on."""
    chosen = {
        "embedder": LlamaIndexEmbedder(embed_model) if isinstance(embed_model, BaseEmbedding) else embed_model,
        "llm": LlamaIndexModel(llm) if isinstance(llm, LLM) else llm,
        "splitter": _core_splitter(node_parser),
        "dense_store": _dense_store(vector_store, embed_model),
    }
    return {**{name: value for name, value in chosen.items() if value is not None}, **options}


def bound(index: Index) -> Index:
    """The index, known to its vector store."""
    if isinstance(index.dense_store, LlamaIndexDenseStore):
        index.dense_store.index = index
    return index


def where_of(where: Any, filters: MetadataFilters | None) -> Any:
    """One condition on documents from our `where` and LlamaIndex's filters; both must hold, so only one may be given."""
    if filters is None:
        return where
    if where is not None:
        raise InvalidParameter("where and filters cannot be used together; put both conditions into one of them.")
    chosen: MetadataFilters = filters

    def meets(metadata: Mapping[str, Any]) -> bool:
        matches: Callable[[str], bool] = build_metadata_filter_fn(lambda _: metadata, chosen)
        return bool(matches(""))

    return meets


def prompts_of(prompts: Prompts) -> dict[str, BasePromptTemplate]:
    """The core's templates as LlamaIndex's, where braces other than {title} and {text} stand for themselves."""
    return {
        f"{name}_prompt": PromptTemplate(getattr(prompts, name).format(title="{title}", text="{text}"))
        for name in _PROMPTS
    }


def updated_prompts(prompts: Prompts, changes: Mapping[str, BasePromptTemplate]) -> Prompts:
    """The core's templates with those of `changes` replaced; any kind of LlamaIndex prompt with {title} and {text} will do."""
    templates = {name: getattr(prompts, name) for name in _PROMPTS}
    for name in _PROMPTS:
        if f"{name}_prompt" in changes:
            filled = changes[f"{name}_prompt"].format(title="\x00title\x00", text="\x00text\x00")
            escaped = filled.replace("{", "{{").replace("}", "}}")
            templates[name] = escaped.replace("\x00title\x00", "{title}").replace("\x00text\x00", "{text}")
    return Prompts(**templates)


def _core_splitter(node_parser: Any) -> Any:
    if isinstance(node_parser, StructureNodeParser):
        return node_parser.core_splitter(node_parser.chunk_size, token_counter(node_parser.tokenizer))
    if node_parser is not None and not hasattr(node_parser, "split"):
        raise InvalidParameter(
            "node_parser must be one of llama_index_structrag or a splitter of structrag, which know a document's "
            f"sections; got {type(node_parser).__name__}."
        )
    return node_parser


def _dense_store(vector_store: Any, embed_model: Any) -> Any:
    if vector_store is None:
        return None
    if embed_model is None:
        raise InvalidParameter(
            "embed_model must be given with vector_store: LSA's vectors change with every document added. "
            "For the global model pass embed_model=Settings.embed_model."
        )
    if isinstance(vector_store, BasePydanticVectorStore):
        return LlamaIndexDenseStore(vector_store)
    if hasattr(vector_store, "wants_vectors"):
        return vector_store
    raise InvalidParameter(
        f"vector_store must be a LlamaIndex BasePydanticVectorStore; got {type(vector_store).__name__}."
    )
