"""Mutated and hostile files of every format in a folder with a sound one."""

from __future__ import annotations

import base64
import json
import re
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from io import BytesIO
from pathlib import Path
from random import Random
from zipfile import ZIP_DEFLATED, ZipFile

import format_making

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.integrations.loading import FileReading
from structrag.reading.files import read_text
from structrag.reading.formats import format_named
from structrag.reading.sections import parse
from torture.documents import characters, check_chunks, holds_surrogates
from torture.mutations import mutated_bytes
from torture.promise import Promise, random_of

SOUND = "# Sound\n\nIt is read, whatever lies beside it.\n"
DEEP = 20_000
_MOST = 2_000_000  # bytes of what is multiplied
_LONGEST = 2_000  # of one thing that is
# What may be multiplied: an element, a tag, a line, a value.
_THINGS = re.compile(
    rb"<([\w:]+)[^<>]*>[^<>]*</\1>|<[^<>]+>|[^\n]*\n|[\w-]+ *[:=] *[^\s;]+;?"
)
_BOMB = 600_000_000  # bytes, unpacked
_IMAGE = 50_000_000


@cache
def sound_files() -> list[tuple[str, bytes]]:
    """The suffix and the bytes of the files of all cases."""
    files = []
    for case in format_making.cases():
        name = case.name.partition(":")[0] if case.format == "code" else case.format
        format = format_named(name)
        if format:
            make = getattr(format_making, case.format, str.encode)
            files.append((format.suffixes[0], make(case.source)))
    return files


