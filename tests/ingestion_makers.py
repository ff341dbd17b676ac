"""Functions that make retrievers in the processes of an ingestion."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from doubles import HashEmbedder, HashTokens
from ingestion_making import wait_for

from structrag import (
    ContentAwareSplitter,
    D3Index,
    EvidenceRetriever,
    FixedSplitter,
    Index,
    MultiViewRetriever,
)
from structrag.errors import ModelFailed
from structrag.records import Chunk, Document


def index() -> Index:
    return Index(embedder=HashEmbedder())


def lsa_index() -> Index:
    return Index()


def evidence() -> EvidenceRetriever:
    return EvidenceRetriever(HashTokens())


def d3() -> D3Index:
    return D3Index(embedder=HashEmbedder())


def multiview() -> MultiViewRetriever:
    return MultiViewRetriever(index())


def number() -> int:
    return 7


def raising() -> Index:
    raise OSError("no weights here")


def dying() -> Index:
    os.kill(os.getpid(), signal.SIGKILL)
    return index()


class Moody(FixedSplitter):
    """Dies, sleeps or raises where a text tells it to."""

    def split(self, document: Document) -> list[Chunk]:
        if "KILL" in document.text:
            os.kill(os.getpid(), signal.SIGKILL)
        if "SLEEP" in document.text:
            time.sleep(60)
        if "RAISE" in document.text:
            raise ZeroDivisionError("a fault of ours")
        return super().split(document)


def moody() -> Index:
    return Index(embedder=HashEmbedder(), splitter=Moody())


class Broken(HashEmbedder):
    """An embedder that refuses texts, and whose server goes down with one."""

    def __init__(self, log: str | None = None) -> None:
        super().__init__()
        self.log = log  # a file that gets a letter a call
        self.is_down = False
        self.calls = 0

    def embed(self, texts, **options):  # type: ignore[no-untyped-def]
        self.calls += 1
        if self.log is not None:
            with open(self.log, "a") as file:
                file.write("x")
        if not self.is_down and any("REFUSED" in text for text in texts):
            raise ValueError("not this text")
        self.is_down = self.is_down or any("DOWN" in text for text in texts)
        if self.is_down:
            raise ConnectionError("no server")
        return super().embed(texts, **options)


def broken(log: str | None = None) -> Index:
    return Index(embedder=Broken(log))


def broken_for(method: str, embedder: str, max_tokens: int) -> Index:
    """What the command `index` makes, with that embedder."""
    return Index(
        embedder=Broken(), splitter=ContentAwareSplitter(max_tokens=max_tokens)
    )


class TooMany(ModelFailed):
    """An error of a model's own kind, which cannot be sent as it is."""

    def __init__(self, calls: int, limit: int) -> None:
        super().__init__(f"{calls} calls of {limit}")


class Slow(FixedSplitter):
    """Takes its time, so that a test can end what is at work."""

    def split(self, document: Document) -> list[Chunk]:
        time.sleep(0.05)
        return super().split(document)


def slow() -> Index:
    return Index(embedder=HashEmbedder(), splitter=Slow())


class Together(HashEmbedder):
    """Answers when another process asks too, as files in a folder tell."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.folder = Path(folder)

    def embed(self, texts, **options):  # type: ignore[no-untyped-def]
        (self.folder / str(os.getpid())).touch()
        wait_for(lambda: len(list(self.folder.iterdir())) == 2, seconds=20)
        return super().embed(texts, **options)


def gather(folder: str) -> Index:
    return Index(embedder=Together(folder))


def index_with(embedder: object) -> Index:
    return Index(embedder=embedder)


class Mortal(HashEmbedder):
    """An embedder whose process dies with a text, unless a file says that one has."""

    def __init__(self, log: str = "") -> None:
        super().__init__()
        self.log = log

    def embed(self, texts, **options):  # type: ignore[no-untyped-def]
        if any("KILL" in text for text in texts) and not os.path.exists(self.log):
            if self.log:
                open(self.log, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().embed(texts, **options)
