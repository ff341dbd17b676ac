"""Units hold all text of the blocks in order, none of it twice."""

from __future__ import annotations

import pytest
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st
from samples import BAD

from structrag import parse, read_text
from structrag.reading.settings import ReadOptions
from structrag.records import Document
from structrag.retrieval.evidence.units import Units, find_units


def atoms_of(document: Document, **options: object) -> Units:
    read_options = ReadOptions(**options)  # type: ignore[arg-type]
    return find_units(read_options.outline(document), read_options)


def texts(document: Document, **options: object) -> list[str]:
    atoms = atoms_of(document, **options)
    return [document.text[a:b] for a, b in zip(atoms.starts, atoms.ends, strict=True)]


@examples
def test_a_long_atom_is_cut_behind_the_best_mark_nearest_500(
    marks: dict[int, str], first: int
) -> None:
    text = "".join(marks.get(place, "x") for place in range(900))
    assert len(texts(Document(text))[0]) == first


def test_excluded_sections_have_no_atoms() -> None:
    document = read_text("# A\n\none\n\n# References\n\ntwo\n")
    assert [
        text.strip() for text in texts(document, exclude_titles=["references"])
    ] == [
        "# A",
        "one",
    ]


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
    assert sorted(set(numbers)) == list(range(len(set(numbers))))
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
