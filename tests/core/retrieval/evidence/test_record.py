"""The arrays of a document: stems, sums and tokens in the right atoms."""

from __future__ import annotations

import numpy as np
import pytest
from doubles import HashTokens
from samples import BAD

from structrag import parse, read_text
from structrag.reading.settings import Reading
from structrag.records import Document
from structrag.retrieval.evidence.quantised import fit_quantiser, unit_rows
from structrag.retrieval.evidence.record import (
    NO_ATOMS,
    Record,
    find_pieces,
    read_atoms,
    section_runs,
    with_tokens,
    with_vectors,
)
from structrag.retrieval.evidence.windows import SUM_WIDTHS
from structrag.text.stems import stem_keys
from structrag.text.tokens import count_tokens

TEXT = "# Pumps\n\nPumps leak. Seals hold.\n\n## Parts\n\nA rotor.\n"


def made(document: Document) -> Record:
    encoder, reading = HashTokens(), Reading()
    pieces = find_pieces(document, reading)
    tokens = encoder.embed_tokens([document.text[start:end] for start, end in pieces])
    record = read_atoms(parse(document), reading)
    quantiser = fit_quantiser(np.concatenate([of.vectors for of in tokens]))
    return with_tokens(record, pieces, tokens, quantiser)


def test_tokens_belong_to_the_atoms_they_stand_in() -> None:
    record = made(read_text(TEXT))
    assert np.diff(record.token_firsts).tolist() == [1, 2, 2, 1, 2]
    assert record.token_rows.shape == (8, 32) and record.pieces.tolist() == [1]
    assert len(record.piece_ids) == 7 and set(record.piece_counts.tolist()) == {1}


def test_tokens_outside_of_atoms_are_of_no_atom() -> None:
    text = (
        "# Pumps\n\nPumps leak.\n\n# References\n\nA book.\n\n# Seals\n\nSeals hold.\n"
    )
    reading = Reading(exclude_titles=["references"])
    document = read_text(text)
    pieces = find_pieces(document, reading)
    tokens = HashTokens().embed_tokens([text[start:end] for start, end in pieces])
    record = read_atoms(reading.outline(document), reading)
    quantiser = fit_quantiser(np.concatenate([of.vectors for of in tokens]))
    record = with_tokens(record, pieces, tokens, quantiser)
    assert np.diff(record.token_firsts).tolist() == [1, 2, 1, 2]
    # Six tokens are kept; the seven words of the text are all counted by piece.
    assert (len(record.token_rows), len(record.piece_ids)) == (6, 7)


def test_only_tokens_that_count_are_kept_and_all_are_summed() -> None:
    document = read_text(TEXT)
    pieces = find_pieces(document, Reading())
    tokens = HashTokens().embed_tokens([TEXT])
    plain = read_atoms(parse(document), Reading())
    quantiser = fit_quantiser(tokens[0].vectors)
    whole = with_tokens(plain, pieces, tokens, quantiser)
    counts = np.array([True, False, True, False, False, True, True, False])
    some = with_tokens(plain, pieces, tokens, quantiser, [counts])
    assert np.diff(some.token_firsts).tolist() == [1, 1, 0, 1, 1]
    assert np.array_equal(some.token_rows, whole.token_rows[counts])
    assert np.array_equal(some.token_scales, whole.token_scales[counts])
    assert np.array_equal(some.sums, whole.sums)
    assert np.array_equal(some.lengths, whole.lengths)


def test_tokens_are_counted_by_the_pieces_that_hold_them() -> None:
    document = read_text("Pumps leak. Pumps hum. Seals hold.")
    pieces = [(0, 12), (12, 23), (23, 34)]
    tokens = HashTokens().embed_tokens([document.text[a:b] for a, b in pieces])
    record = read_atoms(parse(document), Reading())
    record = with_tokens(record, pieces, tokens, fit_quantiser(tokens[0].vectors))
    counts = dict(
        zip(record.piece_ids.tolist(), record.piece_counts.tolist(), strict=True)
    )
    pumps, leak = tokens[0].ids.tolist()
    assert (counts[pumps], counts[leak], len(counts)) == (2, 1, 5)
    assert record.pieces.tolist() == [3]
    assert record.token_firsts.tolist() == [0, 2, 4, 6]


