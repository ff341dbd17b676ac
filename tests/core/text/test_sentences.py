"""Sentence spans: tiling, the worked tables, languages, Punkt; word starts and safe cuts."""

from __future__ import annotations

import sys

import pytest
import regex
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.errors import InvalidParameter, MissingExtra
from structrag.text import punkt
from structrag.text.sentences import safe_cuts, sentence_spans, word_starts

ALPHABET = (
    " \t\n\r\u00a0.?!…。！？؟।\"')”(abcA手हि\u0301\u200d\U0001f469\U0001f1e9\ud800-3,;"
)
TEXTS = st.text(st.sampled_from(ALPHABET), max_size=80) | st.text(max_size=40)


def pieces(text: str, **options: object) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text, **options)]  # type: ignore[arg-type]


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


PUNKT = """He went to the U.S. Senate. "It is Mr. J. Smith!" (So.) And... then it e.g. ended?
Gov. of Calif. spoke at 5 p.m. Then "Why?" he asked. On Jan. 5 it rained, i.e. all day."""


def test_punkt_by_name_cuts_as_nltk_does() -> None:
    from nltk.tokenize.punkt import PunktSentenceTokenizer

    text = (
        PUNKT * 30 + "word " * 14_000 + "End. Yes."
    )  # longer than what NLTK gets at once
    tokenizer = punkt._tokenizer("english")
    assert isinstance(tokenizer, PunktSentenceTokenizer)
    starts = [start for start, _ in tokenizer.span_tokenize(text)]
    assert [start for start, _ in sentence_spans(text, splitter="punkt")] == starts


def test_punkt_without_nltk_or_its_model_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    punkt._tokenizer.cache_clear()
    monkeypatch.setattr("nltk.data.path", [])
    monkeypatch.setattr(punkt, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"model of german.*punkt_tab"):
        sentence_spans("Ein Satz.", language="german", splitter="punkt")
    monkeypatch.setitem(sys.modules, "nltk.tokenize.punkt", None)
    with pytest.raises(MissingExtra, match=r"structrag\[paper\]"):
        sentence_spans("One.", splitter="punkt")


@examples
def test_bad_spans_are_refused(spans: object) -> None:
    with pytest.raises(InvalidParameter, match="sentence_splitter must"):
        sentence_spans("one two", splitter=lambda part: spans)  # type: ignore[arg-type, return-value]


def test_a_change_moves_only_the_sentences_around_it() -> None:
    text = "It rains in Apr. here. Dr. Roe left at 5 p.m. The end. " * 20
    place = text.index("Dr. Roe", 500)
    longer = text[:place] + "New one. " + text[place:]
    before = {text[start:end] for start, end in sentence_spans(text)}
    after = [longer[start:end] for start, end in sentence_spans(longer)]
    assert [sentence for sentence in after if sentence not in before] == ["New one. "]


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
