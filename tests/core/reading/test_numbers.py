"""Numbers of thousands of digits, which Python refuses to read: the text stands as it is."""

from __future__ import annotations

from pathlib import Path

import format_making
import pytest

from structrag import parse, read_file

DIGITS = "9" * 5_000
LEVELS = f'<w:lvl w:ilvl="{DIGITS}"><w:lvlText w:val="%1."/></w:lvl>'
FILES = {
    "outline.docx": f'<w:p><w:pPr><w:outlineLvl w:val="{DIGITS}"/></w:pPr>'
    "<w:r><w:t>Seals</w:t></w:r></w:p>",
    "item.docx": f"li:2:{DIGITS} Seals",
    "levels.docx": "li:2:0 Seals\n## numbering\n"
    f'<w:abstractNum w:abstractNumId="2">{LEVELS}</w:abstractNum>'
    '<w:num w:numId="2"><w:abstractNumId w:val="2"/><w:lvlOverride '
    f'w:ilvl="{DIGITS}"><w:startOverride w:val="{DIGITS}"/></w:lvlOverride></w:num>',
    "style.docx": f'p:s Seals\n## styles\n<w:style w:styleId="s"><w:name w:val="s"/><w:pPr>'
    f'<w:outlineLvl w:val="{DIGITS}"/><w:numPr><w:ilvl w:val="{DIGITS}"/>'
    '<w:numId w:val="2"/></w:numPr></w:pPr></w:style>',
    "level.odt": f'<text:h text:outline-level="{DIGITS}">Seals</text:h>',
    "far.odt": '<text:h text:outline-level="99999999999">Seals</text:h>',
    "list.pptx": f'slide\n<p:sp><p:txBody><a:p><a:pPr lvl="{DIGITS}"/><a:r><a:t>Seals'
    "</a:t></a:r></a:p></p:txBody></p:sp>",
    "cell.xlsx": "sheet S\nA1 Seals\n"
    f'<sheetData><row r="{DIGITS}"><c r="A{DIGITS}" t="s"><v>{DIGITS}</v></c></row>'
    f'</sheetData><mergeCells><mergeCell ref="A1:B{DIGITS}"/></mergeCells>',
    "words.rtf": f"{{\\rtf1 \\fs{DIGITS} \\ilvl{DIGITS} Seals\\u{DIGITS} ?\\par}}",
    "article.xml": f'<article><table><tr><td colspan="{DIGITS}" rowspan="{DIGITS}">Seals'
    "</td></tr></table></article>",
    "page.html": f'<ol start="{DIGITS}"><li value="{DIGITS}">Seals</ol>&#{DIGITS};',
    "table.html": f'<table><tr><td colspan="{DIGITS}" rowspan="{DIGITS}">Seals</table>',
    "heading.html": f'<div role="heading" aria-level="{DIGITS}">Seals</div>',
    "title.md": f"# {DIGITS} Seals\n\n{DIGITS}. &#{DIGITS};\n",
    "plain.txt": f"Chapter {DIGITS}\n\n{DIGITS}. Seals\n\n第{DIGITS}章\n",
    "offset.adoc": f":leveloffset: +{DIGITS}\n\n== Seals\n\n{DIGITS}. a\n",
    "cue.vtt": "WEBVTT\n\n"
    f"{DIGITS}\n00:00:01.000 --> 00:00:02.000\nSeals &#{DIGITS};\n",
    "notebook.ipynb": f'{{"nbformat": {DIGITS}, "cells": [{{"cell_type": "heading", '
    f'"level": {DIGITS}, "source": "Seals"}}]}}',
    "mail.eml": f"Subject: Seals\nDate: 1 Jan {DIGITS}\n\n&#{DIGITS};\n",
}


@pytest.mark.parametrize("name", FILES)
def test_a_number_of_any_length_does_no_harm(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    make = getattr(format_making, path.suffix[1:], str.encode)
    path.write_bytes(make(FILES[name]))
    document = read_file(path)
    assert "Seals" in document.text
    assert parse(document).sections
