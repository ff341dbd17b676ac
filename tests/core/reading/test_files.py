"""Reading: decoding, format detection, titles, and one clear sentence for what cannot be read."""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path

import pytest
from fixture_cases import examples
from samples import BAD

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.fixed import FixedSplitter
from structrag.errors import InvalidDocument, InvalidParameter
from structrag.reading.files import (
    detect_format,
    find_files,
    kinds_of,
    other_files,
    read_file,
    read_text,
)
from structrag.reading.limits import Limits


@examples
def test_format_is_told_from_the_text(text: str, kind: str) -> None:
    assert detect_format(text) == kind
    assert read_text(text).format == kind


@examples
def test_bytes_are_decoded_and_nothing_is_normalised(
    tmp_path: Path, data: bytes, text: str
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    document = read_file(path)
    assert (document.text, document.format, document.id) == (text, "text", str(path))


@examples
def test_title_of_markdown(text: str, title: str) -> None:
    assert (
        read_text(text, format="markdown", meta={"source": "a/notes.md"}).title == title
    )
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


@pytest.mark.parametrize("format", ["markdown", "text", "html", "auto"])
@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_split_without_loss(name: str, format: str) -> None:
    document = read_text(BAD[name], format=format)
    for splitter in (ContentAwareSplitter(max_tokens=50), FixedSplitter(50)):
        chunks = splitter.split(document)
        assert "".join(chunk.text for chunk in chunks) == (
            document.text if document.text.strip() else ""
        )
        assert all(chunk.text.strip() for chunk in chunks)
        assert all(
            chunk.extras["index_tokens"] <= 50 or chunk.extras["oversize"]
            for chunk in chunks
        )


@examples
def test_formats(text: str, expected: str) -> None:
    assert detect_format(text) == expected


@examples
def test_looking_is_linear(piece: str) -> None:
    """The sample is bounded, so a quadratic pattern shows as tens of seconds."""
    started = time.process_time()
    detect_format(piece * 200_000)
    assert time.process_time() - started < 5


def test_a_path_may_be_bytes_and_too_long_or_no_path_is_one_sentence(
    tmp_path: Path,
) -> None:
    (tmp_path / "ä.md").write_text("# A", encoding="utf-8")
    name = str(tmp_path / "ä.md")
    assert read_file(name.encode()) == read_file(name)
    assert list(find_files(str(tmp_path).encode())) == [tmp_path / "ä.md"]
    for path in ("x" * 5000, "a/" * 5000):
        with pytest.raises(InvalidDocument, match="too long"):
            read_file(path)
        with pytest.raises(InvalidDocument, match="too long"):
            list(find_files(path))
    for call in (read_file, lambda path: list(find_files(path))):
        with pytest.raises(InvalidParameter, match="path must be"):
            call(5)  # type: ignore[operator]


def test_what_could_not_be_decoded_is_counted_in_the_metadata(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"\xff\xfe#\x00 ")
    assert read_file(path, meta={"shelf": 3}).meta == {
        "source": str(path),
        "shelf": 3,
        "undecodable": 1,
    }
    path.write_text("# A", encoding="utf-8")
    assert "undecodable" not in read_file(path).meta


def test_a_file_above_the_limit_is_not_read(tmp_path: Path) -> None:
    for name in ("a.md", "a.pdf"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(2_000_000_000)
        with pytest.raises(InvalidDocument, match="max_bytes allows 200,000,000"):
            read_file(tmp_path / name)
    (tmp_path / "a.md").write_text("# Abc")
    assert read_file(tmp_path / "a.md", limits=Limits(max_bytes=5)).text == "# Abc"
    with pytest.raises(InvalidDocument, match="max_bytes allows 4"):
        read_file(tmp_path / "a.md", limits=Limits(max_bytes=4))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders here")
@pytest.mark.parametrize("suffix", [".md", ".pdf"])
def test_a_pipe_does_not_make_reading_hang(tmp_path: Path, suffix: str) -> None:
    pipe, link = tmp_path / f"pipe{suffix}", tmp_path / f"link{suffix}"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link, "/dev/zero"):
        with pytest.raises(InvalidDocument, match="not a regular file"):
            read_file(path)
    (tmp_path / "a.md").write_text("x")
    assert list(find_files(tmp_path)) == [tmp_path / "a.md"]


def test_links_out_of_a_folder_are_followed_when_asked_for(tmp_path: Path) -> None:
    outside, folder = tmp_path / "secret.md", tmp_path / "folder"
    (folder / "sub").mkdir(parents=True)
    outside.write_text("x")
    (folder / "a.md").write_text("x")
    try:
        (folder / "inside.md").symlink_to(folder / "a.md")
        (folder / "sub" / "out.md").symlink_to(outside)
        (folder / "broken.md").symlink_to(tmp_path / "no.md")
        (folder / "up").symlink_to(tmp_path, target_is_directory=True)
    except OSError:
        pytest.skip("links need a right that is missing here")
    with pytest.warns(
        UserWarning, match=r"out\.md' is a link to a file outside the folder"
    ):
        names = [path.name for path in find_files(folder)]
    assert names == ["a.md", "inside.md"]
    with pytest.warns(UserWarning) as warned:
        list(find_files(folder))
    assert [warning.filename for warning in warned] == [__file__]
    told: list[Path] = []
    assert (
        len(list(find_files(folder, left_out=lambda path, why: told.append(path)))) == 2
    )
    assert told == [folder / "sub" / "out.md"]
    assert [path.name for path in find_files(folder, follow_links=True)] == [
        "a.md",
        "inside.md",
        "out.md",
    ]
    assert list(find_files(folder / "sub" / "out.md")) == [folder / "sub" / "out.md"]


@pytest.mark.skipif(
    os.name != "posix", reason="folders are nested through their descriptors"
)
def test_a_folder_nested_beyond_the_longest_path_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("x")
    here = os.open(tmp_path, os.O_RDONLY)
    places = [here]
    for _ in range(30):  # 6,000 characters
        os.mkdir("d" * 200, dir_fd=here)
        here = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        places.append(here)
    try:
        with pytest.warns(UserWarning, match=r"was skipped: File name too long"):
            assert list(find_files(tmp_path)) == [tmp_path / "a.md"]
    finally:
        # What is too deep for a path is too deep to tidy up.
        for place in reversed(places[:-1]):
            os.rmdir("d" * 200, dir_fd=place)
        for place in places:
            os.close(place)


def test_files_of_other_kinds_are_told(tmp_path: Path) -> None:
    for name in ("a.md", "a.dat", "b.DAT", ".c.dat", "index/d.npy", "e"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    others = [file.relative_to(tmp_path).as_posix() for file in other_files(tmp_path)]
    assert sorted(others) == ["a.dat", "b.DAT", "e", "index/d.npy"]
    assert other_files(tmp_path / "a.dat") == []
    assert kinds_of(other_files(tmp_path)) == "2 .dat, 1 without suffix, 1 .npy"
    every = [Path(f"a.{letter}") for letter in "gfedcba"]
    assert kinds_of(every) == "1 .a, 1 .b, 1 .c, 1 .d, 1 .e, 2 others"
    assert kinds_of(every[:6]) == "1 .b, 1 .c, 1 .d, 1 .e, 1 .f, 1 other"
    assert kinds_of(every[:5]) == "1 .c, 1 .d, 1 .e, 1 .f, 1 .g"
    assert kinds_of([]) == ""


@examples
def test_title_of_a_page(text: str, title: str) -> None:
    meta = {"source": "a/notes.html"}
    assert read_text(text, format="html", meta=meta).title == title
    assert read_text(text, format="html", meta=meta, title="Given").title == "Given"
    assert read_text("x", format="html").title == ""


def test_title_of_plain_text() -> None:
    meta = {"source": "a/notes.txt"}
    assert read_text("x", format="text", meta=meta).title == "notes"
    assert read_text("x", format="text", meta=meta, title="Given").title == "Given"
    assert read_text("x", format="text").title == ""


def test_navigation_is_read_when_asked_for() -> None:
    page = "<nav>n</nav><p>x</p>"
    assert read_text(page, format="html").text == "x"
    assert read_text(page, format="html", drop_navigation=False).text == "n\n\nx"


def test_a_long_page_without_headings_is_warned_of(tmp_path: Path) -> None:
    text = "It goes on. " * 1000
    (tmp_path / "a.html").write_text(f"<p>{text}</p>")
    with pytest.warns(UserWarning, match="A long page of HTML has no heading"):
        read_file(tmp_path / "a.html")
    for name in ("a.txt", "a.md"):
        (tmp_path / name).write_text(text)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read_file(tmp_path / name)
