"""Citations of passages that are found again after the document was edited. docs/reference.md has
their form, from which the check can be written in any language."""

from __future__ import annotations

import re
import reprlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from structrag.errors import InvalidParameter
from structrag.records import Document, citation_of

_FORM = re.compile(r"c1~([^~]*)~((\d{1,12})-(\d{1,12})~([\w-]{8})([\w-]{48})).*", re.A)
_BASE = np.uint64(0x9E3779B97F4A7C15)  # of the hashes
_INVERSE = np.uint64(pow(int(_BASE), -1, 1 << 64))
_HALF = np.uint64(32)
ANCHOR = 24  # characters of an anchor, of a short passage fewer
_BESIDE = 240  # characters beside a passage in which its neighbours' anchors are
_NEIGHBOUR = 3  # anchors of the passage that one of a neighbour is worth

Array = NDArray[Any]
State = Literal["there", "moved", "changed", "gone"]


@dataclass(frozen=True, slots=True)
class Resolution:
    """What has become of a cited passage. `text` is always `document.text[start:end]`.

    Example:
        >>> Resolution("gone")
        Resolution(state='gone', start=0, end=0, text='')

    Attributes:
        state: "there": word for word at its place. "moved": word for word at another place.
            "changed": `text` is what stands between its neighbours, or between those ends of it
            that are left. "gone": nothing of it is left; `text` is empty, `start` and `end` are 0.
    """

    state: State
    start: int = 0
    end: int = 0
    text: str = ""


def resolve(citation: str, document: Document) -> Resolution:
    """Find a cited passage in its document as it is now, offline and in linear time.

    Example:
        >>> from structrag import Index, read_text
        >>> index = Index()
        >>> _ = index.add([read_text("# Pumps\\n\\nPumps move water.", id="guide")])
        >>> citation = index.search("water", route="bm25")[0].citation
        >>> edited = read_text("Read this first.\\n\\n# Pumps\\n\\nPumps move water.", id="guide")
        >>> resolve(citation, edited)
        Resolution(state='moved', start=18, end=44, text='# Pumps\\n\\nPumps move water.')

    Of equal passages the one between the same neighbours is taken, then the one nearest to the old
    place.

    Args:
        citation: `Hit.citation`.
        document: The document that it names, or one of the same text.

    Raises:
        InvalidParameter: the citation is incomplete or altered, or of another document.
    """
    doc_id, parts = _parsed(citation)
    if document.id != doc_id and text_digest(document.text) != parts[5]:
        raise InvalidParameter(
            f"document must be the cited one, {doc_id!r}, or have the same text; got "
            f"{document.id!r}."
        )
    start, end = int(parts[3]), int(parts[4])
    return _found(document.text, start, end - start, urlsafe_b64decode(parts[6]))


def cited_document(citation: str) -> str:
    """The id of the document of a citation. Raises InvalidParameter as `resolve` does."""
    return _parsed(citation)[0]


def _parsed(citation: str) -> tuple[str, re.Match[str]]:
    parts = _FORM.fullmatch(citation) if isinstance(citation, str) else None
    doc_id = unquote(parts[1], errors="surrogatepass") if parts else ""
    if not parts or citation_of(doc_id, parts[2]) != citation:
        raise InvalidParameter(
            "citation must be one that `hit.citation` gave, whole and unchanged; got "
            f"{reprlib.repr(citation)}. Copy it again."
        )
    return doc_id, parts


def text_digest(text: str) -> str:
    """The digest of a document's text in its citations."""
    return urlsafe_b64encode(_sha(text)[:6]).decode()


