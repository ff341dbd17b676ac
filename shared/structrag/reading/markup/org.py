"""Org: its headlines, and its blocks. A line of stars and a space is always a headline."""

from __future__ import annotations

import re
from functools import partial

from structrag.reading.markup.lines import (
    Element,
    Lines,
    by_word,
    code,
    items,
    paragraph,
    tiled,
)
from structrag.records import BlockKind, Heading

_HEADLINE = re.compile(
    r"^(\*+)[ \t]+([^\r\n]*)(?:\r\n|\r|\n|\Z)|\r(?!\n)", re.MULTILINE
)
_KEYWORDS = re.compile(
    r"^[ \t]*#\+(?:SEQ_|TYP_)?TODO:([^\r\n]*)", re.MULTILINE | re.IGNORECASE
)
_TITLE = re.compile(r"^[ \t]*#\+TITLE:([^\r\n]*)", re.MULTILINE | re.IGNORECASE)
_PRIORITY = re.compile(r"\[#[A-Za-z0-9]+\][ \t]*")
_TAGS = re.compile(r"(?:^|(?<=[ \t])):[\w@#%:]+:[ \t]*$")
_BEGIN = re.compile(r"[ ]*#\+begin_(\S+)", re.IGNORECASE)
_DYNAMIC = re.compile(r"[ ]*#\+begin:", re.IGNORECASE)
_DRAWER = re.compile(r"[ ]*:[\w-]+:")
_ITEM = re.compile(r"[ ]*(?:[-+]|(?:\d+|[A-Za-z])[.)])(?:[ ]|$)|[ ]+\*[ ]")
_RULE = re.compile(r"[ ]*\|[-+]+\|?")
_ENVIRONMENT = re.compile(r"[ ]*\\begin\{([^{}]*)\}")
_IMAGE = re.compile(
    r"[ ]*\[\[[^\]]*\.(?:png|jpe?g|gif|svg|webp)\](?:\[[^\]]*\])?\]", re.IGNORECASE
)
_BREAKS = re.compile(r"[ ]*(?:#\+\w|:[\w-]+:$|\||\\begin\{|:[ ])")
_KINDS: dict[str, BlockKind] = by_word(code="src example export", quote="quote verse")


def headings(text: str) -> list[Heading]:
    """The headlines, in order, without keyword, priority and tags; stars are the level."""
    keywords = {"TODO", "DONE"}
    for line in _KEYWORDS.findall(text):
        keywords |= {word.partition("(")[0] for word in line.split()} - {"|"}
    found = []
    for match in _HEADLINE.finditer(text):
        if match[1]:
            found.append(
                Heading(len(match[1]), _title(match[2], keywords), *match.span())
            )
    return found


def title(text: str) -> str:
    """What `#+TITLE:` says; several lines are one title; "" without one."""
    return " ".join(" ".join(_TITLE.findall(text)).split())


def _title(headline: str, keywords: set[str]) -> str:
    word, _, rest = headline.partition(" ")
    title = rest.lstrip() if word in keywords else headline
    title = " ".join(_TAGS.sub("", _PRIORITY.sub("", title, count=1)).split())
    return title or headline.strip()


def _element(lines: Lines, i: int, before: Element | None) -> Element:
    line = lines[i].text
    begin = _BEGIN.match(line)
    if begin:
        name = begin[1].lower()
        return _until(lines, i, f"#+end_{name}", _KINDS.get(name, "other"))
    if _DYNAMIC.match(line):
        return _until(lines, i, "#+end:", "other")
    environment = _ENVIRONMENT.match(line)
    if environment:
        return _until(lines, i, f"\\end{{{environment[1]}}}".lower(), "math")
    if _DRAWER.fullmatch(line):
        return _until(lines, i, ":end:", "other")
    if line.lstrip()[0] == "|":
        return _table(lines, i)
    if line.lstrip()[:2] in (":", ": "):
        return code(i, paragraph(lines, i, lambda x: x.lstrip()[:2] not in (":", ": ")))
    if line.lstrip()[:2] in ("#", "# ", "#+"):
        return Element(i + 1, "other")
    if _ITEM.match(line):
        return items(
            lines, i, lambda j: _ITEM.match(lines[j].text), lambda x: x[0] != " "
        )
    stop = paragraph(lines, i, lambda x: _ITEM.match(x) or _BREAKS.match(x))
    return Element(stop, "image" if _IMAGE.fullmatch(line) else "paragraph")


def _until(lines: Lines, i: int, end: str, kind: BlockKind) -> Element:
    """Up to the line that begins with `end`; without one the line is text like others."""
    stop = lines.until(i + 1, end, lambda line: line.lstrip().lower().startswith(end))
    return code(i, stop, kind) if stop else Element(paragraph(lines, i))


def _table(lines: Lines, i: int) -> Element:
    stop = paragraph(lines, i, lambda line: line.lstrip()[0] != "|")
    rules = {j for j in range(i + 1, stop) if _RULE.fullmatch(lines[j].text)}
    header = min(rules) + 1 if rules and min(rules) + 1 < stop else 0
    rows = range(max(header, i + 1), stop)
    return Element(stop, "table", tuple(j for j in rows if j not in rules), header)


# The blocks that tile `text[start:end]`, a section's own body.
blocks = partial(tiled, _element)
