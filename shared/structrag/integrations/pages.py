"""Pages that a host's loader cut a file into, joined again."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from structrag.integrations.documents import PAGE_KEYS, HostDocument, file_of
from structrag.integrations.metadata import PAGES_KEY
from structrag.reading.bridges.placed import Place
from structrag.reading.paging import written_starts
from structrag.text.numbers import whole_number

GAP = "\n\n"  # between two pages


def joined_pages(
    pages: Iterable[HostDocument],
) -> list[tuple[HostDocument, tuple[Place, ...]]]:
    """The pages of each file as one text.

    Files come in the order of their first pages. A text without a file or page stays alone. The
    metadata is what all pages of a file say, with the number of `pages`.

    Example:
        >>> pages = [HostDocument("a", {"source": "m.pdf", "page": 0}),
        ...     HostDocument("b", {"source": "m.pdf", "page": 1})]
        >>> ((whole, places),) = joined_pages(pages)
        >>> whole.text, whole.metadata, [place.page for place in places]
        ('a\\n\\nb', {'source': 'm.pdf', 'pages': 2, 'page_starts': '0:1 3:2'}, [1, 2])
    """
    files: dict[Hashable, list[HostDocument]] = {}
    for number, page in enumerate(pages):
        is_page = any(key in page.metadata for key in PAGE_KEYS)
        key = file_of(page.metadata) if is_page else ""
        files.setdefault(key or number, []).append(page)
    joined = []
    for name, of_file in files.items():
        is_file = isinstance(name, str)
        joined.append(_joined(of_file) if is_file else (of_file[0], ()))
    return joined


def _joined(pages: list[HostDocument]) -> tuple[HostDocument, tuple[Place, ...]]:
    numbers = _numbers(pages)
    places = []
    position = 0
    for page, number in zip(pages, numbers, strict=True):
        places.append(Place(position, position + len(page.text), number))
        position += len(page.text) + len(GAP)
    first = pages[0].metadata
    shared = {
        key: value
        for key, value in first.items()
        if key not in PAGE_KEYS
        and all(_is_same(page.metadata, key, value) for page in pages)
    }
    text = GAP.join(page.text for page in pages)
    starts = written_starts((place.start, place.page) for place in places)
    return HostDocument(text, {**shared, PAGES_KEY: len(pages), **starts}), tuple(
        places
    )


def _is_same(metadata: Mapping[str, Any], key: str, value: Any) -> bool:
    return key in metadata and bool(metadata[key] == value)


def _numbers(pages: list[HostDocument]) -> list[int]:
    """The pages' numbers from 1, also for loaders that count from 0."""
    numbers = []
    for position, page in enumerate(pages):
        values = (
            page.metadata.get(key) for key in ("page_number", "page", "page_label")
        )
        number = next((value for value in values if value is not None), position)
        numbers.append(whole_number(str(number), position))
    return [number + 1 for number in numbers] if min(numbers) == 0 else numbers