def cite(text: str, start: int, end: int, digest: str) -> str:
    """The part of a citation that follows the document's id, for `text[start:end]` without the
    white space around it.

    `digest` is the `text_digest` of the document. Characters of it that are not known are "\\0".
    """
    passage = text[start:end].strip()
    start = text.index(passage, start)
    end = start + len(passage)
    before = _solid(text[max(0, start - _BESIDE) : start])[-ANCHOR:].rjust(ANCHOR, "\0")
    after = _solid(text[end : end + _BESIDE])[:ANCHOR].ljust(ANCHOR, "\0")
    inner, width = _solid(passage), _width(len(passage))
    rest = max(0, len(inner) - width)
    codes = _codes(before + inner + after)
    beside, inside = _hashes(codes, ANCHOR), _hashes(codes, width)[ANCHOR:]
    whole = _hashes(_codes(passage), len(passage))[0]
    hashes = [whole, beside[0], *(inside[rest * i // 3] for i in range(4)), beside[-1]]
    data = _sha(passage)[:8] + np.array(hashes, ">u4").tobytes()
    return f"{start}-{end}~{digest}{urlsafe_b64encode(data).decode()}"


def _found(text: str, start: int, length: int, data: bytes) -> Resolution:
    whole, *values = np.frombuffer(data, ">u4")[2:].tolist()
    codes, width = _codes(text), _width(length)
    solid = np.flatnonzero([not character.isspace() for character in text])
    padded = np.pad(codes[solid], ANCHOR)
    before, *inside, after = (
        np.flatnonzero(_hashes(padded, size) == value)
        for value, size in zip(values, (ANCHOR, *[width] * 4, ANCHOR), strict=True)
    )
    begins = before + ANCHOR
    # From each place the anchors in their order, up to the neighbour behind.
    starts = np.flatnonzero(np.bincount(np.concatenate([[ANCHOR], begins, *inside])))
    reach, stops = starts + 4 * length + 100, _next(after, starts)
    closed = stops <= reach
    steps = [starts]
    counts = np.zeros(len(starts), int)
    for places in inside:
        following = _next(places, steps[-1])
        fits = following + width <= np.minimum(stops, reach)
        counts += fits
        steps.append(np.where(fits, following, steps[-1]))
    worth = counts + _NEIGHBOUR * (np.isin(starts, begins) + 1 * closed)
    offsets = np.pad(solid, (ANCHOR, ANCHOR + 1), constant_values=(0, len(text)))
    best = np.lexsort((abs(offsets[starts] - start), -worth))[0]
    changed = counts[best] > 0 and worth[best] >= 5 + (width < ANCHOR // 2)
    # It begins and ends with its own anchors, else at its neighbours.
    begin, stop = steps[1][best], steps[-1][best] + width
    limit = stops[best] if closed[best] else stop
    stop = stop if fits[best] else limit

    sites = np.flatnonzero(_hashes(codes, length) == whole)
    firsts, lasts = (ANCHOR + np.searchsorted(solid, sites + n) for n in (0, length))
    beside = np.isin(firsts, begins) + 1 * np.isin(lasts, after)
    for i in np.lexsort((abs(sites - start), -beside))[:1]:
        site = int(sites[i])
        inner = starts[best] <= firsts[i] < limit
        # An equal passage is not the one that was changed between its neighbours.
        is_it = inner or not changed or worth[best] <= 4 + _NEIGHBOUR * beside[i]
        if is_it and _sha(text[site : site + length])[:8] == data[:8]:
            state: State = "there" if site == start else "moved"
            return Resolution(state, site, site + length, text[site : site + length])
    if not changed:
        return Resolution("gone")
    first, last = int(offsets[begin]), int(offsets[stop - 1]) + 1
    return Resolution("changed", first, last, text[first:last])


def _next(places: Array, at: Array) -> Array:
    following: Array = np.append(places, 1 << 60)[np.searchsorted(places, at)]
    return following


def _width(length: int) -> int:
    """The characters of an anchor inside a passage."""
    return max(1, min(ANCHOR, length // 4))


def _hashes(codes: Array, width: int) -> Array:
    """The hash of each run of `width` characters: the upper 32 bits of the sum of character i times
    `_BASE` to the power i + 1, modulo 2 to the power 64."""
    count = max(0, len(codes) - width + 1)
    sums = np.zeros(len(codes) + 1, np.uint64)
    np.cumsum(codes * np.full(len(codes), _BASE).cumprod(), out=sums[1:])
    shifts = np.full(count, _INVERSE).cumprod() * _BASE
    hashes: Array = (sums[len(sums) - count :] - sums[:count]) * shifts >> _HALF
    return hashes


def _codes(text: str) -> Array:
    data = text.encode("utf-32-le", "surrogatepass")
    return np.frombuffer(data, np.uint32).astype(np.uint64)


def _solid(text: str) -> str:
    """The text without white space."""
    return re.sub(r"\s+", "", text)


def _sha(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
