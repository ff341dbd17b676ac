"""PDF files in a process of their own: the same documents, and limits that hold."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from pdf_making import made, manual

from structrag.errors import InvalidDocument, InvalidParameter
from structrag.reading.files import read_file
from structrag.reading.pdf import isolation
from structrag.reading.pdf.document import pdf_document
from structrag.reading.pdf.isolation import Isolation, isolated_document

pytest.importorskip("pypdfium2", reason="the extra 'pdf' is not installed")
pytest.importorskip("reportlab")

POSIX = pytest.mark.skipif(os.name != "posix", reason="Windows knows no signals")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "manual.pdf"
    file.write_bytes(made(manual))
    return file


def test_a_document_is_the_same(path: Path) -> None:
    options: dict[str, Any] = {"meta": {"shelf": 3, "day": object}, "id": "m"}
    assert read_file(path, isolated=True, **options) == read_file(path, **options)
    assert isolated_document(path.read_bytes()) == pdf_document(path.read_bytes())
    assert read_file(
        path, isolated=True, title="Mine", meta={"source": "x/other.pdf"}
    ) == (read_file(path, title="Mine", meta={"source": "x/other.pdf"}))


def test_what_is_wrong_with_a_file_is_said_in_the_same_words(
    path: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.pdf"
    for data in (b"", b"text", path.read_bytes()[:400], b"%PDF-1.4 junk %%EOF"):
        other.write_bytes(data)
        with pytest.raises(InvalidDocument) as alone:
            read_file(other, isolated=True)
        with pytest.raises(InvalidDocument) as here:
            read_file(other)
        assert str(alone.value) == str(here.value)
    with pytest.raises(InvalidDocument, match="No such file"):
        read_file(tmp_path / "no.pdf", isolated=True)


def test_other_formats_need_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "")
    (tmp_path / "a.md").write_text("# A")
    assert read_file(tmp_path / "a.md", isolated=True).text == "# A"


CRASH = "import os, sys; sys.stdin.buffer.read(); os.abort()"
ENDLESS = "import time; time.sleep(600)"
NOISE = "import sys; sys.stdin.buffer.read(); print('no reply'); sys.exit(3)"
GREEDY = (
    "import json, sys; from structrag.reading.pdf import isolation; "
    "request = json.loads(sys.stdin.buffer.readline()); "
    "isolation.pdf_document = lambda *_, **__: bytearray(6_000_000_000); "
    "isolation.answer(request)"
)


@POSIX
def test_a_crash_is_one_sentence(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "_START", CRASH)
    with pytest.raises(
        InvalidDocument, match=r"manual\.pdf' cannot be read: .* by SIGABRT"
    ):
        read_file(path, isolated=True)


def test_an_end_without_a_reply_is_one_sentence(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolation, "_START", NOISE)
    with pytest.raises(InvalidDocument, match="ended by exit status 3"):
        read_file(path, isolated=True)


def test_the_limit_of_time_holds(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "_START", ENDLESS)
    with pytest.raises(InvalidDocument, match="was not read within 1 seconds"):
        read_file(path, isolated=Isolation(max_seconds=1))


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory needs Linux")
def test_the_limit_of_memory_holds(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "_START", GREEDY)
    with pytest.raises(InvalidDocument, match="4,000,000,000 bytes"):
        read_file(path, isolated=True)


def bomb(depth: int, width: int) -> bytes:
    """A page whose form draws a form many times, which draws a form many times, and so on."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 5 0 R /Resources "
        b"<< /Font << /F1 4 0 R >> /XObject << /X 6 0 R >> >> >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Length 5 >>\nstream\n/X Do\nendstream",
    ]
    for level in range(depth):
        last = level == depth - 1
        stream = b"BT /F1 9 Tf (word) Tj ET " if last else b"/X Do " * width
        inner = b"" if last else b"/XObject << /X %d 0 R >> " % (7 + level)
        objects.append(
            b"<< /Type /XObject /Subtype /Form /BBox [0 0 595 842] /Resources << %s"
            b"/Font << /F1 4 0 R >> >> /Length %d >>\nstream\n%s\nendstream"
            % (inner, len(stream), stream)
        )
    data, places = b"%PDF-1.4\n", []
    for number, text in enumerate(objects, start=1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, text)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    end = b"trailer\n<< /Size %d /Root 1 0 R >>\n" % (len(objects) + 1)
    return data + head + table + end + b"startxref\n%d\n%%%%EOF\n" % len(data)


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory needs Linux")
def test_a_bomb_of_nested_forms_takes_nothing_else_down() -> None:
    limits = Isolation(max_seconds=20, max_memory=700_000_000)
    with pytest.raises(InvalidDocument, match=r"cannot be read|was not read within"):
        isolated_document(bomb(10, 12), limits=limits)


def test_what_can_be_isolated(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        InvalidParameter, match="'layout' and 'pdfplumber'; got function"
    ):
        read_file(path, isolated=True, reader=lambda source: "# A")
    with pytest.raises(
        InvalidParameter, match="'layout' and 'pdfplumber'; got 'docling'"
    ):
        read_file(path, isolated=True, reader="docling")
    with pytest.raises(
        InvalidParameter, match="must be True, False or an Isolation; got '4 GB'"
    ):
        read_file(path, isolated="4 GB")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="max_seconds"):
        Isolation(max_seconds=0)
    with pytest.raises(InvalidParameter, match="max_memory"):
        Isolation(max_memory=0)
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(InvalidParameter, match=r"sys\.executable"):
        read_file(path, isolated=True)


def test_pdfplumber_may_be_isolated(path: Path) -> None:
    pytest.importorskip("pdfplumber")
    assert read_file(path, isolated=True, reader="pdfplumber") == (
        read_file(path, reader="pdfplumber")
    )
