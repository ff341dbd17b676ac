"""Turns of a conversation in plain text: transcripts, chat logs, minutes."""

from __future__ import annotations

import re

FEWEST = 3  # lines that look like turns; fewer are labels
# A time, a name before a colon, or both, at the start of a line: "Ann:", "[10:15] Ann:",
# "12/03/2024, 10:15 - Ann Lee:", "00:01:02".
_TIME = (
    r"[\[(]?(?:\d{1,4}[-./]\d{1,2}[-./]\d{1,4},?[ ])?\d{1,2}:\d{2}(?::\d{2})?"
    r"(?:[ ]?[AaPp]\.?[Mm]\.?)?[\])]?"
)
_NAME = r"[^\W\d_a-z][^\n:]{0,60}:(?=\s)"
_TURN = re.compile(
    rf"^[ \t]*(?:{_TIME}(?:[ \t]{0, 4}[-–—|]?[ \t]{0, 4}{_NAME})?|{_NAME})",
    re.MULTILINE,
)


def turn_starts(text: str, start: int = 0, end: int | None = None) -> list[int]:
    """The starts of lines in `text[start:end]` that begin a turn, ascending; [] for fewer than 3.

    Example:
        >>> turn_starts("Ann: Hello.\\nAre you there?\\nBob: Yes.\\nAnn: Good.\\n")
        [0, 27, 37]
    """
    starts = [
        match.start()
        for match in _TURN.finditer(text, start, len(text) if end is None else end)
        if match.start() == start or text[match.start() - 1] == "\n"
    ]
    return starts if len(starts) >= FEWEST else []