def _package(data: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    """A zip package with its parts changed."""
    file = BytesIO()
    with ZipFile(BytesIO(data)) as old, ZipFile(file, "w", ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return file.getvalue()


def _inside(rng: Random, data: bytes) -> bytes:
    """A package whose parts are mutated, so that more than its frame is tried."""
    return _package(
        data,
        lambda name, part: (
            mutated_bytes(rng, part, data) if rng.random() < 0.5 else part
        ),
    )


def _declared(rng: Random, data: bytes) -> bytes:
    """A document type with an entity that names a file, in every part of XML."""
    kind = '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    codec = rng.choice(("utf-8", "utf-16"))

    def changed(name: str, part: bytes) -> bytes:
        is_xml = part.lstrip().startswith(b"<")
        return (
            (kind + part.decode("utf-8", "replace")).encode(codec) if is_xml else part
        )

    return _package(data, changed) if data.startswith(b"PK") else changed("", data)


def _nested(rng: Random, data: bytes) -> bytes:
    """One tag of each part in itself, many thousand times."""

    def changed(name: str, part: bytes) -> bytes:
        begin, end = part.find(b">", part.find(b"<")) + 1, part.rfind(b"</")
        own = re.findall(rb"</([\w:]+)>", part)
        tag = rng.choice((b"a:tbl", b"w:tbl", b"table:table", b"text:list", b"x", *own))
        return (
            part[:begin]
            + b"<%s>" % tag * DEEP
            + part[begin:end]
            + b"</%s>" % tag * DEEP
            + part[end:]
        )

    return _package(data, changed) if data.startswith(b"PK") else changed("", data)


def _bomb(rng: Random, data: bytes) -> bytes:
    """A package of which one part unpacks to very much."""
    if not data.startswith(b"PK"):
        return data
    file = BytesIO(_package(data, lambda name, part: part))
    with ZipFile(file) as archive:
        name = rng.choice(archive.namelist())
    parts = BytesIO()
    with ZipFile(file) as old, ZipFile(parts, "w", ZIP_DEFLATED) as new:
        for each in old.namelist():
            if each != name:
                new.writestr(each, old.read(each))
        with new.open(name, "w", force_zip64=True) as part:
            block = bytes(10_000_000)
            for _ in range(_BOMB // len(block)):
                part.write(block)
    return parts.getvalue()


def _multiplied(rng: Random, data: bytes) -> bytes:
    """One line, element or short run of the file, or of a part of it, many thousand times: header
    lines, references to one part, cells."""

    def changed(name: str, part: bytes) -> bytes:
        spans = [
            match.span()
            for match in _THINGS.finditer(part)
            if match.end() - match.start() < _LONGEST
        ]
        start = rng.randrange(len(part) + 1)
        spans.append((start, start + rng.randrange(1, 30)))
        start, end = rng.choice(spans)
        thing = part[start:end]
        times = min(DEEP, _MOST // max(len(thing), 1))
        return part[:end] + thing * times + part[end:]

    if not data.startswith(b"PK"):
        return changed("", data)
    chosen = rng.choice(ZipFile(BytesIO(data)).namelist())
    return _package(
        data, lambda name, part: changed(name, part) if name == chosen else part
    )


def _lying(rng: Random, data: bytes) -> bytes:
    """A package whose directory says wrong sizes of a part, or names one again and again."""
    if not data.startswith(b"PK"):
        return data
    if rng.random() < 0.3:
        file = BytesIO()
        with ZipFile(BytesIO(data)) as old, ZipFile(file, "w", ZIP_DEFLATED) as new:
            for name in old.namelist() * rng.choice((2, 500)):
                new.writestr(name, old.read(name))
        return file.getvalue()
    lying = bytearray(data)
    place = rng.choice([match.start() for match in re.finditer(b"PK\x01\x02", data)])
    field = rng.choice((16, 20, 24, 42))  # its sum, size packed, size unpacked, place
    value = rng.choice((0, 1, 1_000, 499_999_999, 0x7FFFFFFF, 0xFFFFFFFF))
    lying[place + field : place + field + 4] = value.to_bytes(4, "little")
    return bytes(lying)


def _notebook(rng: Random) -> tuple[str, bytes]:
    image = base64.b64encode(bytes(_IMAGE)).decode()
    outputs = [{"output_type": "display_data", "data": {"image/png": image}}]
    cell = {"cell_type": "code", "source": "plot()", "outputs": outputs}
    return ".ipynb", json.dumps({"metadata": {}, "cells": [cell]}).encode()


def _latex(rng: Random) -> tuple[str, bytes]:
    names = ("strange", "./strange.tex", "../strange", "/etc/passwd", "other", "~")
    inputs = "".join(
        f"\\input{{{rng.choice(names)}}}\n" for _ in range(rng.randrange(1, 9))
    )
    return ".tex", f"\\section{{A}}\n{inputs}\\section{{B}}\n".encode()


def _repeated(rng: Random) -> tuple[str, bytes]:
    """What opens a thing of a markup, many thousand times."""
    suffix, piece = rng.choice(
        (
            (".rst", ".. note::\n\n   "),
            (".adoc", "ifdef::a[]\n"),
            (".adoc", "====\n"),
            (".org", "#+begin_quote\n"),
            (".wiki", "{{a|"),
            (".wiki", "{|\n"),
            (".tex", "\\begin{a}{"),
            (".rtf", "{\\b "),
            (".py", "if x:\n"),
            (".py", "(" * 50),
            (".js", "function f() {"),
            (".eml", "Content-Type: multipart/mixed; boundary=b\n\n--b\n"),
            (".vtt", "00:00:01.000 --> 00:00:02.000\n<v a>"),
            (".csv", '"a,'),
            (".xml", "<sec>"),
            (".ipynb", "["),
        )
    )
    start = {".rtf": "{\\rtf1 ", ".vtt": "WEBVTT\n\n", ".eml": "Subject: a\n"}
    return suffix, (start.get(suffix, "") + piece * DEEP).encode()


# With how often each is tried.
_CHANGES = {
    "mutated": 30,
    "inside": 40,
    "cut": 20,
    "suffix": 20,
    "declared": 10,
    "nested": 6,
    "multiplied": 20,
    "lying": 10,
    "repeated": 8,
    "latex": 6,
    "encrypted": 4,
    "notebook": 1,
    "bomb": 1,
}


_OF_DATA: dict[str, Callable[[Random, bytes], bytes]] = {
    "declared": _declared,
    "nested": _nested,
    "multiplied": _multiplied,
    "lying": _lying,
    "bomb": _bomb,
}


def strange_file(rng: Random) -> tuple[str, bytes]:
    """A suffix and bytes."""
    suffix, data = rng.choice(sound_files())
    kind = rng.choices(list(_CHANGES), list(_CHANGES.values()))[0]
    if kind in ("notebook", "latex", "repeated"):
        return {"notebook": _notebook, "latex": _latex, "repeated": _repeated}[kind](
            rng
        )
    if kind in _OF_DATA:
        return suffix, _OF_DATA[kind](rng, data)
    if kind == "suffix":
        return rng.choice(sound_files())[0], data
    if kind == "cut":
        return suffix, data[: rng.randrange(len(data) + 1)]
    if kind == "encrypted":
        stream = "EncryptedPackage".encode("utf-16-le")
        return suffix, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(400) + stream
    if kind == "inside" and data.startswith(b"PK"):
        return suffix, _inside(rng, data)
    return suffix, mutated_bytes(rng, data, rng.choice(sound_files())[1])


def case(number: int) -> None:
    """One strange file beside a sound one: read, or named with a reason, and the other is read."""
    rng = random_of("formats", number)
    suffix, data = strange_file(rng)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sound.md").write_text(SOUND)
        (folder / f"strange{suffix}").write_bytes(data)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            loaded = {path.name: text for path, text in FileReading().load_all(folder)}
    assert loaded.pop("sound.md").text == SOUND
    if not loaded:
        said = " ".join(str(each.message) for each in told)
        assert f"strange{suffix}" in said, f"the file is not named: {said}"
        return
    (read,) = loaded.values()
    places = [start for start, _ in json.loads(read.metadata.get("place_starts", "[]"))]
    assert places == sorted(places)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        document = read_text(
            read.text, format=str(read.metadata["text_format"]), id="d"
        )
        parse(document)
        if len(read.text) < 20_000 and not holds_surrogates(read.text):
            splitter = ContentAwareSplitter(
                max_tokens=rng.choice((40, 100, 300)), counter=characters
            )
            check_chunks(document, splitter.split(document), splitter)


def _prepare() -> None:
    sound_files()


PROMISE = Promise(
    "formats",
    "cut, mutated and hostile files of every format in a folder: read, or named with a reason",
    case,
    cases=20_000,
    short=80,
    share=6,
    prepare=_prepare,
)
