"""Reading: decoding, format detection, titles, and one clear sentence for what cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from structrag.errors import InvalidDocument, InvalidParameter
from structrag.reading.files import detect_format, find_files, read_file, read_text


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("# T\n\ntext", "markdown"),
        ("a\n===\n", "markdown"),
        ("```\nx\n```", "markdown"),
        ("see [this](http://a.b)", "markdown"),
        ("| a | b |\n|---|---|\n", "markdown"),
        ("<!DOCTYPE html><p>x", "html"),
        ("<p>a</p><p>b</p>", "html"),
        ("# T\n\n<p>a</p><p>b</p>", "markdown"),
        ("plain words, nothing else", "text"),
        ("a < b and c > d", "text"),
        ("", "text"),
    ],
)
def test_format_is_told_from_the_text(text: str, kind: str) -> None:
    assert detect_format(text) == kind
    assert read_text(text).format == kind


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbfabc", "abc"),
        ("naïve".encode(), "naïve"),
        ("naïve".encode("cp1252"), "naïve"),
        ("abc".encode("utf-16"), "abc"),
        (b"a\r\nb\rc\n", "a\r\nb\rc\n"),
        (b"", ""),
    ],
)
def test_bytes_are_decoded_and_nothing_is_normalised(
    tmp_path: Path, data: bytes, text: str
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    document = read_file(path)
    assert (document.text, document.format, document.id) == (text, "text", str(path))


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ('---\ntitle: "From front matter"\n---\n# Other\n', "From front matter"),
        ("+++\ntitle = 'Toml'\n+++\n", "Toml"),
        ("# Only `one`\n\n## Two\n", "Only one"),
        ("# One\n\n# Two\n", "notes"),
        ("## Two\n\n# One\n", "notes"),
        ("text\n", "notes"),
    ],
)
def test_title_of_markdown(text: str, title: str) -> None:
    assert read_text(text, format="markdown", meta={"source": "a/notes.md"}).title == title
    assert read_text(text, format="markdown", title="Given").title == "Given"


def test_what_cannot_be_read_is_said_in_one_sentence(tmp_path: Path) -> None:
    image = tmp_path / "a.png"
    image.write_bytes(b"\x89PNG\0\0")
    pdf = tmp_path / "a.pdf"
    pdf.write_bytes(b"%PDF-1.7 text")
    for path, words in [
        (image, "NUL"),
        (pdf, "PDF"),
        (tmp_path, "find_files"),
        (tmp_path / "no.md", "No such file"),
    ]:
        with pytest.raises(InvalidDocument, match=words):
            read_file(path)
    with pytest.raises(InvalidDocument, match="no file or folder"):
        list(find_files(tmp_path / "missing"))
    with pytest.raises(InvalidDocument, match="Cannot read"):
        read_file("a\0b")
    with pytest.raises(InvalidParameter, match="read_file"):
        read_text(b"bytes")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="'docx'"):
        read_text("x", format="docx")


def test_files_of_a_folder_are_sorted_and_hidden_ones_left_out(tmp_path: Path) -> None:
    for name in ("b.md", "a.txt", "c.png", ".hidden.md", "sub/d.html", ".git/e.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    names = [path.relative_to(tmp_path).as_posix() for path in find_files(tmp_path)]
    assert names == ["a.txt", "b.md", "sub/d.html"]
    assert list(find_files(tmp_path / "c.png")) == [tmp_path / "c.png"]
