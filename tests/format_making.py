"""The cases in `tests/fixtures/formats/cases`, and office files of a few lines.

A line that begins with `<` is XML of the main part; other lines are short for XML, as each maker
says. A line `## NAME` begins another part of the package.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

FOLDER = Path(__file__).parent / "fixtures" / "formats" / "cases"


class Case(NamedTuple):
    format: str
    name: str
    source: str
    expected: str


def cases() -> Iterator[Case]:
    for path in sorted(FOLDER.glob("*.txt")):
        _, *parts = f"\n{path.read_text(encoding='utf-8')}".split("\n>>>> ")
        for part in parts:
            name, _, rest = part.partition("\n")
            source, _, expected = f"{rest}\n".partition("<<<<\n")
            yield Case(path.stem, name, source, expected.strip("\n"))


_OOXML = "http://schemas.openxmlformats.org"
_RELATIONS = f"{_OOXML}/officeDocument/2006/relationships"
_PACKAGE = f"{_OOXML}/package/2006/relationships"
_WORD = (
    f'xmlns:w="{_OOXML}/wordprocessingml/2006/main" xmlns:r="{_RELATIONS}" '
    f'xmlns:wp="{_OOXML}/drawingml/2006/wordprocessingDrawing" '
    f'xmlns:a="{_OOXML}/drawingml/2006/main" xmlns:m="{_OOXML}/officeDocument/2006/math" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:v="urn:schemas-microsoft-com:vml"'
)
_STYLES = "".join(
    f'<w:style w:type="paragraph" w:styleId="{id}"><w:name w:val="{name}"/>{more}</w:style>'
    for id, name, more in (
        ("Heading1", "heading 1", ""),
        ("Heading2", "heading 2", ""),
        ("Title", "Title", ""),
        ("Mine", "My heading", '<w:basedOn w:val="Heading2"/>'),
        ("Level", "Level", '<w:pPr><w:outlineLvl w:val="1"/></w:pPr>'),
        (
            "Numbered",
            "Numbered",
            '<w:basedOn w:val="Heading1"/><w:pPr><w:numPr><w:numId w:val="3"/></w:numPr></w:pPr>',
        ),
    )
)
_NUMBERS = "".join(
    f'<w:abstractNum w:abstractNumId="{number}">'
    + "".join(
        f'<w:lvl w:ilvl="{level}"><w:start w:val="1"/><w:numFmt w:val="{form}"/>'
        f'<w:lvlText w:val="{text}"/></w:lvl>'
        for level, text in enumerate(texts)
    )
    + "</w:abstractNum>"
    for number, form, texts in (
        (1, "bullet", ("•", "◦")),
        (2, "decimal", ("%1.", "%1.%2.")),
        (3, "upperRoman", ("%1.",)),
    )
) + "".join(
    f'<w:num w:numId="{number}"><w:abstractNumId w:val="{number}"/></w:num>'
    for number in (1, 2, 3)
)


def packed(parts: dict[str, str]) -> bytes:
    """A zip package of text parts."""
    file = io.BytesIO()
    with ZipFile(file, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return file.getvalue()


def parts_of(source: str) -> tuple[list[str], dict[str, str]]:
    """The lines of the main part, and the other parts."""
    main, *others = re.split(r"^## ", source, flags=re.MULTILINE)
    named = (other.partition("\n") for other in others)
    return main.splitlines(), {name.strip(): text for name, _, text in named}


def relations(kinds: dict[str, str]) -> str:
    """Relations to parts, by their kinds; their ids are r1, r2 and so on."""
    inside = "".join(
        f'<Relationship Id="r{number}" Type="{_RELATIONS}/{kind.rstrip("0123456789")}" '
        f'Target="{target}"/>'
        for number, (kind, target) in enumerate(kinds.items(), start=1)
    )
    return f'<Relationships xmlns="{_PACKAGE}">{inside}</Relationships>'


def docx(source: str) -> bytes:
    """Word: `p Text`, `p:Style Text`, `li:NUMBER:LEVEL Text` (1 bullets, 2 decimal). The parts
    `aFChunk1/NAME` and so on are inserted files, with the relations r1 and so on."""
    lines, parts = parts_of(source)
    body = []
    for line in lines:
        head, _, text = line.partition(" ")
        kind, _, value = head.partition(":")
        run = f'<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r>'
        if line.startswith("<"):
            body.append(line)
        elif kind == "li":
            number, _, level = value.partition(":")
            body.append(
                f'<w:p><w:pPr><w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/>'
                f"</w:numPr></w:pPr>{run}</w:p>"
            )
        else:
            style = f'<w:pPr><w:pStyle w:val="{value}"/></w:pPr>' if value else ""
            body.append(f"<w:p>{style}{run}</w:p>")
    notes = {
        f"word/{name}.xml": f"<w:{name} {_WORD}>{text}</w:{name}>"
        for name, text in parts.items()
        if "/" not in name
    }
    inserted = [name.split("/") for name in parts if "/" in name]
    kinds = dict(inserted) | {name: f"{name}.xml" for name in parts if "/" not in name}
    notes |= {
        f"word/{file}": parts[f"{kind}/{file}"]
        for kind, file in inserted
        if parts[f"{kind}/{file}"]
    }
    document = f"<w:document {_WORD}><w:body>{''.join(body)}</w:body></w:document>"
    kinds |= {"styles": "styles.xml", "numbering": "numbering.xml"}
    return packed(
        {
            "_rels/.rels": relations({"officeDocument": "word/document.xml"}),
            "word/document.xml": document,
            "word/_rels/document.xml.rels": relations(kinds),
            "word/styles.xml": f"<w:styles {_WORD}>{_STYLES}</w:styles>",
            "word/numbering.xml": f"<w:numbering {_WORD}>{_NUMBERS}</w:numbering>",
            **notes,
        }
    )


_ODF = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{long}:1.0"'
    for name, long in (
        *((name, name) for name in ("office", "text", "table", "style")),
        ("draw", "drawing"),
        ("svg", "svg-compatible"),
        ("fo", "xsl-fo-compatible"),
    )
)
_ODF += ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xlink="http://www.w3.org/1999/xlink"'


def odt(source: str) -> bytes:
    """OpenDocument text: `p Text`, `h1 Title`; a part `styles` holds automatic styles."""
    lines, parts = parts_of(source)
    body = []
    for line in lines:
        head, _, text = line.partition(" ")
        if line.startswith("<"):
            body.append(line)
        elif head[:1] == "h":
            level = f'text:outline-level="{head[1:]}"'
            body.append(f"<text:h {level}>{escape(text)}</text:h>")
        else:
            body.append(f"<text:p>{escape(text)}</text:p>")
    styles = parts.get("styles", "")
    content = (
        f"<office:document-content {_ODF}><office:automatic-styles>{styles}"
        f"</office:automatic-styles><office:body><office:text>{''.join(body)}</office:text>"
        "</office:body></office:document-content>"
    )
    return packed(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": content,
            **({"meta.xml": parts["meta"]} if "meta" in parts else {}),
        }
    )


_SLIDE = (
    f'xmlns:p="{_OOXML}/presentationml/2006/main" xmlns:a="{_OOXML}/drawingml/2006/main" '
    f'xmlns:r="{_RELATIONS}"'
)


def _shape(line: str) -> str:
    head, _, text = line.partition(" ")
    kind = {"box": "", "body": '<p:ph idx="1"/>'}.get(head, f'<p:ph type="{head}"/>')
    paragraphs = "".join(
        f"<a:p><a:r><a:t>{escape(each)}</a:t></a:r></a:p>" for each in text.split(" / ")
    )
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="2" name="x"/><p:cNvSpPr/><p:nvPr>{kind}</p:nvPr>'
        f"</p:nvSpPr><p:spPr/><p:txBody>{paragraphs}</p:txBody></p:sp>"
    )


def pptx(source: str) -> bytes:
    """Slides: `slide` begins one (`slide hidden`); `title Text`, `body One / Two`, `box Text`,
    `notes Text`, or another kind of placeholder."""
    slides: list[list[str]] = []
    notes: dict[int, str] = {}
    hidden = set()
    for line in source.splitlines():
        if line.startswith("slide"):
            slides.append([])
            hidden |= {len(slides)} if "hidden" in line else set()
        elif line.startswith("notes "):
            notes[len(slides)] = _shape(f"body {line.partition(' ')[2]}").replace(
                '<p:ph idx="1"/>', '<p:ph type="body"/>'
            )
        else:
            slides[-1].append(line if line.startswith("<") else _shape(line))
    numbers = range(1, len(slides) + 1)
    ids = "".join(f'<p:sldId id="{255 + n}" r:id="r{n}"/>' for n in numbers)
    parts = {
        "_rels/.rels": relations({"officeDocument": "ppt/presentation.xml"}),
        "ppt/presentation.xml": f"<p:presentation {_SLIDE}><p:sldIdLst>{ids}</p:sldIdLst>"
        "</p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(
            {f"slide{n}": f"slides/slide{n}.xml" for n in numbers}
        ),
    }
    tree = "<p:cSld><p:spTree>{}</p:spTree></p:cSld>"
    for n, shapes in enumerate(slides, start=1):
        show = ' show="0"' if n in hidden else ""
        parts[f"ppt/slides/slide{n}.xml"] = (
            f"<p:sld {_SLIDE}{show}>{tree.format(''.join(shapes))}</p:sld>"
        )
        if n in notes:
            parts[f"ppt/slides/_rels/slide{n}.xml.rels"] = relations(
                {"notesSlide": f"../notesSlides/notesSlide{n}.xml"}
            )
            parts[f"ppt/notesSlides/notesSlide{n}.xml"] = (
                f"<p:notes {_SLIDE}>{tree.format(notes[n])}</p:notes>"
            )
    return packed(parts)


def xlsx(source: str) -> bytes:
    """Sheets: `sheet Name` begins one; `A1 text`, `B2 =3` a number, `B2 style 1 =3`, `merge A1:B2`,
    or XML behind the cells."""
    names: list[str] = []
    sheets: list[tuple[dict[int, list[str]], list[str]]] = []
    for line in source.splitlines():
        head, _, text = line.partition(" ")
        if head == "sheet":
            names.append(text)
            sheets.append(({}, []))
        elif head == "merge":
            sheets[-1][1].append(f'<mergeCells><mergeCell ref="{text}"/></mergeCells>')
        elif line.startswith("<"):
            sheets[-1][1].append(line)
        else:
            style = ""
            if text.startswith("style "):
                _, number, text = text.split(" ", 2)
                style = f' s="{number}"'
            cell = (
                f'<c r="{head}"{style}><v>{text[1:]}</v></c>'
                if text.startswith("=")
                else f'<c r="{head}" t="inlineStr"><is><t>{escape(text)}</t></is></c>'
            )
            row = int(re.sub("[A-Z]+", "", head))
            sheets[-1][0].setdefault(row, []).append(cell)
    main = f'xmlns="{_OOXML}/spreadsheetml/2006/main" xmlns:r="{_RELATIONS}"'
    entries = "".join(
        f'<sheet name="{escape(name.removesuffix(" hidden"))}" sheetId="{n}" r:id="r{n}"'
        + (' state="hidden"/>' if name.endswith(" hidden") else "/>")
        for n, name in enumerate(names, start=1)
    )
    numbers = range(1, len(names) + 1)
    kinds = {f"worksheet{n}": f"worksheets/sheet{n}.xml" for n in numbers}
    parts = {
        "_rels/.rels": relations({"officeDocument": "xl/workbook.xml"}),
        "xl/workbook.xml": f"<workbook {main}><sheets>{entries}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": relations({**kinds, "styles": "styles.xml"}),
        "xl/styles.xml": f"<styleSheet {main}><numFmts><numFmt numFmtId="
        '"170" formatCode="yyyy-mm-dd hh:mm"/><numFmt numFmtId="171" formatCode="00000"/>'
        '<numFmt numFmtId="172" formatCode="#,##0.00\\ [$€-407];[Red]-0"/></numFmts><cellXfs>'
        '<xf numFmtId="0"/>'
        '<xf numFmtId="14"/><xf numFmtId="170"/><xf numFmtId="46"/><xf numFmtId="10"/>'
        '<xf numFmtId="171"/><xf numFmtId="172"/>'
        "</cellXfs></styleSheet>",
    }
    for n, (rows, more) in enumerate(sheets, start=1):
        data = "".join(
            f'<row r="{row}">{"".join(cells)}</row>'
            for row, cells in sorted(rows.items())
        )
        parts[f"xl/worksheets/sheet{n}.xml"] = (
            f"<worksheet {main}><sheetData>{data}</sheetData>{''.join(more)}</worksheet>"
        )
    return packed(parts)


def epub(source: str) -> bytes:
    """A book: each line is the body of a chapter; `title Text` its title; `nav BODY` is the page of
    navigation; `ncx BODY` the older contents; a line that begins with `<?xml` or `<html` is the
    whole file."""
    items, spine, parts, title = [], [], {}, ""
    for number, line in enumerate(source.splitlines()):
        head, _, text = line.partition(" ")
        if head == "title":
            title = f"<dc:title>{escape(text)}</dc:title>"
            continue
        if head == "ncx":
            parts["OPS/toc.ncx"] = f"<!DOCTYPE ncx><ncx><navMap>{text}</navMap></ncx>"
            items.append('<item href="toc.ncx" media-type="application/x-dtbncx+xml"/>')
            continue
        is_nav = head == "nav"
        body = text if is_nav else line
        whole = body.startswith(("<?xml", "<html", "<!DOCTYPE"))
        parts[f"OPS/c{number}.xhtml"] = (
            body
            if whole
            else '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head>'
            f"<body>{body}</body></html>"
        )
        more = ' properties="nav"' if is_nav else ""
        items.append(
            f'<item id="c{number}" href="c{number}.xhtml" '
            f'media-type="application/xhtml+xml"{more}/>'
        )
        spine.append(f'<itemref idref="c{number}"/>')
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OPS/book.opf"/></rootfiles></container>'
    )
    book = (
        '<package xmlns="http://www.idpf.org/2007/opf" '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>{title}</metadata>'
        f"<manifest>{''.join(items)}</manifest><spine>{''.join(spine)}</spine></package>"
    )
    return packed(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": container,
            "OPS/book.opf": book,
            **parts,
        }
    )
