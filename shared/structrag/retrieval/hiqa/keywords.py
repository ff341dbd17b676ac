"""Critical keywords, and the segments that contain them (HiQA, section 5).

The keywords are the caller's, and names detected in the titles and file names of the documents
there are now. What one document holds is worked out when the document is new or has changed, and
kept; a new keyword is looked for in the other documents' kept pieces. So a change costs what has
changed, not the collection, and the tables equal those made afresh.

Names are found in any text. A text is folded (`structrag.text.folding`) and read as pieces: runs
of letters and digits, single characters of scripts in which spaces do not part words, and other
signs; "C++" and "C#" are pieces. Spaces and hyphens only separate pieces. A name occurs where a
run of neighbouring pieces, put together, is the name put together: "IS-3722 HS" holds IS3722HS and
IS3722, "IS37220" holds neither, and 手机 occurs in 手机壳.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, permutations
from typing import Any, TypeAlias

import numpy as np
import regex

from structrag._locks import Lock
from structrag.errors import InvalidParameter, check_choice, warn_user
from structrag.index.corpus import CorpusReader
from structrag.index.ranking import concatenated
from structrag.index.selection import Selection
from structrag.records import Chunk, Document
from structrag.text.arrays import BoolArray, IntArray
from structrag.text.folding import UNPARTED, fold, fold_with_places, plain_signs
from structrag.text.names import names_by_form

NameFinder = Callable[[str], Iterable[str]]

BODIES = "bodies"
NOTHING_TELLS_APART = (
    "HiQARetriever found no critical keyword in the titles and file names of all documents, so "
    "beta has no effect. Pass keywords=[...], or detect_keywords='bodies' for names in the text, "
    "or routes=('dense', 'bm25') to do without keywords."
)
# Names of a document's text, segments that hold one.
MOST_IN_BODIES, FEWEST_SEGMENTS = 8, 2
FEWEST_DOCUMENTS = 4  # of a collection in which a detected name can be too frequent
MOST = 0.5  # share of the documents that may hold a detected name
PAGE_TOKENS = 500
_FILE_KEYS = ("source", "file_name", "file_path")  # metadata that names the file
_FEW = 16  # names so few are first looked for in a whole document at once
# Ends of segments and pieces in a document's kept text.
_SEGMENT, _PIECE = "\x1e", "\x1f"


@dataclass(frozen=True, slots=True)
class BodyNames:
    """Critical keywords from the documents' text, by a function that finds names.

    Example:
        >>> from structrag import HiQARetriever, Index, read_text
        >>> index = Index()
        >>> text = "# Use\\n\\nAda built it.\\n\\n# Care\\n\\nAsk Ada for oil."
        >>> report = index.add([read_text(text, format="markdown")])
        >>> find = lambda text: [word for word in text.split() if word == "Ada"]
        >>> HiQARetriever(index, detect_keywords=BodyNames(find)).keyword_statistics()["Ada"]
        (1, 2)

    Such as `ner_entities(pipeline("token-classification", ..., aggregation_strategy="simple"))` of
    `structrag.chunks.enriching.density`, or `lambda text: [e.text for e in nlp(text).ents]` with a
        pipeline of spaCy. It is called once for each chunk of a document that is new or has
        changed. The 8 names in most chunks of a document count, if in two at least, beside those of
        its title and file name.

    Attributes:
        find: The names in a text; the default goes by form: capitals, digits, quotes.
    """

    find: NameFinder = names_by_form


# The names that are keywords, as `HiQARetriever` takes them.
Detection: TypeAlias = "bool | str | BodyNames | NameFinder"


@dataclass(frozen=True, slots=True)
class Scan:
    """The result of reading one document."""

    # of the entry it was read from; None: to be read again whenever anything changes
    fingerprint: str | None
    names: tuple[tuple[str, str], ...]  # detected, (key, as written)
    text: str  # its segments' pieces
    n_searched: int  # how many of all names ever seen have been looked for
    spans: IntArray  # (4, n): segment, first piece, end, number of the name
    n_segments: int
    depth: int  # headings above its segments, at most 3 each, summed
    pages: float


@dataclass(frozen=True, slots=True)
class KeywordTable:
    """The keywords of a collection at one time, by key. Immutable."""

    changes: int  # the reader's at that time
    names: Names
    written: Mapping[str, str]  # as the caller wrote it, or the first document's title
    # How many hold it, in a segment's index text or in their title.
    documents: Mapping[str, int]
    # the positions of the segments that hold it, ascending
    places: Mapping[str, IntArray]
    n_rows: int
    n_documents: int
    # headings above a segment, at most 3, on average over all segments, divided by 3
    structure: float
    # of a document on average: its metadata "pages", or one for 500 tokens; at least 1 each
    pages: float
    # The row at each position; None: the same.
    row_numbers: IntArray | None = None

    def found_in(self, text: str) -> list[str]:
        """Return the keys of the keywords in a text, in order, except those inside a longer one."""
        return self.names.longest(pieces(text))

    def held(self, keys: Sequence[str], rows: IntArray) -> BoolArray:
        """Return which of `rows` (n,) contain which keywords, (len(keys), n)."""
        positions = rows
        if self.row_numbers is not None:
            positions = np.searchsorted(self.row_numbers, rows)
        result = np.zeros((len(keys), len(rows)), dtype=bool)
        for i, key in enumerate(keys):
            holding = self.places[key]
            if len(holding):
                places = np.minimum(
                    np.searchsorted(holding, positions), len(holding) - 1
                )
                result[i] = holding[places] == positions
        return result

    def best(
        self, keys: Sequence[str], n: int, where: Selection | None = None
    ) -> IntArray:
        """Return the `n` rows within `where`, a selection of positions, that contain the most of
        these keywords, at least one. Ties by row."""
        if not keys or n <= 0:
            return np.empty(0, dtype=np.int64)
        holding = np.concatenate([self.places[key] for key in keys])
        counts = np.bincount(holding, minlength=self.n_rows)
        if isinstance(where, slice):
            counts[: where.start] = counts[where.stop :] = 0
        elif where is not None:
            counts[~where] = 0
        highest = int(counts.max(initial=0))
        ranked = [
            np.flatnonzero(counts == count)[:n] for count in range(highest, 0, -1)
        ]
        best = concatenated(ranked, np.int64)[:n]
        return best if self.row_numbers is None else self.row_numbers[best]

    def statistics(self) -> dict[str, tuple[int, int]]:
        """Return, by keyword as written, the number of documents and of segments with it, ordered
        by key."""
        statistics: dict[str, tuple[int, int]] = {}
        for key in self.names.keys:
            statistics[self.written[key]] = (self.documents[key], len(self.places[key]))
        return statistics


class Keywords:
    """Keeps the keyword table of a store up to date.

    Args:
        listed: The caller's keywords. They always count.
        detect: Whether names of titles and file names are keywords too; a `BodyNames`: those of
            their text as well; "bodies": `BodyNames()`, by form; or what finds names, a function of
            a title such as `ner_entities(pipeline)` of `structrag.chunks.enriching.density`. From
            four documents on, a detected name in more than half of them does not count.

    Raises:
        InvalidParameter: `listed` is a string, or holds something that is no string or has neither
            letters, digits nor signs.
    """

    def __init__(self, listed: Iterable[str] = (), detect: Detection = True) -> None:
        if isinstance(detect, str):
            check_choice("detect_keywords", detect, (BODIES,))
            detect = BodyNames()
        if isinstance(listed, str):
            raise InvalidParameter(
                f"keywords must be a list of strings; got the string {listed!r}. Put it in a list."
            )
        self.listed: dict[str, str] = {}  # key -> as written
        for name in listed:
            key = name_key(name) if isinstance(name, str) else ""
            if not key:
                raise InvalidParameter(
                    "keywords must be strings with a letter, a digit or a sign other than a "
                    f"hyphen; got {name!r}. Leave it out."
                )
            self.listed.setdefault(key, name)
        self._detect = detect
        # of all names ever seen
        self._numbers: dict[str, int] = {key: i for i, key in enumerate(self.listed)}
        self._scans: dict[str, Scan] = {}
        self._table: KeywordTable | None = None
        self._lock = Lock()

    def table(self, reader: CorpusReader) -> KeywordTable:
        """Return the table for the documents of the reader. Only new and changed documents are
        read."""
        with self._lock:
            if self._table is None or self._table.changes != reader.changes:
                self._table = new = self._updated(reader)
                nameless = self._detect and not new.names.keys
                if nameless and new.n_documents >= FEWEST_DOCUMENTS:
                    warn_user(NOTHING_TELLS_APART, once=True)
            return self._table

    def _updated(self, reader: CorpusReader) -> KeywordTable:
        fingerprints = reader.fingerprints()
        kept = {}
        for doc_id, fingerprint in fingerprints.items():
            scan = self._scans.get(doc_id)
            if scan and scan.fingerprint and scan.fingerprint == fingerprint:
                kept[doc_id] = scan
        changed = [doc_id for doc_id in fingerprints if doc_id not in kept]
        for document, chunks in reader.with_chunks(changed):
            kept[document.id] = self._read(document, chunks, fingerprints[document.id])
        scans = [kept[doc_id] for doc_id in fingerprints]
        for scan in scans:
            for key, _ in scan.names:
                self._numbers.setdefault(key, len(self._numbers))
        scans = self._searched(scans)
        self._scans = dict(zip(fingerprints, scans, strict=True))
        return _table(reader, scans, self.listed, list(self._numbers))

    def _read(
        self, document: Document, chunks: Sequence[Chunk], fingerprint: str | None
    ) -> Scan:
        """A document read from the index, no name looked for yet."""
        if not chunks:
            return Scan(None, (), "", 0, _NO_SPANS, 0, 0, 0)
        tops = {chunk.path[0] for chunk in chunks if chunk.path}
        files = [document.meta.get(key) for key in _FILE_KEYS]
        names = self._names(
            [document.title, *(tops if len(tops) == 1 else ())],
            [file for file in files if isinstance(file, str)],
        )
        if isinstance(self._detect, BodyNames):
            names = {**_body_names(chunks, self._detect.find), **names}
        return Scan(
            fingerprint,
            tuple(names.items()),
            _SEGMENT.join(_PIECE.join(pieces(chunk.index_text)) for chunk in chunks),
            0,
            _NO_SPANS,
            len(chunks),
            sum(min(len(chunk.path), 3) for chunk in chunks),
            _pages(document, chunks),
        )

    def _names(self, titles: Iterable[str], files: Iterable[str]) -> dict[str, str]:
        """Key -> name as written, of a document's titles and file names. A title that is a path
        counts as a file name."""
        if not self._detect:
            return {}
        plain: list[str] = []
        paths: list[str] = []
        for title in titles:
            is_path = " " not in title.strip() and ("/" in title or "\\" in title)
            (paths if is_path else plain).append(title)
        # A function of the caller's is made for titles, so it is not shown names of files.
        if callable(self._detect):
            detected = list(chain.from_iterable(map(self._detect, plain)))
        else:
            detected = list(chain.from_iterable(map(title_names, plain)))
            detected += chain.from_iterable(map(file_names, [*paths, *files]))
        names: dict[str, str] = {}
        for name in detected:
            names.setdefault(name_key(name), " ".join(name.split()))
        names.pop("", None)
        return names

    def _searched(self, scans: Sequence[Scan]) -> list[Scan]:
        """The scans with all names looked for."""
        names = list(self._numbers)
        missing = {n: Names(names[n:]) for n in {scan.n_searched for scan in scans}}
        searched = []
        for scan in scans:
            if scan.n_searched < len(names):
                spans = self._spans(scan, missing[scan.n_searched])
                scan = replace(scan, n_searched=len(names), spans=spans)
            searched.append(scan)
        return searched

    def _spans(self, scan: Scan, names: Names) -> IntArray:
        """The spans of a scan with those of more names."""
        if len(names.keys) <= _FEW:
            whole = scan.text.replace(_PIECE, "")
            names = Names(key for key in names.keys if key in whole)
        if not names.keys:
            return scan.spans
        matches = []
        for segment, text in enumerate(scan.text.split(_SEGMENT)):
            for start, end, key in names.spans(text.split(_PIECE)):
                matches.append((segment, start, end, self._numbers[key]))
        new = np.array(matches, dtype=np.int64).reshape(-1, 4).T
        return np.concatenate([scan.spans, new], axis=1)


def _body_names(chunks: Sequence[Chunk], find: NameFinder) -> dict[str, str]:
    """Return the names in most segments of a document, by key, as written."""
    counts: Counter[str] = Counter()
    written: dict[str, str] = {}
    for chunk in chunks:
        keys = set()
        for name in find(chunk.text):
            key = name_key(name)
            if key:
                written.setdefault(key, " ".join(name.split()))
                keys.add(key)
        counts.update(keys)
    # Ties by key, so that a document always has the same.
    best = sorted(counts, key=lambda key: (-counts[key], key))[:MOST_IN_BODIES]
    return {key: written[key] for key in best if counts[key] >= FEWEST_SEGMENTS}


_NO_SPANS: IntArray = np.empty((4, 0), dtype=np.int64)


def _table(
    reader: CorpusReader,
    scans: Sequence[Scan],
    listed: Mapping[str, str],
    keys: Sequence[str],
) -> KeywordTable:
    """Build the table from the scans of all documents, in row order."""
    sizes = np.array([scan.n_segments for scan in scans], dtype=np.int64)
    firsts = np.cumsum(sizes) - sizes
    counts = [scan.spans.shape[1] for scan in scans]
    spans = np.concatenate([_NO_SPANS, *(scan.spans for scan in scans)], axis=1)
    rows = spans[0] + np.repeat(firsts, counts)
    owners = np.repeat(np.arange(len(scans)), counts)
    numbers = {key: i for i, key in enumerate(keys)}
    frequency = _frequency(scans, owners, spans[3], numbers)
    written = _written(listed, scans, frequency)
    n_rows = int(sizes.sum())
    return KeywordTable(
        reader.changes,
        Names(written),
        written,
        {key: frequency[key] for key in written},
        _places_by_key(written, numbers, rows, spans),
        n_rows,
        len(scans),
        sum(scan.depth for scan in scans) / (3 * n_rows) if n_rows else 0.0,
        sum(scan.pages for scan in scans) / len(scans) if scans else 0.0,
        reader.row_numbers,
    )


def _frequency(
    scans: Sequence[Scan],
    owners: IntArray,
    names: IntArray,
    numbers: Mapping[str, int],
) -> dict[str, int]:
    """Return, by key, how many documents contain it in segments or titles.

    Args:
        owners: The number of each span's document, (n,).
        names: The number of each span's name, (n,).
        numbers: Key -> number of the name.
    """
    titled = [
        (i, numbers[key]) for i, scan in enumerate(scans) for key, _ in scan.names
    ]
    in_titles = np.array(titled, dtype=np.int64).reshape(-1, 2)
    _, held = _distinct(
        np.concatenate([owners, in_titles[:, 0]]),
        np.concatenate([names, in_titles[:, 1]]),
    )
    frequency = np.bincount(held, minlength=len(numbers)).tolist()
    return dict(zip(numbers, frequency, strict=True))


def _written(
    listed: Mapping[str, str], scans: Sequence[Scan], frequency: Mapping[str, int]
) -> dict[str, str]:
    """Key -> keyword as written. First the caller's, then detected, not too frequent ones."""
    # In few documents every name is in a large share of them.
    most = MOST * len(scans) if len(scans) >= FEWEST_DOCUMENTS else len(scans)
    written = dict(listed)
    for scan in scans:
        for key, name in scan.names:
            if frequency[key] <= most:
                written.setdefault(key, name)
    return written


