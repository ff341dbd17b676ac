"""Models and stores that stand in for real ones: deterministic, counting what they are asked."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from structrag.asking.requests import Ranking, Search
from structrag.index.entries import Entry


class HashEmbedder:
    """A hashed bag of words, L2-normalised; a text without a word is the first unit vector."""

    def __init__(
        self, dimensions: int = 64, name: str = "hash", max_tokens: int | None = None
    ) -> None:
        self.dimensions = dimensions
        self.name = name
        self.max_tokens = max_tokens
        self.texts: list[str] = []  # every document text it was given
        self.queries: list[str] = []

    def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        (self.queries if query else self.texts).extend(texts)
        return np.array([self.vector(text) for text in texts], dtype=np.float32).reshape(
            len(texts), self.dimensions
        )

    async def aembed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        return self.embed(texts, query=query)

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def vector(self, text: str) -> np.ndarray:
        vector = np.zeros(self.dimensions)
        for word in re.findall(r"\w+", text.casefold()):
            vector[int.from_bytes(sha256(word.encode()).digest()[:4], "big") % self.dimensions] += 1
        if not vector.any():
            vector[0] = 1
        return vector / np.linalg.norm(vector)


class ScriptedModel:
    """A language model that answers by a script: a string, an exception to raise, or a function of
    the prompt."""

    def __init__(self, script: Any, name: str = "scripted") -> None:
        self.script: str | BaseException | Callable[[str], Any] = script
        self.name = name
        self.prompts: list[str] = []
        self._lock = threading.Lock()

    def complete(self, prompt: str) -> str:
        with self._lock:
            self.prompts.append(prompt)
        if isinstance(self.script, BaseException):
            raise self.script
        return self.script(prompt) if callable(self.script) else self.script

    async def acomplete(self, prompt: str) -> str:
        await asyncio.sleep(0)
        return self.complete(prompt)


class HostStore:
    """A vector store of a host in memory; with `wants_vectors=False` it embeds by itself. `fails`
    names methods that raise."""

    def __init__(self, *, wants_vectors: bool, fails: Sequence[str] = ()) -> None:
        self.wants_vectors = wants_vectors
        self.fails = set(fails)
        self.model = HashEmbedder(name="host")
        self.entries: dict[tuple[str, str], list[np.ndarray]] = {}
        self.calls: list[str] = []

    def put(self, entry: Entry) -> None:
        self.calls.append(f"put {entry.document.id}")
        for view, texts in entry.views.items():
            for i, (chunk, text) in enumerate(zip(entry.chunks, texts, strict=True)):
                if not text:
                    continue
                if self.wants_vectors:
                    given = entry.vectors[view]
                    rows = np.flatnonzero(np.asarray(given.owner) == i)
                    self.entries[chunk.id, view] = [np.asarray(given.matrix)[row] for row in rows]
                else:
                    self.entries[chunk.id, view] = [self.model.vector(text)]
                if "put" in self.fails:
                    raise OSError("the disk is full")

    def delete(self, entry_keys: Sequence[tuple[str, str]]) -> None:
        self.calls.append(f"delete {len(entry_keys)}")
        if "delete" in self.fails:
            raise OSError("no connection")
        for key in entry_keys:
            self.entries.pop(key, None)

    def search(self, request: Search) -> Ranking:
        view = request.route.partition(":")[2]
        if not request.query.strip():
            return []
        vector = self.model.vector(request.query) if request.vector is None else request.vector
        scored: Ranking = [
            (chunk_id, max(float(v @ vector) for v in vectors))
            for (chunk_id, name), vectors in self.entries.items()
            if name == view
        ]
        return sorted(scored, key=lambda item: -round(item[1], 6))[: request.n]

    async def asearch(self, request: Search) -> Ranking:
        return self.search(request)
