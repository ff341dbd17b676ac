"""Which units share a threshold, and which borders no chunk crosses."""

from __future__ import annotations

import pytest
from doubles import HashEmbedder

from structrag.chunks.divisions import divide
from structrag.chunks.fitter import Fitter
from structrag.chunks.maker import ChunkMaker
from structrag.chunks.pic.splitter import PICSplitter
from structrag.chunks.scopes import UnitScope, Zone, scopes_of
from structrag.reading.files import read_text
from structrag.reading.sections import parse
from structrag.text.cutting import Cutter


def test_sections_are_never_crossed_unless_that_is_wished() -> None:
    text = "".join(
        f"# H{i}\n\nAlpha beta gamma. Delta epsilon. Zeta {i}.\n\n" for i in range(6)
    )
    document = read_text(text, format="markdown", id="d")
    starts = {text.index(f"# H{i}") for i in range(6)}
    chunks = PICSplitter().split(document, embedder=HashEmbedder())
    assert starts <= {chunk.start for chunk in chunks}
    # The text has its heading.
    assert [chunk.context for chunk in chunks] == [""] * len(chunks)
    (whole,) = PICSplitter(respect_sections=False, threshold=-1.0).split(
        document, embedder=HashEmbedder()
    )
    assert whole.text == text


def test_a_section_below_the_least_size_is_one_chunk() -> None:
    document = read_text(
        "# A\n\nOne. Two. Three.\n\n# B\n\nFour. Five.", format="markdown", id="d"
    )
    for scope in ("document", "section"):
        chunks = PICSplitter(scope=scope).split(document, embedder=HashEmbedder())
        assert [chunk.path for chunk in chunks] == [("A",), ("B",)]


def count_words(text: str) -> int:
    return len(text.split())


TEXT = "# A\n\nOne. Two.\n\n# B b\n\nThree. Four. Five.\n\n# X\n\nx\n\n# C\n\nSix.\n"


def scopes(
    by_section: bool, respect_sections: bool, limit: int | None
) -> list[UnitScope]:
    """Those of a text whose third section is left out."""
    outline = parse(read_text(TEXT, format="markdown"))
    maker = ChunkMaker(outline.document, count_words, limit, True)
    fitter = Fitter(outline, maker, Cutter(count_words))
    return scopes_of(
        fitter,
        divide(outline, ["x"]),
        by_zone=by_section,
        respect_sections=respect_sections,
    )


@pytest.mark.parametrize(
    ("respect_sections", "zones"),
    [
        # A heading path of one word leaves 19 of 20 words, one of two leaves 18.
        (False, (Zone(0, 5, 18), Zone(5, 6, 19))),
        (True, (Zone(0, 2, 19), Zone(2, 5, 18), Zone(5, 6, 19))),
    ],
)
def test_a_document_is_one_scope_with_a_zone_for_each_stretch(
    respect_sections: bool, zones: tuple[Zone, ...]
) -> None:
    (scope,) = scopes(False, respect_sections, 20)
    assert (scope.path, scope.zones) == ((), zones)
    assert (scope.start, scope.end) == (0, len(TEXT))
    assert len(scope.units) == 6


def test_each_section_can_be_a_scope() -> None:
    found = scopes(True, True, None)
    assert [scope.path for scope in found] == [("A",), ("B b",), ("C",)]
    assert [scope.zones for scope in found] == [
        (Zone(0, 2, None),),
        (Zone(0, 3, None),),
        (Zone(0, 1, None),),
    ]
    assert [TEXT[scope.start : scope.end][:3] for scope in found] == [
        "# A",
        "# B",
        "# C",
    ]


def test_nothing_has_no_scope() -> None:
    outline = parse(read_text(""))
    maker = ChunkMaker(outline.document, count_words, None, True)
    fitter = Fitter(outline, maker, Cutter(count_words))
    for by_section in (True, False):
        assert scopes_of(fitter, [], by_zone=by_section, respect_sections=True) == []
