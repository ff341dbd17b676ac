"""Read JSON, a summary or keywords in a language model's answer leniently: in fences and between
other words."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
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


def parse_answer(kind: str, answer: str) -> tuple[str, list[str]]:
    """The summary and keywords in an answer; "" and [] for none."""
    if kind == "keywords":
        return "", parse_keywords(answer)
    value = None
    # A summary that was asked for alone is mostly plain text, which may hold brackets.
    if kind == "merged" or answer.lstrip().startswith(("{", "```")):
        value = first_value(answer, literals=True)
    if not isinstance(value, dict):
        return (_usable(answer) if kind == "summary" else ""), []
    parts = {str(key).strip().casefold(): part for key, part in value.items()}
    summary, words = parts.get("summary"), parts.get("keywords")
    keywords = (
        parse_keywords(words)
        if isinstance(words, str)
        else _tidy(_as_list(words) or [])
    )
    return _usable(summary) if isinstance(summary, str) else "", keywords


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


def plain_text(answer: str) -> str:
    """The answer without code fences, "" for broken JSON and a refusal."""
    text = without_fences(answer).strip()
    return "" if text.startswith("{") or is_refusal(text) else text


def _usable(summary: str) -> str:
    """The summary; "" for a loop too, and without any letter."""
    text = plain_text(summary)
    return "" if loops(text) or not any(map(str.isalpha, text)) else text


def _as_list(value: Any) -> list[Any] | None:
    if isinstance(value, dict):
        value = next((part for part in value.values() if isinstance(part, list)), None)
    if isinstance(value, set):
        return sorted(value, key=repr)
    return list(value) if isinstance(value, list | tuple) else None