def _places_by_key(
    keys: Iterable[str],
    numbers: Mapping[str, int],
    rows: IntArray,
    spans: IntArray,
) -> dict[str, IntArray]:
    """Return, by key, the segments that contain it outside longer keywords, ascending."""
    is_keyword = np.zeros(len(numbers), dtype=bool)
    is_keyword[[numbers[key] for key in keys]] = True
    of_keywords = is_keyword[spans[3]]
    spans, rows = spans[:, of_keywords], rows[of_keywords]
    shown = ~inside_longer(rows, spans[1], spans[2])
    holding, held = _distinct(rows[shown], spans[3][shown])
    bounds = np.searchsorted(held, np.arange(len(numbers) + 1))
    return {
        key: holding[bounds[numbers[key]] : bounds[numbers[key] + 1]] for key in keys
    }


def _pages(document: Document, chunks: Sequence[Chunk]) -> float:
    pages = document.meta.get("pages")
    if isinstance(pages, int) and pages > 0:
        return float(pages)
    return max(1.0, sum(chunk.n_tokens for chunk in chunks) / PAGE_TOKENS)


def _distinct(places: IntArray, numbers: IntArray) -> IntArray:
    """The different pairs of place and number, (2, m). By number, then place."""
    size = int(places.max(initial=0)) + 1
    pairs = np.unique(numbers * size + places)
    return np.stack([pairs % size, pairs // size])


HEAD = 4  # characters that tell quickly whether a piece can begin a name

_SEPARATORS = r"\-_\x1c-\x1f"  # the last are spaces to one of the two engines only
_BLANK_LINE = r"\n\s*\n"  # a piece that no name has
_NEEDS_SCRIPTS = regex.compile(rf"[\p{{M}}{UNPARTED}]")
_MARK = r"(?:(?<=[^\W\d_])(?:\+\+?|\#)(?![{inside}+\#]))?"
_WORD_MARK = _MARK.format(inside=r"\w")
_PLAIN_PIECE = re.compile(
    rf"[^\W_]+(?:(?<=\d)[.,](?=\d)[^\W_]+)*{_WORD_MARK}|{_BLANK_LINE}|"
    rf"[^\s{_SEPARATORS}]"
)
_LETTERS = rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{UNPARTED}]]+"
_LETTER_MARK = _MARK.format(inside=rf"[\w--[{UNPARTED}]]")
_ANY_PIECE = regex.compile(
    rf"{_LETTERS}(?:(?<=\p{{Nd}})[.,](?=\p{{Nd}}){_LETTERS})*{_LETTER_MARK}|"
    rf"[{UNPARTED}]\p{{M}}*|{_BLANK_LINE}|[^\s{_SEPARATORS}]",
    regex.VERSION1,
)

