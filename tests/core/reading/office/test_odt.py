"""Text documents of OpenDocument that the tests make by hand."""

from __future__ import annotations

import io
import zipfile

import pytest

from structrag.errors import InvalidDocument
from structrag.reading.office.odt import to_markdown

SPACES = {
    **{
        name: f"urn:oasis:names:tc:opendocument:xmlns:{space}:1.0"
        for name, space in {
            "office": "office",
            "text": "text",
            "table": "table",
            "style": "style",
            "draw": "drawing",
            "svg": "svg-compatible",
            "fo": "xsl-fo-compatible",
        }.items()
    },
    "dc": "http://purl.org/dc/elements/1.1/",
    "xlink": "http://www.w3.org/1999/xlink",
}
NAMES = " ".join(f'xmlns:{name}="{space}"' for name, space in SPACES.items())
STYLES = (
    "<text:outline-style>"
    '<text:outline-level-style text:level="1" style:num-format="1"/>'
    '<text:outline-level-style text:level="2" style:num-format="1" text:display-levels="2"/>'
    "</text:outline-style>"
    '<text:list-style style:name="L">'
    '<text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/>'
    '<text:list-level-style-number text:level="2" style:num-format="a" style:num-prefix="("'
    ' style:num-suffix=")"/></text:list-style>'
    '<style:style style:name="B" style:family="text">'
    '<style:text-properties fo:font-weight="bold"/></style:style>'
    '<style:style style:name="H" style:family="text">'
    '<style:text-properties text:display="none"/></style:style>'
    '<style:style style:name="P1" style:family="paragraph" style:parent-style-name="Title"/>'
    '<style:style style:name="Title" style:family="paragraph"/>'
)


def odt(body: str, styles: str = STYLES, kind: str = "text", **parts: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as package:
        package.writestr(
            "content.xml",
            f"<office:document-content {NAMES}><office:automatic-styles>{styles}"
            f"</office:automatic-styles><office:body><office:{kind}>{body}</office:{kind}>"
            "</office:body></office:document-content>",
        )
        for name, content in parts.items():
            package.writestr(name.replace("__", "/"), content)
    return out.getvalue()


def test_title_and_numbered_headings() -> None:
    body = (
        '<text:p text:style-name="P1">Handbook</text:p>'
        '<text:h text:outline-level="1">Intro</text:h>'
        '<text:h text:outline-level="2">Aims</text:h>'
        '<text:h text:outline-level="2" text:is-list-header="true">Aside</text:h>'
        '<text:h text:outline-level="1">End</text:h><text:p>Last.</text:p>'
    )
    draft = to_markdown(odt(body))
    assert draft.title == "Handbook"
    assert draft.text.split("\n\n") == [
        "# Handbook",
        "## 1 Intro",
        "### 1.1 Aims",
        "### Aside",
        "## 2 End",
        "Last.\n",
    ]


def test_lists_with_their_numbers_and_paragraphs_of_one_item() -> None:
    def items(*texts: str) -> str:
        return "".join(f"<text:list-item>{text}</text:list-item>" for text in texts)

    inner = (
        f"<text:list>{items('<text:p>a</text:p>', '<text:p>b</text:p>')}</text:list>"
    )
    body = (
        '<text:list text:style-name="L">'
        + items(
            f"<text:p>one</text:p><text:p>more</text:p>{inner}", "<text:p>two</text:p>"
        )
        + "</text:list><text:p>Between.</text:p>"
        + '<text:list text:style-name="L" text:continue-numbering="true">'
        + items("<text:p>three</text:p>")
        + "</text:list>"
    )
    assert to_markdown(odt(body)).text == (
        "1. one\n    more\n    - (a) a\n    - (b) b\n2. two\n\nBetween.\n\n3. three\n"
    )


def test_spaces_notes_pictures_boxes_and_hidden_text() -> None:
    body = (
        "<text:tracked-changes><text:p>REMOVED</text:p></text:tracked-changes>"
        '<text:p>Two<text:s text:c="2"/>spaces,\n one<text:tab/>tab<text:line-break/>line'
        "<text:note><text:note-citation>1</text:note-citation><text:note-body>"
        "<text:p>A note.</text:p></text:note-body></text:note>"
        "<office:annotation><dc:creator>Ada</dc:creator><text:p>Why?</text:p>"
        '</office:annotation>; <text:span text:style-name="H">HIDDEN</text:span>end.'
        "<draw:frame><svg:desc>A pump</svg:desc><draw:text-box><text:p>Boxed.</text:p>"
        "</draw:text-box></draw:frame></text:p>"
    )
    assert to_markdown(odt(body)).text == (
        "Two  spaces, one\ttab\nline[^1]; end.\n\n[^1]: A note.\n\nA pump\n\nBoxed.\n"
    )
    assert "[^2]: Ada: Why?" in to_markdown(odt(body), comments=True).text


def test_tables_with_spans_repetitions_and_header_rows() -> None:
    body = (
        "<table:table><table:table-header-rows><table:table-row>"
        '<table:table-cell table:number-columns-spanned="2"><text:p>Pump</text:p>'
        "</table:table-cell><table:covered-table-cell/></table:table-row>"
        "</table:table-header-rows><table:table-row>"
        '<table:table-cell table:number-rows-spanned="2"><text:p>P1</text:p></table:table-cell>'
        "<table:table-cell><text:p>cold</text:p></table:table-cell></table:table-row>"
        "<table:table-row><table:covered-table-cell/><table:table-cell><text:p>hot</text:p>"
        "</table:table-cell></table:table-row><table:table-row>"
        '<table:table-cell table:number-columns-repeated="2"><text:p>same</text:p>'
        "</table:table-cell></table:table-row>"
        '<table:table-row table:number-rows-repeated="1000000">'
        '<table:table-cell table:number-columns-repeated="1000"/></table:table-row></table:table>'
    )
    assert to_markdown(odt(body)).text == (
        "| Pump |  |\n| --- | --- |\n| P1 | cold |\n| P1 | hot |\n| same | same |\n"
    )


def test_bold_pages_and_formulas() -> None:
    math = (
        '<math xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mfrac><mi>a</mi>'
        "<mn>2</mn></mfrac><annotation>a over 2</annotation></semantics></math>"
    )
    body = (
        '<text:p><text:span text:style-name="B">Pumps</text:span></text:p>'
        '<text:p>They <text:soft-page-break/>leak <draw:object xlink:href="./Object 1"/>.'
        '<draw:object xlink:href="./Object 2"/></text:p>'
    )
    parts = {
        "Object 1__content.xml": math,
        "Object 2__content.xml": f"<!DOCTYPE math>{math}",
        "meta.xml": f"<m {NAMES}><dc:title>Of pumps</dc:title></m>",
    }
    draft = to_markdown(odt(body, **parts))
    assert draft.text == "**Pumps**\n\nThey leak  a/2 .\n"
    assert draft.page_starts == ((0, 1), (16, 2))
    assert draft.uncertain == (
        "Object 2/content.xml could not be read and was left out.",
    )
    assert draft.title == "Of pumps"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (odt("", kind="spreadsheet"), "no text document"),
        (odt("", **{"META-INF__manifest.xml": "<encryption-data/>"}), "encrypted"),
    ],
)
def test_other_and_encrypted_documents_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(InvalidDocument, match=rf"a\.odt.*{reason}"):
        to_markdown(data, "a.odt")
