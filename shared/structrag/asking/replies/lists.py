"""What language models answer when they are asked for a summary or keywords, read leniently."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from typing import Any

MAX_WORDS = 6  # a keyword of more words is a sentence

_REFUSAL = re.compile(
    r"\W*(?:(?:i['’]?m|i am|we are) (?:(?:very|really|so) )?(?:sorry|unable|not able)|sorry\b|i "
    r"can(?:not|['’]?t| not)\b|"
    r"i (?:won['’]?t|apologi[sz]e)\b|my apologies|unfortunately,? i\b|as an ai\b|unable to\b)",
    re.IGNORECASE,
)
_NONE = {"none", "null", "n/a"}
_FENCE = re.compile(r"^[ \t]*```[\w-]*[ \t]*$", re.MULTILINE)
_LABEL = re.compile(r"\A\W*keywords?[\"'\s]*:", re.IGNORECASE)
_LETTER = re.compile(r"\w")
_SEPARATORS = re.compile(r"[\n,;•，、；]|^\s*[-*]\s+|^\s*\d+[.)]\s+", re.MULTILINE)


def parse_answer(kind: str, answer: str) -> tuple[str, list[str]]:
    """The summary and the keywords in an answer, "" and [] for what cannot be used."""
    if kind == "keywords":
        return "", parse_keywords(answer)
    value = _load(answer) if kind == "merged" or answer.lstrip().startswith(("{", "```")) else None
    if not isinstance(value, dict):
        return (_usable(answer) if kind == "summary" else ""), []
    found = {str(key).strip().casefold(): part for key, part in value.items()}
    summary, words = found.get("summary"), found.get("keywords")
    listed = _as_list(words)
    return (
        _usable(summary) if isinstance(summary, str) else "",
        parse_keywords(words) if isinstance(words, str) else _tidy(listed or []),
    )


def parse_keywords(answer: str) -> list[str]:
    """Keywords in a model's answer: a JSON list, else a Python literal, else split at newlines,
    commas and bullets.

    Stripped, empty ones dropped, each once (case aside), in order, at most 40. An item of more than
    six words is no keyword. [] if none is left, for a refusal, for broken JSON, and for prose: half
    or more of what is not a list is that long.
    """
    value = _load(answer)
    if isinstance(value, dict | list | tuple | set):
        return _tidy(_as_list(value) or [])
    plain = _LABEL.sub("", _without_fences(answer))
    if plain.lstrip().startswith("{") or _REFUSAL.match(plain) or _says_none(plain):
        return []
    parts = [
        part
        for part in _SEPARATORS.split(plain)
        if part.strip() and not part.rstrip().endswith((":", "："))
    ]
    long = sum(len(part.split()) > MAX_WORDS for part in parts)
    return [] if long * 2 >= len(parts) else _tidy(parts)


def is_refusal(answer: str) -> bool:
    """Whether an answer begins like an apology or a refusal (English)."""
    return bool(_REFUSAL.match(_without_fences(answer)))


def answers_list(answer: str) -> bool:
    """Whether an answer to a question for a list can be used: `parse_keywords` finds some, or it is
    an empty list or says "none"."""
    if parse_keywords(answer):
        return True
    value = _load(answer)
    return (value is not None and not _as_list(value)) or _says_none(
        _LABEL.sub("", _without_fences(answer))
    )


def _says_none(answer: str) -> bool:
    return answer.strip().strip(".").casefold() in _NONE


def _tidy(items: Sequence[Any]) -> list[str]:
    unique: dict[str, str] = {}
    for item in items:
        if isinstance(item, str | int | float):
            word = " ".join(str(item).split()).strip("\"'`[]. ")
            if _LETTER.search(word) and len(word.split()) <= MAX_WORDS:
                unique.setdefault(word.casefold(), word)
    return list(unique.values())[:40]


def _usable(summary: str) -> str:
    text = _without_fences(summary).strip()
    return "" if text.startswith("{") or is_refusal(text) else text


def _without_fences(answer: str) -> str:
    return _FENCE.sub("", answer)


def _load(answer: str) -> Any:
    """The JSON value or Python literal in an answer, inside a code fence or between other words;
    None if there is none."""
    candidates = [answer.strip()]
    for opening, closing in ("{}", "[]"):
        first, last = answer.find(opening), answer.rfind(closing)
        if 0 <= first < last:
            candidates.append(answer[first : last + 1])
    for candidate in candidates:
        try:
            return json.loads(candidate)
        except (ValueError, RecursionError):
            pass
        try:
            if candidate[:1] in "[{(":
                return ast.literal_eval(candidate)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            pass
    return None


def _as_list(value: Any) -> list[Any] | None:
    if isinstance(value, dict):
        value = next((part for part in value.values() if isinstance(part, list)), None)
    if isinstance(value, set):
        return sorted(value, key=repr)
    return list(value) if isinstance(value, list | tuple) else None
