"""The base of all indexes: adds, updates, deletes, saves and loads documents, in a folder or an
engine, by its address. Indexes differ in the levels at which documents are kept and searched."""

from __future__ import annotations

import asyncio
import os
import pickle
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from structrag.errors import IndexDamaged, InvalidParameter, check_ids, warn_user
from structrag.index.add_batch import AddBatch
from structrag.index.corpus import CorpusStore, HostVectors
from structrag.index.engine import absolute_place
from structrag.index.entries import fingerprint
from structrag.index.lance import LanceStore
from structrag.index.milvus import MilvusStore
from structrag.index.snapshot import Settings, check_settings
from structrag.index.storage import ENGINES, MANIFEST
from structrag.index.store import Store
from structrag.model_calls.calling import stores_awaited
from structrag.model_calls.naming import has_name
from structrag.model_calls.requests import Flow, Request
from structrag.model_calls.runner import Runner
from structrag.model_calls.usage import Usage
from structrag.records import Document

if TYPE_CHECKING:
    from typing_extensions import Self


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


T = TypeVar("T")


class Searchable(Protocol):
    """A level of a store as it is searched, such as `SearchedLevel`."""

    def reader(self) -> Any:
        """The level as it is now; what its vectors are fitted to is made."""

    def keep_fit(self) -> None:
        """Have the store save what was fitted, if anything."""


Report = TypeVar("Report")
Level = TypeVar("Level", bound=Searchable)