_NUMBERED = regex.compile(
    r"\b(?=\p{Ll}*\p{Lu})(\p{L}[\p{L}\p{M}]+)[ -]\p{N}+(?:\.\p{N}+)*\b(?!\.?\p{N})"
)
_NOT_NUMBERED = (
    "a",
    "an",
    "and",
    "at",
    "by",
    "for",
    "from",
    "in",
    "of",
    "on",
    "or",
    "since",
    "the",
    "to",
    "until",
)
_VARIANT = re.compile(
    r"(?:[ -](?:pro|max|plus|mini|ultra|lite|air|se|xl|nano|micro|neo|zero))+\b",
    re.IGNORECASE,
)
_SUFFIX = re.compile(r"\.[A-Za-z]\w{0,7}$")
_MOST_TITLE_WORDS = 4  # of a title that is itself taken for a name


def pieces(text: str) -> list[str]:
    """Split a text into the units it is compared by: folded words, characters of scripts without
    spaces, signs, and blank lines."""
    folded = fold(text)
    return list(_pattern(folded).findall(folded))


def _pattern(folded: str) -> Any:
    return (
        _ANY_PIECE
        if not folded.isascii() and _NEEDS_SCRIPTS.search(folded)
        else _PLAIN_PIECE
    )


def name_key(name: str) -> str:
    """A name folded, without spaces and hyphens. Names with equal keys are one. "" for a name of
    nothing else."""
    return "".join(pieces(" ".join(name.split())))


