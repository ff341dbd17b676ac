"""Files in a reader process: the same documents, and limits that hold."""

from __future__ import annotations

import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import apart
import pytest
from pdf_making import made, manual

from structrag import read_file
from structrag.errors import InvalidDocument, InvalidParameter
from structrag.integrations.loading import FileReading
from structrag.reading import Limits, formats, processes
from structrag.reading.formats import Format, register_format
from structrag.reading.processes import read_apart

POSIX = pytest.mark.skipif(os.name != "posix", reason="Windows knows no signals")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits memory")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "manual.pdf"
    file.write_bytes(made(manual))
    return file


def asked(
    function: str, limits: Limits | None = None, data: bytes = b"", **arguments: Any
) -> dict[str, Any]:
    name = f"{apart.__name__}:{function}"
    return read_apart(name, arguments, data, limits or Limits(), "The file")[0]


def test_a_document_is_the_same(path: Path) -> None:
    # What the file says replaces the caller's count of pages.
    meta = {"shelf": 3, "day": object, "pages": 9}
    for options in (
        {"meta": meta, "id": "m"},
        {"title": "Mine", "meta": {"source": "x/other.pdf"}},
    ):
        here = read_file(path, isolated=False, **options)
        for isolated in ("auto", True):
            assert read_file(path, isolated=isolated, **options) == here


def test_a_page_keeps_its_layout(tmp_path: Path) -> None:
    file = tmp_path / "a.html"
    file.write_text(
        "<title>T</title><h1>Pumps</h1><p>A &amp; b<img src=p.png alt=p><table><tr><th>x"
        "<tr><td>1</table><pre>a\nb</pre>"
    )
    document = read_file(file, isolated=True)
    assert document == read_file(file) and document.layout


