"""Functions that make retrievers in the processes of an ingestion."""

from __future__ import annotations

import os
import signal
import time

from doubles import HashEmbedder, HashTokens

from structrag import EvidenceRetriever, FixedSplitter, Index, MultiViewRetriever
from structrag.records import Chunk, Document


def index() -> Index:
    return Index(embedder=HashEmbedder())


def lsa_index() -> Index:
    return Index()


def evidence() -> EvidenceRetriever:
    return EvidenceRetriever(HashTokens())


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
    """An embedder whose server is down for texts about one thing."""

    def embed(self, texts, **options):  # type: ignore[no-untyped-def]
        if any("DOWN" in text for text in texts):
            raise ConnectionError("no server")
        return super().embed(texts, **options)


def broken() -> Index:
    return Index(embedder=Broken())


class Slow(FixedSplitter):
    """Takes its time, so that a test can end what is at work."""

    def split(self, document: Document) -> list[Chunk]:
        time.sleep(0.05)
        return super().split(document)


def slow() -> Index:
    return Index(embedder=HashEmbedder(), splitter=Slow())


def index_with(embedder: object) -> Index:
    return Index(embedder=embedder)