class Names:
    """Names, by their keys, to be looked for in many texts."""

    def __init__(self, keys: Iterable[str]) -> None:
        self.keys: list[str] = sorted(set(keys))
        self._key_set = frozenset(self.keys)
        self._heads = frozenset(
            key[:n] for key in self.keys for n in range(1, HEAD + 1)
        )

    def spans(self, text: Sequence[str]) -> Iterator[tuple[int, int, str]]:
        """Every name in a text of pieces: (first piece, end, key). In order of the first piece;
        names inside longer names are included."""
        heads = self._heads
        for start in [i for i, piece in enumerate(text) if piece[:HEAD] in heads]:
            joined = ""
            for end in range(start, len(text)):
                joined += text[end]
                if joined in self._key_set:
                    yield start, end + 1, joined
                # Keys that begin with what is joined so far follow it in order.
                at = bisect_left(self.keys, joined)
                if at == len(self.keys) or not self.keys[at].startswith(joined):
                    break

    def removed(self, text: str) -> str:
        """A text without the names in it, parts joined by spaces."""
        folded, starts, ends = fold_with_places(text)
        places = [match.span() for match in _pattern(folded).finditer(folded)]
        characters = list(text)
        for first, end, _ in self.spans([folded[start:stop] for start, stop in places]):
            start, stop = starts[places[first][0]], ends[places[end - 1][1] - 1]
            characters[start:stop] = " " * (stop - start)
        return " ".join("".join(characters).split())

    def longest(self, text: Sequence[str]) -> list[str]:
        """Return the different names in a text, in order, except those inside a longer one."""
        matches = list(self.spans(text))
        starts = np.array([start for start, _, _ in matches], dtype=np.int64)
        ends = np.array([end for _, end, _ in matches], dtype=np.int64)
        inside = inside_longer(
            np.zeros(len(matches), dtype=np.int64), starts, ends
        ).tolist()
        shown: dict[str, None] = {}
        for (_, _, key), is_inside in zip(matches, inside, strict=True):
            if not is_inside:
                shown.setdefault(key)
        return list(shown)


