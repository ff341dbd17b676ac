"""Numbers with the nouns that they count."""

from __future__ import annotations


def pluralise(number: int, noun: str) -> str:
    """A number and its noun, in the plural unless it is 1.

    Example:
        >>> pluralise(1, "document"), pluralise(2000, "document")
        ('1 document', '2,000 documents')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
