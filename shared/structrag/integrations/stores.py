"""A host's vector store in place of an index's own vectors."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np

from structrag.errors import warn_user
from structrag.index.entries import Entry
from structrag.index.index import Index
from structrag.index.selection import row_numbers
from structrag.index.snapshot import Reader
from structrag.integrations.metadata import CHUNK_KEY, DOCUMENT_KEY, VIEW_KEY
from structrag.model_calls.flow import adrive, drive
from structrag.model_calls.requests import Ranking, Search
from structrag.records import Chunk
from structrag.text.tokens import without_surrogates

MOST_DOCUMENTS = 200  # names in a filter
TOGETHER = 100  # entries in one call: some stores refuse more than 166 or 500
# A chunk's id, None for what is not of the index, and its score.
Match = tuple[str | None, float]


class HostStore:
    """A host's vector store in place of an index's own vectors.

    Attributes:
        index: Whose store this is; set once that is made.
        wants_vectors: Whether the index makes the vectors; else the store embeds by itself.
    """

    index: Index | None
    wants_vectors: bool

    def __getstate__(self) -> dict[str, Any]:
        """For pickle: an index takes its store with it, not the other way round."""
        return {**vars(self), "index": None}

    def search(self, request: Search) -> Ranking:
        """The best chunks of the view, each once, best first. None where the store wants vectors
        and the question has none."""
        if self.wants_vectors and request.vector is None:
            return []
        return drive(self.pages(request), lambda n: self.found(request, n))

    async def asearch(self, request: Search) -> Ranking:
        """`search` by the store's own async call."""
        if self.wants_vectors and request.vector is None:
            return []
        return await adrive(self.pages(request), lambda n: self.afound(request, n))

    def pages(self, request: Search) -> Generator[int, Sequence[Match], Ranking]:
        """How many results to ask for, turn by turn."""
        return paged_flow(self.index, request)

    def found(self, request: Search, n: int) -> list[Match]:
        """The store's best `n`."""
        raise NotImplementedError

    async def afound(self, request: Search, n: int) -> list[Match]:
        """`found` by the store's own async call."""
        raise NotImplementedError


def paged_flow(
    index: Index | None,
    request: Search,
    *,
    first: int | None = None,
    most: int | None = None,
) -> Generator[int, Sequence[Match], Ranking]:
    """Ask a host's store until enough results are the index's.

    Filters differ from store to store. So each turn yields how many results to ask for, and is
    sent that many, or all there are, best first. It asks for twice as many each time. The ranking
    is by ids of chunks, each once, at most `request.n`; a blank query has none.

    Args:
        index: Whose chunks count; None or empty: there are none.
        request: `where` says which documents count.
        first: How many to ask for at first; default `request.n`. If the store filters by view
            and document itself, that is enough.
        most: The most that the store may be asked for at once; None: no limit.
    """
    if index is None or not len(index) or not request.query.strip():
        return []
    reader = index.own_store.reader()
    allowed = set(row_numbers(reader.select(request.where), len(reader)))
    asked = first or request.n
    while True:
        asked = min(asked, most or asked)
        matches = yield asked
        ranking = _allowed(reader, matches, allowed)[: request.n]
        is_complete = len(ranking) >= min(request.n, len(allowed))
        is_all = len(matches) < asked
        if is_all and allowed and not ranking and view_of(request) == "raw":
            warn_user(
                "The vector store returned nothing of this index, so only words were matched. It "
                "is empty or not the one that the index was built with. Pass that store, or build "
                "the index again."
            )
        if is_complete or is_all or asked == most:
            return ranking
        asked *= 2


def documents_of(index: Index | None, request: Search) -> list[str] | None:
    """The documents that a search is limited to. They are to be part of a store's own filter. None
    where it is not limited, or to more documents than a filter should name."""
    if index is None or request.where is None:
        return None
    reader = index.own_store.reader()
    allowed = set(row_numbers(reader.select(request.where), len(reader)))
    names = []
    for name in reader.document_ids:
        rows = reader.rows_of(name)
        if rows and rows[0] in allowed:  # a condition holds for whole documents
            names.append(name)
        if len(names) > MOST_DOCUMENTS:
            return None
    return names


def view_of(request: Search) -> str:
    """The view that a search is about: "raw" for the route "dense:raw"."""
    return request.route.partition(":")[2]


def store_metadata(chunk: Chunk, view: str) -> dict[str, str]:
    """Metadata that leads from a stored text back to its chunk."""
    return {CHUNK_KEY: chunk.id, DOCUMENT_KEY: chunk.doc_id, VIEW_KEY: view}


def stored_chunk(metadata: Mapping[str, Any], view: str) -> str | None:
    """The id of the chunk that `store_metadata` described. None for another view, and for what is
    not ours."""
    chunk_id = metadata.get(CHUNK_KEY)
    if metadata.get(VIEW_KEY) != view or not isinstance(chunk_id, str):
        return None
    return chunk_id


def as_similarities(scores: Sequence[float]) -> list[float]:
    """Scores of results that come best first, higher for better ones. Scores that rise are
    distances, and are negated."""
    is_distance = bool(scores) and scores[0] < scores[-1]
    sign = -1.0 if is_distance else 1.0
    return [sign * float(score) for score in scores]


def rank_scores(n: int) -> list[float]:
    """Scores for `n` results that have none: 1, 1/2, 1/3.

    Example:
        >>> rank_scores(2)
        [1.0, 0.5]
    """
    return [1.0 / rank for rank in range(1, n + 1)]


def entry_texts(entry: Entry) -> Iterator[tuple[Chunk, str, str]]:
    """Every chunk, view and index text of an entry. Chunks that lack the view are left out."""
    for view, texts in entry.views.items():
        for chunk, text in zip(entry.chunks, texts, strict=True):
            if text:
                yield chunk, view, without_surrogates(text)


def entry_vectors(entry: Entry) -> Iterator[tuple[Chunk, str, int, str, list[float]]]:
    """Every vector of an entry. As chunk, view, number of the window (from 0), index text and
    vector."""
    for view, vectors in entry.vectors.items():
        owners = np.asarray(vectors.owner).tolist()
        numbers = {owner: count() for owner in owners}
        for owner, vector in zip(owners, np.asarray(vectors.matrix), strict=True):
            chunk = entry.chunks[owner]
            text = without_surrogates(entry.views[view][owner] or "")
            yield chunk, view, next(numbers[owner]), text, vector.tolist()


def _allowed(reader: Reader, matches: Sequence[Match], allowed: set[int]) -> Ranking:
    """The matches in allowed rows, each chunk once, with its best score."""
    scores: dict[str | int, float] = {}
    for chunk_id, score in matches:
        if chunk_id is not None and reader.row_of(chunk_id) in allowed:
            scores.setdefault(chunk_id, score)  # the first is the best
    return list(scores.items())
