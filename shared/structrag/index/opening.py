"""A store by its address: a folder, or an engine's place."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from structrag.errors import InvalidParameter
from structrag.index.corpus import CorpusStore
from structrag.index.engine import absolute_place
from structrag.index.lance import LanceStore
from structrag.index.milvus import MilvusStore
from structrag.index.snapshot import Settings, check_settings
from structrag.index.storage import ENGINES, MANIFEST
from structrag.index.store import Store

Address = str | os.PathLike[str]
_STORES: dict[str, type[LanceStore | MilvusStore]] = dict(
    zip(ENGINES, (LanceStore, MilvusStore), strict=True)
)
# At least two letters: one letter may be a drive.
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):")


def engine_of(address: Address) -> tuple[str, str] | None:
    """The engine that an address names, and the place.

    None for a folder, as a Path is.

    Example:
        >>> engine_of("lancedb:corpus"), engine_of("corpus")
        (('lancedb', 'corpus'), None)
        >>> engine_of("lancedb:corpus?tenant=acme")
        ('lancedb', 'corpus/tenant_acme')

    Raises InvalidParameter for an engine that is not known.
    """
    match = _SCHEME.match(address) if isinstance(address, str) else None
    if match is None:
        return None
    place = match.string[match.end() :]
    if match[1] not in ENGINES or not place:
        engines = ", ".join(f"{name}:PLACE" for name in ENGINES)
        raise InvalidParameter(
            f"store must be a folder or an engine's address ({engines}), such as 'lancedb:corpus' "
            f"or 'milvus:corpus.db'; got {address!r}."
        )
    return match[1], _STORES[match[1]].place_of(place)


def absolute(address: Address) -> Address:
    """An address that means the same place wherever the program works later.

    Raises InvalidParameter for an engine that is not known.
    """
    engine = engine_of(address)
    if engine is None:
        return Path(address).absolute()
    name, place = engine
    return f"{name}:{absolute_place(place)}"


def open_store(
    address: Address,
    settings: Settings | None = None,
    config: Mapping[str, Any] | None = None,
    *,
    verify: bool = False,
) -> CorpusStore:
    """The store at an address, or a new one.

    Where none is, it is made with these settings. A new one in a folder is there when it is first
    saved. Without settings there must be one.

    Args:
        address: A folder; "lancedb:" and a folder or bucket; "milvus:" and a file ".db" or the
            address of a server. Behind it "?tenant=NAME" names a store of its own at that place.
        settings: That it must have. None: those it has.
        config: Of the index, for a new store.
        verify: Whether all bytes of a folder are checked now.

    Raises:
        NoIndex: there is none, and no settings were given.
        IndexDamaged: it is incomplete, altered, not ours or of another release's format.
        InvalidParameter: its settings are others, or the address names no engine that is known.
        ModelFailed: the engine raised; its error is the cause.
        MissingExtra: the engine's package is not installed.
    """
    address = absolute(address)
    engine = engine_of(address)
    if engine is not None:
        name, place = engine
        return _STORES[name].open(place, settings, config)
    if settings is None or (Path(address) / MANIFEST).exists():
        store = Store.load(address, verify=verify)
        if settings is not None:
            check_settings(os.fspath(address), store.settings, settings)
        return store
    store = Store(settings.levels, config=config)
    store.settings = settings
    store.seen.add(address, "")
    return store