def test_a_relative_path_is_the_callers(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    document = read_file(path.name, isolated=True)
    assert document.id == document.meta["source"] == "manual.pdf"
    with pytest.raises(InvalidDocument, match=r"Cannot read 'no\.md': No such file"):
        read_file("no.md", isolated=True)


def test_what_is_wrong_with_a_file_is_said_in_the_same_words(
    path: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.pdf"
    for data in (b"", b"text", path.read_bytes()[:400], b"%PDF-1.4 junk %%EOF"):
        other.write_bytes(data)
        sentences = set()
        for isolated in (True, False):
            with pytest.raises(InvalidDocument) as caught:
                read_file(other, isolated=isolated)
            sentences.add(str(caught.value))
        assert len(sentences) == 1


def test_a_reader_of_pdf_files_is_no_matter_of_others(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A")
    for reader in (lambda source: "# B", "docling"):
        document = read_file(tmp_path / "a.md", isolated=True, reader=reader)
        assert document.text == "# A"


def test_a_system_that_starts_no_process_is_one_sentence(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_READERS", processes._Readers())
    monkeypatch.setattr(sys, "executable", str(path.with_name("python")))
    with pytest.raises(InvalidDocument, match="starts no process for it"):
        read_file(path)


@POSIX
def test_a_process_that_has_ended_meanwhile_is_no_matter() -> None:
    before = asked("pid")["pid"]
    os.kill(before, signal.SIGKILL)
    assert asked("pid")["pid"] != before


def test_one_process_reads_one_file_after_another() -> None:
    first, second = asked("pid"), asked("pid", data=b"123")
    assert first["pid"] == second["pid"] != os.getpid()
    assert second["size"] == 3 and second["folder"] == os.getcwd()
    name = f"{apart.__name__}:pid"
    assert read_apart(name, {}, b"", Limits(), "The file")[1] == "\udcff é"


def test_threads_read_at_the_same_time() -> None:
    with ThreadPoolExecutor(3) as threads:
        pids = threads.map(lambda _: asked("pid", seconds=0.3)["pid"], range(3))
    assert len(set(pids)) == 3


@POSIX
def test_a_crash_is_one_sentence_and_the_next_file_is_read() -> None:
    for function, ending in (("crash", "SIGABRT"), ("leave", "exit status 3")):
        with pytest.raises(
            InvalidDocument,
            match=f"The file cannot be read: .* with {ending}.* 4,000,000,000 bytes",
        ):
            asked(function)
    with pytest.raises(InvalidDocument, match=r"more memory than the limit\. "):
        asked("crash", Limits(max_memory=None))
    assert asked("pid")["pid"]


def test_an_error_of_a_reader_is_one_sentence() -> None:
    with pytest.raises(InvalidDocument, match="its reader raised RecursionError"):
        asked("recurse")


def test_the_limit_of_time_holds() -> None:
    with pytest.raises(InvalidDocument, match="The file was not read within 1 seconds"):
        asked("pid", Limits(max_seconds=1), seconds=60)


@pytest.mark.slow
@LINUX
def test_the_limit_of_memory_holds_for_each_file() -> None:
    much, little = Limits(max_memory=None), Limits(max_memory=1_000_000_000)
    for limits in (little, much, little):
        size = 1_500_000_000 if limits is much else 100
        assert asked("take_memory", limits, bytes=size) == {"size": size}
        with pytest.raises(InvalidDocument, match="MemoryError"):
            asked("take_memory", little, bytes=1_500_000_000)


@pytest.mark.long
@LINUX
@pytest.mark.slow
def test_a_process_that_holds_much_memory_ends() -> None:
    before = asked("pid")["pid"]
    asked("take_memory", bytes=1_100_000_000)
    assert asked("pid")["pid"] == before
    asked("keep_memory", bytes=1_100_000_000)
    assert asked("pid")["pid"] != before


def test_what_libraries_print_is_no_reply_and_warnings_are_passed_on() -> None:
    with pytest.warns(UserWarning, match="An unusual file"):
        assert asked("speak") == {}


@POSIX
def test_a_fork_has_processes_of_its_own() -> None:
    before = asked("pid")["pid"]
    child = os.fork()
    if not child:
        os._exit(asked("pid")["pid"] == before)
    assert os.waitpid(child, 0)[1] == 0
    assert asked("pid")["pid"] == before


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


@pytest.mark.long
@LINUX
@pytest.mark.slow
def test_a_bomb_of_nested_forms_takes_nothing_else_down(tmp_path: Path) -> None:
    (tmp_path / "bomb.pdf").write_bytes(bomb(10, 12))
    limits = Limits(max_seconds=20, max_memory=700_000_000)
    with pytest.raises(InvalidDocument, match=r"bomb\.pdf' (cannot be|was not) read"):
        read_file(tmp_path / "bomb.pdf", limits=limits)
    with pytest.raises(InvalidDocument, match=r"bomb\.pdf' (cannot be|was not) read"):
        FileReading(limits=limits).load_bytes(bomb(10, 12), "bomb.pdf")


def test_what_can_be_isolated(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidParameter, match="'layout'; got function"):
        read_file(path, isolated=True, reader=lambda source: "# A")
    with pytest.raises(InvalidParameter, match="'layout'; got 'docling'"):
        read_file(path, isolated=True, reader="docling")
    with pytest.raises(
        InvalidParameter, match="isolated must be True, False or 'auto'"
    ):
        read_file(path, isolated="4 GB")  # type: ignore[arg-type]
    document = read_file(path)
    for executable in ("", "/usr/sbin/uwsgi"):
        monkeypatch.setattr(sys, "executable", executable)
        assert read_file(path) == document
        with pytest.raises(InvalidParameter, match=r"sys\.executable"):
            read_file(path, isolated=True)


def test_a_format_of_the_callers_is_read_by_the_callers_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "_FORMATS", dict(formats._FORMATS))
    pids: list[int] = []

    class Reader:
        @staticmethod
        def to_markdown(data: bytes, name: str) -> formats.Draft:
            pids.append(os.getpid())
            return formats.Draft("# A\n")

    register_format(Format("own", (".own",), Reader))
    (tmp_path / "a.own").write_bytes(b"x")
    assert read_file(tmp_path / "a.own", isolated=True).text == "# A\n"
    assert FileReading(isolated=True).load(tmp_path / "a.own").text == "# A\n"
    assert pids == [os.getpid()] * 2
