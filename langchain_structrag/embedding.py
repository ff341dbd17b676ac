"""structrag's embedders as LangChain embeddings."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from langchain_core.embeddings import Embeddings

from structrag.model_calls.cache import Cache
from structrag.model_calls.flow import ask
from structrag.model_calls.requests import Embed, Embedder, Flow
from structrag.model_calls.runner import Runner
from structrag.model_calls.settings import CallSettings
from structrag.model_calls.usage import Usage
from structrag.models.embedders import as_fixed_embedder
from structrag.text.arrays import Array


class StructragEmbeddings(Embeddings):
    """A structrag embedder for everything in LangChain that takes `Embeddings`.

    Example:
        >>> def lengths(texts):  # or structrag.minilm()
        ...     return [[len(text), 1.0] for text in texts]
        >>> embeddings = StructragEmbeddings(lengths)
        >>> embeddings.embed_query("cats")
        [4.0, 1.0]

    Equal texts are embedded once per call, and the vectors are checked. Asynchronous calls use the
    embedder's own; a function or a sentence-transformers model runs in a worker thread. It can be
    pickled if the embedder can. The splitters and retrievers of langchain_structrag use the
    embedder inside directly, with its windows, and do their own batching and counting.

    Args:
        embedder: `structrag.minilm()`, a `StaticEmbedder`, the name or folder of a
            sentence-transformers model on this machine, a SentenceTransformer, a function
            `list[str] -> array`, or any other embedder of structrag that is not fitted to its
            corpus.
        batch_size: The largest number of texts in one call of the embedder.
        cache: A structrag `Cache` or its path: cached documents cost nothing. None: no cache.

    Raises:
        InvalidParameter: `embedder` is none of these, or it is None or LSA, whose vectors change
            with the documents.
        InvalidAnswer: from the methods, if the embedder does not return one vector per text, or
            returns NaN.
    """

    def __init__(
        self,
        embedder: Any,
        *,
        batch_size: int = 64,
        cache: Cache | str | os.PathLike[str] | None = None,
    ) -> None:
        self.embedder: Embedder = as_fixed_embedder(embedder)
        self._runner = Runner(
            embedder=self.embedder,
            call_settings=CallSettings(cache=cache, batch_size=batch_size),
        )

    @property
    def model_name(self) -> str:
        """The embedder's name."""
        return self.embedder.name

    @property
    def usage(self) -> Usage:
        """The cost of these embeddings so far: texts, their estimated tokens, and cache hits."""
        return self._runner.usage

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector per text; [] for no texts."""
        return _lists(self._runner.run(_flow(texts)))

    def embed_query(self, text: str) -> list[float]:
        """The query's vector, with the model's query prompt, if any."""
        return _lists(self._runner.run(_flow([text], query=True)))[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """`embed_documents` by the embedder's asynchronous call."""
        return _lists(await self._runner.arun(_flow(texts)))

    async def aembed_query(self, text: str) -> list[float]:
        """`embed_query` by the embedder's asynchronous call."""
        return _lists(await self._runner.arun(_flow([text], query=True)))[0]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model_name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        cache = None if self._runner.cache is None else self._runner.cache.path
        make = partial(
            type(self), batch_size=self._runner.call_settings.batch_size, cache=cache
        )
        return make, (self.embedder,)


def _flow(texts: list[str], *, query: bool = False) -> Flow[Array]:
    vectors = yield from ask(Embed(tuple(texts), query=query))
    return vectors  # type: ignore[no-any-return]


def _lists(vectors: Array) -> list[list[float]]:
    return vectors.tolist()  # type: ignore[no-any-return]