def inside_longer(rows: IntArray, starts: IntArray, ends: IntArray) -> BoolArray:
    """Return which spans `[start, end)` lie within a longer span of their row. All arrays are (n,).
    Spans must differ, and none may be empty."""
    order = np.lexsort((-ends, starts, rows))
    width = int(ends.max(initial=0))  # of a row, so that none reaches into the next
    reach = ends[order] + rows[order] * width
    before = np.maximum.accumulate(reach)
    inside = np.zeros(len(rows), dtype=bool)
    inside[order[1:]] = before[:-1] >= reach[1:]
    return inside


def title_names(title: str) -> list[str]:
    """Names in a title: by their form, and words with numbers.

    So "iPhone 15" is one, and the word of a variant behind it belongs to it ("15 Pro"). A title of
    up to four words in which none is found is a name itself.
    """
    title = " ".join(plain_signs(title).split())
    names = _names(title)
    if not names and 0 < len(title.split()) <= _MOST_TITLE_WORDS:
        return [title]
    return names


def file_names(source: str) -> list[str]:
    """Return the names in the last part of a path or address, without its suffix. Underscores, or
    else hyphens, count as spaces."""
    last = re.split(r"[/\\]", re.split(r"[?#]", plain_signs(source))[0].rstrip("/\\"))[
        -1
    ]
    words = " ".join(_SUFFIX.sub("", last).replace("_", " ").split())
    return _names(words if " " in words else words.replace("-", " "))


