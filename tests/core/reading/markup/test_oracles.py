"""The same headings as docutils, orgparse and mwparserfromhell find, on fixtures and real files."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from places import DATA

from structrag.reading.markup import mediawiki, org, rst

FIXTURES = Path(__file__).parents[3] / "fixtures" / "formats"


def sources(name: str) -> Iterator[str]:
    for path in sorted((FIXTURES / name).glob("*.txt")):
        yield path.read_text(encoding="utf-8").rpartition("\n----\n")[0]
    cases = (FIXTURES / "cases" / f"{name}.txt").read_text(encoding="utf-8")
    for case in cases.split(">>>> ")[1:]:
        yield case.partition("\n")[2].partition("<<<<\n")[0]
    for path in sorted((DATA / "formats" / name).glob("*"))[:20]:
        yield path.read_text(encoding="utf-8", errors="replace")


def tidy(title: Any) -> str:
    return " ".join(str(title).split())


def test_the_sections_of_docutils() -> None:
    frontend, nodes, utils, rst_parser = (
        pytest.importorskip(f"docutils.{name}")
        for name in ("frontend", "nodes", "utils", "parsers.rst")
    )
    for text in sources("rst"):
        settings = frontend.get_default_settings(rst_parser.Parser)
        settings.report_level, settings.halt_level = 5, 6
        settings.file_insertion_enabled = False
        settings.warning_stream = io.StringIO()
        document = utils.new_document("text", settings)
        rst_parser.Parser().parse(text, document)
        expected = []
        for section in document.findall(nodes.section):
            level, above = 1, section.parent
            while isinstance(above, nodes.section):
                level, above = level + 1, above.parent
            expected.append((level, tidy(section[0].rawsource)))
        assert [(h.level, h.title) for h in rst.headings(text)] == expected


def test_the_headlines_of_orgparse() -> None:
    orgparse = pytest.importorskip("orgparse")
    for text in sources("org"):
        expected = [(node.level, node.linenumber) for node in orgparse.loads(text)[1:]]
        found = [
            (h.level, text.count("\n", 0, h.start) + 1) for h in org.headings(text)
        ]
        assert found == expected


def test_the_headings_of_mwparserfromhell() -> None:
    parser = pytest.importorskip("mwparserfromhell")
    for text in sources("mediawiki"):
        nodes = parser.parse(text).nodes
        expected = [
            (node.level, tidy(node.title))
            for node in nodes
            if isinstance(node, parser.nodes.Heading)
        ]
        found = [
            (h.level, tidy(h.title))
            for h in mediawiki.headings(text)
            if h.title != "="  # signs alone are a heading to MediaWiki only
        ]
        # A line with text behind is a heading to mwparserfromhell, not to MediaWiki.
        behind = re.findall(r"^=+ (.+?) =+ (?!<!--)\w.*$", text, re.MULTILINE)
        expected = [pair for pair in expected if pair[1] not in behind]
        assert found == expected
