import pytest
from fixture_cases import examples

from structrag.errors import InvalidDocument
from structrag.reading.markdown import markdown_headings
from structrag.reading.xml.articles import to_markdown

JATS = b"""<?xml version="1.0"?>
<!DOCTYPE article PUBLIC "-//NLM//DTD JATS v1.2//EN" "file:///etc/passwd">
<article><front><article-meta><title-group><article-title>On <italic>pumps</italic>
</article-title></title-group><abstract><title>Abstract</title><p>Short&nbsp;one.</p></abstract>
</article-meta></front><body><sec><label>1</label><title>Methods &amp; parts</title>
<p># We did<fn><p>a note</p></fn>.</p><sec><title>Seals</title><table-wrap><caption>
<title>Not a section</title></caption><table><thead><tr><th>a</th><th>b</th></tr></thead>
<tr><td rowspan="2">1</td><td>2</td></tr><tr><td>3</td></tr></table></table-wrap></sec></sec>
</body><back><ref-list><title>References</title><ref><mixed-citation>X.</mixed-citation></ref>
</ref-list></back></article>"""


def outline(text):
    return [(each.level, each.title) for each in markdown_headings(text)]


def test_sections_of_jats_are_headings_and_captions_are_not():
    draft = to_markdown(JATS)
    assert draft.title == "On pumps"
    assert outline(draft.text) == [
        (1, "On pumps"),
        (2, "Abstract"),
        (2, "1 Methods & parts"),
        (3, "Seals"),
        (2, "References"),
    ]
    assert "\\# We did.\n\n> a note\n" in draft.text
    assert "| a | b |\n| --- | --- |\n| 1 | 2 |\n|" in draft.text
    assert draft.text.endswith("- X.\n")


def test_docbook():
    draft = to_markdown(
        b'<book xmlns="http://docbook.org/ns/docbook"><info><title>Pumps</title></info><chapter>'
        b"<title>One</title><para>A.</para><section><title>Two</title><example><title>No section"
        b"</title><programlisting># x</programlisting></example></section></chapter></book>"
    )
    assert draft.title == "Pumps"
    assert outline(draft.text) == [(1, "Pumps"), (2, "One"), (3, "Two")]
    assert draft.text.endswith("No section\n\n```\n# x\n```\n")


def test_other_xml_is_text():
    draft = to_markdown(b"<page><h1>Pumps</h1><title>Seals</title></page>")
    assert draft.text == "Pumps\n\nSeals\n"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<a>",
        b"text",
        b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
        b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
        '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'.encode("utf-16"),
    ],
)
def test_broken_and_hostile_xml_is_refused_by_name(data):
    with pytest.raises(InvalidDocument, match=r"paper\.xml"):
        to_markdown(data, "paper.xml")


@examples
def test_xml_says_its_encoding(label, text):
    xml = f'<?xml version="1.0" encoding="{label}"?><article><p>{text}</p></article>'
    assert to_markdown(xml.encode(label)).text == f"{text}\n"
    marked = b"\xef\xbb\xbf" + xml.encode()
    assert to_markdown(marked).text == f"{text}\n"


@pytest.mark.parametrize("label", ["rot13", "unicode_escape", "idna", "zlib", "x-none"])
def test_an_encoding_that_documents_do_not_have_is_refused(label):
    xml = f"<?xml version='1.0' encoding='{label}'?><p>a</p>".encode()
    with pytest.raises(InvalidDocument, match=rf"paper\.xml.*'{label}'.*UTF-8"):
        to_markdown(xml, "paper.xml")


def test_tables_inside_each_other_without_end_are_refused():
    with pytest.raises(InvalidDocument, match="500"):
        to_markdown(b"<article>" + b"<table><tr><td>a" * 2_000)


def test_depth_does_no_harm():
    assert to_markdown(b"<sec>" * 20_000 + b"x" + b"</sec>" * 20_000).text == "x\n"
