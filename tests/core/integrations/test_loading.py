"""Files as texts with metadata."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixture_cases import examples
from pdf_making import made, pictured
from pdf_making import manual as manual_pages

from structrag.errors import InvalidDocument, InvalidParameter
from structrag.integrations.loading import FileReading, check_paths, load_bytes


@examples
def test_the_format_is_told(
    data: bytes, name: str, media_type: str | None, format: str
) -> None:
    loaded = load_bytes(data, name, media_type)
    assert loaded.text == data.decode() and loaded.metadata == {"text_format": format}


def test_a_pdf_becomes_markdown_with_its_facts(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="the extra 'pdf' is not installed")
    pytest.importorskip("reportlab")
    data = made(manual_pages)
    (tmp_path / "manual.pdf").write_bytes(data)
    ((file, loaded),) = FileReading().load_all(tmp_path)
    assert file.name == "manual.pdf" and loaded.metadata["text_format"] == "markdown"
    assert loaded.metadata["pages"] > 1 and "source" not in loaded.metadata
    assert any(line.startswith("#") for line in loaded.text.splitlines())
    assert FileReading().load_bytes(data, "", "application/pdf").text == loaded.text
    for isolated in (True, False):
        assert FileReading(isolated=isolated).load(file) == loaded
        by_bytes = FileReading(isolated=isolated).load_bytes(data, "manual.pdf")
        assert by_bytes == loaded
    assert "secret" not in repr(FileReading(password="secret"))


def test_what_cannot_be_read_is_left_out_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"\0\1")
    (tmp_path / "b.md").write_text("# Pumps")
    with pytest.warns(UserWarning, match="1 file of .* read, 1 left out. a.md: "):
        files = [file.name for file, _ in FileReading().load_all(tmp_path)]
    assert files == ["b.md"]
    with pytest.raises(InvalidDocument, match=r"a\.md"):
        list(FileReading().load_all(tmp_path / "a.md"))


def test_word_files_and_a_folder_with_nothing_to_read_are_told(tmp_path: Path) -> None:
    for name in ("a.doc", "b.DOC", "c.ppt", "d.dat", "e.bin"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "f.md").write_text("# Pumps")
    for found in (1, 0):
        with pytest.warns(UserWarning) as caught:
            assert len(list(FileReading().load_all(tmp_path))) == found
        (warning,) = [str(warning.message) for warning in caught]
        assert f"{found} file" in warning and "5 left out" in warning
        assert "a.doc, b.DOC, c.ppt: readable by docling" in warning
        assert "d.dat, e.bin: in an unsupported format" in warning
        (tmp_path / "f.md").unlink(missing_ok=True)


def test_bytes_that_are_no_text_are_counted() -> None:
    loaded = load_bytes(b"\xef\xbb\xbfPumps \xff", "a.txt")
    assert loaded.metadata["undecodable"] == 1


def test_paths_are_checked() -> None:
    assert check_paths("a") == check_paths(["a"]) == ["a"]
    assert check_paths(Path("a")) == [Path("a")]
    for wrong in (3, [], [3], b"a", None, {"a": 1}):
        with pytest.raises(InvalidParameter, match="path must be a file, a folder"):
            check_paths(wrong)


def test_pictures_lie_in_folders_like_their_files(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="the extra 'pdf' is not installed")
    pytest.importorskip("reportlab")
    data = made(pictured)
    for folder in ("", "old"):
        (tmp_path / "manuals" / folder).mkdir()
        (tmp_path / "manuals" / folder / "pump.pdf").write_bytes(data)
    pictures = tmp_path / "pictures"
    reading = FileReading(images_to=pictures)
    loaded = dict(reading.load_all(tmp_path / "manuals"))
    reading.load_bytes(data, "mails/tap.pdf", "application/pdf")
    names = {str(file.relative_to(pictures)) for file in pictures.rglob("*.png")}
    old = "old/pump-page-1-picture-1.png"
    assert names == {"pump-page-1-picture-1.png", old, "tap/page-1-picture-1.png"}
    assert old in loaded[tmp_path / "manuals" / "old" / "pump.pdf"].text
    with pytest.raises(
        InvalidParameter, match="images_to works only with reader='layout'"
    ):
        FileReading("docling", images_to=pictures)
