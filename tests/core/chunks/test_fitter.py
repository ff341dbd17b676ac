"""From runs of units to pieces whose index texts keep the limit."""

from __future__ import annotations

from structrag.chunks.divisions import divide
from structrag.chunks.maker import ChunkMaker
from structrag.chunks.units import Fitter, Unit, units_of
from structrag.reading.files import read_text
from structrag.reading.sections import parse
from structrag.text.cutting import Cutter


def count_words(text: str) -> int:
    return len(text.split())


def fitter_and_units(text: str, limit: int | None) -> tuple[Fitter, list[Unit]]:
    document = read_text(text, format="markdown", id="d")
    outline = parse(document)
    cutter = Cutter(count_words)
    fitter = Fitter(outline, ChunkMaker(document, count_words, limit, True), cutter)
    (division,) = divide(outline)
    return fitter, units_of(outline, division, cutter, None)


def pieces(
    text: str, limit: int | None, least: int = 0
) -> list[tuple[tuple[int, int], str]]:
    fitter, units = fitter_and_units(text, limit)
    sizes = [unit.tokens for unit in units]
    affinity = [0.0] + [1.0] * (len(units) - 1)
    if len(units) > 3:
        affinity[3] = 0.5
    cut = fitter.pieces(units, (0, len(units)), sizes, affinity, least)
    return [(run, text[piece.start : piece.end]) for run, piece, _ in cut]


def test_a_run_too_long_is_cut_where_units_go_together_least() -> None:
    text = "One two. Three four. Five six. Seven."
    assert pieces(text, 6) == [
        ((0, 3), "One two. Three four. Five six. "),
        ((3, 4), "Seven."),
    ]
    # Not where a part would be below the least size.
    assert [run for run, _ in pieces(text, 6, least=3)] == [(0, 2), (2, 4)]


def test_a_unit_too_long_is_cut_between_words_and_belongs_to_each_piece() -> None:
    assert pieces("one two three four", 2) == [
        ((0, 1), "one two "),
        ((0, 1), "three four"),
    ]
    lines = "```\na b c\nd e f\n```\n"
    assert [run for run, _ in pieces(lines, 4)] == [(0, 1)] * 2
    assert "".join(piece for _, piece in pieces(lines, 4)) == lines


def test_only_the_first_piece_of_a_cut_unit_holds_the_heading_itself() -> None:
    text = f"# A title\n\n{'one two three four five six seven eight nine ten ' * 3}\n"
    fitter, units = fitter_and_units(text, 16)
    cut = list(fitter.pieces(units, (0, 1), [units[0].tokens], [0.0]))
    assert len(cut) > 1 and len(units) == 1
    assert [context.text for _, _, context in cut] == [
        "",
        *["A title"] * (len(cut) - 1),
    ]


def test_pieces_of_a_cut_table_repeat_its_header() -> None:
    text = "| a b |\n|---|\n" + "".join(f"| {i} x |\n" for i in range(4))
    document = read_text(text, format="markdown", id="d")
    outline = parse(document)
    (division,) = divide(outline)
    fitter = Fitter(
        outline, ChunkMaker(document, count_words, 13, True), Cutter(count_words)
    )
    header = (0, text.index("| 0 x"))
    unit = Unit(header[1], len(text), header[1], 16, "table", division, header)
    cut = list(fitter.pieces([unit], (0, 1), [16], [0.0]))
    # Five words of the header and two rows of four.
    assert [text[piece.start : piece.end].count("x") for _, piece, _ in cut] == [2, 2]
    assert {piece.header for _, piece, _ in cut} == {header}
    fitter = Fitter(
        outline, ChunkMaker(document, count_words, 21, True), Cutter(count_words)
    )
    assert len(list(fitter.pieces([unit], (0, 1), [16], [0.0]))) == 1


def test_a_run_not_from_the_first_unit_is_cut_inside_it() -> None:
    text = "One two. Three four. Five six. Seven."
    fitter, units = fitter_and_units(text, 4)
    sizes = [unit.tokens for unit in units]
    cut = fitter.pieces(units, (1, 4), sizes, [0.0, 0.0, 2.0, 1.0])
    assert [(run, text[piece.start : piece.end]) for run, piece, _ in cut] == [
        ((1, 3), "Three four. Five six. "),
        ((3, 4), "Seven."),
    ]
