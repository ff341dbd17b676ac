"""structrag's embedders as LlamaIndex embedding models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)
from typing_extensions import Self

from llama_index_structrag.settings import refuse_saved
from structrag.errors import InvalidParameter, check_arguments
from structrag.model_calls.calling import acall
from structrag.model_calls.requests import Embedder
from structrag.model_calls.texts import check_vectors
from structrag.models.embedders import as_fixed_embedder


def _read_embedder(value: Any) -> Embedder:
    refuse_saved("embedder", value)
    if isinstance(value, BaseEmbedding):
        raise InvalidParameter(
            f"embedder must not be a LlamaIndex embedding model; got {value.class_name()}. Use it "
            "as it is."
        )
    return as_fixed_embedder(value)


def _name(embedder: Embedder) -> dict[str, str]:
    return {"name": embedder.name}


EmbedderField = Annotated[
    Any,
    BeforeValidator(_read_embedder),
    PlainSerializer(_name),
    WithJsonSchema({"type": "object"}),
]


class StructragEmbedding(BaseEmbedding):
    """A structrag embedder for everything in LlamaIndex that takes an embedding model.

    Example:
        >>> def lengths(texts):  # or structrag.minilm()
        ...     return [[len(text), 1.0] for text in texts]
        >>> embed_model = StructragEmbedding(lengths)
        >>> embed_model.get_query_embedding("cats")
        [4.0, 1.0]

    Texts are embedded in batches of `embed_batch_size`, and the vectors are checked. Asynchronous
    calls use the embedder's own; a function or a sentence-transformers model runs in a worker
    thread. `to_dict`, and thus the cache of an ingestion pipeline, identifies the embedder by its
    name, which is also `model_name`; pass it again to `from_dict`. It can be pickled if the
    embedder can. The node parsers and retrievers of llama_index_structrag use the embedder inside
    directly, with its windows, and do their own batching and counting; callbacks, `rate_limiter`
    and `embeddings_cache` apply only to callers of this model.

    Raises:
        InvalidParameter: none of what `embedder` may be; None and LSA, whose vectors change with
            the documents; a `model_name` that is not the embedder's. Pydantic gives it as a
            ValidationError, a ValueError, with the same sentence.
        InvalidAnswer: from the methods, if the embedder does not return one vector per text, or
            returns NaN.
    """

    embedder: EmbedderField = Field(
        description="structrag.minilm(), a StaticEmbedder, the name or folder of a "
        "sentence-transformers model on this machine, a SentenceTransformer, a function from a "
        "list of texts to an array, or any other embedder of structrag that is not fitted to its "
        "corpus."
    )
    embed_batch_size: int = Field(
        default=64,
        gt=0,
        le=2048,
        description="The largest number of texts in one call of the embedder.",
    )

    def __init__(self, embedder: Any, **options: Any) -> None:
        check_arguments(type(self).__name__, options, type(self).model_fields)
        super().__init__(**{"embedder": embedder, **options})

    @model_validator(mode="after")
    def _take_its_name(self) -> Self:
        if (
            "model_name" in self.model_fields_set
            and self.model_name != self.embedder.name
        ):
            raise InvalidParameter(
                f"model_name must be the embedder's own name or left out; got {self.model_name!r} "
                f"for {self.embedder.name!r}. To rename an embedder, use its own name=..."
            )
        self.model_name: str = self.embedder.name
        return self

    @classmethod
    def class_name(cls) -> str:
        return "StructragEmbedding"

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._lists(self.embedder.embed(texts), texts)

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._lists(await acall(self.embedder, "embed", texts), texts)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return (await self._aget_text_embeddings([text]))[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._lists(self.embedder.embed([query], query=True), [query])[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        vectors = await acall(self.embedder, "embed", [query], query=True)
        return self._lists(vectors, [query])[0]

    def _lists(self, answer: Any, texts: Sequence[str]) -> list[list[float]]:
        vectors = check_vectors(answer, texts, f"embedder {self.embedder.name!r}")
        return vectors.tolist()  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        if "embedder" not in state["__dict__"]:
            raise InvalidParameter(
                "embedder must be picklable when num_workers > 1, such as a module-level "
                f"function; got {self.model_name!r}."
            )
        return state
