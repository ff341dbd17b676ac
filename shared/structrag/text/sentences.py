"""Exact sentence spans, and places to cut a long sentence.

The rule of sentences ships with the package, so that the same text has the same sentences on every
machine: it looks at an end mark, the word before it and the word behind it, and at lists of
abbreviations. NLTK's Punkt (Kiss and Strunk 2006) is used where it is asked for by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

import regex

from structrag.errors import InvalidParameter, check_choice
from structrag.text.punkt import punkt_starts
from structrag.text.terms import stop_words

Spans = list[tuple[int, int]]
SentenceSplitter = Callable[[str], Spans] | Literal["punkt"]

_LANGUAGES = (
    "czech danish dutch english estonian finnish french german greek italian malayalam "
    "norwegian polish portuguese russian slovene spanish swedish turkish"
)
LANGUAGES = tuple(_LANGUAGES.split())
# The number of the rule below. Change it with the rule: stored documents of another one are read
# again.
SENTENCE_RULE = 1

# In any language no sentence ends between these and a number, a small letter or a paragraph's sign.
_BEFORE_NUMBERS = """
    no nos nr nrn art arts abs ziff lit kap bd bde abb tab fig figs sec secs sect cl ch chap vol
    vols p pp para paras par pt pts ex app eq eqs ref refs ver rev max min approx ca est sq cu
    ft mi lbs oz hrs ed eds tel ext apt jan feb mar apr jun jul aug sep sept oct nov dec okt dez
    rn rz anm aufl az bl cap núm pág págs párr tít sez rif bijl blz pag odst čl obr rys poz pkt
    ust rozdz nro lk št č str стр рис табл гл ст разд κεφ αρ σελ md bkz böl
    reg regs sched scheds subsec subsecs subpt ser sess stat tit bk bks fn ff mon tue tues wed thu
    thur thurs fri deg avg dia bldg rm fl ste mwst uu al ss ibid bull proc suppl std sek jh jhd
    prop props lem thm def cor cit op loc var subsp cv sp spp nov etc usw osv ecc itd sv ds"""
_COUNTED = frozenset(_BEFORE_NUMBERS.split())
# No sentence of the language ends with these.
_INSIDE = {
    "english": "mr mrs ms dr prof gen gov sen sens rep reps rev hon capt col lt sgt mt messrs mme "
    "mlle vs v e.g i.e cf viz approx sq dept reg sched assn atty supt cmdr cpl pvt univ dist prop "
    "figs adm maj brig pres fr msgr asst assoc insp det ald pfc cdr gens profs drs st ste ft al "
    "incl excl resp",
    "german": "gem vgl bzw ggf inkl exkl zzgl evtl sog insb insbes einschl bspw bzgl ggü dr prof "
    "hr frl st z.b d.h u.a i.d.r i.s.d i.v.m o.g s.o abs nr art ziff kap abb tab bd ca mind max "
    "dipl mag ehem allg entspr lt betr fa co hrsg ebd geb gest kath ev dt engl frz lat jur rer nat "
    "univ inst chr n v u s o",
    "french": "m mm mme mmes mlle dr pr st ste cf p.ex c.-à-d env art al chap fig éd av apr boul",
    "spanish": "sr sra srta sres dr dra d dña ud uds p.ej art núm pág fig aprox ej avda ee cap "
    "gral lic ing prof sto sta",
    "italian": "sig sigg dott dr prof ing avv p.es art cfr pag fig on mons arch geom",
    "portuguese": "sr sra dr dra prof eng p.ex art fig pág exmo av aprox",
    "dutch": "dhr mevr mw dr drs prof ir ing bijv nr art fig o.a d.w.z m.b.t t.o.v blz vgl mr ds",
    "danish": "dr hr prof nr fig ca f.eks bl.a dvs jf kap pga mht vedr inkl evt tlf",
    "norwegian": "dr hr prof nr fig ca f.eks bl.a dvs jf kap pga mht vedr inkl evt tlf",
    "swedish": "dr hr prof nr fig ca t.ex bl.a dvs jfr kap p.g.a inkl s.k",
    "finnish": "esim ks vrt ns nk prof nro",
    "estonian": "nt vt dr prof hr pr lk nr",
    "polish": "np tj tzn m.in dr prof mgr inż ul św por zob art ust pkt nr rys tzw gen al im "
    "ks płk hab",
    "czech": "např tj tzn dr prof ing mgr sv č obr čl odst tzv resp doc gen nám",
    "slovene": "npr tj dr prof mag sv št čl oz pribl",
    "turkish": "dr prof doç sn bkz örn md",
    "russian": "т.е т.к т.н напр им ул проф акад рис табл см",
    "greek": "π.χ δηλ κ κα κος καθ αρ άρθρ σελ βλ",
}
# A sentence ends with these only where a word that often begins one follows.
_MAY_END = {
    "english": "inc ltd co corp cos bros jr sr esq llc plc ave blvd rd hwy pkwy intl natl govt mfg "
    "jan feb mar apr jun jul aug sep sept oct nov dec ala ariz ark calif colo conn del fla ill ind "
    "kan ky mass md mich minn miss mo mont neb nev okla ore pa penn tenn tex va vt wash wis wyo ga "
    "ph.d est trans cent",
    "german": "str mio mrd tsd usw etc",
    "spanish": "uu cía",
    "french": "cie éts",
    "italian": "ecc",
}
# Words besides stop words that begin sentences.
_STARTERS = {
    "english": "according also although despite even every finally however indeed instead it's "
    "last let many meanwhile moreover nevertheless one since still though thus today two yet"
}
_WITH_ORDINALS = (  # "2." is second, before capitals too
    "german danish norwegian finnish estonian czech polish slovene turkish"
)

# A run of end marks, with what closes the sentence behind it: quotes, brackets, numbers of notes.
_END = re.compile(
    r"(?<![.?!…])(?P<mark>[.?!…]+)"
    r"(?P<closing>[\"'“”‘’»›)\]}*_]*(?:\[\d{1,3}\])*(?:\s(?:''|[\"”»])(?=\s))?)\s+(?=\S)"
)
_OPENING = re.compile(r"[\"'“”‘«»‹„‚(\[{¿¡*_-]*")
_ENDING = re.compile(
    r"(?<![\w.°])(?P<word>(?:[^\W\d_]\.(?:-|[ \xa0\u202f]?)|[^\W\d_]{2,5}\.)*[^\W\d_]+"
    r"|(?<![-–/,])\d{1,3})\Z"
)
# What numbers a paragraph: "3.", "2.1.", "IV.", "b."
_ENUMERATOR = re.compile(
    r"(?:\A|(?<=\n)|[:;?!](?=\s)|(?<=[^\W\d_]{6})(?<!str)\.(?=\s))\s{0,8}"
    r"[(\[]?(?:\d{1,3}(?:\.\d{1,3})*|[IVXLC]{1,6}|[^\W\d_])\Z"
)
_ITEM = re.compile(r"\(\w{1,4}\)")
_GOES_ON = re.compile(r"[§(]|\w*\d|[IVX]+\b|[^\W\d_]\.")
_NEXT_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_NO_LAST_WORD = re.compile("[bcdfghjklmnpqrstvwxz]{2,4}|[ivxlc]{2,6}")
_LOOK_BACK = 32  # characters
# A word in small letters of at most so many, before a number or a small letter, is an abbreviation,
# unless the characters before it have no capital: text without capitals has none at starts either.
_SHORT, _BEHIND = 3, 200

# End marks of other scripts, with what closes the sentence behind them.
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

    `splitter` replaces the built-in rules: "punkt" stands for NLTK's Punkt with its model of the
    language. A function gets the string `text[start:end]` and returns spans in it, in order and
    without overlap. Text between two spans joins the earlier one.

    Example:
        >>> sentence_spans("It rings. It takes pictures.")
        [(0, 10), (10, 28)]

    Raises:
        InvalidParameter: `splitter` returns other spans, or `language` is not in `LANGUAGES`.
        MissingExtra: `splitter` is "punkt", and NLTK or its model is not on this machine.
    """
    end = len(text) if end is None else end
    part = text if (start, end) == (0, len(text)) else text[start:end]
    if not part or part.isspace():
        return []
    if callable(splitter):
        starts = _split_starts(part, splitter)
    else:
        check_choice("language", language, LANGUAGES)
        if splitter == "punkt":
            starts = punkt_starts(part, language)
        else:
            starts = _sentence_starts(part, language)
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


