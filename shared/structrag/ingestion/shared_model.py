"""One model for all processes: the driver's. It embeds what workers ask for. On an accelerator one
process with large batches is fastest. Workers read and split meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrag.errors import InvalidParameter
from structrag.model_calls.requests import TokenVectors
from structrag.models.embedders import as_embedder
from structrag.models.token_vectors import as_token_encoder

BATCH_SIZE = 1024  # texts that a worker asks for at once
_COUNTS_KEPT = 1 << 16  # texts whose tokens a worker need not ask for again


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What workers know of the driver's model."""

    name: str
    max_tokens: int | None
    counts_tokens: bool
    gives_tokens: bool
    # Counts as the model does; None: it is asked.
    counter: Callable[[str], int] | None = None


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a worker asks the driver's model."""

    method: str  # "embed", "embed_tokens" or "count_tokens"
    texts: tuple[str, ...]
    query: bool = False


@dataclass(frozen=True, slots=True)
class ModelReply:
    """The model's answer, or how it failed."""

    values: Any = None
    failure: str | None = None


class RemoteEmbedder:
    """The driver's model, as a worker has it."""

    def __init__(
        self, facts: ModelFacts, ask: Callable[[ModelRequest], ModelReply]
    ) -> None:
        self.name: str = facts.name
        self.max_tokens: int | None = facts.max_tokens
        self.gives_tokens: bool = facts.gives_tokens
        self._ask = ask
        if facts.counts_tokens:
            counter = facts.counter or self._count_tokens
            self.count_tokens: Callable[[str], int] = lru_cache(_COUNTS_KEPT)(counter)

    def embed(
        self, texts: Sequence[str], *, query: bool = False
    ) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = self._asked(
            ModelRequest("embed", tuple(texts), query)
        )
        return vectors

    def embed_tokens(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[TokenVectors]:
        tokens: list[TokenVectors] = self._asked(
            ModelRequest("embed_tokens", tuple(texts), query)
        )
        return tokens

    def _count_tokens(self, text: str) -> int:
        (count,) = self._asked(ModelRequest("count_tokens", (text,)))
        return int(count)

    def _asked(self, asked: ModelRequest) -> Any:
        answer = self._ask(asked)
        if answer.failure is not None:
            raise RuntimeError(answer.failure)
        return answer.values


class ModelServer:
    """Answers workers by a thread of the driver.

    Those that wait together are answered in one call.

    Raises:
        InvalidParameter: the embedding depends on all documents, as LSA does.
    """

    def __init__(self, embedding: Any) -> None:
        self.embedder: Any = as_embedder(embedding)
        if hasattr(self.embedder, "fit"):
            raise InvalidParameter(
                "shared_model needs an embedding that is a model; LSA is fitted to all documents, "
                "and needs no process of its own. Leave shared_model out."
            )
        self.facts: ModelFacts = ModelFacts(
            name=self.embedder.name,
            max_tokens=getattr(self.embedder, "max_tokens", None),
            counts_tokens=callable(getattr(self.embedder, "count_tokens", None)),
            gives_tokens=as_token_encoder(self.embedder) is not None,
            counter=_counter_of(self.embedder),
        )
        # (what is asked, who is to be told)
        self.asked: SimpleQueue[
            tuple[ModelRequest, Callable[[ModelReply], None]] | None
        ] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self) -> ModelServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the thread when it has answered what it is at."""
        self.asked.put(None)
        self._thread.join()

    def _serve(self) -> None:
        while True:
            together = [self.asked.get()]
            while True:
                try:
                    together.append(self.asked.get_nowait())
                except Empty:
                    break
            by_kind: dict[tuple[str, bool], list[Any]] = {}
            for item in together:
                if item is None:
                    return
                by_kind.setdefault((item[0].method, item[0].query), []).append(item)
            for (method, query), items in by_kind.items():
                self._answer(method, query, items)

    def _answer(self, method: str, query: bool, items: Sequence[Any]) -> None:
        texts = [text for asked, _ in items for text in asked.texts]
        try:
            if method == "count_tokens":
                values: Any = [self.embedder.count_tokens(text) for text in texts]
            else:
                values = getattr(self.embedder, method)(texts, query=query)
            if len(values) != len(texts):
                raise ValueError(f"{len(values)} answers for {len(texts)} texts")
        except Exception as error:  # noqa: BLE001 - the worker raises it as its model's
            if len(items) > 1:  # one worker's text must not be another's failure
                for item in items:
                    self._answer(method, query, [item])
                return
            _, tell = items[0]
            tell(ModelReply(failure=f"{type(error).__name__}: {error}"))
            return
        first = 0
        for asked, tell in items:
            tell(ModelReply(values[first : first + len(asked.texts)]))
            first += len(asked.texts)


def _counter_of(embedder: Any) -> Callable[[str], int] | None:
    """What workers count tokens with, without asking the model."""
    make = getattr(embedder, "token_counter", None)
    counter: Callable[[str], int] | None = make() if callable(make) else None
    return counter
