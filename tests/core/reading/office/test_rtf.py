"""RTF files that the tests write by hand."""

from __future__ import annotations

import pytest

from structrag.errors import InvalidDocument
from structrag.reading.drafts import Draft
from structrag.reading.office.rtf import to_markdown

HEAD = (
    r"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fcharset0 Times;}{\f1\fcharset204 Arial;}"
    r"{\f2\fcharset128{\*\panose 02}Mincho;}}{\colortbl;\red0;}"
    r"{\stylesheet{\s0 Normal;}{\s1\outlinelevel0 chapter;}{\s2 heading 2;}"
    r"{\s3\sbasedon1 Custom;}{\s4 Title;}{\*\cs10 Strong;}}"
)


def read(body: str, *, comments: bool = False) -> Draft:
    return to_markdown(f"{HEAD}{body}}}".encode("latin-1"), "a.rtf", comments=comments)


def test_headings_by_levels_styles_and_their_bases() -> None:
    draft = read(
        r"{\info{\author Nobody}}\pard\s4 Manual\par\pard\s1 One\par\pard\s2 Two\par"
        r"\pard\s3 Based\par\pard\outlinelevel2 Deep\par\pard\s1\outlinelevel9 Text\par"
    )
    assert draft.title == "Manual"
    assert draft.text.split("\n\n") == [
        "# Manual",
        "## One",
        "### Two",
        "## Based",
        "#### Deep",
        "Text\n",
    ]


def test_the_title_of_the_file() -> None:
    assert read(r"{\info{\title Of pumps}{\author A}}Text\par").title == "Of pumps"


def test_code_pages_and_unicode() -> None:
    body = (
        r"Pr\'fcf {\f1 \'cc\'e8\'f0} {\f2 \'93\'fa} \u8364?5 {\uc2\u8364\'80\'81}"
        r"\u-10179?\u-8704? a\~b\_c\-d \{x\}\emdash \par"
    )
    expected = "Prüf Мир 日 €5 €😀 a\u00a0b-cd {x}—\n"
    assert read(body).text == expected


def test_what_is_not_shown_is_left_out() -> None:
    body = (
        r"Shown{\v hidden}{\deleted gone}{\*\unknown x}{\pict\bin5 }}}}}ab}"
        r"{\field{\*\fldinst HYPERLINK x}{\fldrslt  link}}.\par{\header head\par}"
    )
    assert read(body).text == "Shown link.\n"


def test_lists_and_headings_have_the_numbers_of_the_file() -> None:
    body = (
        r"\pard\s1{\listtext 1.\tab}Safety\par"
        r"\pard\ls1{\listtext a)\tab}first\par{\listtext b)\tab}second\par"
        r"\pard\ls1\ilvl1{\listtext\f0\'b7\tab}dot\par\pard Text\par"
    )
    assert read(body).text == (
        "# 1. Safety\n\n- a) first\n- b) second\n    - dot\n\nText\n"
    )


def test_tables_with_merged_cells_and_widths() -> None:
    body = (
        r"\trowd\trhdr\cellx2000\cellx3000\intbl Pump\cell Bar\cell\row"
        r"\trowd\clvmgf\cellx1000\cellx2005\cellx3000\intbl P1\cell cold\cell 10\cell\row"
        r"\trowd\clvmrg\cellx1000\cellx2000\cellx3000\intbl\cell hot\par more\cell 1|2\cell\row"
        r"\pard After.\par"
    )
    assert read(body).text == (
        "| Pump | Pump | Bar |\n| --- | --- | --- |\n| P1 | cold | 10 |\n"
        "| P1 | hot more | 1\\|2 |\n\nAfter.\n"
    )


def test_notes_boxes_pictures_and_comments() -> None:
    body = (
        r"\pard Done{\footnote\pard A note.\par}, twice{\*\atnauthor Ada}"
        r"{\*\annotation\pard Why?}.{\shp{\*\shpinst{\sp{\sn wzDescription}{\sv A pump}}"
        r"{\shptxt Boxed.\par}}{\shprslt{\pard Boxed.\par}}}\par\pard Last.\par"
    )
    assert read(body).text == (
        "Done[^1], twice.\n\n[^1]: A note.\n\nA pump\n\nBoxed.\n\nLast.\n"
    )
    assert "[^2]: Ada: Why?" in read(body, comments=True).text


def test_a_note_inside_a_table_leaves_the_table_whole() -> None:
    body = (
        r"\trowd\cellx1\cellx2000\intbl a{\footnote\pard Note.\par}\cell b\cell\row"
        r"\intbl c\cell d\cell\row\pard End.\par"
    )
    assert read(body).text == (
        "| a[^1] | b |\n| --- | --- |\n| c | d |\n\n[^1]: Note.\n\nEnd.\n"
    )


def test_bold_paragraphs_are_marked_where_there_is_no_heading() -> None:
    assert read(r"{\b Pumps}\par They leak.\par").text == "**Pumps**\n\nThey leak.\n"


def test_broken_files() -> None:
    assert read(r"Text {\b open").uncertain
    assert read(r"Text\par").uncertain == ()
    with pytest.raises(InvalidDocument, match=r"a\.rtf.*not an RTF"):
        to_markdown(b"%PDF", "a.rtf")
    with pytest.raises(InvalidDocument, match="500 deep"):
        read("{" * 20_000)
