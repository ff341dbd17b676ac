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
from structrag.text.terms import stop_words

SentenceSplitter = Callable[[str], list[tuple[int, int]]]

_PUNKT_LANGUAGES = (
    "czech danish dutch english estonian finnish french german greek italian malayalam "
    "norwegian polish portuguese russian slovene spanish swedish turkish"
)
LANGUAGES = tuple(_PUNKT_LANGUAGES.split())

# Abbreviations of scholarly text that the trained English model lacks. None of them also ends
# sentences.
_SCHOLARLY = "fig figs eq eqs al e.g i.e etc cf vol pp sec secs ch approx resp viz ca"
# Abbreviations of the rules, for when no trained model is on this machine.
_COMMON = (
    "dr mr mrs ms prof st jr sr vs inc ltd co corp dept jan feb mar apr aug sept oct nov dec "
    "a.m p.m u.s"
)

# In any language no sentence ends between these and a number, a small letter or a paragraph's sign.
_BEFORE_NUMBERS = """
    no nos nr nrn art arts abs ziff lit kap bd bde abb tab fig figs sec secs sect cl ch chap vol
    vols p pp para paras par pt pts ex app eq eqs ref refs ver rev max min approx ca est sq cu
    ft mi lbs oz hrs ed eds tel ext apt jan feb mar apr jun jul aug sep sept oct nov dec okt dez
    rn rz anm aufl az bl cap núm pág págs párr tít sez rif bijl blz pag odst čl obr rys poz pkt
    ust rozdz nro lk št č str стр рис табл гл ст разд κεφ αρ σελ md bkz böl
    reg regs sched scheds subsec subsecs subpt ser sess stat tit bk bks fn ff mon tue tues wed thu
    thur thurs fri deg avg dia bldg rm fl ste mwst uu al ss ibid bull proc suppl std sek jh jhd"""
_COUNTED = frozenset(_BEFORE_NUMBERS.split())
# No sentence of the language ends with these.
_INSIDE = {
    "english": "mr mrs ms dr prof gen gov sen rep rev hon capt col lt sgt mt messrs vs e.g i.e cf "
    "viz approx sq dept reg sched assn atty supt cmdr cpl pvt univ dist prop figs",
    "german": "gem vgl bzw ggf inkl exkl zzgl evtl sog insb insbes einschl bspw bzgl ggü dr prof "
    "hr frl st z.b d.h u.a i.d.r i.s.d i.v.m o.g s.o abs nr art ziff kap abb tab bd ca mind max "
    "dipl mag ehem allg entspr lt betr fa co hrsg ebd geb gest kath ev dt engl frz lat jur rer nat "
    "univ inst",
    "french": "m mm mme mmes mlle dr pr st ste cf p.ex c.-à-d env art al chap fig éd av apr boul",
    "spanish": "sr sra srta sres dr dra ud uds p.ej art núm pág fig aprox ej avda ee cap",
    "italian": "sig sigg dott dr prof ing avv p.es art cfr pag fig",
    "portuguese": "sr sra dr dra prof eng p.ex art fig pág exmo",
    "dutch": "dhr mevr mw dr drs prof ir ing bijv nr art fig o.a d.w.z m.b.t t.o.v blz vgl",
    "danish": "dr hr prof nr fig ca f.eks bl.a dvs jf kap pga mht vedr inkl",
    "norwegian": "dr hr prof nr fig ca f.eks bl.a dvs jf kap pga mht vedr inkl",
    "swedish": "dr hr prof nr fig ca t.ex bl.a dvs jfr kap p.g.a inkl s.k",
    "finnish": "esim ks vrt ns nk prof nro",
    "estonian": "nt vt dr prof hr pr lk nr",
    "polish": "np tj tzn m.in dr prof mgr inż ul św por zob art ust pkt nr rys tzw",
    "czech": "např tj tzn dr prof ing mgr sv č obr čl odst tzv resp",
    "slovene": "npr tj dr prof mag sv št čl oz",
    "turkish": "dr prof doç sn bkz örn md",
    "russian": "т.е т.к т.н напр им ул проф акад рис табл см",
    "greek": "π.χ δηλ κα κος καθ αρ σελ βλ",
}
_NUMBERS = (
    "german",
    "danish",
    "norwegian",
    "turkish",
)  # 2. is second, before capitals too
_ENDING = re.compile(
    r"(?<![\w.])(?P<word>(?:[^\W\d_]\.(?:-|[ \xa0\u202f]?))*[^\W\d_]+|\d{1,3})\.\s*\Z"
)
_GOES_ON = re.compile(r"[\d§(]|[IVX]+\b|[^\W\d_]\.")
_LETTER = re.compile(r"[^\W\d_]\.")
_NEXT_WORD = re.compile(r"[^\W\d_]+")
_LOOK_BACK = 32  # characters

_WINDOW = 65_536  # characters given to Punkt at once
# Possible ends for Punkt: its own context expression without the words.
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
    starts = set()
    if _PUNKT_END.search(part):
        starts = {
            start
            for start in _punkt_starts(part, language)
            if not _is_abbreviated(part, start, language)
        }
    if not part.isascii():
        starts.update(
            _skip_space(part, match.end()) for match in _OTHER_END.finditer(part)
        )
    return sorted(offset for offset in starts if first < offset < len(part))


@lru_cache(maxsize=len(LANGUAGES))
def _inside(language: str) -> frozenset[str]:
    return frozenset(_INSIDE.get(language, "").split())


def _is_abbreviated(part: str, start: int, language: str) -> bool:
    """Whether the dot before `start` is an abbreviation's or an ordinal's."""
    ending = _ENDING.search(part, max(start - _LOOK_BACK, 0), start)
    if ending is None:
        return False
    word = "".join(ending["word"].casefold().split())
    if word.isdigit():
        following = _NEXT_WORD.match(part, start)
        return (following is not None and language in _NUMBERS) and following[
            0
        ].casefold() not in stop_words(language)
    goes_on, is_small = _GOES_ON.match(part, start), part[start].islower()
    for name in (word, word.rpartition(".")[2]):  # of "s. Abb." the last one too
        if len(name) > 1 and name in _inside(language):
            return True
        if len(name) > 1 and (name in _COUNTED or _is_street(name, language)):
            return goes_on is not None or is_small
    if word in _inside(language):
        return True
    is_letters = not word.replace("-", "")[1::2].strip(".")  # z. | B.
    before_letter = _LETTER.match(part, start) is not None
    return is_letters and (before_letter or (is_small and len(word) > 1))


def _is_street(word: str, language: str) -> bool:
    return language == "german" and word.endswith("str")


def _skip_space(part: str, offset: int) -> int:
    match = _SPACE.match(part, offset)
    return match.end() if match else offset


def _punkt_starts(part: str, language: str) -> Iterator[int]:
    """Return the starts of sentences by Punkt.

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
    """Return the start of the last word in `part[left:right]`; 0 unless another word or white space
    precedes it."""
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
    """Return the source of the parameters and their folder, or the zip file that NLTK itself must
    open."""
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
