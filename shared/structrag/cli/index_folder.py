"""An index that is kept in a folder between calls. Only files that changed are read again."""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.cli.options import (
    embedder_of,
    files_of,
    model_name,
    nothing_read,
    read_or_leave_out,
)
from structrag.cli.printing import show_progress
from structrag.errors import InvalidParameter, SaveFailed, warn_user
from structrag.index.index import Index
from structrag.ingestion.ingesting import IngestReport, ingest, show_files
from structrag.ingestion.summary import (
    FileState,
    file_state,
    is_gone,
    tell_of_new_rules,
    write_json,
)
from structrag.reading.outline import Outline
from structrag.reading.sections import parse
from structrag.records import Document, Hit
from structrag.retrieval.evidence.retriever import EvidenceRetriever
from structrag.retrieval.multiview import MultiViewRetriever
from structrag.text.numbers import pluralise

METHODS = ("evidence", "multiview")
VERSION = 1
GROUP = 64  # files that are read together


@dataclass(frozen=True, slots=True)
class Changes:
    """What bringing an index up to date did.

    Example:
        >>> print(Changes(added=2, unchanged=40))
        2 documents added, 0 replaced, 40 unchanged, 0 removed
    """

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    removed: int = 0

    def __str__(self) -> str:
        return (
            f"{pluralise(self.added, 'document')} added, {self.replaced:,} replaced, "
            f"{self.unchanged:,} unchanged, {self.removed:,} removed"
        )


@dataclass(slots=True)
class Memory:
    """What an index was made from and with.

    It lies beside the index in a file.

    Example:
        >>> Memory().files
        {}
    """

    embedder: str = ""
    max_tokens: int = 0  # of the chunks of multiview
    # The files and folders that were named.
    roots: list[str] = field(default_factory=list)
    files: dict[str, FileState] = field(default_factory=dict)


