"""What a way of formatting gives back before it becomes a document."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Draft:
    """Markdown made from a source, with notes about it."""

    text: str  # Markdown; ends with one line end unless it is empty
    uncertain: tuple[str, ...] = ()  # what may be wrong, one sentence each
    # Lines left out as repetitions, as they stood, in order.
    removed: tuple[str, ...] = ()
    # (character, page from 1); () where unknown.
    page_starts: tuple[tuple[int, int], ...] = ()
    title: str = ""  # of the whole document, where the source says it
    # (character, name of the place that begins there): "slide 4", "cell 12"; () where unknown.
    places: tuple[tuple[int, str], ...] = ()
