"""HTML in text, start tags and end tags, with their places.

The rules are the HTML standard's tokenizer: quoted attributes, comments, raw text of `script` and
`style`, `textarea` and `title` without tags inside. Three lenient exceptions keep the text of a
page that is cut short or badly typed:

- a quote in a tag that is never closed does not count as one;
- a `<` that no `>` follows is text;
- a `title`, `noscript` or `iframe` that is never closed does not swallow the page.

A comment, script or style that is never closed does, as it does in browsers. A CDATA section is
text, as XHTML means it. Every function takes linear time on any input.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from structrag.text.numbers import whole_number

TEXT: Final = 0
START: Final = 1
END: Final = 2
# TEXT, START or END; the tag's name in lower case, "cdata" for such text; source[start:end].
Token = tuple[int, str, int, int]
Span = tuple[int, int]

# With all of a tag that holds no quotes.
_OPEN = re.compile(
    r"<(?:(?P<end>/?)(?P<name>[A-Za-z][^\t\n\f\r />]*)(?P<rest>[^>\"']*>)?|[!?/])"
)
_ATTRIBUTE = re.compile(
    r"""[\t\n\f\r\ /]*
    (?: ([^\t\n\f\r\ />][^\t\n\f\r\ />=]*)
        (?: [\t\n\f\r\ ]*=[\t\n\f\r\ ]* (?: "([^"]*)" | '([^']*)' | ((?!["'])[^\t\n\f\r\ >]*) ) )?
    )?""",
    re.VERBOSE,
)
_MAIN = ("h1", "main")
_PAGE_MAY_HOLD = ("nav", "role", "hidden")
_NO_CONTENT = "area base br col embed hr img input link meta param source track wbr"
_NEVER_HIDDEN = {*_NO_CONTENT.split(), "body", "html"}  # the latter are the page
_VALUE = re.compile(r"\"[^\"]*\"|'[^']*'")
_LINE_CLASS = re.compile(
    r"\bclass\s?=\s?[\"']?[^\"'<>]{0,99}\b(?:linenos?|line-?numbers?|lnt?)\b",
    re.IGNORECASE,
)
_LINE_NUMBER = re.compile(
    r"[ \t]{0,9}\d{1,6}[ \t]{0,9}</span\s?>(?!\s{0,9}(?:</?(?:br|pre|td)|<span|$))",
    re.IGNORECASE,
)
_HIDDEN = re.compile(r"\shidden(?=[\s=/>])", re.IGNORECASE)
# In a line, what is hidden from screen readers is there for them once more.
_IN_LINE = "a b em i nobr span strong sub sup svg"
_EDIT_CLASS = re.compile(r"\bclass\s?=\s?[\"']?[^\"'<>]{0,99}\b(?:mw-)?editsection\b")
# What generators of documentation show behind a heading or a term, for its own address.
_PERMALINK = re.compile(
    r"[\t\n\f\r ]*"
    r"(?:[¶#§🔗\u200b]|&(?:para|sect|\#(?:182|167|35|8203|xb6|xa7|x23|x200b)|ZeroWidthSpace);)"
    r"[\t\n\f\r ]*</a[\t\n\f\r ]*>",
    re.IGNORECASE,
)
_SUBSET = re.compile(r"\"[^\"]*\"|'[^']*'|<!--|\]")
_COMMENT_END = re.compile(r"--!?>")
# The content of these is never shown.
_UNSEEN = ("script", "style", "noscript", "iframe", "noframes", "noembed")
_SHOWN = ("title", "textarea", "xmp")  # their content is text without tags
_CLOSERS = {
    name: re.compile(rf"</{name}(?=[\t\n\f\r />])", re.IGNORECASE)
    for name in (*_UNSEEN, *_SHOWN)
}


def attributes(source: str, start: int, end: int) -> dict[str, Span]:
    """The attributes of the start tag `source[start:end]`. The keys are names in lower case, the
    values spans of the raw values. The first of a name counts."""
    spans: dict[str, Span] = {}
    opening = _OPEN.match(source, start, end)
    position = opening.end("name") if opening else end
    while position < end:
        match = _ATTRIBUTE.match(source, position, end)
        if match is None or match.end() == position:
            break
        position = match.end()
        if match[1] and match.lastindex and match.lastindex > 1:
            spans.setdefault(match[1].lower(), match.span(match.lastindex))
    return spans


def attribute_number(source: str, spans: dict[str, Span], name: str) -> int:
    """An attribute's whole number of up to twelve digits, else 1."""
    start, end = spans.get(name, (0, 0))
    digits = source[start:end].strip()
    return whole_number(digits, 1)


