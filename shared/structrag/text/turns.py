"""Turns of a conversation in plain text: transcripts, chat logs, minutes."""

from __future__ import annotations

import re

FEWEST = 3  # lines that look like turns; fewer are labels
# A time, a name before a colon, or both, at the start of a line: "Ann:", "[10:15] Ann:",
# "12/03/2024, 10:15 - Ann Lee:", "00:01:02", "Ann Lee, [12.03.2024 10:15]".
_TIME = (
    r"[\[(]?(?:\d{1,4}[-./]\d{1,2}[-./]\d{1,4},?[ ])?\d{1,2}:\d{2}(?::\d{2})?"
    r"(?:[ ]?[AaPp]\.?[Mm]\.?)?[\])]?"
)
_PERSON = r"[^\W\d_a-z][\w'’.-]{0,30}(?:[ ][\w'’.-]{1,30}){0,4},?[ ]{1,4}"
_TURN = re.compile(
    rf"^[ \t\u200e]*(?:({_TIME}|\[?{_PERSON}{_TIME}:?[ \t]*$)|[^\W\d_a-z][^\n:]{{0,60}}:(?=\s))",
    re.MULTILINE,
)


def turn_starts(text: str, start: int = 0, end: int | None = None) -> list[int]:
    """The starts of lines in `text[start:end]` that begin a turn, ascending; [] for fewer than 3.

    Example:
        >>> turn_starts("Ann: Hello.\\nAre you there?\\nBob: Yes.\\nAnn: Good.\\n")
        [0, 27, 37]
    """
    turns = [
        match
        for match in _TURN.finditer(text, start, len(text) if end is None else end)
        if match.start() == start or text[match.start() - 1] == "\n"
    ]
    # Among times, a word before a colon is no speaker.
    is_timed = 2 * sum(match[1] is not None for match in turns) > len(turns)
    starts = [match.start() for match in turns if match[1] or not is_timed]
    return starts if len(starts) >= FEWEST else []
