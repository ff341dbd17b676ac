"""The outlines of the last documents, so that they are parsed once."""

from __future__ import annotations

from collections import OrderedDict
from threading import RLock
from typing import NamedTuple
from weakref import ref

from structrag.reading.outline import BlockFinder, Outline
from structrag.records import Block, Document, Section

MOST = 256  # documents; an index prepares as many together at most
Key = tuple[int, bool]  # the document's identity, and whether headings are guessed


class _Parsed(NamedTuple):
    """An outline without its document, which it would keep alive."""

    document: ref[Document]
    sections: tuple[Section, ...]
    find_blocks: BlockFinder
    blocks: dict[int, tuple[Block, ...]]


class OutlineMemory:
    """Remembers outlines by the identity of their documents.

    An outline goes with its document, or when too many others came. Documents never change, so an
    outline stays right. Safe to use from several threads.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._entries: OrderedDict[Key, _Parsed] = OrderedDict()
        self._lock = RLock()  # reentrant: a document may be collected amid a call

    def find(self, document: Document, plain_headings: bool) -> Outline | None:
        """The outline of this very document, or None."""
        with self._lock:
            entry = self._entries.get((id(document), plain_headings))
            if entry is None or entry.document() is not document:
                return None
            self._entries.move_to_end((id(document), plain_headings))
        return Outline(document, entry.sections, entry.find_blocks, entry.blocks)

    def keep(self, outline: Outline, plain_headings: bool) -> None:
        """Remember an outline; the one not asked for longest may go."""
        key = (id(outline.document), plain_headings)

        def forget(gone: ref[Document]) -> None:
            with self._lock:
                entry = self._entries.get(key)
                if entry is not None and entry.document is gone:
                    del self._entries[key]

        document = ref(outline.document, forget)
        with self._lock:
            self._entries[key] = _Parsed(
                document, outline.sections, outline.find_blocks, outline.found_blocks
            )
            self._entries.move_to_end(key)
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)

    def __len__(self) -> int:
        return len(self._entries)