def _split_starts(part: str, splitter: Callable[[str], Spans]) -> list[int]:
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
    words = _words(language)
    starts = {end.end() for end in _END.finditer(part) if _is_end(part, end, words)}
    if not part.isascii():
        starts.update(
            _end_of(_SPACE, part, end.end()) for end in _OTHER_END.finditer(part)
        )
        starts.discard(len(part))
    return sorted(starts)


def _end_of(pattern: re.Pattern[str], part: str, offset: int) -> int:
    match = pattern.match(part, offset)
    return match.end() if match else offset


class _Words(NamedTuple):
    """The words of a language that decide at a dot."""

    inside: frozenset[str]
    may_end: frozenset[str]
    starters: frozenset[str]  # empty if the language has no list of stop words
    has_ordinals: bool

    def begin(self, part: str, start: int) -> bool:
        """Return True if the word at `start` is one that often begins a sentence."""
        match = _NEXT_WORD.match(part, start)
        if match is None or not match[0][0].isupper():
            return False
        return not self.starters or match[0].casefold() in self.starters


@lru_cache(maxsize=len(LANGUAGES))
def _words(language: str) -> _Words:
    inside, may_end, starters = (
        frozenset(table.get(language, "").split())
        for table in (_INSIDE, _MAY_END, _STARTERS)
    )
    return _Words(
        inside,
        may_end,
        starters | stop_words(language),
        language in _WITH_ORDINALS.split(),
    )


