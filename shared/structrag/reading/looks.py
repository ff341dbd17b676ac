"""What the look of a run of text says, for every format: raised and lowered figures, struck words.

- raised: `10^3`, `m^2`, `480^3` of a note; ordinals and abbreviations (1st, Mme) are words;
- lowered: `10_2` behind a figure; CO2 is a word;
- struck: `~~100~~`.

The reader of PDF files writes raised and lowered figures in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from xml.etree.ElementTree import Element

RAISED: Final = "raised"
LOWERED: Final = "lowered"
STRUCK: Final = "struck"
STROKE: Final = "~~"
OFF: Final = ("0", "false", "off")  # values of a switch of Office Open XML
_SCRIPTS = {"superscript": RAISED, "subscript": LOWERED}

_FIGURE = re.compile(r"[-\u2212\u2013+]?\d")
# A letter alone is an exponent or the mark of a note; several are an abbreviation.
_LETTER = re.compile(r"[^\W\d_](?![^\W\d_])")
_ORDINAL = re.compile(r"(?:st|nd|rd|th|er|re|\u00e8re|nde?|\u00e8?me|os|as)\.?")
_ENDING = re.compile(r"[aeo]\.?")  # of an ordinal, behind what is short
_SHORT = re.compile(r"(?:(?<!\d)\d{1,2}|[A-Z]|\bn)$")


def script_mark(before: str, text: str, look: str) -> str:
    """What parts raised or lowered text from the text that it is glued to; "" where nothing need.

    Example:
        >>> script_mark("10", "3", RAISED), script_mark("1", "st", RAISED)
        ('^', '')
    """
    last, text = before[-1:], text.strip()
    is_figure = _FIGURE.match(text)
    if not last.strip() or last in "^_([":
        return ""
    if look == LOWERED:
        return "_" if is_figure and last.isdigit() else ""
    if _ORDINAL.fullmatch(text) or (_ENDING.fullmatch(text) and _SHORT.search(before)):
        return ""
    is_power = last.isdigit() and text[:1].isalpha()
    return "^" if is_figure or is_power or _LETTER.match(text) else ""


def add_run(parts: list[str], text: str, look: str = "") -> None:
    """Append a run of text to those before it, with the marks of its look.

    Example:
        >>> parts = ["The fee is "]
        >>> add_run(parts, "100", STRUCK)
        >>> "".join(parts)
        'The fee is ~~100~~'
    """
    before = next(filter(None, reversed(parts)), "") if look else ""
    body = text.strip()
    if look == STRUCK and body:
        lead, _, tail = text.partition(body)
        if before.endswith(STROKE) and not lead:  # one word in several runs
            parts.append(parts.pop().removesuffix(STROKE))
        else:
            lead += STROKE
        text = f"{lead}{body}{STROKE}{tail}"
    elif look and not before.startswith("^"):
        text = script_mark(before, text, look) + text
    parts.append(text)


def look_of(properties: Iterable[Element] | None, look: str = "") -> str:
    """The look that the properties of a run say in Word and Excel, `look` unless they do."""
    for each in () if properties is None else properties:
        if not each.tag.endswith(("strike", "vertAlign")):
            continue
        said = next(iter(each.attrib.values()), "1")
        if each.tag.endswith("vertAlign"):
            look = _SCRIPTS.get(said, "")
        elif said not in OFF:
            return STRUCK
        else:
            look = look.replace(STRUCK, "")
    return look
