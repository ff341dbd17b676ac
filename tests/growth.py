"""How time grows with the length of a text: shapes that are hard to read, and a measure.

A test asks `growth` for the power of the length that the time of a function follows: 1 for linear,
2 for quadratic. Times are those of the processor, the best of several, so that a busy machine is no
failure.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import inf, log
from typing import TypeVar

T = TypeVar("T")

# A power below is taken for linear; sorting and the noise of small times are in it.
LINEAR = 1.6
_SHORT = 0.005  # seconds below which a time says nothing of growth
_PATIENCE = 1.0  # seconds after which no longer text is tried


@dataclass(frozen=True, slots=True)
class Shape:
    """A text of any length: one piece again and again between a beginning and an end.

    Example:
        >>> Shape("- ", "a\\n", "b").text(6)
        'a\\n- - b'
    """

    piece: str
    before: str = ""
    after: str = ""

    def text(self, size: int) -> str:
        """About `size` characters, at least one piece."""
        room = size - len(self.before) - len(self.after)
        return self.before + self.piece * max(1, room // len(self.piece)) + self.after


COMMON = (
    *(
        "---\n",
        "===\n",
        "a\n",
        "a\n===\n",
        "# ",
        "# a\n",
        "# a {",
        "{ #",
        "w ",
        "x",
        "1",
        "1. ",
    ),
    *(
        "| ",
        "| a | b |\n",
        "|---|\n",
        "- a\n",
        "> ",
        "`",
        "```\n",
        "*",
        "_a",
        "[",
        "[a](",
        "![a](b",
    ),
    *(
        "<!-- a -->\n",
        "<a ",
        "<p>",
        "<div>",
        "<tr><td>a",
        "<a b='",
        "&#",
        '"',
        "'a ",
        "a. ",
        "a-",
    ),
    *(
        " ",
        "\t",
        "\n",
        "a\n\n",
        "\u0301",
        "漢",
        "ABC DEF\n",
        "Section 1. ",
        "a  b   c\n",
    ),
)
PIECES = (
    *COMMON,
    *(
        "---\n",
        "===\n",
        "a\n",
        "a\n===\n",
        "a\n---\n",
        "\n",
        "a\n\n",
        "\n \n",
        "\r\n",
        "\f",
    ),
    *(
        "# ",
        "# a\n",
        "#",
        "# a {",
        "{ #",
        "w ",
        "word ",
        "x",
        "é",
        "漢",
        "1",
        "1.",
        "1,",
        "Aa",
    ),
    *(
        "| ",
        "|",
        "| a | b |\n",
        "|-",
        "|---|\n",
        ":-",
        "+-",
        "- ",
        "- a\n",
        " - ",
        "* ",
        "*a",
    ),
    *(
        "1. ",
        "1. a\n",
        "> ",
        "> a\n",
        ">",
        " > - ",
        "    a\n",
        "\t",
        " ",
        " \n",
        "a \n",
        "\n\n ",
    ),
    *(
        "`",
        "`` ",
        "```\n",
        "``` a\n",
        "` `` ",
        "~~~\n",
        "*",
        "**a",
        "_a",
        "a_",
        "*_",
        "\\",
        "~",
    ),
    *(
        "[",
        "]",
        "[a",
        "[a](",
        "![",
        "![a](b",
        "[a]: b\n",
        "[a](b) ",
        "[]",
        "(",
        ")",
        "((a)",
        "{",
    ),
    *("[^1]: ", "[[a]", '[a]: b "', "](<", "$", "$$\n", "{{", "\\[", "\\("),
    *(
        "<",
        "<a ",
        "<a>",
        "</a>",
        "<p",
        "<p>",
        "<!-- ",
        "<!-- a -->\n",
        "-->",
        "<![",
        "<?",
        "<!a",
    ),
    *(
        "<b><i>",
        "<div>",
        "</div>",
        "<table>",
        "<td>",
        "<tr><td>a",
        "<h1>",
        "<a b='",
        '<a b="',
    ),
    *("<script>", "<pre>", "<svg>", "<li>", "<ul><li>", "<select>", "<a =", "<a b=c "),
    *(
        "&#",
        "&",
        "&a",
        "&amp;",
        "&#1;",
        "&#x",
        "&lt;",
        '"',
        "'",
        '" ',
        "'a ",
        '"a" ',
        "“",
        "’",
        "«",
    ),
    *(
        ".",
        ". ",
        "...",
        "a. ",
        "A. ",
        "A.B.",
        "e.g. ",
        "Dr. ",
        "? ",
        "!",
        "。",
        "a: ",
        ";",
        ", ",
    ),
    *(
        "-",
        "--",
        "a-",
        "-a",
        "a-\n",
        "a-\nb ",
        "–",
        "/",
        "a/b",
        "http://",
        "www.",
        "@",
        "a@b.",
        "=",
    ),
    *(
        "\u0301",
        "\u200d",
        "👩\u200d",
        "🇦",
        "\ufeff",
        "\u2028",
        "\x00",
        "\u00a0",
        "\u3000",
        "กา",
    ),
    *(
        "The A ",
        "Of the ",
        "1.2.3 ",
        "Section 1. ",
        "(a) ",
        "ARTICLE I\n",
        "§ 1 ",
        "x = 1\n",
    ),
    *(
        "final answer ",
        "no ",
        "..  ",
        ". . ",
        "_ ",
        "a  b   c\n",
        "a\tb\n",
        "ABC DEF\n",
        "é ",
        "à la ",
    ),
    *(
        ".. a::\n",
        "..",
        ":a: ",
        "::\n\n",
        "{#a}",
        "{%",
        "title: ",
        "title = ",
        "+++\n",
        "- - - ",
    ),
)


def shapes(pieces: Iterable[str] = PIECES) -> Iterator[Shape]:
    """Every piece alone, before a word, behind a heading's mark, and between other marks."""
    for piece in pieces:
        yield Shape(piece)
        yield Shape(piece, "", "\nX")
        yield Shape(piece, "# ", "\n\na\n")
        yield Shape(piece, "---\n", "\n===\n")


