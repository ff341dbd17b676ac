"""PDF files in a process of their own: the same documents, and limits that hold."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fixture_cases import examples
from pdf_making import made, manual

from structrag.errors import InvalidDocument, InvalidParameter
from structrag.reading import processes
from structrag.reading.files import read_file
from structrag.reading.pdf import isolation
from structrag.reading.pdf.document import pdf_document
from structrag.reading.pdf.isolation import isolated_document
from structrag.reading.processes import Isolation

POSIX = pytest.mark.skipif(os.name != "posix", reason="Windows knows no signals")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "manual.pdf"
    file.write_bytes(made(manual))
    return file


def test_a_document_is_the_same(path: Path) -> None:
    # What the file says replaces the caller's count of pages.
    meta = {"shelf": 3, "day": object, "pages": 9}
    options: dict[str, Any] = {"meta": meta, "id": "m"}
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
    "sys.stdin.buffer.readline(); request = json.loads(sys.stdin.buffer.readline()); "
    "isolation.pdf_document = lambda *_, **__: bytearray(6_000_000_000); "
    "isolation.answer(request)"
)


def child_runs(code: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = path.with_name("child.py")
    script.write_text(code)
    monkeypatch.setattr(processes, "_CHILD", script)


def test_without_a_limit_of_memory_no_limit_is_named(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child_runs(NOISE, path, monkeypatch)
    with pytest.raises(InvalidDocument, match=r"more memory than the limit\. "):
        read_file(path, isolated=Isolation(max_memory=None))
    with pytest.raises(
        InvalidDocument, match="more memory than the limit of 9,000 bytes"
    ):
        read_file(path, isolated=Isolation(max_memory=9000))


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (0, "exit status 0"),
        (3, "exit status 3"),
        pytest.param(-6, "SIGABRT", marks=POSIX),
        pytest.param(-1, "SIGHUP", marks=POSIX),
        (-250, "signal 250"),
    ],
)
def test_how_a_process_ended(status: int, expected: str) -> None:
    assert processes._ending(SimpleNamespace(returncode=status)) == expected


@POSIX
def test_a_crash_is_one_sentence(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child_runs(CRASH, path, monkeypatch)
    with pytest.raises(
        InvalidDocument, match=r"manual\.pdf' cannot be read: .* with SIGABRT"
    ):
        read_file(path, isolated=True)


def test_an_end_without_a_reply_is_one_sentence(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child_runs(NOISE, path, monkeypatch)
    with pytest.raises(InvalidDocument, match="ended with exit status 3"):
        read_file(path, isolated=True)


def test_the_limit_of_time_holds(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child_runs(ENDLESS, path, monkeypatch)
    with pytest.raises(InvalidDocument, match="was not read within 1 seconds"):
        read_file(path, isolated=Isolation(max_seconds=1))


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory needs Linux")
def test_the_limit_of_memory_holds(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child_runs(GREEDY, path, monkeypatch)
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
    with pytest.raises(InvalidParameter, match="'layout'; got function"):
        read_file(path, isolated=True, reader=lambda source: "# A")
    with pytest.raises(InvalidParameter, match="'layout'; got 'docling'"):
        read_file(path, isolated=True, reader="docling")
    with pytest.raises(
        InvalidParameter, match="must be True, False or an Isolation; got '4 GB'"
    ):
        read_file(path, isolated="4 GB")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="max_seconds"):
        Isolation(max_seconds=0)
    with pytest.raises(InvalidParameter, match="max_seconds"):
        Isolation(max_seconds=0.9)
    with pytest.raises(InvalidParameter, match="max_memory"):
        Isolation(max_memory=0)
    assert Isolation(max_seconds=1, max_memory=1) != Isolation()
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(InvalidParameter, match=r"sys\.executable"):
        read_file(path, isolated=True)


def test_a_file_has_five_minutes_and_four_gigabytes_by_default() -> None:
    assert Isolation() == Isolation(max_seconds=300, max_memory=4_000_000_000)


@POSIX
@examples
def test_a_process_is_limited_as_far_as_the_system_allows(
    hard: int,
    max_memory: int | None,
    expected: dict[str, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import resource

    limits: dict[int, tuple[int, int]] = {}
    monkeypatch.setattr(resource, "RLIM_INFINITY", -1)
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (3, hard))
    monkeypatch.setattr(resource, "setrlimit", limits.__setitem__)
    processes._limit(max_memory, 7.5)
    assert limits == {
        getattr(resource, f"RLIMIT_{name}"): (most, hard)
        for name, most in expected.items()
    }


@POSIX
def test_a_limit_that_the_system_refuses_leaves_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import resource

    limits: dict[int, tuple[int, int]] = {}

    def set_limit(kind: int, pair: tuple[int, int]) -> None:
        if kind == resource.RLIMIT_CPU:
            raise ValueError("not here")
        limits[kind] = pair

    monkeypatch.setattr(resource, "getrlimit", lambda kind: (3, 4000))
    monkeypatch.setattr(resource, "setrlimit", set_limit)
    processes._limit(700, 7.5)
    assert limits == {
        resource.RLIMIT_CORE: (0, 4000),
        resource.RLIMIT_AS: (700, 4000),
    }


def answered(
    request: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Any:
    """What the child answers, while its standard output is a file."""
    monkeypatch.setattr(processes, "_limit", lambda *limits: None)
    output = os.dup(1)
    file = os.open(tmp_path / "reply", os.O_RDWR | os.O_CREAT)
    try:
        os.dup2(file, 1)
        isolation.answer({"max_memory": None, "max_seconds": 9, **request})
    finally:
        os.dup2(output, 1)
        os.close(output)
        os.close(file)
    return json.loads((tmp_path / "reply").read_bytes())


def test_the_child_answers_with_the_document_alone(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def noisy(source: Any, **options: Any) -> Any:
        os.write(1, b"printed by a library")
        return pdf_document(source, **options)

    monkeypatch.setattr(isolation, "pdf_document", noisy)
    reading = {"reader": "layout", "password": None, "title": "Mine"}
    document = pdf_document(path, title="Mine")
    expected = {
        "text": document.text,
        "title": "Mine",
        "meta": {**document.meta, "source": "elsewhere"},
    }
    request = {"meta": {"source": "elsewhere"}, "reading": reading}
    stdin = SimpleNamespace(buffer=io.BytesIO(path.read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    for source in (str(path), None):  # None: its bytes come behind the request
        reply = answered({"source": source, **request}, tmp_path, monkeypatch)
        assert reply == expected


def test_the_child_answers_with_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "empty.pdf"
    file.write_bytes(b"")
    reading = {"reader": "layout", "password": None, "title": ""}
    request = {"source": str(file), "meta": {}, "reading": reading}
    reply = answered(request, tmp_path, monkeypatch)
    assert reply["error"] == "InvalidDocument"
    assert reply["message"].endswith("is empty (0 bytes). Get the file again.")
