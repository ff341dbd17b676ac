"""Exact sentence spans, and places to cut a long sentence.

Sentences come from NLTK's Punkt (Kiss and Strunk 2006), with its pretrained parameters where they
are on this machine, and from the end marks of scripts that Punkt does not know. Nothing is ever
downloaded, and no setting of NLTK is changed. NLTK takes about two seconds to import, so it is
imported by the first text in which Punkt could find an end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import regex

from structrag.errors import InvalidParameter, check_choice

SentenceSplitter = Callable[[str], list[tuple[int, int]]]

_PUNKT_LANGUAGES = (
    "czech danish dutch english estonian finnish french german greek italian malayalam "
    "norwegian polish portuguese russian slovene spanish swedish turkish"
)
LANGUAGES = tuple(_PUNKT_LANGUAGES.split())

# Abbreviations of scholarly text that the trained English model lacks. None of them also ends
# sentences.
_SCHOLARLY = "fig figs eq eqs al e.g i.e etc cf vol pp sec secs ch approx resp viz ca"
# What the rules know when no trained model is on this machine.
_COMMON = (
    "dr mr mrs ms prof st jr sr vs inc ltd co corp dept jan feb mar apr aug sept oct nov dec "
    "a.m p.m u.s"
)

_WINDOW = 65_536  # characters given to Punkt at once
# Where Punkt may see an end: its own context expression without the words.
_PUNKT_END = re.compile(r"[.?!](?=\s+\S|[)\";}\]*:@'({\[‘’“”«»?!])")
# End marks of scripts that Punkt does not know, with what closes the sentence behind them.
_OTHER_END = re.compile(
    r"[。｡！？；।॥؟۔።፧။។៕։][。｡！？；!?.…]*[\"'”’»)\]}」』】》〉）］｝〕\ufe0e\ufe0f]*"
)
_SPACE = re.compile(r"\s*")
_ASCII_WORD = re.compile(r"\s(?=\S)")
# After a space that allows a line break, before anything that does not extend the character in
# front of it.
# The separators \x1c to \x1f are white space for `re` and `str.isspace`, not for `regex`.
_WORD = regex.compile(
    r"(?:[^\S\u00a0\u2007\u202f]|[\x1c-\x1f])"
    r"(?=[^\s\x1c-\x1f\p{GCB=Extend}\p{GCB=SpacingMark}\u200d])"
)
# A pair of regional indicators first: on a long run of flags \X alone takes quadratic time.
_GRAPHEME = regex.compile(r"\p{RI}{2}[\p{GCB=Extend}\p{GCB=SpacingMark}\u200d]*|\X")


def sentence_spans(
    text: str,
    start: int = 0,
    end: int | None = None,
    *,
    language: str = "english",
    splitter: SentenceSplitter | None = None,
) -> list[tuple[int, int]]:
    """The sentences of `text[start:end]` as spans `(start, end)` in characters of `text`.

    The spans tile `[start, end)`. White space behind a sentence belongs to it, leading white space
    to the first. Blank input gives no span. The end marks of Chinese, Japanese, Hindi, Urdu,
    Arabic, Amharic, Burmese, Khmer and Armenian are known whatever the language.

    `splitter` replaces the built-in rules. It gets the string `text[start:end]` and returns spans
    in it, in order and without overlap. Text between two spans joins the earlier one.

    Example:
        >>> sentence_spans("It rings. It takes pictures.")
        [(0, 10), (10, 28)]

    Raises:
        InvalidParameter: `splitter` returns other spans, or `language` is not in `LANGUAGES`.
    """
    end = len(text) if end is None else end
    part = text if (start, end) == (0, len(text)) else text[start:end]
    if not part or part.isspace():
        return []
    if splitter:
        starts = _split_starts(part, splitter)
    else:
        starts = _sentence_starts(part, check_choice("language", language, LANGUAGES))
    bounds = [start, *(start + offset for offset in starts), end]
    return list(pairwise(bounds))


def word_starts(text: str, start: int = 0, end: int | None = None) -> list[int]:
    """The starts of words inside `(start, end)`, ascending.

    A cut before any of them keeps words and white space whole. A no-break space joins its
    neighbours. A text without white space gives none. `safe_cuts` is for that.

    Example:
        >>> word_starts("one two three")
        [4, 8]
    """
    end = len(text) if end is None else end
    pattern = _ASCII_WORD if text.isascii() else _WORD
    # Both patterns look at a character behind, so none ends at `end`.
    return [match.end() for match in pattern.finditer(text, start, end)]


def safe_cuts(text: str, start: int = 0, end: int | None = None) -> list[int]:
    """The places inside `(start, end)` between two visible characters.

    They ascend. They are the boundaries of extended grapheme clusters (Unicode annex 29): never
    between a letter and its combining mark, inside a joined emoji, a flag or CRLF.

    Example:
        >>> safe_cuts("e\u0301a")
        [2]
    """
    end = len(text) if end is None else end
    if text.isascii():
        return [
            i for i in range(start + 1, end) if text[i] != "\n" or text[i - 1] != "\r"
        ]
    return [
        match.end()
        for match in _GRAPHEME.finditer(text, start, end)
        if match.end() < end
    ]


def _split_starts(part: str, splitter: SentenceSplitter) -> list[int]:
    """Starts of the caller's sentences after the first."""
    spans = list(splitter(part))
    last = 0
    for span in spans:
        try:
            left, right = span
            in_order = last <= left <= right <= len(part)
        except (TypeError, ValueError):
            in_order = False
        if not in_order:
            raise InvalidParameter(
                "sentence_splitter must return (start, end) spans in order, without overlap "
                f"and inside the text of {len(part)} characters; "
                f"got {span!r} after position {last}. "
                "Return offsets into the string that it is given."
            )
        last = right
    filled = [left for left, right in spans if not _is_blank(part, left, right)]
    return filled[1:]


