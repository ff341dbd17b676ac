"""Which pages, slides, sheets or cells of a file a text stands on.

A document's metadata says it in strings, which every store takes: `page_starts` is "0:1 1832:2" for
a text whose first page is 1 and that goes on with page 2 at character 1,832; `place_starts` is a
JSON list of characters and names, '[[0, "slide 1"], [90, "slide 2"]]'.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

PAGE_STARTS = "page_starts"
PLACE_STARTS = "place_starts"
_WRITTEN = re.compile(r"\d+:\d+(?: \d+:\d+)*")
PageStart = tuple[int, int]  # character, number of the page from 1


def written_starts(starts: Iterable[PageStart]) -> dict[str, str]:
    """Where pages begin in a text, as metadata; {} where nobody knows.

    Example:
        >>> written_starts([(0, 1), (40, 1), (90, 2)])
        {'page_starts': '0:1 90:2'}
    """
    changes: list[PageStart] = []
    for start, page in starts:
        if not changes or changes[-1][1] != page:
            changes.append((start, page))
    if not changes:
        return {}
    return {PAGE_STARTS: " ".join(f"{start}:{page}" for start, page in changes)}


def pages_between(
    meta: Mapping[str, Any], start: int, end: int
) -> tuple[int, int] | None:
    """The first and last page of a span of a document's text.

    Example:
        >>> meta = {"page_starts": "0:1 90:2 200:3"}
        >>> pages_between(meta, 100, 250), pages_between(meta, 0, 90), pages_between({}, 0, 9)
        ((2, 3), (1, 1), None)

    Args:
        meta: The document's metadata.
        start, end: Characters of its text.

    Pages are counted from 1. None where the metadata does not say: only files with pages have some.
    """
    starts, pages = read_starts(str(meta.get(PAGE_STARTS)))
    if not starts:
        return None
    first = max(0, bisect_right(starts, start) - 1)
    last = max(first, bisect_right(starts, end - 1) - 1)
    return min(pages[first : last + 1]), max(pages[first : last + 1])


def starts_in_text(
    text: str, blocks: Iterable[tuple[str, Sequence[PageStart]]]
) -> Iterator[PageStart]:
    """Where pages begin in a text that blocks were put together to. `blocks` are in order, each
    with where pages begin in it."""
    position = 0
    for block, starts in blocks:
        position = text.index(block, position)
        for start, page in starts:
            yield position + start, page
        position += len(block)


def written_places(places: Iterable[tuple[int, str]]) -> dict[str, str]:
    """Where named places begin in a text, as metadata; {} where nobody knows.

    Example:
        >>> written_places([(0, "slide 1"), (90, "slide 2")])
        {'place_starts': '[[0, "slide 1"], [90, "slide 2"]]'}
    """
    listed = [[start, name] for start, name in places]
    return {PLACE_STARTS: json.dumps(listed, ensure_ascii=False)} if listed else {}


def place_between(meta: Mapping[str, Any], start: int, end: int) -> str:
    """The place of a span of a document's text, or its first and last; "" where nobody knows.

    Example:
        >>> meta = written_places([(0, "slide 1"), (90, "slide 2"), (200, "slide 3")])
        >>> place_between(meta, 100, 150), place_between(meta, 100, 250)
        ('slide 2', 'slide 2 to slide 3')
    """
    starts, names = _read_places(str(meta.get(PLACE_STARTS)))
    last = bisect_right(starts, max(start, end - 1)) - 1
    if last < 0:
        return ""
    first = names[max(0, bisect_right(starts, start) - 1)]
    return first if first == names[last] else f"{first} to {names[last]}"


@lru_cache(maxsize=32)
def _read_places(written: str) -> tuple[tuple[int, ...], tuple[str, ...]]:
    try:
        starts, names = zip(*json.loads(written), strict=True)
        return tuple(map(int, starts)), tuple(map(str, names))
    except (ValueError, TypeError):  # a key of the caller's own
        return (), ()


@lru_cache(maxsize=32)
def read_starts(written: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if not _WRITTEN.fullmatch(written):  # a key of the caller's own
        return (), ()
    pairs = [tuple(map(int, pair.split(":"))) for pair in written.split(" ")]
    starts, pages = zip(*pairs, strict=True)
    return starts, pages
