"""Manuals of pumps, and what an index of them answers."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

from structrag import Document, Index

QUERIES = [
    "pump pressure",
    "a valve",
    "the gearbox of document 2",
    "unknownword",
    "water",
]


def document(number: int, extra: str = "", **fields: Any) -> Document:
    text = (
        f"Preface of document {number}.\n\n# Pump {number}\n\nThe pump of document {number} holds "
        f"pressure. {extra}\n\n"
        f"## Valve\n\nA valve lets water {number} pass.\n\n# Gearbox\n\nThe gearbox number "
        f"{number} needs oil.\n"
    )
    return Document(
        text, id=f"doc{number}", title=f"Manual {number}", format="markdown", **fields
    )


def state(index: Index) -> list[Any]:
    """What every route and view of an index answers."""
    return [
        [
            (hit.chunk.id, hit.chunk.text, round(hit.score, 6))
            for hit in index.search(query, 50, view=view, route=route)
        ]
        for query, view, route in itertools.product(
            QUERIES, index.views, ("dense", "bm25")
        )
    ]


def search_beside_changes(
    search: Callable[[], None], change: Callable[[int], None], searchers: int = 4
) -> None:
    """Search in threads while one thread makes change after change; no search may fail."""
    failures: list[BaseException] = []
    done = threading.Event()

    def changes() -> None:
        numbers = itertools.count()
        while not done.is_set():
            change(next(numbers))

    def searches() -> None:
        try:
            search()
        except BaseException as error:  # noqa: BLE001 - shown by the main thread
            failures.append(error)

    changing = threading.Thread(target=changes)
    searching = [threading.Thread(target=searches) for _ in range(searchers)]
    for thread in (changing, *searching):
        thread.start()
    for thread in searching:
        thread.join()
    done.set()
    changing.join()
    assert failures == []
