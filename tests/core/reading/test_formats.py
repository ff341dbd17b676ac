"""Registered formats: each through every door, formats of a user's own, and what is refused."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from zipfile import ZipFile

import pytest

from structrag import Index, MultiViewRetriever, parse, read_file, read_text
from structrag.errors import InvalidDocument, InvalidParameter
from structrag.integrations.loading import FileReading
from structrag.integrations.metadata import place_notes
from structrag.reading import formats
from structrag.reading.drafts import Draft
from structrag.reading.escaping import heading_line
from structrag.reading.files import find_files
from structrag.reading.formats import Format, format_names, register_format

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
TEXT = "Rinse the filter every day."


def docx() -> bytes:
    """The smallest Word file: a heading by its outline level, and a paragraph."""
    body = (
        f'<w:document xmlns:w="{W}"><w:body><w:p><w:pPr><w:outlineLvl w:val="0"/></w:pPr>'
        f"<w:r><w:t>Cleaning</w:t></w:r></w:p><w:p><w:r><w:t>{TEXT}</w:t></w:r></w:p>"
        "</w:body></w:document>"
    )
    file = io.BytesIO()
    with ZipFile(file, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", body)
    return file.getvalue()


FILES = {
    "a.docx": docx(),
    "a.rst": f"Cleaning\n========\n\n{TEXT}\n".encode(),
    "a.adoc": f"== Cleaning\n\n{TEXT}\n".encode(),
    "a.org": f"* Cleaning\n{TEXT}\n".encode(),
    "a.mediawiki": f"== Cleaning ==\n{TEXT}\n".encode(),
    "a.tex": f"\\section{{Cleaning}}\n{TEXT}\n".encode(),
    "a.rtf": rb"{\rtf1{\pard\outlinelevel0 Cleaning\par}{\pard "
    + TEXT.encode()
    + rb"\par}}",
    "a.ipynb": (
        '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"cell_type": "markdown",'
        f' "metadata": {{}}, "source": ["# Cleaning\\n", "\\n", "{TEXT}"]}}]}}'
    ).encode(),
    "a.eml": f"Subject: Cleaning\r\nFrom: a@b.org\r\n\r\n{TEXT}\r\n".encode(),
    "a.xml": (
        "<article><front/><body><sec><title>Cleaning</title>"
        f"<p>{TEXT}</p></sec></body></article>"
    ).encode(),
    "a.md": f"# Cleaning\n\n{TEXT}\n".encode(),
}


@pytest.fixture(params=FILES, name="path")
def file_of_a_format(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / request.param
    path.write_bytes(FILES[request.param])
    return path


def test_folders_and_both_loaders_read_it(path: Path) -> None:
    assert list(find_files(path.parent)) == [path]
    loaded = FileReading().load(path)
    assert loaded.text == read_file(path).text
    assert loaded == FileReading().load_bytes(path.read_bytes(), str(path))


def test_a_reader_process_gives_the_same(path: Path) -> None:
    assert read_file(path, isolated=True) == read_file(path, isolated=False)
    loaded = FileReading(isolated=True).load(path)
    assert loaded == FileReading(isolated=False).load(path)


def test_a_file_without_a_suffix_is_known_by_its_bytes(tmp_path: Path) -> None:
    for name in ("a.docx", "a.rtf"):
        path = tmp_path / name.removesuffix(".docx").removesuffix(".rtf")
        path.write_bytes(FILES[name])
        assert TEXT in read_file(path).text and "word/" not in read_file(path).text


@pytest.fixture
def registered() -> Iterator[None]:
    before = dict(formats._FORMATS)
    yield
    formats._FORMATS.clear()
    formats._FORMATS.update(before)


def ini(data: bytes, name: str) -> Draft:
    """A reader of INI files as a user writes one: a section is a place too."""
    if b"[" not in data:
        raise InvalidDocument(f"{name} has no section. Give it one.")
    lines, places, position = [], [], 0
    for line in data.decode().splitlines():
        title = line.strip("[]") if line.startswith("[") else ""
        if title:
            places.append((position, f"section {title}"))
        lines.append(heading_line(1, title) if title else line)
        position += len(lines[-1]) + 2
    return Draft("\n\n".join(lines) + "\n", title="Settings", places=tuple(places))


def test_a_format_of_ones_own_is_read_by_every_door(
    registered: None, tmp_path: Path
) -> None:
    register_format(
        Format(
            "ini",
            (".ini",),
            SimpleNamespace(to_markdown=ini),
            ("text/ini",),
            is_text=True,
        )
    )
    path = tmp_path / "pump.ini"
    path.write_text("[speed]\nrpm = 3\n[seal]\nwidth = 4\n")
    assert "ini" in format_names() and list(find_files(tmp_path)) == [path]
    document = read_file(path)
    assert (document.title, document.format) == ("Settings", "markdown")
    assert document.text == read_text(path.read_text(), format="ini").text
    assert [section.title for section in parse(document).sections[1:]] == [
        "speed",
        "seal",
    ]
    index = Index()
    index.add([document])
    (hit,) = MultiViewRetriever(index).search("width of the seal", 1)
    assert place_notes(document.meta, hit.chunk) == {"place": "section seal"}
    path.write_text("rpm = 3\n")
    with pytest.raises(InvalidDocument, match=r"pump\.ini.* has no section"):
        read_file(path)


def test_a_format_keeps_its_name_and_suffixes(registered: None) -> None:
    with pytest.raises(InvalidParameter, match="built-in format; got 'markdown'"):
        register_format(Format("markdown", (".x",), "nothing"))
    with pytest.raises(InvalidParameter, match=r"'.docx' is of 'docx'"):
        register_format(Format("word", (".docx",), "nothing"))


def test_text_is_no_binary_file() -> None:
    with pytest.raises(InvalidParameter, match="format must be a text format; 'docx'"):
        read_text("x", format="docx")
    with pytest.raises(InvalidParameter, match="format"):
        read_text("x", format="wordstar")


@pytest.mark.parametrize(
    "data", [b"", b"x", b"%PDF-1.7 x", docx()[:200], b"PK\x03\x04word/"]
)
def test_a_file_that_is_not_what_its_suffix_says_is_refused_by_name(
    data: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(data)
    with pytest.raises(InvalidDocument, match=r"a\.docx"):
        read_file(path)
    (tmp_path / "b.md").write_text("# B")
    with pytest.warns(UserWarning, match=r"1 file .* read, 1 left out. a\.docx"):
        assert len(list(FileReading().load_all(tmp_path))) == 1
