"""Tables as text: CSV and TSV."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from contextlib import suppress
from itertools import islice

from structrag.reading.decoding import decoded
from structrag.reading.drafts import Draft
from structrag.reading.office.placed import PlacedText
from structrag.reading.tables import count_lead

_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE = 200  # rows that tell the delimiter
_DECLARED = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)  # Excel's own first line


def to_markdown(data: bytes, name: str = "") -> Draft:
    """A table in CSV or TSV as one pipe table.

    The first row is the header; lines of fewer cells or with "# " above it are paragraphs. The
    delimiter is found out among comma, semicolon, tab and bar; it
    is the tab where the name ends with ".tsv". Line ends inside quotes belong to their cell.

    Example:
        >>> print(to_markdown(b"part;price\\nseal;4,50\\n").text)
        | part | price |
        | --- | --- |
        | seal | 4,50 |
        <BLANKLINE>

    Raises:
        InvalidDocument: It is no text.
    """
    text = decoded(data, name).text.replace("\0", "")
    delimiter, begin = delimiter_of(text, name)
    text = text[begin:]
    unsure = []
    rows: list[list[str]] = []
    try:
        rows = _rows(text, delimiter, strict=True)
    except csv.Error as error:
        if "unexpected end" not in str(error):
            with suppress(csv.Error):  # quotation marks where none should be
                rows = _rows(text, delimiter)
    if not rows and text.strip():
        rows = [line.split(delimiter) for line in text.splitlines()]
        unsure.append(
            "A quotation mark is never closed, so all quotation marks were kept as text."
        )
    placed = PlacedText()
    labels = [f"row {number}" for number in range(1, len(rows) + 1)]
    lead = count_lead(rows)
    for row, label in zip(rows[:lead], labels, strict=False):
        placed.enter(label)
        placed.paragraph("; ".join(filter(None, map(str.strip, row))))
    placed.table(rows[lead:], labels[lead:])
    return placed.draft(uncertain=unsure)


def delimiter_of(text: str, name: str = "") -> tuple[str, int]:
    """What stands between the cells of a table as text, and where its first row begins.

    Example:
        >>> delimiter_of("sep=;\\npart;price\\n"), delimiter_of("part,price\\n")
        ((';', 6), (',', 0))
    """
    declared = _DECLARED.match(text)
    if declared:
        return declared[1], declared.end()
    is_tabbed = name.lower().endswith((".tsv", ".tab"))
    return "\t" if is_tabbed else _found(text), 0


def _rows(
    text: str, delimiter: str, most: int | None = None, *, strict: bool = False
) -> list[list[str]]:
    source = io.StringIO(text, newline="")
    return list(islice(csv.reader(source, delimiter=delimiter, strict=strict), most))


def _found(text: str) -> str:
    """The delimiter with which most rows have one length, and the longest of them."""

    def agreement(delimiter: str) -> tuple[int, int]:
        try:
            rows = _rows(text, delimiter, _SAMPLE)
        except csv.Error:
            rows = [line.split(delimiter) for line in text.splitlines()[:_SAMPLE]]
        widths = Counter(len(row) for row in rows if len(row) > 1)
        return max(((count, width) for width, count in widths.items()), default=(0, 0))

    return max(_DELIMITERS, key=agreement)
