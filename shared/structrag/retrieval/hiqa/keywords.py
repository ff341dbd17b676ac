"""Critical keywords of a collection, and which segments hold them (HiQA, section 5).

The keywords are the caller's, and names detected in the titles and file names of the documents
there are now. What one document holds is worked out when the document is new or has changed, and
kept; a new keyword is looked for in the other documents' kept pieces. So a change costs what has
changed, not the collection, and the tables equal those made afresh.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import RLock

import numpy as np
from numpy.typing import NDArray

from structrag.errors import InvalidParameter
from structrag.index.ranking import concatenated
from structrag.index.selection import Selection
from structrag.index.store import Store
from structrag.records import Chunk, Document
from structrag.retrieval.hiqa.keyword_names import (
    Names,
    file_names,
    inside_longer,
    name_key,
    pieces,
    title_names,
)

NameFinder = Callable[[str], Iterable[str]]

FEWEST_DOCUMENTS = 4  # of a collection in which a detected name can be too frequent
MOST = 0.5  # share of the documents that may hold a detected name
PAGE_TOKENS = 500
_FILE_KEYS = ("source", "file_name", "file_path")  # metadata that names the file
_FEW = 16  # names so few are first looked for in a whole document at once
_SEGMENT, _PIECE = "\x1e", "\x1f"  # ends of segments and pieces in a document's kept text


@dataclass(frozen=True, slots=True)
class Scan:
    """What is kept of one document."""

    fingerprint: (
        str | None
    )  # of the entry it was read from; None: to be read again whenever anything changes
    names: tuple[tuple[str, str], ...]  # detected, (key, as written)
    text: str  # its segments' pieces
    known: int  # how many of all names ever seen have been looked for
    spans: NDArray[np.int64]  # (4, n): segment, first piece, end, number of the name
    n_segments: int
    depth: int  # headings above its segments, at most 3 each, summed
    pages: float


@dataclass(frozen=True, slots=True)
class KeywordTable:
    """The keywords of a collection at one time, by their keys. Nothing in it changes."""

    changes: int  # `Store.changes` at that time
    names: Names
    written: Mapping[str, str]  # as the caller wrote it, or the first document's title
    documents: Mapping[str, int]  # how many hold it, in a segment's index text or in their title
    rows: Mapping[str, NDArray[np.int64]]  # the segments that hold it, ascending
    n_rows: int
    n_documents: int
    structure: (
        float  # headings above a segment, at most 3, on average over all segments, divided by 3
    )
    # of a document on average: its metadata "pages", or a page for every 500 tokens; at least 1
    # each
    pages: float

    def found_in(self, text: str) -> list[str]:
        """The keys of the different keywords in a text, in their order there; one inside a longer
        one does not count."""
        return self.names.longest(pieces(text))

    def held(self, keys: Sequence[str], rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of `rows` (n,) hold which keywords, (len(keys), n)."""
        result = np.zeros((len(keys), len(rows)), dtype=bool)
        for i, key in enumerate(keys):
            known = self.rows[key]
            if len(known):
                result[i] = known[np.minimum(np.searchsorted(known, rows), len(known) - 1)] == rows
        return result

    def best(
        self, keys: Sequence[str], n: int, where: Selection | None = None
    ) -> NDArray[np.int64]:
        """The `n` rows within `where` that hold the most of these keywords, at least one; equals by
        row."""
        found = [self.rows[key] for key in keys]
        if not found or n <= 0:
            return np.empty(0, dtype=np.int64)
        counts = np.bincount(np.concatenate(found), minlength=self.n_rows)
        if isinstance(where, slice):
            counts[: where.start] = counts[where.stop :] = 0
        elif where is not None:
            counts[~where] = 0
        highest = int(counts.max(initial=0))
        ranked = [np.flatnonzero(counts == count)[:n] for count in range(highest, 0, -1)]
        return concatenated(ranked, np.int64)[:n]

    def statistics(self) -> dict[str, tuple[int, int]]:
        """Keyword as written -> in how many documents and segments it is, by keyword."""
        return {
            self.written[key]: (self.documents[key], len(self.rows[key])) for key in self.names.keys
        }