def growth(function: Callable[[str], object], shape: Shape, size: int) -> float:
    """The power of the length that the time of a function of texts follows, up to `size`. Infinite
    where it doubles with each piece."""
    for count in range(4, 41, 2):  # longer texts would never end
        text = shape.text(count * len(shape.piece))
        # Once more, as the first call of all may load what it needs.
        if (
            seconds(function, text, 1) > _PATIENCE
            and seconds(function, text, 1) > _PATIENCE
        ):
            return inf
    return power(function, shape.text, size)


def power(
    function: Callable[[T], object], of_size: Callable[[int], T], size: int
) -> float:
    """The power of the size that the time of a function follows.

    It is 0 where the largest input takes too little time to tell. A power that is too high must
    show itself again at twice and four times the size, where noise is less.
    """
    tried = max(size // 64, 1)
    while tried < size and seconds(function, of_size(tried), 1) < _PATIENCE:
        tried = min(2 * tried, size)
    if seconds(function, of_size(tried), 2) < _SHORT:
        return 0
    for factor in (1, 2, 4):
        large, small = of_size(factor * tried), of_size(factor * tried // 4)
        long = seconds(function, large, 3)
        result = log(long / max(seconds(function, small, 5), 1e-7), 4)
        if result < LINEAR or long > _PATIENCE:
            break
    return result


def seconds(function: Callable[[T], object], value: T, repeats: int) -> float:
    """The best processor time of several runs, without the collector of garbage."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        best = inf
        for _ in range(repeats):
            began = time.process_time()
            function(value)
            best = min(best, time.process_time() - began)
        return best
    finally:
        if collecting:
            gc.enable()
