"""Documents that several test files use."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from structrag.reading.files import read_text
from structrag.records import Chunk, Document
from structrag.text.tokens import count_tokens

# Input that breaks splitters.
BAD = {
    "one character": "x",
    "no headings": "Just a line of text.",
    "only headings": "# A\n## B\n### C\n# D\n",
    "NUL bytes": "# A\x00\n\nb\x00c\n",
    "lone surrogates": "# \ud800\n\n\udfff text\n",
    "mixed line ends": "# A\r\n\r\nb\rc\n\n# D\r\re\x85f\u2028g\n",
    "right to left": "# مقدمة\n\nمرحبا بالعالم؟ هذا نص طويل. " * 20,
    "Chinese": "# 标题\n\n" + "今天天气很好。我们去公园散步。" * 60,
    "Thai": "สวัสดีชาวโลกนี่คือข้อความยาว" * 60,
    "unclosed fence": "# A\n\n```\n# not a heading\n" + "code\n" * 100,
    "unclosed comment": "# A\n\n<!-- \n\n# B\n\ntext\n",
    "unclosed HTML": "<html><body><h1>T<p>one<div><table><tr><td>two",
    "not HTML": "<<<>>> < p > </ </p <!-",
    "one long line": "word " * 4000,
    "no spaces": "x" * 30_000,
    "marks without end": "e" + "\u0301" * 9000,
    "zero-width": "\u200b" * 50 + "x",
    "deep list": "".join("  " * i + "- a\n" for i in range(120)),
    "deep quote": ">" * 500 + " x\n",
    "special token": "a <|endoftext|> b",
    "front matter only": "---\ntitle: x\n---\n",
    "heading of spaces": "# a" + " " * 20_000 + "b\n",
}

TOPICS = (
    *(
        "anchor",
        "bramble",
        "cobalt",
        "dahlia",
        "ember",
        "fennel",
        "garnet",
        "heron",
        "indigo",
        "juniper",
    ),
    *(
        "kestrel",
        "lantern",
        "marble",
        "nectar",
        "opal",
        "plover",
        "quartz",
        "raven",
        "saffron",
        "thistle",
    ),
)


def manual(topics: Sequence[str] = TOPICS) -> Document:
    """One section a topic; each heading's own word is rare below it and in the table of contents
    above."""
    contents = "\n".join(
        f"- [Care of the {topic}](#care-of-the-{topic})" for topic in topics
    )
    sections = []
    for i, topic in enumerate(topics):
        other = topics[(i + 1) % len(topics)]
        body = (
            f"The {topic} must be rinsed every month by two people. "
            + f"Keep part {i} of a {topic} dry in winter. " * 3
        )
        pointer = (
            f"Before you store it for long, read [what to do](#care-of-the-{other}) about "
            "the neighbouring part."
        )
        sections.append(f"## Care of the {topic}\n\n{body}\n\n{pointer}\n")
    return read_text(
        f"# Manual\n\n{contents}\n\n" + "\n".join(sections),
        format="markdown",
        id="docs/manual.md",
    )


def numbered(n: int) -> Document:
    """Sentences of 20 tokens as `doubles.by_words` counts."""
    return read_text(
        " ".join(f"This is number {i}" + " word" * 11 + "." for i in range(n)),
        format="text",
        id="n",
    )


def topics() -> Document:
    cats = "Cats purr and cats sleep. A cat hunts mice at night. Kittens drink milk. "
    engines = (
        "Engines burn fuel in cylinders. A piston moves the crankshaft. "
        "Valves open and close. "
    )
    return read_text(
        cats * 2 + engines * 2 + cats,
        format="text",
        id="t",
        title="Animals and machines",
    )


DEFINING = (
    "A gated network called Long Short-Term Memory (LSTM) keeps a state. It was proposed "
    "long ago by others. "
)


FILLER = (
    "The garden is green and quiet in the morning light. Nothing much happens there until "
    "noon comes around. "
)


DENSE = (
    "LSTM beats GRU on WMT14 by 2 BLEU. The LSTM has 12 MB of weights on a V100 card. "
)


LONG = (
    "ACME makes steel. "
    + "The workers at the plant like the river very much indeed. " * 12
)


def dense_document() -> tuple[Document, list[Chunk]]:
    """A defining chunk, dull ones, a dense one; each piece is a chunk."""
    pieces = [DEFINING, FILLER, FILLER.replace("garden", "park"), DENSE, LONG]
    found = read_text("".join(pieces), format="text", id="d")
    chunks, start = [], 0
    for piece in pieces:
        end = start + len(piece)
        chunks.append(
            Chunk(
                f"d:{start}-{end}",
                "d",
                "d#0",
                start,
                end,
                piece,
                extras={"index_tokens": count_tokens(piece)},
            )
        )
        start = end
    return found, chunks


NASTY = [
    "# A",
    "## B ##",
    "###",
    "#\tT",
    "#no",
    "####### x",
    " # i1",
    "   ## i3",
    "    # code",
    "\t# tab",
    "# ",
    "# #",
    "# a #b#",
    "Title",
    "===",
    "---",
    "- - -",
    "  ===",
    "----  ",
    "    ---",
    "=",
    "-",
    "--",
    "***",
    "===\x0b",
    "---\x85",
    "```",
    "````",
    "```py",
    "``` a`b",
    "~~~",
    "~~~~ `",
    "  ```",
    "    ```",
    "````  ",
    "``",
    "```\x0b",
    "~~~\xa0",
    "- item",
    "- # head",
    "  # in li",
    "1) # h",
    "   # x",
    "    ## y",
    "*",
    "- ",
    "-\t# x",
    "10. z",
    "- ```",
    "- <!--",
    "> q",
    "> # q head",
    ">",
    "> ```",
    "> - # z",
    "> <!--",
    "<script>",
    "</script>",
    "<pre>",
    "</pre> # x",
    "<style>x</style>",
    "<textarea>",
    "<!--",
    "-->",
    "<!-- c --> t",
    "<?php",
    "?>",
    "<!DOCTYPE html>",
    "<!X",
    ">",
    "<![CDATA[",
    "]]>",
    "<div>",
    "</div>",
    "<b>",
    "<b>x",
    "<br/>",
    '<a href="x">',
    "<a",
    "   <!--",
    "<x-y>",
    "<1>",
    "<",
    "<PRE",
    "<address",
    "<h1>T</h1>",
    "| a | b |",
    "|---|---|",
    "| 1 | 2 |",
    "a | b",
    "--- | ---",
    ":-:",
    "|",
    "[a]: /x",
    "[a]:",
    "/url",
    "'title",
    "title'",
    '[b]: <x> "t"',
    "[x]: /u (",
    "para",
    "word\\",
    "\tcode",
    "     five",
    "t { #anchor }",
    "",
    "",
    "",
    " ",
    "\t",
    "\x0b",
    "a\x0cb",
    "a\x85b",
    "a\u2028# x",
    "\x00",
    "# \x00",
    "\x0c# ff",
    "\xa0# nb",
    "\\# e",
    "+++",
    "title: x",
    "...",
    "## { #a }",
    "# *e* `c` [l](u) ![a](x) &amp; <b>x</b>",
    "\ufeff# bom",
    "# x\x1c",
    "# a #\xa0",
]


nasty_text = st.lists(
    st.tuples(
        st.sampled_from(NASTY),
        st.sampled_from(["\n", "\n", "\n", "\n\n", "\r\n", "\r"]),
    ),
    max_size=14,
).map(lambda lines: "".join(line + end for line, end in lines))


GUIDE_WORDS = (
    "The red engine pulls the long train over the high bridge near Oslo every morning. "
    * 20
)


GUIDE = (
    f"# Guide\n\n## Engines\n\n{GUIDE_WORDS}\n\n"
    f"## Bridges\n\n{GUIDE_WORDS.replace('engine', 'crane')}\n"
)


GUIDE_VIEWS = json.dumps(
    {"summary": "A red machine crosses a bridge.", "keywords": ["Oslo", "bridge"]}
)


def guide(**options: Any) -> Document:
    return read_text(GUIDE, id="guide.md", **options)


def sections_with_a_definition() -> str:
    """Nine sections: the first defines what the last only names."""
    defining = "A gated network called Long Short-Term Memory (LSTM) keeps a state over many steps."
    dense = (
        "The LSTM beats the GRU and CNN of 2014 on WMT14, WMT15 and IWSLT16 by 2 BLEU in all of "
        "the many runs that were done."
    )
    people = (
        "Ann Bell",
        "Bob Cole",
        "Cy Dean",
        "Di East",
        "Ed Ford",
        "Flo Gray",
        "Guy Hill",
    )
    gardens = [
        f"The garden of {person} is green and quiet in the morning light. Nothing much happens "
        "there until noon comes around."
        for person in people
    ]
    bodies = [defining, *gardens, dense]
    return "".join(f"# Part {i}\n\n{body}\n\n" for i, body in enumerate(bodies))
