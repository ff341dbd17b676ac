"""Titles in the metadata of files. Titles by people are distinguished from titles that programs
invented."""

from __future__ import annotations

import re

_PROGRAM_TITLE = re.compile(
    r"untitled.*|\(anonymous\)|.*\.(?:docx?|dvi|indd|odt|pdf|pptx?|qxd|rtf|tex|xlsx?)|microsoft "
    r"(?:word|powerpoint|excel)\b.*|(?:document|presentation|book|slide)\s?\d*",
    re.IGNORECASE,
)


def own_title(title: str) -> str:
    """The title with single blanks.

    "" for one that a program made up.

    Example:
        >>> own_title(" Pump  manual "), own_title("(anonymous)"), own_title("Microsoft Word - a")
        ('Pump manual', '', '')
    """
    title = " ".join(title.split())
    return "" if _PROGRAM_TITLE.fullmatch(title) else title
