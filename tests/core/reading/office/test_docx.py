"""Word files that the tests make by hand, as no library writes all of it."""

from __future__ import annotations

import io
import zipfile

import pytest

from structrag.errors import InvalidDocument
from structrag.reading.office.docx import to_markdown

NAMES = " ".join(
    f'xmlns:{prefix}="{address}"'
    for prefix, address in {
        "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
        "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
        "v": "urn:schemas-microsoft-com:vml",
        "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
    }.items()
)
STYLES = (
    '<w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:styleId="Kapitel"><w:name w:val="Kapitel"/><w:basedOn w:val="H1"/>'
    '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
    '<w:style w:styleId="Duty"><w:name w:val="Duty"/><w:pPr><w:outlineLvl w:val="1"/>'
    '<w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
    '<w:style w:styleId="T"><w:name w:val="Title"/></w:style>'
    '<w:style w:styleId="Secret"><w:name w:val="Secret"/><w:rPr><w:vanish/></w:rPr></w:style>'
)
NUMBERING = (
    '<w:abstractNum w:abstractNumId="0">'
    '<w:lvl w:ilvl="0"><w:numFmt w:val="upperRoman"/><w:lvlText w:val="%1."/>'
    '<w:pStyle w:val="Kapitel"/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:isLgl/><w:lvlText w:val="%1.%2"/></w:lvl></w:abstractNum>'
    '<w:abstractNum w:abstractNumId="1">'
    '<w:lvl w:ilvl="0"><w:lvlText w:val="%1."/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="(%2)"/></w:lvl>'
    '<w:lvl w:ilvl="2"><w:numFmt w:val="bullet"/><w:lvlText w:val="o"/></w:lvl>'
    "</w:abstractNum>"
    '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    '<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>'
    '<w:num w:numId="3"><w:abstractNumId w:val="1"/>'
    '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride></w:num>'
)


def run(text: str, properties: str = "") -> str:
    return (
        f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'
    )


def par(inside: str, style: str = "", properties: str = "") -> str:
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    content = inside if inside.startswith("<") else run(inside)
    return f"<w:p><w:pPr>{named}{properties}</w:pPr>{content}</w:p>"


def item(text: str, number: int, level: int) -> str:
    return par(
        text,
        properties=f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>',
    )


