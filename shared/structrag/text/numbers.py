"""Whole numbers that a document writes."""

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
