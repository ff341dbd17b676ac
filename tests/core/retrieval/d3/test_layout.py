"""Which paragraphs each section holds, what documents are called, what is below a section."""

from __future__ import annotations

from structrag import D3Index, read_text

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


def test_parts_of_a_long_section_are_counted() -> None:
    index = D3Index()
    text = "# Long\n\n" + "\n\n".join(
        f"Words of paragraph {i} are here. " * 40 for i in range(12)
    )
    index.add([read_text(text, id="d")])
    sections = index.layout().sections
    numbers = [(each.part, each.parts) for each in sections]
    assert len(sections) > 1 and numbers == [
        (i, len(sections)) for i in range(1, len(sections) + 1)
    ]
    assert [row for each in sections for row in each.rows] == list(range(12))


A, B = "a", "b"
