"""Vectors of an embedder that is fitted to the whole corpus, such as LSA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from structrag.index.store import Store

if TYPE_CHECKING:
    from structrag.index.index import Index


def refit(index: Index) -> None:
    """Fit a corpus-dependent embedder to what is stored now, and replace its vectors, if anything has changed."""
    if not hasattr(index.embedder, "fit") or index.dense_store is not None:
        return
    with index.refitting:
        if not index.stale:
            return
        index.stale = False  # set again by whatever changes the store meanwhile
        try:
            index.embedder = index.runner.embedder = refitted(index.store, index.embedder)
        except BaseException:
            index.stale = True
            raise


def refitted(store: Store, embedder: Any) -> Any:
    """The embedder fitted to every text of the store, whose vectors it replaces."""
    rows = range(len(store))
    texts = {view: [(row, text) for row in rows if (text := store.view_text(row, view))] for view in store.views}
    fitted = embedder.fit([text for view in store.views for _, text in texts[view]])
    for view in store.views:
        matrix = fitted.embed([text for _, text in texts[view]])
        store.replace_vectors(view, matrix, np.array([row for row, _ in texts[view]], dtype=np.int32))
    return fitted
