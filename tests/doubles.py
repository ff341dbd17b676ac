"""Models and stores that stand in for real ones: deterministic, counting what they are asked."""

from __future__ import annotations

import asyncio
import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from structrag import Cache, ContentAwareSplitter, Index
from structrag.index.entries import Entry
from structrag.model_calls.requests import Ranking, Search, TokenVectors
from structrag.model_calls.runner import Runner


def by_words(text: str) -> int:
    """A token counter for tests that assert where texts are cut: 1.3 tokens a word, rounded up."""
    return -(-13 * len(text.split()) // 10)


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
        return np.array(
            [self.vector(text) for text in texts], dtype=np.float32
        ).reshape(len(texts), self.dimensions)

    async def aembed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        return self.embed(texts, query=query)

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def vector(self, text: str) -> np.ndarray:
        vector = np.zeros(self.dimensions)
        for word in re.findall(r"\w+", text.casefold()):
            vector[
                int.from_bytes(sha256(word.encode()).digest()[:4], "big")
                % self.dimensions
            ] += 1
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
                    self.entries[chunk.id, view] = [
                        np.asarray(given.matrix)[row] for row in rows
                    ]
                else:
                    self.entries[chunk.id, view] = [self.model.vector(text)]
                if "put" in self.fails:
                    raise OSError("the disk is full")

    def delete(self, doc_id: str, entry_keys: Sequence[tuple[str, str]]) -> None:
        self.calls.append(f"delete {len(entry_keys)}")
        if "delete" in self.fails:
            raise OSError("no connection")
        for key in entry_keys:
            self.entries.pop(key, None)

    def search(self, request: Search) -> Ranking:
        view = request.route.partition(":")[2]
        if not request.query.strip():
            return []
        vector = (
            self.model.vector(request.query)
            if request.vector is None
            else request.vector
        )
        scored: Ranking = [
            (chunk_id, max(float(v @ vector) for v in vectors))
            for (chunk_id, name), vectors in self.entries.items()
            if name == view
        ]
        return sorted(scored, key=lambda item: -round(item[1], 6))[: request.n]

    async def asearch(self, request: Search) -> Ranking:
        return self.search(request)


class Weigher(ScriptedModel):
    """Weighs two options by a function of the prompt; what it returns is for "2", keep."""

    def __init__(
        self, weigh: Callable[[str], float | None], script: Any = "no idea"
    ) -> None:
        super().__init__(script)
        self.weigh = weigh

    def choose(self, prompt: str, options: tuple[str, str]) -> float | None:
        self.prompts.append(prompt)
        margin = self.weigh(prompt)
        return margin if margin is None or options == ("2", "1") else -margin

    async def achoose(self, prompt: str, options: tuple[str, str]) -> float | None:
        return self.choose(prompt, options)


class Similarities:
    """Vectors at the given cosines to (1, 0), by the number in a sentence; without one, (1, 0)."""

    name = "similarities"

    def __init__(self, values: list[float]) -> None:
        self.values = values

    def embed(self, sentences: list[str], *, query: bool = False) -> np.ndarray:
        digits = ["".join(filter(str.isdigit, sentence)) for sentence in sentences]
        found = [self.values[int(number)] if number else 1.0 for number in digits]
        return np.array(
            [[value, math.sqrt(max(0.0, 1 - value * value))] for value in found]
        )

    async def aembed(self, sentences: list[str], *, query: bool = False) -> np.ndarray:
        return self.embed(sentences, query=query)


REFUSAL = "I'm sorry, but I cannot help with that."


class Reluctant:
    """Fails for every prompt that holds `word` the first `times` times; else answers by a function
    of the prompt. With `refuses` it answers those prompts with a refusal."""

    def __init__(
        self, answer: Any, word: str = "", times: int = 1, *, refuses: bool = False
    ) -> None:
        self.refuses = refuses
        self.asked: Counter[str] = Counter()
        self.model = ScriptedModel(self._answer)
        self.answer, self.word, self.times = answer, word, times

    def _answer(self, prompt: str) -> str:
        self.asked[prompt] += 1
        if self.word in prompt and self.asked[prompt] <= self.times:
            if self.refuses:
                return REFUSAL
            raise TimeoutError("too slow")
        return self.answer(prompt) if callable(self.answer) else self.answer

    @property
    def calls(self) -> int:
        return sum(self.asked.values())


def reluctant_index(llm: Reluctant, cache: Cache | None) -> Index:
    return Index(
        embedder=HashEmbedder(),
        llm=llm.model,
        cache=cache,
        splitter=ContentAwareSplitter(max_tokens=None),
    )


class HashTokens(HashEmbedder):
    """Each word is a token whose vector is its own; those beside it have a small part in it."""

    def __init__(self, dimensions: int = 32, name: str = "hash tokens") -> None:
        super().__init__(dimensions, name)
        self.passes: list[tuple[str, ...]] = []  # the texts of each call

    def embed_tokens(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[TokenVectors]:
        self.passes.append(tuple(texts))
        return [self._tokens(text) for text in texts]

    def _tokens(self, text: str) -> TokenVectors:
        words = list(re.finditer(r"\w+", text))
        ids = np.array([self._id(word.group()) for word in words], dtype=np.int32)
        spans = np.array([word.span() for word in words], dtype=np.int32).reshape(-1, 2)
        plain = np.array([self._vector(i) for i in ids]).reshape(-1, self.dimensions)
        vectors = plain.copy()
        vectors[1:] += 0.1 * plain[:-1]
        mean = vectors.mean(axis=0) if len(words) else np.zeros(self.dimensions)
        return TokenVectors(
            ids, spans, vectors.astype(np.float32), mean.astype(np.float32)
        )

    def _id(self, word: str) -> int:
        return int.from_bytes(sha256(word.casefold().encode()).digest()[:3], "big")

    def _vector(self, seed: int) -> np.ndarray:
        return np.random.default_rng(seed).normal(size=self.dimensions)


def split_twice(split: Any, llm: Reluctant, cache: Cache) -> list[tuple[int, Any]]:
    """Calls made and result, of three runs with one cache."""
    found = []
    for _ in range(3):
        before = llm.calls
        result = split(Runner(llm=llm.model, embedder=HashEmbedder(), cache=cache))
        found.append((llm.calls - before, result))
    return found
