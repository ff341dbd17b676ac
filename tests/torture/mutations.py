"""Documents to start from, and what is done to them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from functools import cache
from random import Random

from places import DATA
from samples import BAD, GUIDE, NASTY, manual

# Characters of a seed: many small documents find more than a few large ones.
LONGEST = 1_200

HTML = """<!DOCTYPE html><html><head><title>Pumps &amp; valves</title><style>p {}</style></head>
<body><nav><a href="#a">Start</a></nav><h1>Pumps &amp; valves</h1><p>It moves&nbsp;water,
<b>fast</b>. &#8364;5 &lt; 6.</p><h2 id=a>Cleaning<br>at home</h2><ul><li>Rinse.<li>Dry it
<ol><li>well</ol></ul><pre>  x = 1
  y = 2</pre><table><caption>Sizes</caption><tr><th>part<th>mm</tr><tr><td rowspan=2>A<td>1</tr>
<tr><td>2</td></tr></table><blockquote><p>Quoted.</blockquote><!-- a note --><h3>Valves</h3>
<dl><dt>V1<dd>small</dl><img src="v.png" alt="A valve"><script>if (a < b) c();</script>
<p>The end.<footer>Page 1</footer></body></html>"""
MARKDOWN = """---
title: Pumps
---
# Pumps

It moves *water*, [fast](a.md). See `x`.

## Cleaning { #clean }

1. Rinse.
2. Dry it
   - well

| part | mm |
|------|---:|
| A    | 1  |
| B    | 2  |

```python
# no heading
x = 1
```

Valves
------

> Quoted.

![A valve](v.png "V1") and <b>html</b>.

<div>
block
</div>

### Empty

    indented = code
"""
TEXT = """OPERATING MANUAL

1 Introduction

The pump moves water. It must be cleaned every month, see 2.1. Dr. Smith agrees.

2 Cleaning
==========

2.1 The filter

- rinse it
- dry it;

(a) first,
(b) second.

ARTICLE III. TERMINATION

Section 3.1 Notice. Either party may terminate this Agreement upon thirty (30) days' notice.

\u7b2c\u4e00\u7ae0 \u603b\u5219