class DocumentIndex(ABC, Generic[Report, Level]):
    """Keeps documents in a store, each whole or not at all.

    Args:
        store: An empty store with the levels and settings of this index.
        runner: The runner of its models.
        address: Where to keep the documents; None: in memory, until `save`.
        host: A host's vector store that replaces the vectors of the first level.
    """

    # Names in the configuration of every saved index of this class.
    SAVED: ClassVar[tuple[str, ...]]
    # Whether an engine can keep the documents.
    FITS_ENGINES: ClassVar[bool] = False

    def __init__(
        self,
        store: Store,
        runner: Runner,
        address: Address | None = None,
        host: HostVectors | None = None,
    ) -> None:
        self.runner = runner
        self.address = None if address is None else absolute(address)
        self.host: HostVectors = host or HostVectors(None, ())
        # level -> document id -> answers of documents with failed calls
        self.kept: dict[str, dict[str, dict[Request, Any]]] = {
            name: {} for name in store.settings.levels
        }
        self.use(store)
        if self.address is not None:
            self.use(self._opened(self.address, store.settings))

    def __getstate__(self) -> dict[str, Any]:
        """For pickle: the place where it is saved as it is, else its data; and its models."""
        kind = type(self).__name__
        for level in self.levels.values():
            level.keep_fit()
        state = {**vars(self), "store": self._place() or self.store}
        del state["levels"]
        try:
            _check_picklable({**state, "store": None})
        except Exception as error:
            raise InvalidParameter(
                f"{kind} cannot be pickled, because one of its models raises "
                f"{type(error).__name__}: {str(error).removesuffix('.')}. Save it, and call "
                f"{kind}.load(path) with the models in the other process."
            ) from error
        return state

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        store = state["store"]
        if not isinstance(store, Store):
            store = open_store(store)
            self._check_saved(state["store"], store.config)
        self.use(store)

    def _place(self) -> Address | None:
        """Return the address that has the current state; None if no address has it."""
        if not isinstance(self.store, Store):
            return self.address
        place, changes = self.store.saved_at or (None, None)
        return place if changes == self.store.changes else None

    def use(self, store: CorpusStore) -> None:
        """Replace the store."""
        self.store = store
        self.levels: Mapping[str, Level] = self._searched(store)

    def _opened(self, address: Address, settings: Settings) -> CorpusStore:
        """The store at an address, with what is there."""
        self._check_address(address)
        if engine_of(address) is not None:
            self._check_for_engine(settings)
        try:
            store = open_store(address, settings, self.config())
        except InvalidParameter:
            # In a message the options that the user passed are clearer than those settings.
            saved = open_store(address).config
            self._check_kind(address, saved)
            self._check_saved(address, saved)
            raise
        if store.config:
            self._check_saved(address, store.config)
        return store

    @classmethod
    def _check_address(cls, address: Address) -> None:
        """Raise InvalidParameter for the place of an engine that cannot keep this index."""
        if engine_of(address) is not None and not cls.FITS_ENGINES:
            raise InvalidParameter(
                f"store must be a folder for {cls.__name__}, which reads all its documents into "
                f"memory; got {os.fspath(address)!r}. Pass a folder, or search the engine with "
                "EvidenceRetriever or MultiViewRetriever, which read only what they find."
            )

    @classmethod
    def _check_kind(cls, address: Address, saved: Mapping[str, Any]) -> None:
        """Raise IndexDamaged for an index that another class has saved."""
        if not set(cls.SAVED) <= saved.keys():
            raise IndexDamaged(
                f"{os.fspath(address)!r} was not saved by {cls.__name__}.save. Open it with the "
                "class that saved it."
            )

    def _check_for_engine(self, settings: Settings) -> None:
        """Refuse settings by which an engine cannot search."""

    # -- what differs

    @abstractmethod
    def _searched(self, store: Any) -> Mapping[str, Level]:
        """The levels of a store that searches compare with vectors; none where the store does."""

    @abstractmethod
    def _preparing(self) -> Callable[..., AddBatch]:
        """Return a function that begins one call of `add`, given documents, store and settings."""

    @abstractmethod
    def _report(self, work: AddBatch) -> Report:
        """Return the report of a call of `add`."""

    @abstractmethod
    def config(self) -> dict[str, Any]:
        """Return the configuration to save: the options, and the names of models and settings."""

    @abstractmethod
    def settings_name(self) -> str:
        """Everything except the document that decides what is indexed, as one string."""

    @abstractmethod
    def _check_saved(self, address: Address, saved: Mapping[str, Any]) -> None:
        """Refuse models and settings that the index at an address was not built with."""

    # -- documents in and out

    @property
    def document_ids(self) -> list[str]:
        """The ids of the documents, in the order in which they were first added."""
        return self.store.document_ids

    @property
    def usage(self) -> Usage:
        """The cost of indexing since this object was created or loaded."""
        return self.runner.usage

    def __len__(self) -> int:
        """The number of chunks, at the first level."""
        return len(self.store)

    def fingerprint(self, document: Document) -> str:
        """Everything that decides a document's entry: the document, every setting and every model
        name."""
        return fingerprint(document, self.settings_name())

    def add(self, documents: Iterable[Document]) -> Report:
        """Add documents, or replace those that changed.

        Documents are added in batches of a few hundred chunks, each document whole.

        Raises:
            InvalidParameter: two documents of one call have the same id, or metadata is not JSON;
                nothing was changed.
            InvalidAnswer: a model returned NaN, or another shape or dimension. That document and
                those prepared with it were not added.
            ModelFailed: a model or the host's store raised (the cause is attached). Documents
                finished before are kept, and cached calls are not repeated. A document that the
                host's store refused is missing, and so is its earlier version.
            BudgetExceeded: `max_calls` is reached.
            SaveFailed: another process has changed the folder of the index since it was opened;
                nothing from this call was stored.
        """
        return self._add(self._adding(documents))

    async def aadd(self, documents: Iterable[Document]) -> Report:
        """`add` on an event loop."""
        return await self._aadd(self._adding(documents))

    def add_flow(self, documents: Iterable[Document]) -> Flow[Report]:
        """`add` as a flow, for an index in memory."""
        return self._add_flow(self._adding(documents))

    def update(self, documents: Iterable[Document]) -> Report:
        """`add` for documents that must already be in the index. If one is missing, it raises
        InvalidParameter and changes nothing."""
        return self._add(self._adding(documents, known_only=True))

    async def aupdate(self, documents: Iterable[Document]) -> Report:
        """`update` on an event loop."""
        return await self._aadd(self._adding(documents, known_only=True))

    def delete(self, doc_id: str | Iterable[str]) -> bool:
        """Remove one or more documents; False if any is missing.

        Each is removed from every level and view, and from the host's store. Raises
        InvalidParameter for anything but ids, before anything is removed.
        """
        names = check_ids("doc_id", doc_id)
        self._check_current()
        try:
            deleted = []  # all, whatever the first says
            for name in names:
                self.host.forget(name, self.store)
                for answers in self.kept.values():
                    answers.pop(name, None)
                deleted.append(self.store.delete(name))
        finally:
            self._save_at_address()
        return all(deleted)

    async def adelete(self, doc_id: str | Iterable[str]) -> bool:
        """`delete` on an event loop."""
        with stores_awaited():
            return await asyncio.to_thread(self.delete, doc_id)

    def _adding(
        self, documents: Iterable[Document], *, known_only: bool = False
    ) -> AddBatch:
        """One call of `add` or `update`, its documents checked."""
        return self._preparing()(
            documents,
            store=self.store,
            host=self.host,
            usage=self.usage,
            settings=self.settings_name(),
            known_only=known_only,
        )

    def _kept(self, level: str) -> dict[str, dict[Request, Any]] | None:
        """The answers kept at a level. None where a cache keeps them, or nobody answers."""
        keeps = self.runner.cache is None and self.runner.llm is not None
        return self.kept[level] if keeps else None

    def _add(self, work: AddBatch) -> Report:
        self._check_current()
        try:
            return self.run(self._add_flow(work))
        finally:
            self._save_at_address()

    async def _aadd(self, work: AddBatch) -> Report:
        await asyncio.to_thread(self._check_current)
        try:
            with stores_awaited():
                return await self.arun(self._add_flow(work))
        finally:
            await asyncio.to_thread(self._save_at_address)

    def _add_flow(self, work: AddBatch) -> Flow[Report]:
        for group in work.groups(self.runner.call_settings.progress):
            work.put((yield from work.flow(group)))
        return self._report(work)

    def run(self, flow: Flow[T]) -> T:
        """Run a flow with this index's models and routes."""
        return self.runner.run(flow)

    async def arun(self, flow: Flow[T]) -> T:
        """`run` on an event loop."""
        return await self.runner.arun(flow)

    # -- in a folder or an engine

    @property
    def own_store(self) -> Store:
        """The store of an index in memory or in a folder. Raises InvalidParameter for an index in
        an engine."""
        if isinstance(self.store, Store):
            return self.store
        raise InvalidParameter(
            "index must keep its documents in memory or in a folder here; this one keeps them in "
            f"{str(self.address)!r}. Use MultiViewRetriever, or another index."
        )

    def warm_up(self) -> None:
        """Prepare what the first search would otherwise prepare. With LSA these are the vectors,
        which `save` then writes; otherwise there is little to do."""
        for level in self.levels.values() or [self.store]:
            level.reader()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a folder, moved into place when complete.

        LSA vectors are written too if a search or `warm_up` has computed them. Raises
        InvalidParameter if the path holds something else, and SaveFailed if the system refuses to
        write, or if another process or object has saved there since this index was opened. The
        earlier save is then unchanged.
        """
        for level in self.levels.values():
            level.keep_fit()
        self.store.save(path, config=self.config())

    def _check_current(self) -> None:
        """Raise SaveFailed, before anything is paid for, if another has changed the folder."""
        if self.address is not None and isinstance(self.store, Store):
            self.store.seen.check(self.address)

    def _save_at_address(self) -> None:
        """Write what has changed to the index's address, if it has one."""
        if self.address is not None:
            self.save(self.address)

    @classmethod
    def _loaded(
        cls, address: Address, verify: bool, options: Mapping[str, Any]
    ) -> Self:
        """The index saved at an address, made of these options and the saved ones."""
        if options.get("store") is not None:
            raise InvalidParameter(
                "store cannot be passed to load: the path already names what to open. Leave it "
                "out."
            )
        cls._check_address(address)
        store = open_store(address, verify=verify)
        cls._check_kind(address, store.config)
        arguments = cls._with_saved(address, store, options)
        if not isinstance(store, Store):
            arguments["store"] = address
        index = cls(**arguments)
        if isinstance(store, Store):
            index._check_saved(address, store.config)
            index.use(store)
        return index

    @classmethod
    def _with_saved(
        cls, address: Address, store: CorpusStore, options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The options of a saved index, and those given for the rest."""
        return dict(options)


def _check_picklable(state: Any) -> None:
    """Raise what pickling raises, by cloudpickle where that is in use."""
    try:
        pickle.dumps(state)
    except Exception:
        if "cloudpickle" not in sys.modules:
            raise
        sys.modules["cloudpickle"].dumps(state)


def check_embedder(
    path: str | os.PathLike[str], config: Mapping[str, Any], name: str
) -> None:
    """Raise InvalidParameter unless `name` is the embedder the index was built with."""
    warn_of_nameless(name)
    if name != config["embedder"] and not has_name(config["embedder"]):
        raise InvalidParameter(
            f"embedder cannot be verified: the index at {os.fspath(path)!r} was built with an "
            "embedder without a name, such as a lambda or an object that holds one. Rebuild the "
            "index with a named one: pass name= to FunctionEmbedder, LangChainEmbedder or "
            "LlamaIndexEmbedder."
        )
    if name != config["embedder"]:
        raise InvalidParameter(
            f"embedder must be the one the index at {os.fspath(path)!r} was built with, "
            f"{config['embedder']!r}; got {name!r}. Pass that one, or build a new index."
        )


def warn_of_nameless(embedder: str) -> None:
    """Warn where the name of an embedder is that of a class, which may hold any model."""
    if embedder.endswith("()"):
        warn_user(
            f"{embedder!r} does not name its model, so a change of model cannot be detected when "
            "the index is opened. Pass name= to LangChainEmbedder or LlamaIndexEmbedder, or give "
            "the class an attribute `model`."
        )


def check_same_config(
    address: Address,
    saved: Mapping[str, Any],
    config: Mapping[str, Any],
    otherwise: str,
) -> None:
    """Raise InvalidParameter unless a saved configuration has all of another."""
    for name, value in config.items():
        if saved.get(name) != value:
            raise InvalidParameter(
                f"{name} must match the index at {os.fspath(address)!r}, which was built with "
                f"{saved.get(name)!r}; got {value!r}. Pass that value, or {otherwise}."
            )
