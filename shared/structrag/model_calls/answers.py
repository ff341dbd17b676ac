"""Read a language model's answer leniently, in fences and between other words: JSON, a summary,
keywords, or the ids of those that were shown."""

from __future__ import annotations

import ast
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from typing import Any

_FENCE = re.compile(r"^[ \t]*```[\w-]*[ \t]*$", re.MULTILINE)


def without_fences(text: str) -> str:
    """The text without the lines that open and close code."""
    return _FENCE.sub("", text)


def bare(answer: str) -> str:
    """The answer without fences, and without white space around it."""
    return without_fences(answer).strip()


def bracketed(text: str) -> Iterator[str]:
    """The text between the outer braces, then between the outer brackets."""
    for opening, closing in ("{}", "[]"):
        first, last = text.find(opening), text.rfind(closing) + 1
        if 0 <= first < last:
            yield text[first:last]


def loaded(text: str, *, literals: bool = False) -> Any:
    """The JSON value that a text is, None for another text. With `literals` a Python list, tuple,
    set or dictionary is read too."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if literals and text[:1] in {"[", "{", "("}:
        try:
            return ast.literal_eval(text)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            pass
    return None


def first_value(answer: str, *, literals: bool = False) -> Any:
    """The value that the answer is or holds, or None; see `loaded`."""
    for text in (answer.strip(), *bracketed(answer)):
        value = loaded(text, literals=literals)
        if value is not None:
            return value
    return None


MAX_WORDS = 6  # a keyword of more words is a sentence
MAX_CHARACTERS = 60  # of a keyword, whatever its script
MOST_KEYWORDS = 40  # of one answer

_REFUSAL = re.compile(
    r"\W*(?:(?:i['’]?m|i am|we are) (?:(?:very|really|so) )?(?:sorry|unable|not able)|sorry\b|"
    r"i can(?:not|['’]?t| not)\b|i (?:won['’]?t|apologi[sz]e)\b|my apologies|"
    r"unfortunately,? i\b|as an ai\b|unable to\b|"
    r"leider kann ich\b|ich kann (?:leider|diese|das|nicht)\b|tut mir leid|"
    r"je (?:suis désolé|ne peux pas)|désolée?\b|lo siento|no puedo|"
    r"(?:很)?抱歉|对不起|申し訳|すみません)",
    re.IGNORECASE,
)
_NONE = {"none", "null", "n/a"}
_LABEL = re.compile(r"\A\W*keywords?[\"'\s]*:", re.IGNORECASE)
_NAMED = re.compile(r"[^\W\d_]|\d.*\d")  # a letter, or more than one digit
# Signs of broken JSON, markup and addresses.
_MARKUP = re.compile(r"[{}\[\]<>]|\"\s*:|://")
LOOKED_AT = 2000  # characters of an answer that may go round in circles
LEAST_LOOP = 160  # characters; in shorter ones letters are repeated by chance
_SEPARATORS = re.compile(
    r"[\n,;•，、；]|^[^\S\n]*[-*]\s+|^[^\S\n]*\d+[.)]\s+", re.MULTILINE
)


def parse_answer(
    kind: str, answer: Any, *, refusals: bool = False
) -> tuple[str, list[str]]:
    """The summary and keywords in an answer; "" and [] for none, and for a call that failed. With
    `refusals` a summary may begin like one, as "Sorry! is a game" does."""
    if not isinstance(answer, str):
        return "", []
    if kind == "keywords":
        return "", parse_keywords(answer)
    value = None
    # A summary that was asked for alone is mostly plain text, which may hold brackets.
    if kind == "merged" or answer.lstrip().startswith(("{", "```")):
        value = first_value(answer, literals=True)
    if not isinstance(value, dict):
        return (_usable(answer, refusals) if kind == "summary" else ""), []
    parts = {str(key).strip().casefold(): part for key, part in value.items()}
    summary, words = parts.get("summary"), parts.get("keywords")
    keywords = (
        parse_keywords(words)
        if isinstance(words, str)
        else _tidy(_as_list(words) or [])
    )
    return _usable(summary, refusals) if isinstance(summary, str) else "", keywords


def parse_keywords(answer: str) -> list[str]:
    """The keywords in a language model's answer.

    They are a JSON list, else a Python literal, else what newlines, commas and bullets separate.
    Stripped, empty ones dropped, each once (case aside), in order, at most 40. No keyword is an
    item of more than six words or 60 characters, one without a letter or two digits, an address, or
    one with signs of JSON or markup. [] if none is left, for a refusal, for broken JSON, and for
    prose: half or more of what is not a list is too long.
    """
    value = first_value(answer, literals=True)
    if isinstance(value, dict | list | tuple | set):
        return _tidy(_as_list(value) or [])
    plain = _LABEL.sub("", without_fences(answer))
    if plain.lstrip().startswith("{") or _REFUSAL.match(plain) or _says_none(plain):
        return []
    parts = _separated(plain)
    long = sum(map(_is_long, parts))
    return [] if long * 2 >= len(parts) else _tidy(parts)


def _separated(plain: str) -> list[str]:
    """Split at separators, and drop lines that only announce a list."""
    parts = [part.rstrip() for part in _SEPARATORS.split(plain)]
    return [part for part in parts if part and not part.endswith((":", "："))]


def is_refusal(answer: str) -> bool:
    """Whether an answer begins like an apology or a refusal. In English, German, French, Spanish,
    Chinese or Japanese."""
    return bool(_REFUSAL.match(without_fences(answer)))


def loops(answer: str) -> bool:
    """Whether an answer says the same again and again.

    Of the runs of four in its first 2,000 characters fewer than a sixteenth are different; in prose
    most are. Answers below 160 characters never do.

    Example:
        >>> loops("The seal of the pump. " * 20), loops("Rinse the filter every week. " * 2)
        (True, False)
    """
    beginning = answer[:LOOKED_AT]
    runs = {beginning[i : i + 4] for i in range(len(beginning) - 3)}
    return len(beginning) >= LEAST_LOOP and len(runs) < len(beginning) / 16


def _says_none(answer: str) -> bool:
    return answer.strip().strip(".").casefold() in _NONE


def _tidy(items: Sequence[Any]) -> list[str]:
    unique: dict[str, str] = {}
    for item in items:
        if not isinstance(item, str | int | float):
            continue
        word = " ".join(str(item).split()).strip("\"'`[]. ")
        if _NAMED.search(word) and not _is_long(word) and not _MARKUP.search(word):
            unique.setdefault(word.casefold(), word)
    return list(unique.values())[:MOST_KEYWORDS]


def _is_long(part: str) -> bool:
    return len(part) > MAX_CHARACTERS or len(part.split()) > MAX_WORDS


def plain_text(answer: str, *, refusals: bool = False) -> str:
    """The answer without code fences, "" for broken JSON and, without `refusals`, a refusal."""
    text = bare(answer)
    return "" if text.startswith("{") or (not refusals and is_refusal(text)) else text


def _usable(summary: str, refusals: bool) -> str:
    """The summary; "" for a loop too, and without any letter."""
    text = plain_text(summary, refusals=refusals)
    return "" if loops(text) or not any(map(str.isalpha, text)) else text


def _as_list(value: Any) -> list[Any] | None:
    if isinstance(value, dict):
        value = next((part for part in value.values() if isinstance(part, list)), None)
    if isinstance(value, set):
        return sorted(value, key=repr)
    return list(value) if isinstance(value, list | tuple) else None


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
_NAMED_IDS = re.compile(
    rf"(?:{_NOUN}|\b(?:ones|answer)[ \t](?:is|are)\b)\W{{0,3}}(\d+{_MORE})(?![\w%]|\.\d)",
    re.IGNORECASE,
)
# An id and why it is one: "2: it names the pump".
_REASONED = re.compile(r"^[ \t*#-]*(\d+)[ \t]*:\s", re.MULTILINE)
_ID_LABEL = re.compile(r"^[ \t>*-]*\(?(\d{1,9})[.)](?=\s|\Z)", re.MULTILINE)
_MARKER = re.compile(
    r"^[^\w\n]*(?:final )?(?:answer|ids?)\W{0,3}:", re.I | re.MULTILINE
)
_NO_IDS = re.compile(
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
    return _NO_IDS.match(text) is not None and not is_refusal(text)


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
    labels = _ID_LABEL.findall(text)
    # The numbers of an enumeration, which counts from one, are no ids.
    if len(labels) > 1 and [*map(int, labels)] == [*range(1, len(labels) + 1)]:
        text = _ID_LABEL.sub("", text)
    lines = [_BRACKETS.sub(r"\1", line) for line in text.splitlines()]
    lines += [line.rpartition(":")[2] for line in lines if ":" in line]
    if listed := [item for line in lines if _is_list(line) for item in _ranges(line)]:
        return listed
    if _NEGATED.search(text):
        return []
    for form in (_BRACKETS, _NAMED_IDS, _REASONED):
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
