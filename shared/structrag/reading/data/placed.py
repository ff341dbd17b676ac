"""Blocks of Markdown, and the places where they begin."""

from __future__ import annotations

from structrag.reading.drafts import Draft


def placed_draft(
    blocks: list[tuple[str, str]], uncertain: tuple[str, ...] = (), title: str = ""
) -> Draft:
    """A draft of (place, Markdown) blocks. Blank ones are left out; "" is no place.

    Example:
        >>> placed_draft([("cell 1", "# Pumps"), ("cell 2", "Text.")]).places
        ((0, 'cell 1'), (9, 'cell 2'))
    """
    parts: list[str] = []
    places: list[tuple[int, str]] = []
    end = 0
    for place, block in blocks:
        if not block.strip():
            continue
        if not parts and block.startswith(("---", "+++")):  # it would be front matter
            block = f"\\{block}"
        if place and (not places or places[-1][1] != place):
            places.append((end, place))
        parts.append(block)
        end += len(block) + 2
    text = "\n\n".join(parts)
    return Draft(
        f"{text}\n" if text else "", uncertain, title=title, places=tuple(places)
    )