def test_lengths_are_those_of_sums_over_windows_and_sections() -> None:
    document = read_text(TEXT)
    record = made(document)
    (tokens,) = HashTokens().embed_tokens([TEXT])
    assert np.allclose(
        record.lengths[1, 0], np.linalg.norm(tokens.vectors[1:3].sum(axis=0))
    )
    whole = np.linalg.norm(tokens.vectors.sum(axis=0))
    assert np.allclose(record.lengths[:, SUM_WIDTHS.index(480)], whole)
    section = np.linalg.norm(tokens.vectors[:5].sum(axis=0))
    assert np.allclose(record.lengths[:3, -1], section, rtol=1e-5)
    unit = unit_rows(tokens.vectors[1:3].sum(axis=0, keepdims=True))[0]
    back = unit_rows(record.sums.astype(np.float32))[1]
    assert float(back @ unit) > 0.9999


def test_stems_and_titles_have_their_places() -> None:
    record = read_atoms(parse(read_text(TEXT)), Reading())
    pump, part = stem_keys(["pump", "part"])
    assert record.stem_atoms[record.stem_keys == pump].tolist() == [0, 1]
    assert record.title_sections[record.title_keys == pump].tolist() == [
        0,
        1,
        2,
    ]  # the title's, too
    assert record.title_sections[record.title_keys == part].tolist() == [2]
    assert record.stem_lengths.tolist() == [1, 2, 2, 1, 1]


def test_a_title_that_is_no_heading_stands_above_all_sections() -> None:
    page = "<title>Pump X200</title><h2>Cleaning</h2><p>Rinse it.</p><h2>Parts</h2><p>A rotor.</p>"
    record = read_atoms(parse(read_text(page, format="html")), Reading())
    (pump,) = stem_keys(["pump"])
    assert record.title_sections[record.title_keys == pump].tolist() == [0, 1, 2]


def test_vectors_of_sentences_are_as_heavy_as_their_sentences_are_long() -> None:
    record = read_atoms(parse(read_text(TEXT)), Reading())
    record = with_vectors(record, np.eye(5, dtype=np.float32) * 3)
    assert np.allclose(record.lengths[:, 0], record.tokens)
    assert record.sums.tolist() == (np.eye(5) * 127).tolist()


def test_section_runs() -> None:
    of = section_runs(np.array([0, 1, 1, 3]))
    assert of.firsts.tolist() == [0, 1, 1, 3] and of.stops.tolist() == [1, 3, 3, 4]
    one = section_runs(np.array([2, 2]))
    assert one.firsts.tolist() == [0, 0] and one.stops.tolist() == [2, 2]
    assert section_runs(np.zeros(0, int)).firsts.tolist() == []


@pytest.mark.parametrize("name", BAD)
def test_odd_documents_have_records_that_fit_together(name: str) -> None:
    record = made(read_text(BAD[name], format="markdown"))
    assert len(record.token_rows) == len(record.token_scales) == record.token_firsts[-1]
    assert len(record.token_firsts) == len(record.lengths) + 1 == len(record) + 1
    assert np.isfinite(record.lengths).all() and np.isfinite(record.sums).all()


def test_pieces_tile_the_text() -> None:
    document = read_text("One sentence here. " * 100)
    pieces = find_pieces(document, Reading())
    assert "".join(document.text[start:end] for start, end in pieces) == document.text
    assert len(pieces) > 1
    counts = [count_tokens(document.text[start:end]) for start, end in pieces]
    assert counts == [195, 195]  # 200 at most


def test_no_atoms_have_arrays_of_the_same_widths() -> None:
    record = read_atoms(parse(read_text("One sentence.")), Reading())
    for name, array in NO_ATOMS.arrays().items():
        assert array.ndim == record.arrays()[name].ndim
    assert NO_ATOMS.lengths.shape == (0, len(SUM_WIDTHS) + 1)
    assert len(NO_ATOMS) == 0
