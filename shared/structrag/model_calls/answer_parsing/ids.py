"""The ids in a language model's answer, of those that were shown."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator
from typing import Any

from structrag.model_calls.answer_parsing.lists import bare, first_value, is_refusal

# The JSON schema for models that can be held to one.
ID_SCHEMA = {
    "type": "object",
    "properties": {"ids": {"type": "array", "items": {"type": "integer"}}},
    "required": ["ids"],
    "additionalProperties": False,
}

Item = tuple[int, int]  # the first and the last id of a range; a single id twice

_DIGITS = 9  # a longer number is no id
_NO_ITEM: Item = (-1, -1)  # named, but nothing that could be an id
_NOUN = r"\b(?:paragraph|section|passage|chunk|id|number|no)s?\b"
_ID = r"(?<![\w.$€£-])\d+(?![\w%]|\.\d)"
_RANGE = re.compile(
    rf"({_ID})(?:[ \t]*(?:[-–—]|\.\.|to)[ \t]*(\d+)(?![\w%]|\.\d))?", re.IGNORECASE
)
_FILLER = re.compile(rf"{_NOUN}|\b(?:and|or)\b|[\W_]+", re.IGNORECASE)
_OTHER = re.compile(r"[{}\[\]=?!%$€£]|(?:^|[\s,(])-\d")  # in no list of ids
_BRACKETS = re.compile(r"[\[【(]([\d\s,;–-]{1,200})[\])】]")
_MORE = r"(?:[\s,;&–-]{1,4}(?:(?:and|or|to)\s)?\d+)*"
_NAMED = re.compile(
    rf"(?:{_NOUN}|\b(?:ones|answer)[ \t](?:is|are)\b)\W{{0,3}}(\d+{_MORE})(?![\w%]|\.\d)",
    re.IGNORECASE,
)
# An id and why it is one: "2: it names the pump".
_REASONED = re.compile(r"^[ \t*#-]*(\d+)[ \t]*:\s", re.MULTILINE)
_LABEL = re.compile(r"^[ \t>*-]*\(?(\d{1,9})[.)](?=\s|\Z)", re.MULTILINE)
_MARKER = re.compile(
    r"^[^\w\n]*(?:final )?(?:answer|ids?)\W{0,3}:", re.I | re.MULTILINE
)
_NONE = re.compile(
    r"\W*(?:(?:no(?!\W{0,2}\d)|none|nothing|n/a|not|keine?r?|aucune?|ninguna?)\b|"
    r"there (?:is|are) no\b|无|没有)",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"\b(?:not|no|none|irrelevant|unrelated)\b", re.IGNORECASE)
_ASIDE = re.compile(r"irrelevant|not|exclud|reject", re.IGNORECASE)  # keys of no ids


def parse_ids(answer: str, allowed: Collection[int]) -> tuple[list[int], int]:
    """The allowed ids that an answer names, ascending; how many items match none.

    An answer is JSON (a list, `{"ids": [...]}`, `{"2": true}`), lines that hold nothing but ids, or
    prose that names them in brackets, behind a word such as "paragraph" or in front of a colon.
    Only what stands behind "Answer:" counts, if that begins a line. A range ("3-5") gives the
    allowed ids in it. Other numbers are no ids, and prose that denies something names none. Never
    raises.
    """
    choice = sorted(set(allowed))
    ids: set[int] = set()
    dropped = 0
    for first, last in dict.fromkeys(_items(bare(answer))):
        inside = choice[bisect_left(choice, first) : bisect_right(choice, last)]
        ids.update(inside)
        dropped += len(inside) < last - first + 1
    return sorted(ids), dropped


def usable_ids(allowed: Collection[int], answer: str, *, empty: bool = False) -> bool:
    """Whether an answer names ids, shown or not, or says that there are none. An apology or a
    refusal says nothing, and an empty answer says "none" only with `empty`."""
    text = bare(answer)
    ids, dropped = parse_ids(answer, allowed)
    if ids or dropped or not text:
        return bool(text) or empty
    value = first_value(text)
    if isinstance(value, dict | list):
        return _denies(value)
    return _NONE.match(text) is not None and not is_refusal(text)


def _denies(value: Any) -> bool:
    """Whether a JSON value without ids says that there are none."""
    if isinstance(value, dict):
        return not value or any(map(_denies, value.values()))
    if isinstance(value, list):
        return all(map(_denies, value))
    if isinstance(value, str) and value.strip():
        return _NEGATED.search(value) is not None
    return not value


def _items(text: str) -> list[Item]:
    value = first_value(text)
    if isinstance(value, dict):
        return list(_of_values(_chosen(value)))
    if isinstance(value, list) and (
        text.startswith("[") or any(isinstance(part, dict) for part in value)
    ):
        return list(_of_values(value))
    return _of_text(text)


def _chosen(value: dict[str, Any]) -> list[Any]:
    """Return the parts of a JSON object that are ids: its keys, a list, or a value named id."""
    if value and all(key.strip(" []").isdecimal() for key in value):
        return [key for key, part in value.items() if _is_yes(part)]
    if any(part is False for part in value.values()):
        return []
    parts = {key: part for key, part in value.items() if not _ASIDE.search(key)}
    lists = [part for part in parts.values() if isinstance(part, list)]
    named = [part for key, part in parts.items() if "id" in key.lower()]
    return [part for one in lists for part in one] or named[:1]


def _is_yes(part: Any) -> bool:
    return not _NEGATED.search(part) if isinstance(part, str) else bool(part)


def _of_values(values: list[Any]) -> Iterator[Item]:
    for value in values:
        if isinstance(value, dict):
            parts = _chosen(value)
            yield from _of_values([p for p in parts if not isinstance(p, dict | list)])
        elif isinstance(value, str):
            yield from _of_text(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            is_whole = abs(value) < 10**_DIGITS and value == int(value)
            yield (int(value), int(value)) if is_whole else _NO_ITEM


def _of_text(text: str) -> list[Item]:
    """The items of lines that are lists of them, else those that prose names."""
    *_, text = _MARKER.split(text)
    labels = _LABEL.findall(text)
    # The numbers of an enumeration, which counts from one, are no ids.
    if len(labels) > 1 and [*map(int, labels)] == [*range(1, len(labels) + 1)]:
        text = _LABEL.sub("", text)
    lines = [_BRACKETS.sub(r"\1", line) for line in text.splitlines()]
    lines += [line.rpartition(":")[2] for line in lines if ":" in line]
    if listed := [item for line in lines if _is_list(line) for item in _ranges(line)]:
        return listed
    if _NEGATED.search(text):
        return []
    for form in (_BRACKETS, _NAMED, _REASONED):
        if named := _ranges("\n".join(form.findall(text))):
            return named
    return []


def _is_list(line: str) -> bool:
    return not (_OTHER.search(line) or _FILLER.sub("", _RANGE.sub("", line)))


def _ranges(text: str) -> list[Item]:
    return [_item(first, last or first) for first, last in _RANGE.findall(text)]


def _item(first: str, last: str) -> Item:
    if max(len(first), len(last)) > _DIGITS:
        return _NO_ITEM
    low, high = sorted((int(first), int(last)))
    return low, high