def tokens(source: str, position: int = 0) -> Iterator[Token]:
    """The text runs and tags of `source[position:]` in order. Comments, declarations and unseen
    content are left out."""
    last_close = source.rfind(">")
    is_xml = source.lstrip("\ufeff\t\n\f\r ").startswith("<?xml")
    # What was looked for in vain once is not looked for again.
    unclosed: set[str] = set()
    while match := _OPEN.search(source, position):
        start = match.start()
        if start > position:
            yield TEXT, "", position, start
        if start > last_close and not source.startswith("<!--", start):
            position = start  # no tag can end any more: the rest is text
            break
        name = match["name"]
        if name is None:
            inner, position = _declaration(source, start, unclosed)
            if inner:
                yield TEXT, "cdata", *inner
            continue
        name, position = name.lower(), match.end()
        if not match["rest"]:
            position = _tag_end(source, position, unclosed)
        if match["end"]:
            yield END, name, start, position
        elif name not in _CLOSERS or (is_xml and source[position - 2] == "/"):
            yield START, name, start, position
        else:
            for token in _raw(source, name, start, position, unclosed):
                yield token
                position = token[3]
    if position < len(source):
        yield TEXT, "", position, len(source)


def visible_tokens(source: str, *, navigation: bool) -> Iterator[Token]:
    """`tokens` of what a page shows.

    Templates, hidden elements, hidden facts of iXBRL, permalinks and the numbers in front of lines
    of code are left out; without
    `navigation`, navigation too: `nav` and elements of that role. An element that is never closed
    is kept, and so is navigation around a heading of level 1 or the page's main part, where tags
    are badly nested.
    """
    kinds = {"template", "ix:header", "hidden"}
    if not navigation:
        kinds |= {"nav", "role"}
    link_end = 0  # of the permalink or line number that is being left out
    for token in _shown_tokens(source, kinds):
        kind, name, start, end = token
        if start < link_end:
            continue
        if kind == START and name == "a":
            link_end = _end_of_permalink(source, start, end)
        elif (
            kind == START and name == "span" and _LINE_CLASS.search(source, start, end)
        ):
            number = _LINE_NUMBER.match(source, end)
            link_end = number.end() if number else 0
        yield token


def _shown_tokens(source: str, kinds: set[str]) -> Iterator[Token]:
    """`tokens` without elements of some kinds and all they hold."""
    position = 0
    while True:
        kind_left, name_left, depth, resume = "", "", 0, 0
        for token in tokens(source, position):
            kind, name = token[:2]
            if depth:
                if name == name_left:
                    depth += 1 if kind == START else -1
                elif kind == START and name in _MAIN and kind_left in _PAGE_MAY_HOLD:
                    break
            elif kind == START and (kind_left := _kind_left_out(source, token, kinds)):
                name_left, depth, resume = name, 1, token[2]
            else:
                yield token
        if not depth:
            return
        # Read again from where it began, without leaving out its like.
        kinds.discard(kind_left)
        position = resume


def _kind_left_out(source: str, tag: Token, kinds: Collection[str]) -> str:
    """The kind to leave out that a start tag begins, or ""."""
    _, name, start, end = tag
    if name in kinds and name not in ("role", "hidden"):
        return name
    if end - start == len(name) + 2:  # it has no attributes
        return ""
    if "hidden" in kinds and _is_hidden(source, name, start, end):
        return "hidden"
    if "role" not in kinds or "navigation" not in source[start:end].lower():
        return ""
    first, last = attributes(source, start, end).get("role", (0, 0))
    return "role" if source[first:last].strip().lower() == "navigation" else ""