def cell(inside: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{par(inside)}</w:tc>"


def word(body: str, root: str = "document", **parts: str) -> bytes:
    """A package; `parts` are the insides of other parts: footnotes="<w:footnote .../>"."""
    parts = {"styles": STYLES, "numbering": NUMBERING, **parts}
    relation = '<Relationship Id="{0}" Type="http://x/{0}" Target="{1}"/>'
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as package:
        main = relation.format("officeDocument", "word/document.xml")
        package.writestr("_rels/.rels", f"<R>{main}</R>")
        package.writestr(
            "word/document.xml",
            f"<w:{root} {NAMES}><w:body>{body}</w:body></w:{root}>",
        )
        relations = "".join(relation.format(kind, f"{kind}.xml") for kind in parts)
        package.writestr("word/_rels/document.xml.rels", f"<R>{relations}</R>")
        for kind, content in parts.items():
            package.writestr(
                f"word/{kind}.xml", f"<w:{kind} {NAMES}>{content}</w:{kind}>"
            )
    return out.getvalue()


def text_of(body: str, **parts: str) -> str:
    return to_markdown(word(body, **parts), "a.docx").text


def test_headings_by_styles_and_levels_with_their_numbers() -> None:
    body = (
        par("Manual", "T")
        + par("Safety", "Kapitel")
        + par("Heat", "Duty")
        + par("Cold", "Duty")
        + par("Service", "Kapitel")
        + par("Oil", "Duty")
        + par("Deep", properties='<w:outlineLvl w:val="2"/>')
        + par("No heading", "H1", '<w:outlineLvl w:val="9"/>')
    )
    draft = to_markdown(word(body))
    assert draft.title == "Manual"
    assert draft.text.split("\n\n") == [
        "# Manual",
        "## I. Safety",
        "### 1.1 Heat",
        "### 1.2 Cold",
        "## II. Service",
        "### 2.1 Oil",
        "#### Deep",
        "No heading\n",
    ]


def test_lists_count_as_word_does() -> None:
    body = (
        item("one", 2, 0)
        + item("a", 2, 1)
        + item("b", 2, 1)
        + item("dot", 2, 2)
        + item("two", 2, 0)
        + item("a again", 2, 1)
        + item("seven", 3, 0)
        + item("none", 0, 0)
    )
    assert text_of(body) == (
        "1. one\n    - (a) a\n    - (b) b\n        - dot\n2. two\n    - (a) a again\n7. seven\n\n"
        "none\n"
    )


def test_changes_hidden_text_and_fields() -> None:
    body = (
        par(
            f"{run('Flow')}<w:ins>{run(' rose')}</w:ins><w:del>{run(' by half')}</w:del>"
            f"<w:moveFrom>{run('away')}</w:moveFrom>{run('HIDDEN', '<w:vanish/>')}"
        )
        + par("SECRET", "Secret")
        + par(
            run("joi")
            + "<w:r><w:instrText>PAGE</w:instrText><w:softHyphen/><w:tab/></w:r>",
            properties="<w:rPr><w:del/></w:rPr>",
        )
        + par("<w:hyperlink><w:r><w:t>ned</w:t></w:r></w:hyperlink>")
        + "<w:sdt><w:sdtPr/><w:sdtContent><w:p><w:r><w:t>control</w:t><w:br/>"
        '<w:sym w:font="Symbol" w:char="F061"/></w:r></w:p></w:sdtContent></w:sdt>'
    )
    assert text_of(body) == "Flow rose\n\njoi\tned\n\ncontrol\nα\n"


def test_notes_stand_behind_their_paragraph_and_comments_where_asked() -> None:
    body = par(
        f'{run("Rose")}<w:r><w:footnoteReference w:id="1"/></w:r>'
        f'{run(" twice")}<w:r><w:endnoteReference w:id="1"/></w:r>'
        '<w:r><w:commentReference w:id="1"/></w:r>'
    ) + par("After.")
    notes = {
        "footnotes": f'<w:footnote w:id="1">{par("In May.")}{par("And June.")}</w:footnote>',
        "endnotes": f'<w:endnote w:id="1">{par("Or so.")}</w:endnote>',
        "comments": f'<w:comment w:id="1" w:author="Ada">{par("Why?")}</w:comment>',
    }
    plain = "Rose[^1] twice[^2]\n\n[^1]: In May. And June.\n\n[^2]: Or so.\n\nAfter.\n"
    assert text_of(body, **notes) == plain
    with_comments = to_markdown(word(body, **notes), comments=True).text
    assert "[^3]: Ada: Why?" in with_comments


def test_tables_with_merged_cells_header_rows_and_frames() -> None:
    header = "<w:trPr><w:tblHeader/></w:trPr>"
    wide, tall = '<w:gridSpan w:val="2"/>', '<w:vMerge w:val="restart"/>'
    body = (
        f"<w:tbl><w:tr>{header}{cell('Pump', wide)}{cell('Bar')}</w:tr>"
        f"<w:tr>{cell('P1', tall)}{cell('cold')}{cell('10')}</w:tr>"
        f"<w:tr>{cell('', '<w:vMerge/>')}{cell('hot')}{cell('1|2')}</w:tr>"
        f"<w:tr><w:trPr><w:del/></w:trPr>{cell('gone')}</w:tr></w:tbl>"
        f"<w:tbl><w:tr>{cell('Framed')}</w:tr></w:tbl>"
    )
    assert text_of(body) == (
        "| Pump | Pump | Bar |\n| --- | --- | --- |\n| P1 | cold | 10 |\n| P1 | hot | 1\\|2 |\n\n"
        "Framed\n"
    )


def test_text_boxes_come_once_and_pictures_with_their_text() -> None:
    box = f"<w:txbxContent>{par('In a box.')}</w:txbxContent>"
    body = par(
        f"<w:r><mc:AlternateContent><mc:Choice>{box}</mc:Choice>"
        f"<mc:Fallback><v:shape>{box}</v:shape></mc:Fallback></mc:AlternateContent>"
        '<wp:docPr descr="A pump"/><w:t>Around.</w:t></w:r>'
    )
    assert text_of(body) == "Around.\n\nIn a box.\n\nA pump\n"


def test_equations_are_one_line() -> None:
    def m(name: str, inside: str) -> str:
        return f"<m:{name}>{inside}</m:{name}>"

    def r(text: str) -> str:
        return m("r", m("t", text))

    root = m("rad", m("deg", "") + m("e", r("b+c")))
    fraction = m("f", m("num", r("1")) + m("den", root))
    total = m("nary", m("naryPr", '<m:chr m:val="∑"/>') + m("sub", r("i=1")))
    power = m("sSup", m("e", r("x")) + m("sup", r("n+1")))
    body = par(m("oMathPara", m("oMath", total + fraction + r("a") + power)))
    assert text_of(body) == "∑_(i=1) 1/(√(b+c))a x^(n+1)\n"


def test_bold_paragraphs_are_marked_only_where_there_is_no_heading() -> None:
    bold = par(run("Pumps", "<w:b/>")) + par(run("They leak."))
    assert text_of(bold) == "**Pumps**\n\nThey leak.\n"
    assert text_of(bold + par("Head", "H1")) == "Pumps\n\nThey leak.\n\n# Head\n"


def test_numbered_titles_of_clauses_are_no_items_of_lists() -> None:
    body = (
        item("SUPPLY", 2, 0)
        + item("The seller delivers.", 2, 1)
        + item("PRICE", 2, 0)
        + par("The buyer pays.")
        + item("THE END", 2, 0)
    )
    assert text_of(body) == (
        "1. SUPPLY\n\n- (a) The seller delivers.\n\n2. PRICE\n\nThe buyer pays.\n\n3. THE END\n"
    )


def test_pages_begin_where_word_left_off() -> None:
    mark = "<w:lastRenderedPageBreak/>"
    row = cell(f"<w:r>{mark}<w:t>a</w:t></w:r>") + cell(
        f"<w:r>{mark}<w:t>b</w:t></w:r>"
    )
    body = (
        par("One.")
        + par(f"<w:r>{mark}<w:t># Two</w:t></w:r>")
        + par(f"<w:r>{mark}<w:t>Three</w:t></w:r>", "H1")
        + f"<w:tbl><w:tr>{row}</w:tr></w:tbl>"
    )
    draft = to_markdown(word(body))
    starts = [draft.text[start:][:6] for start, _ in draft.page_starts]
    assert starts == ["One.\n\n", "\\# Two", "# Thre", "a | b "]
    assert [page for _, page in draft.page_starts] == [1, 2, 3, 4]
    assert to_markdown(word(par("One."))).page_starts == ()


def test_what_is_no_word_document_is_refused() -> None:
    with pytest.raises(InvalidDocument, match=r"a\.docx.*no Word document"):
        to_markdown(word("", root="workbook"), "a.docx")