class Keywords:
    """Keeps the keyword table of a store up to date.

    Args:
        listed: The caller's keywords. They always count.
        detect: Whether names of titles and file names are keywords too; or what finds them, a
            function of a title such as `ner_entities(pipeline)` of `structrag.text.names`. A
            detected name in more than half of four documents or more is none.

    Raises:
        InvalidParameter: `listed` is a string, or holds something that is no string or has neither
            letters, digits nor signs.
    """

    def __init__(self, listed: Iterable[str] = (), detect: bool | NameFinder = True) -> None:
        if isinstance(listed, str):
            raise InvalidParameter(
                f"keywords must be a list of strings; got the string {listed!r}. Put it in a list."
            )
        self.listed: dict[str, str] = {}  # key -> as written
        for name in listed:
            key = name_key(name) if isinstance(name, str) else ""
            if not key:
                raise InvalidParameter(
                    "keywords must be strings with a letter, digit or sign that is no hyphen; got "
                    f"{name!r}. Leave it out."
                )
            self.listed.setdefault(key, name)
        self._detect = detect
        self._numbers: dict[str, int] = {
            key: i for i, key in enumerate(self.listed)
        }  # of all names ever seen
        self._scans: dict[str, Scan] = {}
        self._table: KeywordTable | None = None
        self._lock = RLock()

    def table(self, store: Store) -> KeywordTable:
        """The table for what the store holds now; reads only documents that are new or have
        changed."""
        with self._lock:
            if self._table is None or self._table.changes != store.changes:
                self._table = self._updated(store)
            return self._table

    def _updated(self, store: Store) -> KeywordTable:
        changes = store.changes
        members = {name: store.fingerprint(name) for name in store.document_ids}
        self._scans = {
            name: scan
            for name, scan in self._scans.items()
            if scan.fingerprint and scan.fingerprint == members.get(name)
        }
        for name in members:
            if name not in self._scans:
                self._scans[name] = self._read(store, name)
        scans = [self._scans[name] for name in members]
        for key, _ in (pair for scan in scans for pair in scan.names):
            self._numbers.setdefault(key, len(self._numbers))
        scans = self._searched(scans)
        self._scans = dict(zip(members, scans, strict=True))
        return _table(changes, scans, self.listed, list(self._numbers))

    def _read(self, store: Store, name: str) -> Scan:
        """A document read from the store, no name looked for yet."""
        while True:
            changes = store.changes
            fingerprint = None if store.degraded(name) else store.fingerprint(name)
            rows = store.select({"doc_id": name})
            if name not in store or not isinstance(rows, slice):
                return Scan(None, (), "", 0, _NO_SPANS, 0, 0, 0)
            try:
                chunks = [store.chunk(row) for row in range(rows.start, rows.stop)]
                document = store.document(name)
            except InvalidParameter:
                if store.changes == changes:
                    raise
                continue
            if store.changes == changes:
                break
        tops = {chunk.path[0] for chunk in chunks if chunk.path}
        files = [document.meta.get(key) for key in _FILE_KEYS]
        names = self._names(
            [document.title, *(tops if len(tops) == 1 else ())],
            [file for file in files if isinstance(file, str)],
        )
        return Scan(
            fingerprint,
            tuple(names.items()),
            _SEGMENT.join(_PIECE.join(pieces(chunk.index_text)) for chunk in chunks),
            0,
            _NO_SPANS,
            len(chunks),
            sum(min(len(chunk.path), 3) for chunk in chunks),
            _pages(document, chunks),
        )

    def _names(self, titles: Iterable[str], files: Iterable[str]) -> dict[str, str]:
        """Key -> name as written, of a document's titles and file names; a title that is a path
        counts as a file name."""
        if not self._detect:
            return {}
        plain = [title for title in titles if " " in title.strip() or not {"/", "\\"} & set(title)]
        paths = [title for title in titles if title not in plain]
        if callable(self._detect):
            found = [name for text in plain for name in self._detect(text)]
        else:
            found = [name for title in plain for name in title_names(title)]
            found += [name for file in [*paths, *files] for name in file_names(file)]
        names: dict[str, str] = {}
        for name in found:
            names.setdefault(name_key(name), " ".join(name.split()))
        names.pop("", None)
        return names

    def _searched(self, scans: Sequence[Scan]) -> list[Scan]:
        """The scans with all names looked for."""
        every = list(self._numbers)
        missing = {known: Names(every[known:]) for known in {scan.known for scan in scans}}
        return [
            scan
            if scan.known == len(every)
            else replace(scan, known=len(every), spans=self._spans(scan, missing[scan.known]))
            for scan in scans
        ]

    def _spans(self, scan: Scan, names: Names) -> NDArray[np.int64]:
        if len(names.keys) <= _FEW:
            whole = scan.text.replace(_PIECE, "")
            names = Names(key for key in names.keys if key in whole)
        if not names.keys or not scan.text:
            return scan.spans
        found = [
            (segment, start, end, self._numbers[key])
            for segment, text in enumerate(scan.text.split(_SEGMENT))
            for start, end, key in names.spans(text.split(_PIECE))
        ]
        new = np.array(found, dtype=np.int64).reshape(-1, 4).T
        return np.concatenate([scan.spans, new], axis=1)


