"""Models and embedders that fail in every way: an error of ours, and no document half there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random
from typing import Any

import numpy as np
from doubles import HashEmbedder

from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.chunks.pic.splitter import PICSplitter
from structrag.errors import StructragError
from structrag.formatting.formatter import HiQAFormatter
from structrag.index.index import Index
from structrag.retrieval.d3.index import D3Index
from structrag.retrieval.d3.retriever import D3Retriever
from structrag.retrieval.hiqa.retriever import HiQARetriever
from structrag.retrieval.multihop.agents import SelfAsk
from structrag.retrieval.multiview import MultiViewRetriever
from torture.indexes import answers, document, documents, index_of, searches
from torture.promise import Promise, random_of

LIMIT = 0.05  # seconds that a hanging model is waited for
LATE = 20.0  # seconds after which a hanging model has held everything up


def _raises(error: BaseException) -> Callable[..., Any]:
    def fault(*_: Any) -> Any:
        raise error

    return fault


def _hangs(*_: Any) -> Any:
    time.sleep(LATE)


RAISED = (
    *(RuntimeError("out of memory"), OSError(28, "No space left"), KeyError("choices")),
    *(
        TimeoutError(),
        ValueError("\ud800"),
        RecursionError("deep"),
        ZeroDivisionError("x"),
    ),
    *(
        asyncio.TimeoutError(),
        StopIteration(3),
        UnicodeDecodeError("utf-8", b"x", 0, 1, "y"),
    ),
    *(MemoryError(), AttributeError("no"), IndexError(1), AssertionError(), EOFError()),
)
# What no prompt can be answered by.
UNUSABLE: tuple[Callable[[str], Any], ...] = (
    *(_raises(error) for error in RAISED),
    *(
        lambda prompt, answer=answer: answer
        for answer in (None, 7, b"bytes", ["a"], {"a": 1})
    ),
    *(
        lambda prompt, answer=answer: answer
        for answer in (object(), 1.5, float("nan"), True)
    ),
)
# What may be an answer: it is taken or not, and breaks nothing.
ODD: tuple[Callable[[str], Any], ...] = tuple(
    lambda prompt, answer=answer: answer
    for answer in (
        *(
            "",
            " ",
            "\n\n",
            "\x00",
            "\ud800",
            "word " * 20_000,
            "x" * 100_000,
            "[" * 50_000,
        ),
        *(
            '{"summary": ' * 5_000,
            "{}",
            "null",
            "[]",
            '{"summary": null, "keywords": {"a": [1]}}',
        ),
        *(
            '{"summary": 5, "keywords": "x"}',
            '{"summary": "\\ud800", "keywords": [null]}',
            "NaN",
        ),
        *(
            "1" * 5_000,
            "-1",
            "1e999",
            "§" * 999,
            "<html>",
            "I cannot help with that.",
            "```\n",
        ),
        *(
            '{"keywords": ["' + "k" * 100_000 + '"], "summary": "s"}',
            "Final Answer:",
            "Follow up: ",
        ),
        *(
            "Follow up: the same?",
            "d0#0, d0#1, d99#7",
            "[1, 2, 99999999999999999999]",
            "\u202e",
        ),
    )
)
ECHOES: tuple[Callable[[str], Any], ...] = (
    str,
    lambda prompt: prompt * 3,
    str.swapcase,
)

BAD_VECTORS: tuple[Callable[[Any, Sequence[str]], Any], ...] = (
    *(_raises(error) for error in RAISED),
    lambda right, texts: np.full_like(right, np.nan),
    lambda right, texts: np.full_like(right, np.inf),
    lambda right, texts: np.full(right.shape, 1e300),
    lambda right, texts: right[:-1],
    lambda right, texts: np.concatenate([right, right[:1]]),
    lambda right, texts: right[:, :-1],
    lambda right, texts: right[:, :0],
    lambda right, texts: right[0],
    lambda right, texts: right[None],
    lambda right, texts: None,
    lambda right, texts: "vectors",
    lambda right, texts: [None for _ in texts],
    lambda right, texts: [["a"] for _ in texts],
    lambda right, texts: [[1.0] * (1 + i % 2) for i, _ in enumerate(texts)],
    lambda right, texts: dict(zip(texts, right, strict=True)),
    lambda right, texts: [{} for _ in texts],
    lambda right, texts: object(),
    lambda right, texts: 3.0,
    lambda right, texts: [],
    lambda right, texts: [[1 + 2j] * right.shape[1] for _ in texts],
    lambda right, texts: [[10**400] * right.shape[1] for _ in texts],
)
ODD_VECTORS: tuple[Callable[[Any, Sequence[str]], Any], ...] = (
    lambda right, texts: np.zeros_like(right),
    lambda right, texts: right.astype(int),
    lambda right, texts: right * 1e30,
    lambda right, texts: right * 1e-40,
    lambda right, texts: -right,
    lambda right, texts: right.tolist(),
    lambda right, texts: np.asfortranarray(right.astype(np.float16)),
)


class Faulty:
    """A language model that answers well until it is given a fault, then at times by that."""

    name = "faulty"

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.fault: Callable[[str], Any] | None = None
        self.every = rng.choice((1, 1, 2, 3))
        self.calls = 0

    def complete(self, prompt: str) -> Any:
        self.calls += 1
        if self.fault is not None and self.calls % self.every == 0:
            return self.fault(prompt)
        return (
            f'{{"summary": "Of {len(prompt)} letters.", "keywords": ["pump", "valve"]}}'
        )


class FaultyEmbedder(HashEmbedder):
    """Hashed words, until it is given a fault."""

    fault: Callable[[Any, Sequence[str]], Any] | None = None
    every = 1
    calls = 0

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        self.calls += 1
        right = super().embed(texts, query=query)
        if self.fault is not None and self.calls % self.every == 0:
            return self.fault(right, texts)
        return right

    async def aembed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        if self.fault is _hangs:
            await asyncio.sleep(LATE)
        return self.embed(texts, query=query)


def _do(rng: Random, plain: Callable[[], Any], awaited: Callable[[], Any]) -> Any:
    """One of the two ways to do the same."""
    return plain() if rng.random() < 0.5 else asyncio.run(awaited())


def _splitter(rng: Random) -> Any:
    return rng.choice(
        (None, None, PICSplitter(min_tokens=5), IDMSSplitter(margin="llm"))
    )


def check_index(rng: Random) -> None:
    """Adding with a fault: all is whole; then without it, and all is as if it had never been."""
    model, embedder = Faulty(rng), FaultyEmbedder(16)
    embedder.every = rng.choice((1, 1, 2, 3))
    splitter = _splitter(rng)
    index = Index(
        embedder=embedder, llm=model, splitter=splitter, batch_size=rng.choice((2, 64))
    )
    index.add(documents(range(3)))
    before = {doc: index.chunks(doc) for doc in index.document_ids}
    seen = searches(index)
    changed = [document(0, version=1), *documents((3, 4))]
    lasting = _give_fault(rng, model, embedder)
    try:
        _do(rng, lambda: index.add(changed), lambda: index.aadd(changed))
        refused = False
    except StructragError:
        refused = True
    with suppress(StructragError):
        _do(rng, lambda: index.search("pump"), lambda: index.asearch("pump"))
    model.fault = embedder.fault = None
    for doc in ("d1", "d2"):
        assert index.chunks(doc) == before[doc], (
            "a document that nobody named has changed"
        )
    check_whole(index, {"d0": [document(0), document(0, 1)], "d3": [document(3)]})
    if (
        refused
        and set(index.document_ids) == set(before)
        and index.chunks("d0") == before["d0"]
    ):
        assert searches(index) == seen, "a failed add changed what is found"
    index.add(changed)
    check_whole(
        index, {"d0": [document(0, 1)], "d3": [document(3)], "d4": [document(4)]}
    )
    assert set(index.document_ids) == {"d0", "d1", "d2", "d3", "d4"}
    searches(index)
    if not lasting:
        fresh = Index(embedder=FaultyEmbedder(16), llm=Faulty(rng), splitter=splitter)
        contents = {d.id: d for d in [*documents(range(3)), *changed]}
        fresh.add([contents[name] for name in index.document_ids])
        assert answers(index) == answers(fresh), "the fault has left something"


def _give_fault(rng: Random, model: Faulty, embedder: FaultyEmbedder) -> bool:
    """Make one of them or both faulty. True: what comes may be taken for an answer, and stay."""
    which = rng.randrange(5)
    if which <= 1:
        model.fault = rng.choice(UNUSABLE)
    elif which <= 3:
        embedder.fault = rng.choice(BAD_VECTORS)
    if which in (1, 4):
        embedder.fault = rng.choice(ODD_VECTORS)
    if which in (3, 4):
        model.fault = rng.choice((*ODD, *ECHOES))
    return which in (1, 3, 4)


def check_whole(index: Index, versions: dict[str, list[Any]]) -> None:
    """Each document that is there is the whole of one of its versions."""
    for doc, choices in versions.items():
        if doc in index.document_ids:
            text = "".join(chunk.text for chunk in index.chunks(doc))
            assert text in [version.text for version in choices], f"{doc} is not whole"


def check_retrievers(rng: Random) -> None:
    """Retrievers that ask models: hits, or an error of ours."""
    model, embedder = Faulty(rng), FaultyEmbedder(16)
    contents = documents(range(3))
    kind = rng.randrange(5)
    retriever: Any
    if kind <= 1:
        d3 = D3Index(embedder=embedder, llm=model)
        d3.add(contents)
        retriever = D3Retriever(d3, llm=model)
    elif kind == 2:
        retriever = HiQARetriever(index_of(contents))
    else:
        index = Index(embedder=embedder)
        index.add(contents)
        retriever = MultiViewRetriever(index)
    _give_fault(rng, model, embedder)
    try:
        if kind in (0, 4):
            agent = SelfAsk(retriever, llm=model)
            _do(
                rng,
                lambda: agent.answer("Which pump?"),
                lambda: agent.aanswer("Which pump?"),
            )
        else:
            hits = _do(
                rng,
                lambda: retriever.search("Which pump?"),
                lambda: retriever.asearch("Which pump?"),
            )
            texts = {doc.id: doc.text for doc in contents}
            for hit in hits:
                assert (
                    hit.chunk.text
                    == texts[hit.chunk.doc_id][hit.chunk.start : hit.chunk.end]
                )
    except StructragError:
        pass
    model.fault = embedder.fault = None
    retriever.search("Which pump?")


def check_d3(rng: Random) -> None:
    """Adding to three levels with a fault: in all or in none."""
    model, embedder = Faulty(rng), FaultyEmbedder(16)
    index = D3Index(embedder=embedder, llm=model, whole_tokens=10)
    index.add(documents(range(2)))
    _give_fault(rng, model, embedder)
    try:
        more = documents(range(1, 4), version=1)
        _do(rng, lambda: index.add(more), lambda: index.aadd(more))
    except StructragError:
        pass
    model.fault = embedder.fault = None
    assert "d0" in index.document_ids
    D3Retriever(index, k=3).search("Which pump?")
    index.add(documents(range(1, 4), version=1))
    assert set(index.document_ids) == {"d0", "d1", "d2", "d3"}
    assert D3Retriever(index, k=3).search("Which pump?")


def check_formatter(rng: Random) -> None:
    """Formatting with a fault: a document, or an error of ours."""
    model = Faulty(rng)
    model.fault = rng.choice(rng.choice((UNUSABLE, ODD, ECHOES)))
    source = document(1).text.replace("#", "").strip()
    try:
        formatter = HiQAFormatter(model)
        formatted = _do(
            rng, lambda: formatter.format(source), lambda: formatter.aformat(source)
        )
    except StructragError:
        return
    words = set(source.split())
    assert (
        words <= set(formatted.document.text.split()) or model.fault not in UNUSABLE
    ), "words are lost"


def check_hanging(rng: Random) -> None:
    """A model that never answers is given up in time, and takes nothing along."""
    model, embedder = Faulty(rng), FaultyEmbedder(16)
    index = Index(embedder=embedder, llm=model, timeout=LIMIT)
    index.add(documents(range(2)))
    chunks = index.chunks()
    if rng.random() < 0.5:
        model.fault = _hangs
    else:
        embedder.fault = _hangs
    began = time.monotonic()
    more = documents((2,))
    try:
        _do(rng, lambda: index.add(more), lambda: index.aadd(more))
    except StructragError:
        assert index.chunks() == chunks
    assert time.monotonic() - began < LATE / 2, "a hanging model holds everything up"
    model.fault = embedder.fault = None
    index.add(more)
    assert set(index.document_ids) == {"d0", "d1", "d2"}
    searches(index)


CHECKS = (
    *(check_index, check_index, check_index, check_retrievers, check_retrievers),
    *(check_d3, check_formatter, check_hanging),
)


def case(number: int) -> None:
    """One fault, in one place."""
    CHECKS[number % len(CHECKS)](random_of("models", number))


PROMISE = Promise(
    "models",
    "models that raise, hang, lie or answer anything: an error of ours, documents whole",
    case,
    cases=8_000,
    short=64,
    share=4,
)