class IndexFolder:
    """The index of one method in a folder.

    It is searched, and brought up to date.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> index = IndexFolder(Path(folder.name, "index"))
        >>> index.update([Path("docs/limits.md")]).added
        1
        >>> index.search("scanned pages", 1)[0].chunk.doc_id.endswith("limits.md")
        True

    Documents have the absolute paths of their files as ids. Below the paths that are named it holds
    the files that `find_files` gives, and elsewhere what it held. A named path leads for good to
    where it leads at first.

    Args:
        folder: Where it lies; made if it is not there. None: in memory only.
        embedder: What `--embedder` takes; "" for that of the index, or LSA for a new one.
        max_tokens: Of the chunks of multiview.

    Raises:
        InvalidParameter: the folder holds something else, or an index made with other settings.
    """

    def __init__(
        self,
        folder: Path | None,
        method: str = "evidence",
        *,
        embedder: str = "",
        max_tokens: int = 300,
        cache: str | None = None,
    ) -> None:
        self.folder = folder
        self.method = method
        self.memory: Memory = Memory(
            embedder, max_tokens if method == "multiview" else 0
        )
        self.options: dict[str, Any] = {"cache": cache, "progress": show_progress}
        # Named path -> what it led to at first; file of the last update -> what it leads to.
        self._roots: dict[str, str] = {}
        self._places: dict[str, str] = {}
        # By file: time of its change, document.
        self._documents: dict[str, tuple[int, Document]] = {}
        if folder is not None:
            _check_folder(folder)
            self._recall(folder, embedder)
        self.embedder: Any = embedder_of(self.memory.embedder)
        self.index: Any = self._opened()

    @property
    def model(self) -> str:
        """What makes the vectors."""
        return model_name(self.memory.embedder)

    def _recall(self, folder: Path, embedder: str) -> None:
        file = folder / f"{self.method}.json"
        if not file.is_file():
            return
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            version = content.pop("version")
            memory = Memory(**content)
            memory.files = {
                name: FileState(*state) for name, state in memory.files.items()
            }
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise _unusable(folder, f"{file.name} is damaged") from error
        if version != VERSION:
            raise _unusable(folder, "another release made it")
        for option, value, made_with in (
            ("--embedder", embedder or memory.embedder, memory.embedder),
            ("--max-tokens", self.memory.max_tokens, memory.max_tokens),
        ):
            if value != made_with:
                raise InvalidParameter(
                    f"{option} must match the index in {str(folder)!r}, which was made with "
                    f"{made_with or 'none'}; got {value}. Pass that value, or use another folder."
                )
        self.memory = memory

    def _opened(self) -> Any:
        """The index as it was saved, or an empty one."""
        model, options = self.embedder, dict(self.options)
        place = self.folder / self.method if self.folder is not None else None
        if place is None or not place.is_dir():
            return empty_index(self.method, model, self.memory.max_tokens, **options)
        if self.method == "evidence":
            return EvidenceRetriever.load(place, model, **options)
        options["splitter"] = ContentAwareSplitter(max_tokens=self.memory.max_tokens)
        return Index.load(place, embedder=model, **options)

    # -- files in and out

    def update(self, paths: Sequence[Path] = (), **how: Any) -> Changes:
        """Read new or changed files, and remove those that are gone.

        What another process has done to the index meanwhile stays. What was finished before an
        error or an interruption is kept. Where it cannot be saved, a warning says so.

        Args:
            paths: Files and folders; without any, those named before.
            how: format, reader and isolated, as `read_document` takes them.

        Raises:
            InvalidDocument: nothing is there, a named file cannot be read, or no file could be.
        """
        while True:
            if not self._is_current():
                self._recall(self.folder or Path(), self.memory.embedder)
                self.index = self._opened()
            try:
                return self._update(paths, **how)
            except SaveFailed:
                if self._is_current():
                    raise

    def _is_current(self) -> bool:
        """Whether no other process has saved the index since it was opened."""
        folder = self.folder
        return folder is None or self.index.store.seen.is_current(folder / self.method)

    def _update(self, paths: Sequence[Path], **how: Any) -> Changes:
        if not paths and not self.memory.roots:
            raise self._no_index()
        named = {os.path.abspath(path) for path in paths}
        states = self._look(paths, **how)
        file_states = self.memory.files
        tell_of_new_rules(states, file_states)
        changed = [
            name
            for name, state in states.items()
            if not state.is_same(file_states.get(name))
        ]
        counts = Counter(unchanged=len(states) - len(changed))
        try:
            counts["removed"] += self._remove_left(named)
            for start in range(0, len(changed), GROUP):
                group = changed[start : start + GROUP]
                documents = []
                for number, name in enumerate(group, start=start + 1):
                    document = self._read(name, name in named, **how)
                    if document is not None:
                        documents.append(document)
                    else:
                        counts["removed"] += self._remove(name)
                    if len(changed) > 1:
                        show_progress("reading files", number, len(changed))
                counts += self._add(documents, states)
            self.memory.roots = sorted({*self.memory.roots, *named})
        finally:
            self._save()
        if not (self.names if paths else self.index.document_ids):
            roots = paths or [*map(Path, self.memory.roots)]
            raise nothing_read(roots, [*map(Path, states)])
        return Changes(**counts)

    @property
    def names(self) -> list[str]:
        """The documents in the files of the last update."""
        return [name for name in self.index.document_ids if name in self._places]

    @property
    def where(self) -> dict[str, list[str]] | None:
        """The condition of a search in these alone."""
        return self._condition(self.names)

    def _condition(self, names: list[str]) -> dict[str, list[str]] | None:
        return {"doc_id": names} if len(names) < len(self.index.document_ids) else None

    def holds(self, name: str) -> bool:
        """Whether a file of the last update is in the index."""
        return name in self._places and name in self.index.store

    def is_there(self, name: str) -> bool:
        """Whether a file of the last update is a file still, and leads to the same place."""
        return self._modified(name) is not None

    def outline(self, name: str, **how: Any) -> Outline | None:
        """A file of the last update as it is now. None if it has left since."""
        modified = self._modified(name)
        if modified is None:
            return None
        if self._documents.get(name, (None, None))[0] != modified:
            document = self._read(name, True, **how)
            if document is None:
                return None
            self._documents[name] = modified, document
        return parse(self._documents[name][1])

    def fill(
        self,
        paths: Sequence[Path],
        workers: int | None = None,
        *,
        runner: str = "process",
        **how: Any,
    ) -> IngestReport:
        """`update` by several processes, for many files; each makes its own models.

        A file that cannot be read is named; the others are indexed. Documents whose files
        are gone leave the index.

        Raises:
            InvalidDocument: nothing is there, or no file could be read.
        """
        if self.folder is None:
            raise InvalidParameter(
                "An index that several processes fill needs a folder: name it with --store."
            )
        states = self._look(paths, **how)
        self.memory.roots = sorted({*self.memory.roots, *map(os.path.abspath, paths)})
        self.folder.mkdir(parents=True, exist_ok=True)
        self._write_memory()  # what a search goes by, if this is broken off
        report = fill_store(
            list(states),
            self.folder / self.method,
            self.method,
            self.memory.embedder,
            self.memory.max_tokens,
            workers,
            runner=runner,
            **how,
        )
        self.index = self._opened()
        removed = report.removed + self._remove_left([*map(os.path.abspath, paths)])
        # LSA's vectors are saved, so that a search finds them.
        self.index.warm_up()
        self.index.save(self.folder / self.method)
        indexed = set(self.index.document_ids)
        self.memory.files = {
            name: state
            for name, state in {**self.memory.files, **states}.items()
            if name in indexed
        }
        self._write_memory()
        if not self.names:
            raise nothing_read(paths, [*map(Path, states)])
        return replace(report, removed=removed)

    def _no_index(self) -> InvalidParameter:
        """What to say when no files are named, now or before."""
        folder = self.folder or Path()
        others = [name for name in METHODS if (folder / f"{name}.json").is_file()]
        other = f"; it has one for {others[0]}" if others else ""
        return InvalidParameter(
            f"There is no index for --method {self.method} in {str(folder)!r}{other}. Name the "
            "files to index."
        )

    def _look(
        self,
        paths: Sequence[Path],
        format: str = "auto",
        reader: str = "layout",
        **_: Any,
    ) -> dict[str, FileState]:
        """The files of these paths, else of those named before, each with its state. What leads to
        a place outside of them is none."""
        # What was named before may be gone.
        may_be_gone = {*self._roots, *(() if paths else self.memory.roots)}
        paths = [
            path
            for path in paths or map(Path, self.memory.roots)
            if os.path.abspath(path) not in may_be_gone or os.path.exists(path)
        ]
        roots = {
            self._roots.setdefault(os.path.abspath(path), os.path.realpath(path))
            for path in paths
        }
        files = map(os.path.abspath, files_of(paths, without=self.folder))
        places = {name: os.path.realpath(name) for name in files}
        inside = set(_below(places.values(), roots))
        self._places = {name: to for name, to in places.items() if to in inside}
        states = {}
        for name in self._places:
            with suppress(OSError):  # it has gone meanwhile
                states[name] = file_state(name, format, reader)
        return states

    def _modified(self, name: str) -> int | None:
        """When a file of the last update was changed. None if it is a file no longer, or leads
        elsewhere."""
        with suppress(OSError):
            status = os.stat(name)
            leads_there = os.path.realpath(name) == self._places.get(name)
            if leads_there and stat.S_ISREG(status.st_mode):
                return status.st_mtime_ns
        return None

    def _read(self, name: str, is_named: bool, **how: Any) -> Document | None:
        """A file, or None if it cannot be read or leads elsewhere before or after."""
        if not self.is_there(name):
            return None
        document = read_or_leave_out(Path(name), is_named, **how)
        return document if self.is_there(name) else None

    def _add(
        self, documents: Sequence[Document], states: dict[str, FileState]
    ) -> Counter[str]:
        """Add documents, and say how many there were of each kind."""
        if not documents:
            return Counter()
        report = self.index.add(documents)
        for document in documents:
            self.memory.files[document.id] = states[document.id]
        return Counter(
            added=report.added, replaced=report.replaced, unchanged=report.unchanged
        )

    def _remove_left(self, named: Collection[str]) -> int:
        """Remove what below these paths, else those named before, is no file of theirs any more.
        What cannot be examined stays."""
        names = {*self.memory.files, *self.index.document_ids} - self._places.keys()
        left = _below(names, named or self.memory.roots)
        return sum(
            self._remove(name) for name in left if os.path.exists(name) or is_gone(name)
        )

    def _remove(self, name: str) -> bool:
        self.memory.files.pop(name, None)
        return bool(self.index.delete(name))

    def _save(self) -> None:
        """Write the index if it has changed, then what it was made from. In this order, since an
        older memory only reads files again."""
        if self.folder is None:
            return
        place = self.folder / self.method
        saved = self.index.store.saved_at
        try:
            if saved != (place.absolute(), self.index.store.changes) and (
                self.index.document_ids or place.is_dir()
            ):
                self.folder.mkdir(parents=True, exist_ok=True)
                # LSA's vectors are saved, so that the next search finds them.
                self.index.warm_up()
                self.index.save(place)
            if place.is_dir():
                self._write_memory()
        except (SaveFailed, OSError) as error:
            if not self._is_current():
                raise
            warn_user(
                f"The index in {str(self.folder)!r} could not be saved: "
                f"{error.__cause__ or error}. Answers are up to date; what changed is read again "
                "next time."
            )

    def _write_memory(self) -> None:
        assert self.folder is not None  # noqa: S101
        content = {"version": VERSION, **asdict(self.memory)}
        write_json(self.folder / f"{self.method}.json", content)

    # -- searching

    def search(self, query: str, k: int, paths: Sequence[Path] = ()) -> list[Hit]:
        """The best hits, in the files and folders named, or in all."""
        names = _below(self.index.document_ids, {*map(os.path.abspath, paths)})
        where = self._condition(names) if paths else None
        return search_index(self.index, query, k, where)


