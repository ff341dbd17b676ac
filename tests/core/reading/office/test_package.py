"""Packages and XML that may be broken or hostile."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

import pytest

from structrag.errors import InvalidDocument
from structrag.reading.limits import Limits, reading_within
from structrag.reading.office.package import Package, safe_xml


def packed(parts: Mapping[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in parts.items():
            package.writestr(name, content)
    return out.getvalue()


def test_parts_are_read_in_the_encoding_that_they_declare() -> None:
    labels = ("gbk", "big5", "shift_jis", "euc-jp", "utf-16", "utf-8")
    xml = '<?xml version="1.0" encoding="{}"?><a>水</a>'
    package = Package(packed({each: xml.format(each).encode(each) for each in labels}))
    assert {package.xml(each).text for each in labels} == {"水"}
    package = Package(packed({"a": xml.format("rot13").encode()}), "a.docx")
    with pytest.raises(InvalidDocument, match=r"a\.docx.*'rot13'.*Save it as UTF-8"):
        package.xml("a")


def test_relations_stay_inside_the_package() -> None:
    relation = '<Relationship Id="{}" Type="http://x/{}" Target="{}"{}/>'
    relations = "".join(
        (
            relation.format("1", "styles", "styles.xml", ""),
            relation.format("2", "image", "../../../etc/passwd", ""),
            relation.format("3", "image", "http://x/y.png", ' TargetMode="External"'),
            relation.format("4", "notes", "/word/notes.xml", ""),
        )
    )
    package = Package(
        packed(
            {
                "word/_rels/document.xml.rels": f"<R>{relations}</R>",
                "word/styles.xml": "<s/>",
            }
        )
    )
    found = package.relations("word/document.xml")
    assert [each.target for each in found] == [
        "word/styles.xml",
        "etc/passwd",
        "http://x/y.png",
        "word/notes.xml",
    ]
    assert [each.is_external for each in found] == [False, False, True, False]
    assert package.related("word/document.xml", "styles") == "word/styles.xml"
    assert package.related("word/document.xml", "image") == ""
    assert package.relations("word/styles.xml") == []


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"%PDF-1.7", "PDF"),
        (b"\xef\xbb\xbf<html>", "HTML"),
        (b"\xd0\xcf\x11\xe0 old", "before Office 2007"),
        (
            b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le"),
            "encrypted",
        ),
        (packed({"a": "b" * 99})[:60], "broken or cut off"),
    ],
    ids=["empty", "pdf", "html", "word97", "encrypted", "cut off"],
)
def test_what_is_no_package_is_refused_with_the_reason(
    data: bytes, reason: str
) -> None:
    with pytest.raises(InvalidDocument, match=rf"report\.docx.*{reason}"):
        Package(data, "report.docx")


def test_a_damaged_part_is_named() -> None:
    data = bytearray(packed({"a.xml": b"x" * 500}))
    data[38] ^= 0xFF  # within the packed bytes
    package = Package(bytes(data))
    with pytest.raises(InvalidDocument, match="broken or cut off"):
        package.data("a.xml")


def test_the_sum_of_what_is_unpacked_has_a_limit() -> None:
    with reading_within(Limits(max_unpacked=3_000), "a.docx"):
        package = Package(packed({"a": "x" * 600, "b": "x" * 600}))
        package.data("a")
        with pytest.raises(
            InvalidDocument, match=r"a\.docx unpacks to more than 3,000 bytes"
        ):
            package.data("b")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_document_type_is_refused_in_any_encoding(encoding: str) -> None:
    source = '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]><d>&x;</d>'
    with pytest.raises(InvalidDocument, match="document type"):
        safe_xml(source.encode(encoding), "a.docx")


def test_broken_and_deep_xml_are_refused() -> None:
    with pytest.raises(InvalidDocument, match="not well-formed"):
        safe_xml(b"<a><b></a>")
    with pytest.raises(InvalidDocument, match="500 deep"):
        safe_xml(b"<a>" * 20_000 + b"</a>" * 20_000)
    assert safe_xml(b"<a>" * 500 + b"</a>" * 500).tag == "a"


@pytest.mark.parametrize("unit", [b"<b/>", b"c=''"])
def test_xml_of_too_many_tags_or_attributes_is_refused(unit: bytes) -> None:
    with pytest.raises(
        InvalidDocument, match="more than 20,000,000 tags and attributes"
    ):
        safe_xml(b"<a " + unit * 20_000_000 + b"></a>")
