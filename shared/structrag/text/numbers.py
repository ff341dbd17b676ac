"""Whole numbers that a document writes, and numbers with the nouns that they count."""

from __future__ import annotations


def whole_number(text: str | None, default: int, most: int = 999_999_999_999) -> int:
    """The number that decimal digits say; `default` for anything else, or more than `most`.

    Example:
        >>> [whole_number(text, 1) for text in ("12", "-3", "9" * 5000, None)]
        [12, 1, 1, 1]
    """
    # Python itself refuses to read thousands of digits.
    if text is None or len(text) > 12 or not text.isdecimal():
        return default
    number = int(text)
    return number if number <= most else default


def pluralise(number: int, noun: str) -> str:
    """A number and its noun, in the plural unless it is 1.

    Example:
        >>> pluralise(1, "document"), pluralise(2000, "document")
        ('1 document', '2,000 documents')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
