"""Sentence spans: tiling, the worked table, languages, NLTK as the oracle, speed; word starts and
safe cuts."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import regex
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from places import DATA

from structrag.errors import InvalidParameter
from structrag.text import sentences
from structrag.text.sentences import LANGUAGES, safe_cuts, sentence_spans, word_starts

ALPHABET = (
    " \t\n\r\u00a0.?!…。！？؟।\"')”(abcA手हि\u0301\u200d\U0001f469\U0001f1e9\ud800-3,;"
)
TEXTS = st.text(st.sampled_from(ALPHABET), max_size=80) | st.text(max_size=40)


def pieces(text: str, **options: object) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text, **options)]  # type: ignore[arg-type]


def read(folder: str) -> list[str]:
    path = DATA / folder / "documents.jsonl.gz"
    if not path.exists():
        pytest.skip(f"evaluation data not found: set STRUCTRAG_DATA ({path})")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


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
def test_worked_sentences(text: str, expected: list[str]) -> None:
    assert pieces(text) == expected


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


def test_languages_differ() -> None:
    text = "Es kostet z.B. Geld. Das ist ca. Nr. 5 usw. und so."
    assert len(pieces(text, language="german")) < len(pieces(text, language="turkish"))


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


@pytest.mark.parametrize("folder", ["chroma", "covid_qa", "qasper"])
def test_spans_equal_those_of_nltk_on_real_documents(folder: str) -> None:
    from nltk.tokenize.punkt import PunktSentenceTokenizer

    oracle = PunktSentenceTokenizer(sentences._punkt("english")._params)
    checked = 0
    for text in read(folder)[:12]:
        text = text[:200_000]
        theirs = [start for start, _ in oracle.span_tokenize(text)][1:]
        ours = [start for start, _ in sentence_spans(text)][1:]
        assert [
            start
            for start in ours
            if not sentences._OTHER_END.search(text[max(0, start - 9) : start])
        ] == [
            start
            for start in theirs
            if not sentences._OTHER_END.search(text[max(0, start - 9) : start])
        ]
        checked += len(theirs)
    assert checked > 1000


@settings(deadline=None)
@given(st.text(st.sampled_from("aB .?!\"')(\n0-,;:"), max_size=60))
def test_skipping_nltk_loses_no_sentence(text: str) -> None:
    oracle = sentences._punkt("english")
    theirs = [start for start, _ in oracle.span_tokenize(text)][1:]
    assert sentences._PUNKT_END.search(text) or not theirs


@settings(deadline=None)
@given(st.text(st.sampled_from("aB .?!\"')(\n0-,;:"), max_size=120), st.integers(8, 40))
def test_tiling_holds_with_small_windows(text: str, window: int) -> None:
    before = sentences._WINDOW
    sentences._WINDOW = window
    try:
        assert "".join(pieces(text)) == (text if text.strip() else "")
    finally:
        sentences._WINDOW = before


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


def test_callers_splitter_is_extended_to_tile() -> None:
    text = "..one two three.."
    assert pieces(text, splitter=lambda part: [(2, 5), (6, 9), (10, 15)]) == [
        "..one ",
        "two ",
        "three..",
    ]
    assert sentence_spans(text, 2, 9, splitter=lambda part: [(0, 4), (4, 7)]) == [
        (2, 6),
        (6, 9),
    ]
    assert pieces(text, splitter=lambda part: []) == [text]
    assert pieces("a  b", splitter=lambda part: [(0, 1), (1, 3), (3, 4)]) == [
        "a  ",
        "b",
    ]
    assert pieces("  ", splitter=lambda part: [(0, 9)]) == []


@examples
def test_bad_spans_are_refused(spans: object) -> None:
    with pytest.raises(InvalidParameter, match="sentence_splitter must"):
        sentence_spans("one two", splitter=lambda part: spans)  # type: ignore[arg-type, return-value]


def test_unknown_language_lists_the_known() -> None:
    with pytest.raises(InvalidParameter, match=r"klingon") as error:
        sentence_spans("One. Two.", language="klingon")
    assert all(language in str(error.value) for language in LANGUAGES)


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


def test_threads_share_one_tokenizer() -> None:
    texts = [
        f"Dr. {name} came. He left at {i} p.m. Then U.S. law ruled. " * 40
        for i, name in enumerate("ABCDEFGH")
    ]
    expected = [sentence_spans(text) for text in texts]
    size = len(sentences._punkt("english")._params.ortho_context)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(sentence_spans, texts)) == expected
    assert len(sentences._punkt("english")._params.ortho_context) == size


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", ["word ", "x", "Word word. ", "今天天气。", "x!", "é\u0301 word "]
)
def test_time_is_linear(unit: str) -> None:
    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        start = time.process_time()
        sentence_spans(text), word_starts(text), safe_cuts(text)
        return time.process_time() - start

    seconds(1000)
    small, large = min(seconds(100_000) for _ in range(3)), seconds(800_000)
    assert large < 24 * small + 0.5


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


def test_cuts_by_example() -> None:
    assert word_starts("one  two\r\nthree 3\u00a0km ") == [5, 10, 16]
    assert word_starts("one two three", 4, 9) == [8]
    assert word_starts("one two", 0, 4) == []
    # A separator is no word, as in an ASCII text.
    assert word_starts("\r\x1f\x80") == [2]
    assert safe_cuts("e\u0301x\r\ny") == [2, 3, 5]
    assert safe_cuts("a\U0001f469\u200d\U0001f469b") == [1, 4]
    assert safe_cuts("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7") == [2]
    assert safe_cuts("ab\r\ncd", 1, 5) == [2, 4]
    assert safe_cuts("") == word_starts("") == []


def test_a_long_run_of_flags_is_linear() -> None:
    text = "\U0001f1e9\U0001f1ea" * 100_000
    start = time.process_time()
    assert len(safe_cuts(text)) == 99_999
    assert time.process_time() - start < 5


@pytest.mark.parametrize("word", ["fig", "eqs", "al", "e.g", "cf", "resp"])
def test_scholarly_abbreviations_end_no_english_sentence(word: str) -> None:
    text = f"They met two others, {word}. Anna and Bert."
    assert len(sentence_spans(text)) == 1
    assert len(sentence_spans(text, language="german")) == 2


@pytest.mark.parametrize("end", [" ", "\u3000"])
def test_words_and_cuts_are_inside_a_part(end: str) -> None:
    text = f"one{end}two{end}three"
    assert word_starts(text) == [4, 8]
    assert word_starts(text, 0, 8) == [4]
    assert word_starts(text, 0, 9) == [4, 8]
    assert word_starts(text, 4, 13) == [8]
    assert word_starts(text, 3, 7) == [4]
    assert word_starts(text, 0, 4) == []
    assert safe_cuts(text, 4, 7) == [5, 6]
    assert safe_cuts(text, 4, 5) == safe_cuts(text, 4, 4) == []


def test_a_line_end_of_two_characters_is_not_cut() -> None:
    text = "a\r\nb\nc\rd"
    assert safe_cuts(text) == [1, 3, 4, 5, 6, 7]
    assert safe_cuts(f"{text}é") == [1, 3, 4, 5, 6, 7, 8]


@examples
def test_spans_before_behind_or_over_each_other_are_refused(
    spans: list[tuple[int, int]],
) -> None:
    with pytest.raises(InvalidParameter, match="sentence_splitter must"):
        sentence_spans("abc", splitter=lambda part: spans)


def test_empty_spans_are_no_sentences() -> None:
    spans = [(0, 0), (0, 2), (2, 2), (2, 4), (4, 4)]
    assert pieces("a b.", splitter=lambda part: spans) == ["a ", "b."]
