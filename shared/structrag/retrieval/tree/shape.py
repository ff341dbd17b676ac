"""Which node stands above which, as an array.

A document keeps it in the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structrag.index.snapshot import Reader
from structrag.records import Chunk

SHAPE = "tree"  # the name of the array
NONE = -1  # no parent
_PARENT, _TOKENS, _CHILDREN = range(3)


def tree_shape(chunks: Sequence[Chunk], nodes: Sequence[Chunk]) -> NDArray[np.int32]:
    """One line a chunk, then one a node, both in row order.

    A line has its parent, its tokens and the number of its children. A parent is a position among
    the nodes, -1: none. A node that may not stand for its children, as there is something between
    them, has its number of children negative.
    """
    in_rows = [*_row_order(chunks), *_row_order(nodes)]
    line_of = {chunk.id: line for line, chunk in enumerate(in_rows)}
    shape = np.zeros((len(in_rows), 3), dtype=np.int32)
    shape[:, _PARENT] = NONE
    shape[:, _TOKENS] = [chunk.n_tokens for chunk in in_rows]
    for line, node in enumerate(in_rows[len(chunks) :], start=len(chunks)):
        children = node.extras["children"]
        shape[[line_of[child] for child in children], _PARENT] = line - len(chunks)
        shape[line, _CHILDREN] = (
            len(children) if node.extras["whole"] else -len(children)
        )
    return shape


def _row_order(chunks: Sequence[Chunk]) -> list[Chunk]:
    """The chunks as the store orders a document's rows."""
    return sorted(chunks, key=lambda chunk: (chunk.start, chunk.end, chunk.id))


@dataclass(frozen=True, slots=True)
class Place:
    """A node as merging sees it."""

    row: int  # in the reader of the nodes
    tokens: int
    n_children: int
    is_whole: bool  # whether its text is that of its children, with nothing between


class Tree:
    """The trees of all documents at one moment, by rows."""

    def __init__(self, chunks: Reader, nodes: Reader) -> None:
        self.chunks = chunks
        self.nodes = nodes
        self._documents: dict[str, tuple[range, range, NDArray[np.int32]]] = {}

    def above(self, chunk: Chunk) -> list[Place]:
        """The nodes above a chunk, the nearest first."""
        row = self.chunks.row_of(chunk.id)
        if row is None:
            return []
        chunks, nodes, shape = self._document(chunk.doc_id)
        places = []
        place = int(shape[row - chunks.start, _PARENT])
        while place != NONE:
            parent, tokens, n_children = shape[len(chunks) + place].tolist()
            places.append(
                Place(nodes.start + place, tokens, abs(n_children), n_children > 0)
            )
            place = parent
        return places

    def top(self, doc_id: str) -> int | None:
        """The row of the node above all others of a document.

        None where there is no node.
        """
        nodes, _ = self.below(doc_id, None)
        return nodes[0] if nodes else None

    def below(self, doc_id: str, node: int | None) -> tuple[list[int], list[int]]:
        """The rows of nodes and of chunks right below a node.

        None: below no node.
        """
        chunks, nodes, shape = self._document(doc_id)
        parent = NONE if node is None else node - nodes.start
        lines = np.flatnonzero(shape[:, _PARENT] == parent).tolist()
        n_chunks = len(chunks)
        return (
            [nodes.start + line - n_chunks for line in lines if line >= n_chunks],
            [chunks.start + line for line in lines if line < n_chunks],
        )

    def _document(self, doc_id: str) -> tuple[range, range, NDArray[np.int32]]:
        if doc_id not in self._documents:
            shape = self.nodes.array(doc_id, SHAPE)
            rows = self.chunks.rows_of(doc_id), self.nodes.rows_of(doc_id)
            self._documents[doc_id] = (
                *rows,
                np.empty((0, 3), np.int32) if shape is None else shape,
            )
        return self._documents[doc_id]
