"""Which paragraphs each section holds, what documents are called, what is below a section."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from d3_making import section

from structrag import D3Index, read_text
from structrag.retrieval.d3.layout import (
    OutlineSection,
    document_names,
    paths_of,
)

GUIDE = (
    "# Guide\n\nIntro one.\n\nIntro two.\n\n## Empty\n\n### Deep\n\nDeep words here.\n\n"
    "## Last\n\nThe end.\n"
)


def test_sections_and_parts_know_their_paragraphs() -> None:
    index = D3Index()
    index.add(
        [
            read_text("Nothing here has a heading.", id="plain", format="text"),
            read_text("", id="blank"),
            read_text(GUIDE, id="guide"),
        ]
    )
    layout = index.layout()
    shown = [
        (each.doc_id, () if each.pseudo else each.path[-1:], each.rows)
        for each in layout.sections
    ]
    assert shown == [
        ("plain", (), range(1)),
        ("guide", ("Guide",), range(1, 3)),
        ("guide", ("Empty",), range(3, 3)),
        ("guide", ("Deep",), range(3, 4)),
        ("guide", ("Last",), range(4, 5)),
    ]
    assert [each.pseudo for each in layout.sections] == [
        True,
        False,
        False,
        False,
        False,
    ]
    assert [layout.section_of(row) for row in range(5)] == [0, 1, 1, 3, 4]
    rows = [index.paragraphs.chunk(row) for row in range(5)]
    assert layout.tokens.tolist() == [chunk.n_tokens for chunk in rows]
    for each in layout.sections:
        held = [rows[row] for row in each.rows]
        assert each.tokens == sum(chunk.n_tokens for chunk in held)
        assert all(each.start <= chunk.start < chunk.end <= each.end for chunk in held)
    assert layout.parts[:, 0].tolist()[0] == 0 and layout.parts[-1, 1] == 5
    assert (layout.parts[1:, 0] == layout.parts[:-1, 1]).all()
    assert set(layout.documents) == {"plain", "guide"}
    first, starts, ends = layout.documents["guide"]
    assert first == 1
    assert starts.tolist() == [chunk.start for chunk in rows[1:]]
    assert ends.tolist() == [chunk.end for chunk in rows[1:]]


def test_documents_of_headings_alone_have_no_paragraphs() -> None:
    index = D3Index()
    index.add(
        [
            read_text("# Z\n", id="z"),
            read_text("# A\n\nOne.\n\nTwo.\n", id="a"),
            read_text("# B\n\n# C\n", id="b"),
            read_text("# D\n\nThree.\n", id="d"),
        ]
    )
    layout = index.layout()
    assert [
        (entry.path[-1], entry.rows, entry.tokens) for entry in layout.sections
    ] == [
        ("Z", range(0), 0),
        ("A", range(2), layout.tokens[0] + layout.tokens[1]),
        ("B", range(2, 2), 0),
        ("C", range(2, 2), 0),
        ("D", range(2, 3), layout.tokens[2]),
    ]
    assert set(layout.documents) == {"a", "d"}
    assert [layout.section_of(row) for row in range(3)] == [1, 1, 4]
    # None is a part of a longer section.
    assert {(entry.part, entry.parts) for entry in layout.sections} == {(0, 0)}


def test_parts_of_a_long_section_are_counted() -> None:
    index = D3Index(section_tokens=40)
    text = "# Long\n\n" + "\n\n".join(
        f"Words of paragraph {i} are here." for i in range(12)
    )
    index.add([read_text(text, id="d")])
    sections = index.layout().sections
    numbers = [(each.part, each.parts) for each in sections]
    assert len(sections) > 1 and numbers == [
        (i, len(sections)) for i in range(1, len(sections) + 1)
    ]
    assert [row for each in sections for row in each.rows] == list(range(12))


def untitled(each: OutlineSection) -> OutlineSection:
    return replace(each, doc_title="")


A, B = "a", "b"


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        ([section(0)], [("D",)]),
        ([untitled(section(0))], [("Beginning",)]),
        ([section(0, "T"), section(1, "T", "U")], [("T",), ("T", "U")]),
        ([section(0, "T", doc=A), section(1, doc=B)], [("A", "T"), ("B",)]),
        (
            [section(0, "A", "T", doc=A), section(1, "U", doc=B)],
            [("A", "T"), ("B", "U")],
        ),
        (
            [untitled(section(0, "T", doc=A)), untitled(section(1, doc=B))],
            [("a", "T"), ("b",)],
        ),
    ],
)
def test_paths_begin_with_the_document_where_there_are_several(
    sections: list[OutlineSection], expected: list[tuple[str, ...]]
) -> None:
    assert paths_of(sections) == expected


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        ([section(0, "T"), section(1, "T", "U")], {"d": (("T",), 1)}),
        ([section(0), section(1, "T")], {"d": (("T",), 1)}),
        ([section(0, "T"), section(1, "U")], {"d": (("D",), 0)}),
        ([untitled(section(0, "T")), untitled(section(1, "U"))], {"d": ((), 0)}),
        ([replace(section(0, "T"), pseudo=True)], {"d": (("D",), 0)}),
        ([section(0, " ")], {"d": (("D",), 0)}),
        (
            [section(0, "T", doc=A), section(1, "B", "U", doc=B), section(2, doc="c")],
            {"a": (("A", "T"), 1), "b": (("B",), 1), "c": (("C",), 0)},
        ),
        (
            [untitled(section(0, "T", doc=A)), untitled(section(1, doc=B))],
            {"a": (("T",), 1), "b": (("b",), 0)},
        ),
    ],
)
def test_documents_are_called_by_their_titles(
    sections: list[OutlineSection], expected: dict[str, Any]
) -> None:
    assert document_names(sections) == expected