def _below(names: Iterable[str], paths: Collection[str]) -> list[str]:
    """Those of some paths that are others, or stand below them."""
    folders = tuple(os.path.join(path, "") for path in paths)
    return [name for name in names if name in paths or name.startswith(folders)]


def search_index(index: Any, query: str, k: int, where: Any = None) -> list[Hit]:
    """The best hits in the index of either method."""
    if isinstance(index, Index):
        index = MultiViewRetriever(index)
    hits: list[Hit] = index.search(query, k, where=where)
    return hits


def _made(method: str, embedder: str, max_tokens: int) -> Any:
    """An empty index with its models. It is made in the process that fills it."""
    return empty_index(method, embedder_of(embedder), max_tokens)


def fill_store(
    files: Sequence[str],
    store: Path | str,
    method: str,
    embedder: str,
    max_tokens: int,
    workers: int | None,
    **options: Any,
) -> IngestReport:
    """Ingest files for a method, and name those that are left out."""
    report = ingest(
        files,
        store,
        make=partial(_made, method, embedder, max_tokens),
        workers=workers,
        remove_missing=True,
        progress=partial(show_files, show_progress),
        **options,
    )
    for sentence in report.errors.values():
        show_progress.say(f"left out: {sentence}")
    return report


def empty_index(method: str, model: Any, max_tokens: int, **options: Any) -> Any:
    """An empty index for a method."""
    if method == "evidence":
        return EvidenceRetriever(model, **options)
    splitter = ContentAwareSplitter(max_tokens=max_tokens)
    return Index(embedder=model, splitter=splitter, **options)


def _check_folder(folder: Path) -> None:
    """Refuse a folder of something else. So nobody's files are mixed with an index."""
    if folder.exists() and not folder.is_dir():
        raise InvalidParameter(
            f"The index must be a folder; {str(folder)!r} is a file."
        )
    is_ours = any((folder / f"{method}.json").is_file() for method in METHODS)
    if folder.is_dir() and not is_ours and any(folder.iterdir()):
        raise InvalidParameter(
            f"The index must be a new folder, or one that structrag created; {str(folder)!r} "
            "holds other files."
        )


def _unusable(folder: Path, why: str) -> InvalidParameter:
    return InvalidParameter(
        f"The index in {str(folder)!r} cannot be used: {why}. Delete it, or use another folder."
    )