_NO_SPANS: NDArray[np.int64] = np.empty((4, 0), dtype=np.int64)


def _table(
    changes: int, scans: Sequence[Scan], listed: Mapping[str, str], keys: Sequence[str]
) -> KeywordTable:
    """Put together what the documents hold, given in row order."""
    sizes = np.array([scan.n_segments for scan in scans], dtype=np.int64)
    firsts = np.cumsum(sizes) - sizes
    counts = [scan.spans.shape[1] for scan in scans]
    spans = np.concatenate([_NO_SPANS, *(scan.spans for scan in scans)], axis=1)
    owner = np.repeat(np.arange(len(scans)), counts)
    rows = spans[0] + np.repeat(firsts, counts)
    number = {key: i for i, key in enumerate(keys)}
    named = [(i, number[key]) for i, scan in enumerate(scans) for key, _ in scan.names]
    documents = _distinct(
        np.concatenate([owner, np.array([i for i, _ in named], dtype=np.int64)]),
        np.concatenate([spans[3], np.array([n for _, n in named], dtype=np.int64)]),
        len(keys),
    )
    frequency = np.bincount(documents[1], minlength=len(keys))
    written = dict(listed)
    for key, name in (pair for scan in scans for pair in scan.names):
        if len(scans) < FEWEST_DOCUMENTS or frequency[number[key]] <= MOST * len(scans):
            written.setdefault(key, name)
    active = np.zeros(len(keys), dtype=bool)
    active[[number[key] for key in written]] = True
    spans, rows = spans[:, active[spans[3]]], rows[active[spans[3]]]
    shown = ~inside_longer(rows, spans[1], spans[2])
    by_name = _distinct(rows[shown], spans[3][shown], len(keys))
    bounds = np.searchsorted(by_name[1], np.arange(len(keys) + 1))
    n_rows = int(sizes.sum())
    return KeywordTable(
        changes,
        Names(written),
        written,
        {key: int(frequency[number[key]]) for key in written},
        {key: by_name[0][bounds[number[key]] : bounds[number[key] + 1]] for key in written},
        n_rows,
        len(scans),
        sum(scan.depth for scan in scans) / (3 * n_rows) if n_rows else 0.0,
        sum(scan.pages for scan in scans) / len(scans) if scans else 0.0,
    )


def _pages(document: Document, chunks: Sequence[Chunk]) -> float:
    known = document.meta.get("pages")
    if isinstance(known, int) and known > 0:
        return float(known)
    return max(1.0, sum(chunk.n_tokens for chunk in chunks) / PAGE_TOKENS)


def _distinct(places: NDArray[np.int64], numbers: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """The different pairs of place and number, (2, m), by number, then place."""
    pairs = (
        np.unique(numbers * (int(places.max(initial=0)) + 1) + places) if len(places) else places
    )
    size = int(places.max(initial=0)) + 1
    return np.stack([pairs % size, pairs // size])