\u6c34\u6cf5\u79fb\u52a8\u6c34\u3002\u5b83\u5fc5\u987b\u6bcf\u6708\u6e05\u6d17\u3002
"""
UNICODE = (
    *(
        "\x00",
        "\ufeff",
        "\u200b",
        "\u200d",
        "\u2028",
        "\x85",
        "\x0b",
        "\x0c",
        "\x1c",
        "\r",
        "\xa0",
    ),
    *(
        "\u0301" * 40,
        "\U0001f469\u200d\U0001f680",
        "\u202e",
        "\ufffd",
        "\u0130",
        "\ufb03",
    ),
    *(
        "\ud800",
        "\udfff",
        "\U0010ffff",
        "\u0e2a\u0e27\u0e31",
        "\u0645\u0631",
        "\u4eca\u5929\u3002",
    ),
    *(
        "\u1680",
        "\u3000",
        "\u00ad",
        "\u2066",
        "\u1e9e",
        "\u01c5",
        "\u0345",
        "\u1ff7",
        "\u20dd",
    ),
)
MARKUP = (
    *(
        "&#99999999999;",
        "&#x0;",
        "&#xD800;",
        "&NotEqualTilde;",
        "&amp",
        "<!--",
        "-->",
        "<p",
        "</",
    ),
    *(
        "<![CDATA[",
        "]]>",
        "<table><tr><td>",
        "</table>",
        "<h1>",
        "</h6>",
        "<script>",
        "<plaintext>",
    ),
    *(
        "<svg><title>",
        "<a href='",
        "```",
        "~~~",
        "---\n",
        "===\n",
        "| - |\n",
        "](",
        "![",
        "***",
    ),
    *(
        "$$",
        "\\(",
        "[^1]: ",
        "[a]: b\n",
        "{#",
        "\n\n",
        "\n    ",
        "\t",
        "> ",
        "- ",
        "1) ",
        "# ",
    ),
    *(
        '"   "',
        "\u201c \u201d",
        "<|endoftext|>",
        "{title}",
        "%s",
        "1.1.1 ",
        "Article I. ",
    ),
)


@cache
def seeds(kind: str, *, with_data: bool) -> list[str]:
    """Texts of a format: "markdown", "html" or "text"."""
    samples: dict[str, list[str]] = {
        "markdown": [MARKDOWN, GUIDE[:LONGEST], manual().text[:LONGEST]],
        "html": [HTML],
        "text": [TEXT],
    }
    samples["markdown"] += [
        "\n".join(NASTY[i : i + 12]) for i in range(0, len(NASTY), 12)
    ]
    samples[kind] += [text[:LONGEST] for text in BAD.values()]
    texts = samples[kind]
    if with_data and DATA.is_dir():
        texts += _windows(_data(kind))
    return texts


def _data(kind: str) -> list[str]:
    suffixes = {
        "markdown": ("md",),
        "html": ("html",),
        "text": ("rst", "txt", "asciidoc", "tex"),
    }
    files = sorted(
        f for s in suffixes[kind] for f in (DATA / "parsing").rglob(f"*.{s}")
    )
    texts = [file.read_text(encoding="utf-8", errors="replace") for file in files]
    for file in sorted(DATA.glob("*/documents.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                if record.get("format") == kind:
                    texts.append(record["text"])
    return texts


def _windows(texts: list[str]) -> list[str]:
    """The beginning of each text, and a few places inside."""
    places = [
        (text, at) for text in texts for at in (0, len(text) // 3, 2 * len(text) // 3)
    ]
    return [
        text[at : at + LONGEST]
        for text, at in places
        if text[at : at + LONGEST].strip()
    ]


@cache
def pdf_seeds() -> list[bytes]:
    """Small PDFs: a manual, columns, a ruled table, a page turned, one with an outline."""
    from pdf_making import made, prose, wrapped, write
    from pdf_making import manual as manual_pages

    def columns(canvas: object) -> None:
        for x in (50, 310):
            write(canvas, wrapped(prose(x, 80), 10, 230), x, 780)

    def table(canvas: object) -> None:
        write(canvas, ["Sizes of parts"], 60, 800, 16, "Helvetica-Bold")
        canvas.grid([60, 160, 260], [700, 720, 740, 760])  # type: ignore[attr-defined]
        for i, row in enumerate((("part", "mm"), ("A", "1"), ("B", "2"))):
            for j, cell in enumerate(row):
                write(canvas, [cell], 64 + 100 * j, 745 - 20 * i)

    def turned(canvas: object) -> None:
        canvas.setTitle("A turned page")  # type: ignore[attr-defined]
        canvas.rotate(90)  # type: ignore[attr-defined]
        write(canvas, wrapped(prose(3, 60), 10, 400), 100, -100)

    plain = [made(draw) for draw in (columns, table, turned)]
    # Without compression a mutation reaches the operators of a page, not a stream that is refused.
    return [
        made(manual_pages),
        *plain,
        *(made(d, pageCompression=0) for d in (columns, table, turned)),
    ]


def _span(rng: Random, length: int) -> tuple[int, int]:
    """A place and mostly a short way on."""
    start = rng.randrange(length + 1)
    return start, min(length, start + int(rng.expovariate(1 / 30)) + 1)


def _delete(rng: Random, text: str, other: str) -> str:
    start, end = _span(rng, len(text))
    return text[:start] + text[end:]


def _duplicate(rng: Random, text: str, other: str) -> str:
    start, end = _span(rng, len(text))
    return text[:end] + text[start:end] * rng.choice((1, 1, 2, 20)) + text[end:]


def _splice(rng: Random, text: str, other: str) -> str:
    start, end = _span(rng, len(other))
    at = rng.randrange(len(text) + 1)
    return text[:at] + other[start:end] + text[at:]


def _halves(rng: Random, text: str, other: str) -> str:
    return text[: rng.randrange(len(text) + 1)] + other[rng.randrange(len(other) + 1) :]


def _move(rng: Random, text: str, other: str) -> str:
    start, end = _span(rng, len(text))
    rest = text[:start] + text[end:]
    at = rng.randrange(len(rest) + 1)
    return rest[:at] + text[start:end] + rest[at:]


def _insert(rng: Random, text: str, other: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(rng.choice((UNICODE, MARKUP, NASTY))) + text[at:]


def _change(rng: Random, text: str, other: str) -> str:
    if not text:
        return chr(rng.randrange(0x110000))
    at = rng.randrange(len(text))
    near = max(0, ord(text[at]) ^ (1 << rng.randrange(8)))
    return text[:at] + chr(rng.choice((near, rng.randrange(0x110000)))) + text[at + 1 :]


def _line_ends(rng: Random, text: str, other: str) -> str:
    return text.replace(
        "\n", rng.choice(("\r\n", "\r", " ", "\n\n", "\u2028", "\n \n", ""))
    )


def _indent(rng: Random, text: str, other: str) -> str:
    mark = rng.choice(("> ", "    ", "- ", "\t", "# ", "<div>", "| ", "1. "))
    lines = text.split("\n")
    first = rng.randrange(len(lines))
    last = min(len(lines), first + rng.randrange(1, 12))
    return "\n".join(
        [*lines[:first], *(mark + line for line in lines[first:last]), *lines[last:]]
    )


def _cut(rng: Random, text: str, other: str) -> str:
    start = rng.randrange(len(text) + 1)
    return text[start:] if rng.random() < 0.3 else text[:start]


MUTATIONS: tuple[Callable[[Random, str, str], str], ...] = (
    *(_delete, _duplicate, _splice, _halves, _move, _insert, _insert, _change, _change),
    *(_line_ends, _indent, _cut),
)


def mutated(rng: Random, text: str, other: str) -> str:
    """The text after one to about twelve mutations."""
    for _ in range(1 + min(12, int(rng.expovariate(1 / 3)))):
        text = rng.choice(MUTATIONS)(rng, text, other)
    return text[: 2 * LONGEST]


def mutated_bytes(rng: Random, data: bytes, other: bytes, *, most: int = 12) -> bytes:
    """The bytes after some were changed, deleted, repeated, put in or cut off."""
    changed = bytearray(data)
    for _ in range(1 + min(most, int(rng.expovariate(1 / 3)))):
        at = rng.randrange(len(changed) + 1)
        end = min(len(changed), at + int(rng.expovariate(1 / 20)) + 1)
        how = rng.randrange(7)
        if how <= 2 and at < len(changed):
            changed[at] ^= 1 << rng.randrange(8)
        elif how == 3:
            del changed[at:end]
        elif how == 4:
            changed[at:at] = changed[at:end] * rng.choice((1, 3))
        elif how == 5:
            start = rng.randrange(len(other) + 1)
            changed[at:at] = other[start : start + 40]
        elif rng.random() < 0.3:
            del changed[at:]
    return bytes(changed)
