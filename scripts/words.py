"""How long the documentation is, and how it reads.

    python scripts/words.py [--docstrings] [--long] [--beginnings] [--phrases] [PAGE ...]

For each page: words, words per sentence, the share of sentences above 35 words, and how many begin
with "Of", "That is", "Such as", "What", "Those" or "Where", where a reader expects a verb or the
name of the thing (a hint, no rule). `--long` prints the long sentences, `--beginnings` these,
`--phrases` the most frequent sequences of four words. Code, table rules, and addresses of links and
pictures are not words. Without a PAGE: README.md, docs, cookbooks and the pages for contributors;
with `--docstrings`: the docstrings of each room and adapter.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONTRIBUTORS = ("ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "SECURITY")
LONG = 35  # words of a sentence above which a reader loses it

_CODE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`+[^`]+`+")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
# An entry of a docstring's Args, an example, a title, an object that the reference shows.
_ENTRY = re.compile(r"^ {4}(?=[\w`, ]+: )", re.MULTILINE)
_EXAMPLE = re.compile(r"^ *(>>>|\.\.\.).*\n?((?! *\n| *>>>).*\n)*", re.MULTILINE)
_TITLE = re.compile(r"^(Args|Attributes|Raises|Example):+$|^:::.*$", re.MULTILINE)
_WORD = re.compile(r"[^\W_]+(?:['’.,-][^\W_]+)*")
_BEGINNING = re.compile(r"\W*(Of|That is|Such as|What|Those|Where)\b")
_ENDS = re.compile(r"(?<=[.!?])[)\"]*\s+(?=[A-Z`*\[\"(])")


def prose(text: str) -> str:
    """The page as it is read: no code blocks, a link's words without its address."""
    return _LINK.sub(r"\1", _TITLE.sub("", _CODE.sub("", text)))


def docstrings(folder: Path) -> str:
    """The docstrings below a folder as one page: each entry of Args is a paragraph."""
    parts = []
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(
                node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
            ):
                text = _EXAMPLE.sub("", ast.get_docstring(node) or "")
                parts.append(_ENTRY.sub("\n", _TITLE.sub("", text)))
    return "\n\n".join(parts)


def rooms() -> dict[str, str]:
    """Room or adapter -> its docstrings."""
    core = ROOT / "shared" / "structrag"
    folders = [path for path in core.iterdir() if (path / "__init__.py").exists()]
    adapters = [ROOT / "langchain_structrag", ROOT / "llama_index_structrag"]
    return {path.name: docstrings(path) for path in [*sorted(folders), *adapters]}


def sentences(text: str) -> Iterator[str]:
    """Sentences of paragraphs and list items; no headings, no tables."""
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s)", prose(text)):
        if not re.match(r"\s*(#|\||:?-+\|)", block):
            line = " ".join(re.sub(r"^\s*(?:[-*]|\d+\.)\s+", "", block).split())
            yield from (part for part in _ENDS.split(line) if _WORD.search(part))


def words(text: str) -> list[str]:
    """Words as a reader counts them: a span of code is one."""
    return _WORD.findall(_SPAN.sub("code", text))


def row(name: str, text: str) -> str:
    """A page's figures."""
    lengths = [len(words(sentence)) for sentence in sentences(text)]
    mean = sum(lengths) / max(len(lengths), 1)
    share = 100 * sum(length > LONG for length in lengths) / max(len(lengths), 1)
    hints = len(beginnings(text))
    return f"{name:34}{len(words(prose(text))):8,}{mean:10.1f}{share:10.1f}%{hints:12,}"


def beginnings(text: str) -> list[str]:
    """Sentences that begin with one of the words of the hint; questions are none."""
    return [
        sentence
        for sentence in sentences(text)
        if _BEGINNING.match(sentence) and not sentence.endswith("?")
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pages", nargs="*", type=Path)
    parser.add_argument("--docstrings", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--beginnings", action="store_true")
    parser.add_argument("--phrases", action="store_true")
    options = parser.parse_args(arguments)
    pages = options.pages or [
        ROOT / "README.md",
        *sorted((ROOT / "docs").glob("*.md")),
        ROOT / "cookbooks" / "README.md",
        *(ROOT / f"{name}.md" for name in CONTRIBUTORS),
    ]
    texts = {
        str(page.resolve().relative_to(ROOT)): page.read_text(encoding="utf-8")
        for page in pages
    }
    if options.docstrings:
        texts = rooms()
    print(
        f"{'':34}{'words':>8}{'/sentence':>10}{f'above {LONG}':>11}{'beginnings':>12}"
    )
    for name, text in texts.items():
        print(row(name, text))
        if options.beginnings:
            print("\n".join(f"    {sentence}" for sentence in beginnings(text)))
        if options.long:
            for sentence in sentences(text):
                if len(words(sentence)) > LONG:
                    print(f"    {sentence}")
    print(row("all", "\n\n".join(texts.values())))
    if options.phrases:
        phrases: Counter[str] = Counter()
        for text in texts.values():
            for sentence in sentences(text):
                each = [word.lower() for word in words(sentence)]
                phrases.update(" ".join(each[i : i + 4]) for i in range(len(each) - 3))
        for phrase, count in phrases.most_common(30):
            print(f"{count:6} {phrase}")


if __name__ == "__main__":
    main()