def _is_blank(part: str, left: int, right: int) -> bool:
    return left == right or part[left:right].isspace()


def _sentence_starts(part: str, language: str) -> list[int]:
    """Starts of sentences after the first, ascending."""
    first = _skip_space(part, 0)
    starts = set(_punkt_starts(part, language)) if _PUNKT_END.search(part) else set()
    if not part.isascii():
        starts.update(
            _skip_space(part, match.end()) for match in _OTHER_END.finditer(part)
        )
    return sorted(offset for offset in starts if first < offset < len(part))


def _skip_space(part: str, offset: int) -> int:
    match = _SPACE.match(part, offset)
    return match.end() if match else offset


def _punkt_starts(part: str, language: str) -> Iterator[int]:
    """Where Punkt starts sentences.

    Long texts are read in windows of whole words, which keeps memory and the time of one call
    small. A window's last sentence is read again at the start of the next window. Of a sentence
    longer than a window, the last word is read again. That is all that Punkt looks back on, so
    windows change its answer only inside words longer than a window.
    """
    tokenizer = _punkt(language)
    position = 0
    while True:
        stop = min(position + _WINDOW, len(part))
        if stop < len(part):
            stop = _last_word(part, position, stop) or stop
        spans = list(tokenizer.span_tokenize(part[position:stop]))
        yield from (position + left for left, _ in spans[1:])
        if stop == len(part):
            return
        if len(spans) > 1:
            position += spans[-1][0]
        else:
            position = _last_word(part, position, stop) or stop


def _last_word(part: str, left: int, right: int) -> int:
    """Where the last word in `part[left:right]` starts. It is 0 unless another word or white space
    is in front of it."""
    word = part[left:right].split()[-1:]
    offset = part.rindex(word[0], left, right) if word else left
    return offset if offset > left else 0


@lru_cache(maxsize=len(LANGUAGES))
def _punkt(language: str) -> Any:
    """A Punkt tokenizer that only reads its tables. So threads can share it."""
    from nltk.tokenize import punkt

    class _ReadOnlyCounts(dict[str, int]):
        def __missing__(self, key: str) -> int:
            return 0

    # The standard expressions without NLTK's time limit, which would fail long texts on slow
    # machines, and takes longer than most matches.
    standard = punkt.PunktLanguageVars()

    class _LanguageVars(punkt.PunktLanguageVars):  # type: ignore[misc]
        _end = re.compile(standard.period_context_re().pattern, re.VERBOSE)
        _word = re.compile(standard._word_tokenizer_re().pattern, re.VERBOSE)
        re_boundary_realignment = re.compile(
            standard.re_boundary_realignment.pattern, re.MULTILINE
        )

        def period_context_re(self) -> re.Pattern[str]:
            return self._end

        def _word_tokenizer_re(self) -> re.Pattern[str]:
            return self._word

    class _Token(punkt.PunktToken):  # type: ignore[misc]
        __slots__ = ()
        _RE_ELLIPSIS = re.compile(punkt.PunktToken._RE_ELLIPSIS.pattern)
        _RE_NUMERIC = re.compile(punkt.PunktToken._RE_NUMERIC.pattern)
        _RE_INITIAL = re.compile(punkt.PunktToken._RE_INITIAL.pattern)
        _RE_ALPHA = re.compile(punkt.PunktToken._RE_ALPHA.pattern)

    _, folder = _punkt_folder(language)
    params = punkt.PunktParameters()
    if folder is None:
        params.abbrev_types = set((_COMMON + " " + _SCHOLARLY).split())
    elif folder.is_dir():
        params.abbrev_types = set(_entries(folder / "abbrev_types.txt"))
        params.sent_starters = set(_entries(folder / "sent_starters.txt"))
        params.collocations = {
            tuple(line.split("\t")) for line in _entries(folder / "collocations.tab")
        }
        rows = (line.rsplit("\t", 1) for line in _entries(folder / "ortho_context.tab"))
        params.ortho_context = {word: int(flags) for word, flags in rows}
    else:
        params = punkt.PunktTokenizer(language)._params
    if language == "english":
        params.abbrev_types.update(_SCHOLARLY.split())
    params.ortho_context = _ReadOnlyCounts(params.ortho_context)
    return punkt.PunktSentenceTokenizer(
        params, lang_vars=_LanguageVars(), token_cls=_Token
    )


def _entries(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line]


@lru_cache(maxsize=len(LANGUAGES))
def _punkt_folder(language: str) -> tuple[str, Path | None]:
    """Where the parameters come from, and their folder. Instead of a folder it may be the zip file
    that NLTK itself must open."""
    import nltk.data

    for root in map(Path, nltk.data.path):
        folder = root / "tokenizers" / "punkt_tab" / language
        if folder.is_dir():
            return "nltk_data", folder
        archive = root / "tokenizers" / "punkt_tab.zip"
        if archive.is_file():
            return "nltk_data", archive
    spec = find_spec("llama_index")
    inside = Path("core", "_static", "nltk_cache", "tokenizers", "punkt_tab", language)
    for location in (spec.submodule_search_locations or ()) if spec else ():
        folder = location / inside
        if folder.is_dir():
            return "llama-index-core", folder
    return "built-in", None
