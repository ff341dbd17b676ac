"""Stores in each engine, for tests that hold for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from structrag.index.document_index import open_store
from structrag.index.engine import EngineStore
from structrag.index.snapshot import Settings

PACKAGES = {"lancedb": ("lancedb",), "milvus": ("pymilvus", "milvus_lite")}
ENGINES = tuple(PACKAGES)


@contextmanager
def address_in(engine: str, folder: Path) -> Iterator[str]:
    """The address of a store of an engine in a folder."""
    for package in PACKAGES[engine]:
        pytest.importorskip(package, reason=f"the extra {engine!r} is not installed")
    if engine == "lancedb":
        yield f"lancedb:{folder / 'corpus'}"
        return
    file = str(folder / "corpus.db")
    yield f"milvus:{file}"
    stop_milvus(file)


def stop_milvus(file: str) -> None:
    """End what serves a file of Milvus Lite in this process."""
    from milvus_lite.server_manager import server_manager_instance

    server_manager_instance.release_server(file)


def opened(
    address: str, settings: Settings | None = None, **config: Any
) -> EngineStore:
    store = open_store(address, settings, config)
    assert isinstance(store, EngineStore)
    return store
