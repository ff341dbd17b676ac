"""Sentence spans: tiling, the worked table, languages, NLTK as the oracle, speed; word starts and
safe cuts."""

from __future__ import annotations

import subprocess
import sys

import pytest
import regex
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.errors import InvalidParameter
from structrag.text import sentences
from structrag.text.sentences import LANGUAGES, safe_cuts, sentence_spans, word_starts

ALPHABET = (
    " \t\n\r\u00a0.?!…。！？؟।\"')”(abcA手हि\u0301\u200d\U0001f469\U0001f1e9\ud800-3,;"
)
TEXTS = st.text(st.sampled_from(ALPHABET), max_size=80) | st.text(max_size=40)


def pieces(text: str, **options: object) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text, **options)]  # type: ignore[arg-type]


@settings(deadline=None)  # the first call imports NLTK
@given(TEXTS, st.sampled_from(["english", "german", "greek"]))
def test_spans_tile(text: str, language: str) -> None:
    found = pieces(text, language=language)
    if text.strip():
        assert "".join(found) == text
        assert all(piece.strip() for piece in found)
        assert not any(piece[0].isspace() for piece in found[1:])
    else:
        assert found == []


@settings(deadline=None)
@given(TEXTS, st.integers(0, 40), st.integers(0, 40))
def test_a_part_is_split_as_if_it_were_the_text(
    text: str, start: int, length: int
) -> None:
    start = min(start, len(text))
    end = min(start + length, len(text))
    whole = sentence_spans(text[start:end])
    assert sentence_spans(text, start, end) == [
        (start + left, start + right) for left, right in whole
    ]


@examples
def test_abbreviations_of_a_language(
    language: str, text: str, expected: list[str]
) -> None:
    spans = sentence_spans(text, language=language)
    assert [text[start:end] for start, end in spans] == expected


@examples
def test_worked_sentences(text: str, expected: list[str]) -> None:
    assert pieces(text) == expected


def test_parameters_equal_those_of_nltk(monkeypatch: pytest.MonkeyPatch) -> None:
    import nltk.data
    from nltk.tokenize.punkt import PunktTokenizer

    _, folder = sentences._punkt_folder("english")
    assert folder is not None
    monkeypatch.setattr(nltk.data, "path", [str(folder.parents[2])])
    try:
        theirs = PunktTokenizer("english")._params
    # New releases read no files that an installer has linked.
    except PermissionError as error:
        pytest.skip(f"NLTK does not read its own files here: {str(error)[:99]}")
    ours = sentences._punkt("english")._params
    assert ours.abbrev_types - theirs.abbrev_types == set(sentences._SCHOLARLY.split())
    assert theirs.abbrev_types <= ours.abbrev_types
    for name in ("sent_starters", "collocations", "ortho_context"):
        assert getattr(ours, name) == getattr(theirs, name)


def test_without_a_model_abbreviations_still_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sentences, "_punkt_folder", lambda language: ("built-in", None))
    sentences._punkt.cache_clear()
    try:
        assert pieces("Dr. Smith left. See Fig. 3 there.") == [
            "Dr. Smith left. ",
            "See Fig. 3 there.",
        ]
    finally:
        sentences._punkt.cache_clear()


def test_windows_do_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        'He went to the U.S. Senate. "It is Mr. J. Smith!" (So.) And... then it e.g. ended? '
        * 30
        + "word " * 900
        + "End. Yes."
    )
    whole = sentence_spans(text)
    for window in (97, 250, 1000):
        monkeypatch.setattr(sentences, "_WINDOW", window)
        assert sentence_spans(text) == whole


@examples
def test_bad_spans_are_refused(spans: object) -> None:
    with pytest.raises(InvalidParameter, match="sentence_splitter must"):
        sentence_spans("one two", splitter=lambda part: spans)  # type: ignore[arg-type, return-value]


@pytest.mark.slow
def test_nltk_is_imported_only_when_needed_and_left_alone() -> None:
    script = (
        "import sys\nfrom structrag.text.sentences import sentence_spans\n"
        "sentence_spans('no inner end mark.'); assert 'nltk' not in sys.modules\n"
        "import nltk.data; before = list(nltk.data.path)\n"
        "assert len(sentence_spans('One. Two.')) == 2; assert nltk.data.path == before\n"
        "assert 'llama_index.core' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@settings(deadline=None)
@given(TEXTS)
def test_safe_cuts_are_grapheme_boundaries(text: str) -> None:
    clusters = regex.findall(r"\X", text)
    cuts = [sum(map(len, clusters[:i])) for i in range(1, len(clusters))]
    assert safe_cuts(text) == cuts


@settings(deadline=None)
@given(TEXTS)
def test_word_starts_are_safe_cuts_behind_white_space(text: str) -> None:
    starts = word_starts(text)
    assert starts == sorted(set(starts))
    assert set(starts) <= set(safe_cuts(text))
    assert all(text[at - 1].isspace() and not text[at].isspace() for at in starts)


@examples
def test_spans_before_behind_or_over_each_other_are_refused(
    spans: list[tuple[int, int]],
) -> None:
    with pytest.raises(InvalidParameter, match="sentence_splitter must"):
        sentence_spans("abc", splitter=lambda part: spans)


def test_empty_spans_are_no_sentences() -> None:
    spans = [(0, 0), (0, 2), (2, 2), (2, 4), (4, 4)]
    assert pieces("a b.", splitter=lambda part: spans) == ["a ", "b."]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_a_trained_model(language: str) -> None:
    assert sentences._punkt_folder(language)[0] in {"llama-index-core", "nltk_data"}
    assert (
        len(
            pieces(
                "Alpha beta gamma delta! Epsilon zeta eta theta? Iota",
                language=language,
            )
        )
        == 3
    )
