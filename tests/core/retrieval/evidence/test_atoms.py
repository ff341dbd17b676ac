"""Atoms hold all text of the blocks in order, none of it twice."""

from __future__ import annotations

import pytest
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st
from samples import BAD

from structrag import parse, read_text
from structrag.reading.settings import Reading
from structrag.records import Document
from structrag.retrieval.evidence.atoms import LONGEST, Atoms, find_atoms


def atoms_of(document: Document, **options: object) -> Atoms:
    reading = Reading(**options)  # type: ignore[arg-type]
    return find_atoms(reading.outline(document), reading)


def texts(document: Document, **options: object) -> list[str]:
    atoms = atoms_of(document, **options)
    return [document.text[a:b] for a, b in zip(atoms.starts, atoms.ends, strict=True)]


def test_headings_sentences_items_and_rows_are_atoms() -> None:
    document = read_text(
        "# Care\n\nRinse it. Dry it.\n\n- Use soap. Rub.\n- Wait.\n\n"
        "| part | interval in days |\n|---|---|\n| seal of the pump | 30 |\n| a | 1 |\n"
    )
    assert [text.strip() for text in texts(document)] == [
        "# Care",
        "Rinse it.",
        "Dry it.",
        "- Use soap.",
        "Rub.",
        "- Wait.",
        "| part | interval in days |\n|---|---|",
        "| seal of the pump | 30 |",
        "| a | 1 |",  # below 20 characters, but nothing follows
    ]
    assert atoms_of(document).blocks.tolist() == [0, 1, 1, 2, 2, 2, 3, 3, 3]


def test_short_rows_and_lines_join_the_next() -> None:
    table = read_text("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n")
    assert [text.count("\n") for text in texts(table)] == [2, 2, 1]
    code = read_text("```\n" + "x = 1\n" * 30 + "```\n")
    assert all(len(text) >= 80 for text in texts(code)[:-1])


@pytest.mark.parametrize(
    ("mark", "ends"), [("; ", ";"), (", ", ","), (" ", " "), ("", "x")], ids=repr
)
def test_long_atoms_are_cut_near_500_characters(mark: str, ends: str) -> None:
    document = Document(("x" * 40 + mark) * 40)
    first, *_ = parts = texts(document)
    assert 350 <= len(first) <= 650 and first.endswith(ends)
    assert max(map(len, parts)) <= LONGEST and "".join(parts) == document.text


def test_only_atoms_above_650_characters_are_cut() -> None:
    assert list(map(len, texts(Document("x" * 650)))) == [650]
    assert list(map(len, texts(Document("x" * 651)))) == [500, 151]


@examples
def test_a_long_atom_is_cut_behind_the_best_mark_nearest_500(
    marks: dict[int, str], first: int
) -> None:
    text = "".join(marks.get(place, "x") for place in range(900))
    assert len(texts(Document(text))[0]) == first


def test_a_row_of_exactly_the_least_stands_alone() -> None:
    head = "| part | interval in days |\n|---|---|\n"
    twenty, nineteen = "| pump | 12345678 |\n", "| pump | 1234567 |\n"
    assert (len(twenty), len(nineteen)) == (20, 19)
    for row, count in ((twenty, 4), (nineteen, 3)):
        # With 19 characters two rows are one atom.
        rows = texts(read_text(head + row * 2 + "| the last one of all | 3 |\n"))
        assert len(rows) == count


def test_a_line_of_code_of_exactly_the_least_stands_alone() -> None:
    lines = ["x" * 79, "y" * 79, "z" * 78]  # with line ends 80, 80 and 79
    code = read_text("```\n" + "\n".join(lines) + "\n```\n")
    # The fence before is short, and so is the last line.
    assert list(map(len, texts(code))) == [4 + 80, 80, 79 + 4]


def test_a_heading_without_text_below_is_an_atom_of_its_own() -> None:
    atoms = atoms_of(read_text("Before.\n\n# A\n\n# B\n\nOne. Two.\n"))
    assert atoms.blocks.tolist() == [0, 1, 2, 3, 3]
    assert atoms.sections.tolist() == [0, 1, 2, 2, 2]


def test_every_atom_has_at_least_one_token() -> None:
    document = read_text("# A\n\nOne two. Three.")
    atoms = atoms_of(document, counter=lambda text: text.count("T"))
    assert (atoms.tokens.tolist(), atoms.block_tokens.tolist()) == ([1, 1, 1], [0, 1])
    none = atoms_of(document, counter=lambda text: 0)
    assert (none.tokens.tolist(), none.block_tokens.tolist()) == ([1, 1, 1], [0, 0])


def test_excluded_sections_have_no_atoms() -> None:
    document = read_text("# A\n\none\n\n# References\n\ntwo\n")
    assert [
        text.strip() for text in texts(document, exclude_titles=["references"])
    ] == [
        "# A",
        "one",
    ]


def test_tokens_are_counted_by_the_reader() -> None:
    document = read_text("One two. Three.\n\nFour five six.")
    atoms = atoms_of(document, counter=lambda text: len(text.split()))
    assert (atoms.tokens.tolist(), atoms.block_tokens.tolist()) == ([2, 1, 3], [3, 3])


def check(document: Document) -> None:
    atoms = atoms_of(document)
    assert (atoms.starts[1:] >= atoms.ends[:-1]).all() and (
        atoms.ends > atoms.starts
    ).all()
    outline = parse(document)
    body = document.text[outline.sections[0].body_start :]
    joined = "".join(texts(document))
    assert "".join(joined.split()) == "".join(body.split())
    numbers = atoms.blocks.tolist()
    assert sorted(set(numbers)) == list(range(len(atoms.block_tokens)))
    assert (
        numbers == sorted(numbers)
        and sorted(atoms.sections.tolist()) == atoms.sections.tolist()
    )


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("format", ["markdown", "text"])
def test_odd_texts_are_held_whole(name: str, format: str) -> None:
    check(read_text(BAD[name], format=format))


@given(
    st.text(st.sampled_from("ab. \n#-|`>:;1"), max_size=300),
    st.sampled_from(["markdown", "text"]),
)
def test_any_text_is_held_whole(text: str, format: str) -> None:
    check(read_text(text, format=format))


def test_an_empty_document_has_none() -> None:
    assert len(atoms_of(Document(" \n"))) == 0