def _is_hidden(source: str, name: str, start: int, end: int) -> bool:
    """Whether a start tag hides what it holds for good, or what is there once more. What has a
    role, a label or an id may be opened by the page, as a tab's panel is."""
    tag = source[start:end]
    if "editsection" in tag and _EDIT_CLASS.search(tag):
        return True  # links of a wiki, within its headings
    if "hidden" not in tag.lower() or name in _NEVER_HIDDEN:
        return False
    spans = attributes(source, start, end)
    is_opened = not spans.keys().isdisjoint(("role", "id", "aria-labelledby"))
    is_set = bool(_HIDDEN.search(_VALUE.sub('""', tag)))
    if name in _IN_LINE.split() or "-" in name:
        is_set |= is_screen_only(source, spans)
    value = source[slice(*spans.get("hidden", (0, 0)))].strip().lower()
    return is_set and value != "until-found" and not is_opened


def is_screen_only(source: str, spans: dict[str, Span]) -> bool:
    """Whether attributes hide an element from screen readers."""
    return source[slice(*spans.get("aria-hidden", (0, 0)))].strip().lower() == "true"


def _end_of_permalink(source: str, start: int, end: int) -> int:
    """Where a permalink ends that the start tag `source[start:end]` begins, or 0."""
    link = _PERMALINK.match(source, end)
    href, stop = attributes(source, start, end).get("href", (0, 0)) if link else (0, 0)
    return link.end() if link and source[href:stop].lstrip().startswith("#") else 0


def _tag_end(source: str, position: int, unclosed: set[str]) -> int:
    """Where a tag with quotes ends whose name ends at `position`; a `>` follows."""
    start = position
    while "tag" not in unclosed:
        match = _ATTRIBUTE.match(source, position)
        position = match.end() if match else len(source)
        if position >= len(source):
            unclosed.add("tag")
        elif source[position] == ">":
            return position + 1
    return source.find(">", start) + 1


def _declaration(
    source: str, start: int, unclosed: set[str]
) -> tuple[Span | None, int]:
    """What begins with `<!`, `<?` or `</` and no letter. Returns the span of a CDATA section's
    text, None for all else, and where it ends."""
    if source.startswith("<!--", start):
        for short in ("<!-->", "<!--->"):
            if source.startswith(short, start):
                return None, start + len(short)
        closing = _COMMENT_END.search(source, start + 4)
        return None, closing.end() if closing else len(source)
    if source.startswith("<![CDATA[", start) and "cdata" not in unclosed:
        end = source.find("]]>", start)
        if end >= 0:
            return (start + 9, end), end + 3
        unclosed.add("cdata")
    if source[start : start + 9].lower() == "<!doctype" and "subset" not in unclosed:
        return None, _doctype_end(source, start, unclosed)
    return None, source.find(">", start) + 1


def _doctype_end(source: str, start: int, unclosed: set[str]) -> int:
    """Behind a document type, and behind the declarations in its brackets, as XHTML may have."""
    end = source.find(">", start) + 1
    position = source.find("[", start, end)
    if position < 0:
        return end
    while match := _SUBSET.search(source, position):
        position = match.end()
        if match[0] == "]":
            return source.find(">", position) + 1 or end
        if match[0] == "<!--":
            position = source.find("-->", position)
            if position < 0:
                break
    unclosed.add("subset")
    return end


def _raw(
    source: str, name: str, start: int, end: int, unclosed: set[str]
) -> Iterator[Token]:
    """Tokens of an element whose content holds no tags."""
    closing = None if name in unclosed else _CLOSERS[name].search(source, end)
    if closing is None:
        unclosed.add(name)
    if closing:
        stop = closing.start()
        if name not in _SHOWN:
            yield END, name, stop, stop
            return
        yield START, name, start, end
        yield TEXT, "", end, stop
    elif name == "title":  # ends before the next tag
        stop = source.find("<", end)
        stop = len(source) if stop < 0 else stop
        yield START, name, start, end
        yield TEXT, "", end, stop
        yield END, name, stop, stop
    elif name in ("script", "style"):
        yield END, name, len(source), len(source)
