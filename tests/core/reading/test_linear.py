"""Files whose things refer to each other or stand inside each other, as nobody writes them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import format_making
import pytest
from growth import LINEAR, power

from structrag import ContentAwareSplitter, read_file
from structrag.errors import InvalidDocument
from structrag.reading.sections import parse


def word_styles(number: int) -> bytes:
    """Styles that are based on each other; the last one first, and each is used."""
    numbering = '<w:pPr><w:numPr><w:numId w:val="2"/></w:numPr></w:pPr>'
    styles = "".join(
        f'<w:style w:styleId="s{n}"><w:name w:val="s{n}"/>'
        f'<w:basedOn w:val="s{n - 1}"/>{"" if n else numbering}</w:style>'
        for n in range(number)
    )
    used = "".join(f"p:s{n} a\n" for n in range(number))
    return format_making.docx(f"{used}## styles\n{styles}")


def text_styles(number: int) -> bytes:
    styles = "".join(
        f'<style:style style:name="s{n}" style:family="paragraph" '
        f'style:parent-style-name="s{n - 1}"/>'
        for n in range(number)
    )
    used = "".join(
        f'<text:p text:style-name="s{n}">a</text:p>\n' for n in range(number)
    )
    return format_making.odt(f"{used}## styles\n{styles}")


def rich_styles(number: int) -> bytes:
    styles = "".join(f"{{\\s{n}\\sbasedon{n - 1} s{n};}}" for n in range(1, number))
    used = "".join(f"\\pard\\s{n} a\\par " for n in range(number))
    return f"{{\\rtf1{{\\stylesheet{styles}}}{used}}}".encode()


def lists(number: int) -> bytes:
    """Lists that share their levels, of which there are too many."""
    levels = "".join(f'<w:lvl w:ilvl="{n}"/>' for n in range(number))
    uses = "".join(
        f'<w:num w:numId="{n}"><w:abstractNumId w:val="1"/></w:num>'
        for n in range(number)
    )
    used = "".join(f"li:{n}:{n} a\n" for n in range(number))
    abstract = f'<w:abstractNum w:abstractNumId="1">{levels}</w:abstractNum>'
    return format_making.docx(f"{used}## numbering\n{abstract}{uses}")


def classes(number: int) -> bytes:
    return "".join(f"class C{n} {{\n" for n in range(number)).encode()


def articles(number: int) -> bytes:
    section = b"<sec><title>A</title><p>a</p>"
    return b"<article>" + section * number + b"</sec>" * number + b"</article>"


def columns(number: int) -> bytes:
    named = "".join(f'<colspec colname="c{n}"/>' for n in range(number))
    last = f'<row><entry namest="c{number - 1}" nameend="c{number - 1}">a</entry></row>'
    return f"<article><table>{named}{last * number}</table></article>".encode()


def notes(number: int) -> bytes:
    return b"<article><p>" + b"a<fn><p>a</p></fn>" * number + b"</p></article>"


def parameters(number: int) -> bytes:
    header = "".join(f"; a{n}=b" for n in range(number))
    return f"Subject: a\nContent-Type: text/plain{header}\n\nb\n".encode()


def words(number: int) -> bytes:
    return f"Subject: {'=?utf-8?q?a?= ' * number}\nTo: {'(' * number}\n\nb\n".encode()


def offsets(number: int) -> bytes:
    return b":leveloffset: +1\n\n== A\n\n" * number


ALL = os.environ.get("STRUCTRAG_GROWTH") == "all"
KINDS: dict[Callable[[int], bytes], str] = {
    word_styles: ".docx",
    text_styles: ".odt",
    rich_styles: ".rtf",
    lists: ".docx",
    classes: ".java",
    articles: ".xml",
    columns: ".xml",
    notes: ".xml",
    parameters: ".eml",
    words: ".eml",
    offsets: ".adoc",
}


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(
    "made",
    KINDS if ALL else (word_styles, classes, words),
    ids=lambda made: made.__name__,
)
def test_time_grows_with_the_number_of_things(
    made: Callable[[int], bytes], tmp_path: Path
) -> None:
    path = tmp_path / f"a{KINDS[made]}"

    def read_and_split(data: bytes) -> None:
        path.write_bytes(data)
        ContentAwareSplitter().split(read_file(path))

    assert power(read_and_split, made, 1_000) < LINEAR


@pytest.mark.parametrize("made", KINDS, ids=lambda made: made.__name__)
def test_many_of_them_are_read(made: Callable[[int], bytes], tmp_path: Path) -> None:
    path = tmp_path / f"a{KINDS[made]}"
    path.write_bytes(made(600))
    document = read_file(path)
    assert document.text.strip()
    assert max(len(section.path) for section in parse(document).sections) <= 20


def test_a_circle_of_styles_is_cut_open_and_a_long_chain_refused(
    tmp_path: Path,
) -> None:
    def word(number: int, base: str) -> Path:
        styles = "".join(
            f'<w:style w:styleId="s{n}"><w:name w:val="{"title" if n == 1 else n}"/>'
            f'<w:basedOn w:val="{f"s{n - 1}" if n else base}"/></w:style>'
            for n in range(number)
        )
        source = f"p:s{number - 1} Seals\n## styles\n{styles}"
        path = tmp_path / "a.docx"
        path.write_bytes(format_making.docx(source))
        return path

    assert read_file(word(3, "s2")).title == "Seals"
    with pytest.raises(InvalidDocument, match="has styles more than 500 deep"):
        read_file(word(600, ""))
