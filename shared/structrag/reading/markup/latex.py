"""LaTeX: its sectioning commands, and its blocks.

Comments, verbatim text, definitions and what stands behind `\\iffalse` or the document's end hold
no headings. No macro is run: only those without arguments are put into titles.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from unicodedata import lookup, normalize

from structrag.errors import StructragError, warn_user
from structrag.reading.decoding import decoded
from structrag.reading.limits import (
    check_depth,
    count_bytes,
    reading_within,
    spend_characters,
    use_part,
)
from structrag.reading.markup.lines import (
    Element,
    Lines,
    by_word,
    code,
    paragraph,
    tiled,
)
from structrag.reading.opening import file_bytes, shown
from structrag.records import BlockKind, Heading

_LEVELS = {
    name: level
    for level, names in enumerate(
        (
            "part addpart",
            "chapter addchap",
            "section addsec",
            "subsection",
            "subsubsection frametitle begin{frame}",
            "paragraph",
            "subparagraph",
        )
    )
    for name in names.split()
}
_VERBATIM = (
    r"verbatim\*?|Verbatim\*?|lstlisting|minted|comment|alltt|filecontents\*?"
    r"|BVerbatim|LVerbatim"
)
_HIDDEN = (
    r"(?P<escape>\\[\\%])|(?P<comment>%[^\r\n]*)"
    rf"|\\begin\{{(?P<environment>{_VERBATIM})\}}"
    r"|\\(?:verb|lstinline)\*?(?P<mark>[^\sA-Za-z\[{*])"
)
_TOKEN = re.compile(
    _HIDDEN + r"|(?P<never>\\iffalse\b)|(?P<end>\\end\{document\})"
    r"|\\(?P<define>(?:re|provide)?(?:newc|c)ommand\*?|[gex]?def(?=\\)|newenvironment\*?"
    r"|titleformat\*?|DeclareRobustCommand\*?)(?![A-Za-z])"
    r"|\\(?P<name>part|chapter|(?:sub){0,2}section|(?:sub)?paragraph|add(?:part|chap|sec)"
    r"|frametitle|begin\{frame\})\*?(?:<[^<>\n]{0,40}>)?(?=[\s\[{%])"
)
_INPUT = re.compile(
    _HIDDEN
    + r"|\\(?:input|include|subfile)(?:\s*\{(?P<braced>[^{}]*)\}|[ \t]+(?P<bare>[^\s{}%\\]+))"
)
_BRACE = re.compile(r"\\.|%[^\r\n]*|([{}])", re.DOTALL)
_BRANCH = re.compile(r"\\(?:(if)(?!f\b)[a-zA-Z@]*|(?:fi)\b)")
_SPACE = re.compile(
    r"(?:[ \t]|%[^\r\n]*(?:\r\n|\r(?!\n)|\n)|(?:\r\n|\r|\n)(?![ \t]*[\r\n]))*"
)
_CLOSE = re.compile(r"\\.|[\]{]|\n[ \t]*\n", re.DOTALL)
_REST = re.compile(
    r"[ \t]*(?:\\label\{[^{}]*\}[ \t]*)*(?:(?:%[^\r\n]*)?(?:\r\n|\r|\n|\Z))?"
)
_MACRO = re.compile(r"\\([A-Za-z]+)(?:\s*\{\})?")
_MOST_TITLE = 2000  # characters of a title in which macros are replaced
_NAME = re.compile(r"\\(?:[A-Za-z@]+|.)|#\d?", re.DOTALL)
_TITLE = re.compile(r"\\title[ \t]*(?=[\[{])")
_DEFINED = re.compile(
    r"\\(?:(?:re|provide)?(?:new)?command\*?|[gex]?def)\s*\{?\\([A-Za-z]+)\}?\s*(?=\{)"
)
# --- titles as people read them
_DROPPED = re.compile(
    r"\\(?:label|footnote|footnotemark|footnotetext|thanks|index|[vh]space|color|texorpdfstring"
    r"|cite[a-z]*|fontsize|protect\\footnote)\*?\s*(?:\[[^\[\]]*\]\s*)*(?=\{)"
)
_ACCENT = re.compile(
    r"\\(?:([`'^\"~=.])\s*|([uvHcdbrk])(?:\s+|(?=\{)))(?:\{\\?([A-Za-z])\}|\\?([A-Za-z]))"
)
_COMBINING = dict(
    zip(
        "`'^\"~=.uvHcdbrk",
        "\u0300\u0301\u0302\u0308\u0303\u0304\u0307\u0306\u030c\u030b\u0327\u0323\u0331\u030a\u0328",
        strict=True,
    )
)
_COMMAND = re.compile(r"\\(?:([A-Za-z@]+)\*?[ \t]*|(.))", re.DOTALL)
# Of mathematics: a name that takes no group is read (`Spec k`), fonts and sizes are not.
_MATH_TEXT = re.compile(r"\$[^$]{0,500}\$|\\\([^$]{0,500}?\\\)")
_NAMED = re.compile(
    r"\\(?!math|text|left|right|display|limits|rm\b|bf\b|it\b|cal\b)"
    r"([A-Za-z]+)(?![A-Za-z{])[ \t]*"
)
_SYMBOLS = dict.fromkeys(
    ("quad", "qquad", "space", "newline", "linebreak"), " "
) | dict(
    re.findall(
        r"(\w+)=(\S+)",
        "ss=ß o=ø O=Ø ae=æ AE=Æ oe=œ OE=Œ aa=å AA=Å l=ł L=Ł i=i j=j S=§ P=¶ TeX=TeX LaTeX=LaTeX "
        "BibTeX=BibTeX ldots=… dots=… textendash=– textemdash=— textbackslash=\\ copyright=© "
        "textasciitilde=~ times=× infty=∞ to=→ rightarrow=→",
    )
)
_ESCAPED = {"{": "\ue000", "}": "\ue001", "$": "\ue002", "-": "", "/": "", "!": ""}
_RESTORED = str.maketrans({"\ue000": "{", "\ue001": "}", "\ue002": "$"})
# --- blocks
_BEGIN = re.compile(r"\s*\\begin\{([^{}]*)\}")
_ITEM = re.compile(r"\s*\\item\b")
_MATH = re.compile(r"\s*(?:(\\\[)|(\$\$))")
_ROW_END = re.compile(r"\\\\|\\tabularnewline")
_LINE = re.compile(r"\s*\\(?:hline|midrule|cmidrule|toprule|endhead|endfirsthead)\b")
_KINDS: dict[str, BlockKind] = by_word(
    math="equation align gather multline eqnarray math displaymath flalign alignat IEEEeqnarray",
    code="verbatim Verbatim lstlisting minted alltt algorithm algorithmic BVerbatim filecontents",
    table="tabular tabularx table longtable tabulary",
    list="itemize enumerate description thebibliography",
    image="figure tikzpicture picture wrapfigure",
    quote="quote quotation verse",
    other="comment",
)


def headings(text: str) -> list[Heading]:
    """The headings, in order; levels are counted from the highest command that is used.

    A span begins with its line where nothing stands before the command, and ends with its line
    where nothing but a label and a comment stands behind it.
    """
    pairs = _pairs(text)
    macros = _macros(text, pairs)
    found = []
    at = 0
    ends: dict[str, bool] = {}
    while match := _TOKEN.search(text, at):
        at = _behind(text, match)
        if match["end"]:
            break
        if match["never"]:
            at = _behind_branch(text, at) if ends.get("fi", True) else at
            ends["fi"] = at > match.end()
        elif match["define"]:
            at = _behind_definition(text, at, pairs)
        elif match["name"]:
            group = _group(text, at, pairs)
            if group:
                at = group[1]
                span = _whole_lines(text, match.start(), at)
                if title := _clean(text[group[0] : at - 1], macros):
                    found.append(Heading(_LEVELS[match["name"]], title, *span))
    highest = min((heading.level for heading in found), default=0) - 1
    return [Heading(h.level - highest, h.title, h.start, h.end) for h in found]


def title(text: str) -> str:
    """What `\\title` says; "" without one."""
    at = 0
    pairs = _pairs(text)
    tokens = re.compile(_HIDDEN + "|(?P<title>" + _TITLE.pattern + ")")
    while match := tokens.search(text, at):
        at = _behind(text, match)
        group = _group(text, at, pairs) if match["title"] else None
        if group:
            return _clean(text[group[0] : group[1] - 1], _macros(text, pairs))
    return ""


def expand(path: str | Path, root: str | Path) -> str:
    """The text of a LaTeX file with the files that it inputs, below the folder `root` only.

    Names are looked for in the folder of `path`, then in that of the file that names them. What
    stands outside of `root`, cannot be read or inputs itself stays as it is written, with a
    warning.

    Raises:
        InvalidDocument: the file itself cannot be read, or its inputs are used too often, are too
            deep or too long for the limits of reading.
    """
    main = Path(path).resolve()
    with reading_within(name=shown(Path(path))):
        inputs = _Inputs(main, Path(root).resolve())
        expanded = "".join(inputs.pieces())
    for reason, names in inputs.left_out.items():
        others = f" and {len(names) - 1:,} others" if len(names) > 1 else ""
        warn_user(
            f"Inputs of {main.name} are left out: {next(iter(names))!r}{others} ({reason})."
        )
    return expanded


class _Inputs:
    """The files that a main file inputs, each read once."""

    def __init__(self, main: Path, root: Path) -> None:
        self._main, self._root = main, root
        self._texts: dict[Path, str] = {}
        self.left_out: dict[str, dict[str, None]] = {}  # the names for each reason

    def pieces(self) -> Iterator[str]:
        """The text with its inputs in place, in pieces."""
        stack = [(self._main, self._text(self._main), 0)]
        while stack:
            file, text, at = stack.pop()
            match = _INPUT.search(text, at)
            if not match:
                yield text[at:]
                continue
            end = _behind(text, match)
            stack.append((file, text, end))
            named = (match["braced"] or match["bare"] or "").strip()
            inner = self._file(named, [each for each, _, _ in stack]) if named else None
            yield text[at : end if inner is None else match.start()]
            if inner is not None:
                use_part(str(inner.relative_to(self._root)))
                check_depth(len(stack), "input files")
                spend_characters(len(self._text(inner)))
                stack.append((inner, self._text(inner), 0))

    def _text(self, file: Path) -> str:
        if file not in self._texts:
            self._texts[file] = decoded(file_bytes(file), str(file)).text
            count_bytes(len(self._texts[file]))
        return self._texts[file]

    def _file(self, named: str, open_files: list[Path]) -> Path | None:
        """The file that is named; None where it is left out."""
        try:
            return self._looked_up(named, open_files)
        except (OSError, ValueError, RuntimeError, StructragError) as error:
            self.left_out.setdefault(str(error).rstrip("."), {})[named] = None
            return None

    def _looked_up(self, named: str, open_files: list[Path]) -> Path:
        reason = "it does not exist"
        for folder in dict.fromkeys((self._main.parent, open_files[-1].parent)):
            for name in (f"{named}.tex", named):
                place = os.path.join(folder, name)  # a path object takes long to make
                if not os.path.isfile(place):
                    continue
                file = Path(place).resolve()
                if file in open_files:
                    raise ValueError("it inputs itself")
                if file.is_relative_to(self._root):
                    self._text(file)  # which may fail
                    return file
                reason = f"it is outside {self._root}"
        raise ValueError(reason)


def _behind(text: str, match: re.Match[str]) -> int:
    """Where to go on behind a token: behind verbatim text."""
    at = match.end()
    if match["environment"]:
        end = text.find(f"\\end{{{match['environment']}}}", at)
        return len(text) if end < 0 else end
    if match["mark"]:
        eol = text.find("\n", at, at + 2000)
        return text.find(match["mark"], at, at + 2000 if eol < 0 else eol) + 1 or at
    return at


def _behind_branch(text: str, at: int) -> int:
    depth = 1
    for match in _BRANCH.finditer(text, at):
        depth += 1 if match[1] else -1
        if not depth:
            return match.end()
    return at


def _behind_definition(text: str, at: int, pairs: dict[int, int]) -> int:
    """Behind the names, options and bodies that follow a defining command."""
    for _ in range(12):
        begin = _space(text, at)
        end = _argument(text, begin, pairs)
        if not end:
            name = _NAME.match(text, begin)
            if not name or (at > 0 and text[at - 1] == "}"):
                break
            end = name.end()
        at = end
    return at


def _space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _argument(text: str, at: int, pairs: dict[int, int]) -> int:
    """Behind the group in braces or brackets that begins here; 0 without one."""
    if at in pairs:
        return pairs[at] + 1
    if text[at : at + 1] != "[":
        return 0
    stop, at = at + 2000, at + 1
    while match := _CLOSE.search(text, at, stop):
        at = match.end()
        if match[0] == "]":
            return at
        if match[0] == "{":
            at = pairs.get(match.start(), -1) + 1
        if not at or match[0][0] == "\n":
            break
    return 0


def _group(text: str, at: int, pairs: dict[int, int]) -> tuple[int, int] | None:
    """Where the text of the next group in braces begins, and where the group ends."""
    at = _space(text, at)
    if text[at : at + 1] == "[":
        at = _space(text, _argument(text, at, pairs) or at)
    return (at + 1, pairs[at] + 1) if at in pairs else None


def _pairs(text: str) -> dict[int, int]:
    """Each opening brace with the one that closes it."""
    pairs = {}
    opened = []
    for match in _BRACE.finditer(text):
        if match[1] == "{":
            opened.append(match.start())
        elif match[1] and opened:
            pairs[opened.pop()] = match.start()
    return pairs


def _macros(text: str, pairs: dict[int, int]) -> dict[str, str]:
    """The short macros without arguments."""
    macros = {}
    for match in _DEFINED.finditer(text):
        end = pairs.get(match.end(), 0)
        if 0 < end - match.end() < 200:
            macros[match[1]] = text[match.end() + 1 : end]
    return macros


def _whole_lines(text: str, start: int, end: int) -> tuple[int, int]:
    low = max(0, start - 200)
    line = max(text.rfind(eol, low, start) for eol in "\r\n") + 1 or low
    if not text[line:start].strip() and (line > low or not low):
        start = line
    rest = _REST.match(text, end)
    return start, rest.end() if rest else end


def _clean(written: str, macros: dict[str, str]) -> str:
    """A title as people read it, without commands."""
    title = re.sub(r"(?<!\\)%[^\r\n]*(?:\r\n|\r|\n)?", "", written)
    for _ in range(3):
        if len(title) > _MOST_TITLE:
            break
        expanded = _MACRO.sub(lambda m: macros.get(m[1], m[0]), title)
        if expanded == title or len(expanded) > _MOST_TITLE:
            break
        title = expanded
    title = _without_dropped(title)
    title = _ACCENT.sub(_accented, title)
    title = _MATH_TEXT.sub(lambda m: _NAMED.sub(_named, m[0]), title)
    title = _COMMAND.sub(_read, title).replace("~", " ")
    title = re.sub(r"[{}$]", "", title)
    for plain, typeset in (("---", "—"), ("--", "–"), ("``", "“"), ("''", "”")):
        title = title.replace(plain, typeset)
    title = " ".join(title.translate(_RESTORED).split())
    return title or written.strip("\\{} \t\r\n")


def _without_dropped(title: str) -> str:
    pairs = _pairs(title)
    pieces, at = [], 0
    while match := _DROPPED.search(title, at):
        pieces.append(title[at : match.start()])
        at = pairs.get(match.end(), match.end() - 1) + 1
    return "".join([*pieces, title[at:]])


def _accented(match: re.Match[str]) -> str:
    accent, letter = match[1] or match[2], match[3] or match[4]
    return normalize("NFC", letter + _COMBINING[accent])


def _named(match: re.Match[str]) -> str:
    following = match.string[match.end() : match.end() + 1]
    gap = " " if following.isalnum() or following == "\\" else ""
    return (_read(match) or match[1]) + gap


def _read(match: re.Match[str]) -> str:
    name = match[1]
    if not name:
        mark = match[2]
        return _ESCAPED.get(mark, mark if mark in "&%#_" else " ")
    if name in _SYMBOLS:
        return _SYMBOLS[name]
    try:
        case = "CAPITAL" if name[0].isupper() else "SMALL"
        return lookup(f"GREEK {case} LETTER {name.removeprefix('var').upper()}")
    except KeyError:
        return ""


def _element(lines: Lines, i: int, before: Element | None) -> Element:
    line = lines[i].text
    begin = _BEGIN.match(line)
    kind = _KINDS.get(begin[1].rstrip("*")) if begin else None
    if begin and kind:
        name = begin[1]
        stop = _environment_end(lines, i, name)
        if stop and kind == "list":
            return Element(stop, "list", tuple(_items(lines, i, stop)))
        if stop and kind == "table":
            return _table(lines, i, stop)
        if stop:
            return code(i, stop, kind)
    math = _MATH.match(line)
    if math:
        close = "\\]" if math[1] else "$$"
        inside = close in line[math.end() :]
        stop = i + 1 if inside else lines.until(i + 1, close, lambda x: close in x)
        if stop:
            return code(i, stop, "math")
    return Element(paragraph(lines, i, _begins))


def _begins(line: str) -> bool:
    begin = _BEGIN.match(line)
    return bool((begin and begin[1].rstrip("*") in _KINDS) or _MATH.match(line))


def _environment_end(lines: Lines, i: int, name: str) -> int:
    """Behind the line that ends the environment which line `i` begins; 0 without one."""
    begin, end = f"\\begin{{{name}}}", f"\\end{{{name}}}"
    depth = 0

    def closes(line: str) -> bool:
        nonlocal depth
        depth += line.count(begin) - line.count(end)
        return depth <= 0

    return lines.until(i, end, closes)


def _items(lines: Lines, i: int, stop: int) -> list[int]:
    depth, cuts = 0, []
    for j in range(i, stop):
        line = lines[j].text
        if depth == 1 and _ITEM.match(line):
            cuts.append(j)
        depth += line.count("\\begin{") - line.count("\\end{")
    return cuts


def _table(lines: Lines, i: int, stop: int) -> Element:
    """Rows end with two backslashes; a rule behind the first one makes it the header."""
    rows = [j + 1 for j in range(i, stop - 1) if _ROW_END.search(lines[j].text)]
    header = 0
    if rows:
        below = rows[0]
        while below < stop and _LINE.match(lines[below].text):
            below += 1
        header = below if below > rows[0] else 0
    return Element(stop, "table", tuple(row for row in rows if row >= header), header)


# The blocks that tile `text[start:end]`, a section's own body.
blocks = partial(tiled, _element)