def _names(text: str) -> list[str]:
    """Return the names that occur in the text as whole pieces.

    If two end alike, one stays: the shorter, which finds both ("CA-IS3722HS", "IS3722HS"), unless
        the longer alone has a digit ("A10 Pro Max", "Pro Max").
    """
    names = {name_key(name): name for name in _candidates(text)}
    whole = {key for _, _, key in Names(names).spans(pieces(text))}
    parts = {key: pieces(name) for key, name in names.items() if key in whole}
    dropped = set()
    for long, short in permutations(parts, 2):
        if parts[long][-len(parts[short]) :] == parts[short]:
            dropped.add(short if _has_digit(long) and not _has_digit(short) else long)
    return [names[key] for key in parts if key not in dropped]


def _candidates(text: str) -> list[str]:
    """Names by their form, then numbered words, with their variants."""
    names = list(names_by_form(text))
    for match in _NUMBERED.finditer(text):
        if match[1].casefold() not in _NOT_NUMBERED:
            names.append(match.group())
    return [_with_variant(name, text) for name in names]


def _with_variant(name: str, text: str) -> str:
    start = text.find(name)
    # A name that is written differently in the text has no word after it.
    if start < 0 or not _has_digit(name):
        return name
    variant = _VARIANT.match(text, start + len(name))
    return name + variant.group() if variant else name


def _has_digit(name: str) -> bool:
    return any(map(str.isdigit, name))
