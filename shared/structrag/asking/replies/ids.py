"""The ids in a language model's answer, of those that were shown."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from structrag.asking.replies.json import (
    bracketed,
    loaded,
    without_fences,
    without_thoughts,
)
from structrag.asking.replies.lists import is_refusal

Item = tuple[int, int]  # the first and the last id of a range; a single id twice

_DIGITS = 9  # a longer number is no id
_DEEPEST = 8  # of JSON values in each other; what is deeper is not read
_NO_ITEM: Item = (-1, -1)  # named, but nothing that could be an id

_NUMBER = r"(?<![A-Za-z\d$€£])(?<!\d\.)(?<!^-)(?<![A-Za-z\s,\[(]-)\d+(?![A-Za-z\d]|\.\d|[ \t]?%)"
_TO = r"(?:[-–—‑~～…]|\.\.|\.\.\.|to|through|bis|à|al?|до|至|到|から)"
_ITEM = re.compile(
    rf"({_NUMBER})(?:[ \t]*{_TO}[ \t]*(\d+)(?![A-Za-z\d]|\.\d))?",
    re.IGNORECASE | re.MULTILINE,
)

_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_OTHER_BRACKETS = str.maketrans("【】［］〔〕", "[][][]")
_BRACKETED_RANGE = re.compile(
    rf"\[\s*(\d+)\s*\][ \t]*{_TO}[ \t]*\[\s*(\d+)\s*\]", re.IGNORECASE
)

_NOUN = (
    r"(?:paragraph|section|passage|chunk|item|para|id|number|no|nr|absatz|absätze|abschnitt|"
    r"párrafo|sección|seccion|paragraphe|parágrafo|paragrafo|seção|sezione|alinea|абзац|раздел)"
    r"(?:s|e|es|en|i|ы)?"
)
_AND = r"(?:and|or|und|oder|et|ou|y|e|o|og|och|en|и|или)"
_NAMED = re.compile(
    rf"(?:\b{_NOUN}\b\.?|第|段落|章节)[\s#:(]{{0,3}}(?=\d)", re.IGNORECASE
)
_RUN_ON = re.compile(
    rf"[\s,;/&，、；和与及と或]{{1,4}}(?:{_AND}\s)?\s?(?=\d)", re.IGNORECASE
)
_FILLER = re.compile(
    rf"\b(?:{_NOUN}|{_AND})\b|[第段節节落章和与及と或و،，、；·•\s.,:;|/&()*#\"'`<>{{}}+§-]",
    re.IGNORECASE,
)
# An id and why it is one: "2: it names the pump". "2. It names" is numbered prose.
_LEADING = re.compile(
    rf"^[ \t>*•-]*(?:\(({_NUMBER})\)|#?({_NUMBER})[ \t]*[:：–—-])(?=\s)", re.MULTILINE
)
# The number of a line in a list: "1." or "2)".
_LABEL = re.compile(r"^[ \t>*•-]*\(?(\d{1,9})[.)](?=\s|\Z)", re.MULTILINE)
_LABELS_ALONE = re.compile(r"^[ \t]*(?:\(?\d{1,9}[.)][ \t]*){2,}$", re.MULTILINE)
# What a sentence names ids with: "the relevant ones are 2 and 4", "only 3".
_SAID = re.compile(
    r"\b(?:(?:ones?|answers?|relevant|helpful|useful|they|these|it)[ \t]+(?:is|are)|except|only)"
    r"[ \t]+(?=\d)",
    re.IGNORECASE,
)
_SAID_END = re.compile(r"\s*(?:[.,;!。]|\Z|\n|(?:is|are)\b)")
_MARKER = re.compile(
    r"^[^\w\n]*(?:(?:the |my )?(?:final )?answer|"
    r"(?:relevant |selected )?(?:(?:paragraph|section|passage) )?ids?)\W{0,3}[:：]",
    re.IGNORECASE | re.MULTILINE,
)

_CLAUSE_END = re.compile(
    r"[.!?;](?=\s)|[\n()。！？；]|"
    r"\b(?:but|except|however|while|whereas|aber|außer|mais|sauf|pero|salvo)\b",
    re.IGNORECASE,
)
_NO = re.compile(
    r"\W*(?:(?:unfortunately|leider|so)\W+)?"
    r"(?:no(?!\W{0,2}\d)\b|none\b|nothing\b|neither\b|nil\b|n/a\b|not\b|"
    r"there (?:is|are|was|were) no\b|"
    r"(?:i['’]?m|i am|we are) (?:\w+ )?(?:sorry|unable|not|afraid)\b|"
    r"sorry\b|as an ai\b|unable\b|my apologies\b|"
    r"i (?:can(?:not|['’]?t)|could ?n[o'’]t|did ?n[o'’]t|do ?n[o'’]t|found no|apologi[sz]e)\b|"
    r"kein\w*\b|nichts\b|aucun|rien\b|désolé|ning[uú]n|nada\b|nessun|nenhum|geen\b|ingen|"
    r"нет\b|ни\b|无|沒有|没有|無|なし|該当|없|لا\b)|"
    r".*\bnone of\b",
    re.IGNORECASE | re.DOTALL,
)
_IRRELEVANT = re.compile(
    r"\b(?:not (?:\w+ )?(?:relevant|related|helpful|useful)|irrelevant|unrelated)\b",
    re.IGNORECASE,
)
# keys of no ids
_ASIDE = re.compile(
    r"irrelevant|not|exclud|reject|reason|explanation|confidence|score", re.IGNORECASE
)
# keys whose value false means: not this one
_CHOSEN = re.compile(r"relevant|select|useful", re.IGNORECASE)
_KEY = re.compile(r"ids?\b|index|number|paragraph|section|answer", re.IGNORECASE)


def parse_ids(answer: str, allowed: Collection[int]) -> tuple[list[int], int]:
    """The allowed ids that an answer names; how many items match none.

    They are ascending, and each is there once. The first of these that the answer holds is read: a
    JSON value (a list, `{"ids": [...]}`, `{"2": true}`); numbers in square brackets; lines, or line
    ends behind a colon, that are nothing but a list; numbers behind a word such as "paragraph", or
    behind "the relevant ones are"; numbers that begin a line in front of a colon or a dash. Only
    what stands behind "Answer:" or "IDs:" counts, if one of them begins a line. A range ("3-5", "3
    to 5") gives the allowed ids in it, however long it is; one that reaches beyond them counts once
    as unmatched.

    Other numbers are no ids: neither decimals, percentages and parts of words, nor the numbers of
    an enumeration ("1. ...", "2. ...", counting from one) or of prose. "none", "N/A", apologies and
    clauses that call something irrelevant name no ids; nor does an empty answer. Never raises.
    """
    text = without_fences(without_thoughts(answer)).strip()
    value = _loaded(text)
    items = dict.fromkeys(_text_items(text) if value is None else _json_items(value))
    choice = sorted(set(allowed))
    ids: set[int] = set()
    dropped = 0
    for first, last in items:
        inside = choice[bisect_left(choice, first) : bisect_right(choice, last)]
        ids.update(inside)
        dropped += len(inside) < last - first + 1
    return sorted(ids), dropped


def usable_ids(allowed: Collection[int], answer: str, *, empty: bool = False) -> bool:
    """Whether an answer names ids, or says that there are none.

    The ids are those of `parse_ids`; they count as named where they were not shown, too. An apology
    or a refusal says nothing, and an empty answer says "none" only with `empty`.
    """
    ids, dropped = parse_ids(answer, allowed)
    text = without_fences(without_thoughts(answer)).strip()
    if ids or dropped or not text:
        return bool(text) or empty
    return _loaded(text) is not None or (
        _NO.match(text) is not None and not is_refusal(text)
    )


def _loaded(text: str) -> Any:
    """The JSON object or list that the text is or holds."""
    for part in bracketed(text):
        value = loaded(part)
        if value is None:
            continue
        # A list of numbers amid other words is one of several, which are all read as text.
        has_objects = isinstance(value, dict) or any(
            isinstance(item, dict) for item in value
        )
        if part == text or has_objects:
            return value
    return None


def _json_items(value: Any, depth: int = 0) -> Iterator[Item]:
    if isinstance(value, str):
        yield from _text_items(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        whole = int(value) if abs(value) < 10**_DIGITS else -1
        yield (whole, whole) if whole == value else _NO_ITEM
    elif isinstance(value, list | dict) and depth < _DEEPEST:
        for part in value if isinstance(value, list) else _parts_with_ids(value):
            yield from _json_items(part, depth + 1)


def _parts_with_ids(value: dict[str, Any]) -> list[Any]:
    """What holds an object's ids, in any form that models write.

    Such as `{"ids": [...]}`, `{"id": 2, "relevant": true}`, `{"2": true, "3": false}` and
    `{"2": "because ..."}`.
    """
    if value and all(key.strip(" []").isdecimal() for key in value):
        return [key for key, part in value.items() if _is_yes(part)]
    if any(part is False and _CHOSEN.search(key) for key, part in value.items()):
        return []
    return _parts_by_key(value)


def _parts_by_key(value: dict[str, Any]) -> list[Any]:
    """All lists; without any, the first part whose key speaks of ids."""
    parts = {key: part for key, part in value.items() if not _ASIDE.search(key)}
    lists = [part for part in parts.values() if isinstance(part, list)]
    return lists or [part for key, part in parts.items() if _KEY.search(key)][:1]


def _is_yes(part: Any) -> bool:
    """Whether what stands behind an id, such as a reason, means yes."""
    if isinstance(part, str) and (_NO.match(part) or _IRRELEVANT.search(part)):
        return False
    return bool(part)


def _text_items(text: str) -> list[Item]:
    """The items of the surest form that the text holds."""
    markers = list(_MARKER.finditer(text))
    text = _without_labels(text[markers[-1].end() :] if markers else text)
    text = _BRACKETED_RANGE.sub(r"[\1-\2]", text.translate(_OTHER_BRACKETS))
    return _surest(_without(text, irrelevant=True)) or _surest(
        _without(text, irrelevant=False)
    )


def _without_labels(text: str) -> str:
    """The text without the numbers of an enumeration, which count from one."""
    labels = _LABEL.findall(text)
    if len(labels) > 1 and _counts_up(labels):
        return _LABEL.sub("", _LABELS_ALONE.sub("", text))
    return _LABELS_ALONE.sub(_unless_counting, text)


def _unless_counting(line: re.Match[str]) -> str:
    """A line of labels such as "1. 2. 3.", unless they count from one."""
    return "" if _counts_up(re.findall(r"\d+", line[0])) else line[0]


def _counts_up(labels: Sequence[str]) -> bool:
    return all(int(label) == number for number, label in enumerate(labels, start=1))


def _without(text: str, *, irrelevant: bool) -> str:
    """The text without clauses that say "none", apologise, or call something irrelevant."""
    clauses: list[str] = []
    start = 0
    for end in [*(match.end() for match in _CLAUSE_END.finditer(text)), len(text)]:
        clause = text[start:end]
        if not (_NO.match(clause) or (irrelevant and _IRRELEVANT.search(clause))):
            clauses.append(clause)
        elif clause.endswith("\n"):
            clauses.append("\n")
        start = end
    return "".join(clauses)


def _surest(text: str) -> list[Item]:
    groups = [group for group in _BRACKETS.findall(text) if _is_list(group)]
    if groups:  # "[]" says that there are none
        return _items_of(groups)
    lines: list[str] = []
    for line in text.splitlines():
        lines += [line, re.split("[:：]", line)[-1]]
    return (
        _items_of([line for line in lines if _is_list(line)])
        or _named(text)
        or _said(text)
        or _items_of(["".join(numbers) for numbers in _LEADING.findall(text)])
    )


def _is_list(text: str) -> bool:
    """Whether a text holds only items and what stands between them."""
    return not _FILLER.sub("", _ITEM.sub("", text))


def _named(text: str) -> list[Item]:
    """The items behind a word such as "section", and those that follow.

    All three of "sections 2, 4 and 7".
    """
    return [
        item for name in _NAMED.finditer(text) for item in _run(text, name.end())[0]
    ]


def _said(text: str) -> list[Item]:
    """The items that a sentence names, with nothing behind them."""
    items: list[Item] = []
    for start in _SAID.finditer(text):
        run, end = _run(text, start.end())
        if _SAID_END.match(text, end):
            items += run
    return items


def _run(text: str, start: int) -> tuple[list[Item], int]:
    """The items in unbroken succession from a place, and their end."""
    items: list[Item] = []
    end = start
    match = _ITEM.match(text, start)
    while match:
        items.append(_item(match[1], match[2]))
        end = match.end()
        more = _RUN_ON.match(text, end)
        match = _ITEM.match(text, more.end()) if more else None
    return items, end


def _items_of(texts: Sequence[str]) -> list[Item]:
    return [item for text in texts for item in _items(text)]


def _items(text: str) -> list[Item]:
    return [_item(match[1], match[2]) for match in _ITEM.finditer(text)]


def _item(first: str, last: str | None) -> Item:
    if max(len(first), len(last or "")) > _DIGITS:
        return _NO_ITEM
    low, high = sorted((int(first), int(last or first)))
    return low, high