def _is_end(part: str, end: re.Match[str], words: _Words) -> bool:
    """Return True if a sentence ends at these end marks."""
    start = _end_of(_OPENING, part, end.end())
    is_small = part[start : start + 1].islower() and not _ITEM.match(part, end.end())
    if (is_small and end["closing"]) or part.startswith((")", "]"), start):
        return False
    if end["mark"] != ".":
        is_leader = "...." in end["mark"] and part[start : start + 1].isdigit()
        return not (is_small or is_leader) or "?" in end["mark"] or "!" in end["mark"]
    dot = end.start()
    look_back = max(dot - _LOOK_BACK, 0)
    if _ENUMERATOR.search(part, look_back, dot):
        return False
    ending = _ENDING.search(part, look_back, dot)
    if ending is None:
        return True
    begins = words.begin(part, start)
    if ending["word"].isdigit():
        return not words.has_ordinals or (begins and "]" not in end["closing"])
    goes_on = is_small or _GOES_ON.match(part, start) is not None
    if ")" in end["closing"]:  # "(Smith et al.) The": the sentence around it goes on
        begins, goes_on = False, True
    if len(ending["word"]) <= _SHORT and ending["word"].islower():
        behind = part[max(dot - _BEHIND, 0) : dot]
        if part[start : start + 1].isdigit() or (is_small and not behind.islower()):
            return False
    return _ends_after(ending["word"], words, begins, goes_on, is_small)


def _ends_after(
    ending: str, words: _Words, begins: bool, goes_on: bool, is_small: bool
) -> bool:
    word = "".join(ending.casefold().split())
    last = word.rpartition(".")[2]  # of "s. Abb." the last one counts too
    if word in words.inside or (len(last) > 1 and last in words.inside):
        return False
    if len(last) > 1 and (last in _COUNTED or last.endswith("str")):
        return not goes_on
    if not word.replace("-", "")[1::2].strip("."):  # letters: z. | B.
        if len(word) == 1 and ending.islower():
            return not goes_on
        return begins and not goes_on and bool(words.starters)
    if word in words.may_end:
        return begins
    return not (is_small and ("." in word or _NO_LAST_WORD.fullmatch(word)))
