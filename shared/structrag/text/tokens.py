"""Count tokens: an estimate, and exact counters of two libraries.

The estimate needs nothing. A word has the fewest pieces of a vocabulary that make it up: those of
cl100k_base (of tiktoken, see `token_pieces_LICENSE.txt`) without the space in front, the most
frequent of ASCII and all others, as characters of Latin-1, one a line. `python
benchmarks/token_estimate.py --pieces` writes the file.

The counters are for tiktoken and Hugging Face. A token counter is any callable `str -> int`. The
counters made here are small picklable objects: they hold names, and each process loads the
tokenizer itself.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import math
import os
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from importlib.util import find_spec
from numbers import Real
from pathlib import Path
from typing import Any

from structrag.errors import InvalidParameter, check_choice, require

LONGEST_PIECE = 20  # bytes
_REMEMBERED = 100_000  # words
_LONG = 64  # characters of a word that is not remembered


class Remembered(dict[str, float]):
    """Remembers the results of a function of words. Forgets all when full."""

    def __init__(self, function: Callable[[str], float]) -> None:
        self._function = function

    def __missing__(self, word: str) -> float:
        tokens = self._function(word)
        if len(word) <= _LONG:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[word] = tokens
        return tokens


def fewest_pieces(word: str) -> int:
    """The fewest pieces that `word` can be cut into."""
    pieces, lengths = _vocabulary()
    word = _as_bytes(word)
    if word in pieces:
        return 1
    size = len(word)
    # Up to each place. Every byte is a piece; what is written behind the end is not read.
    fewest = list(range(size + LONGEST_PIECE + 1))
    for start in range(size):
        tokens = fewest[start] + 1
        if tokens < fewest[start + 1]:
            fewest[start + 1] = tokens
        if tokens < fewest[start + 2] and word[start : start + 2] in pieces:
            fewest[start + 2] = tokens
        for length in lengths.get(word[start : start + 3], ()):
            end = start + length
            if tokens < fewest[end] and word[start:end] in pieces:
                fewest[end] = tokens
    return fewest[size]


def goes_with_space(character: str) -> bool:
    """Whether a piece holds a space and the character, or its first bytes."""
    pieces, code = _vocabulary()[0], _as_bytes(character)
    return any(f" {code[:end]}" in pieces for end in range(1, len(code) + 1))


def _as_bytes(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogatepass").decode("latin-1")


@lru_cache(maxsize=1)
def _vocabulary() -> tuple[frozenset[str], dict[str, list[int]]]:
    """The pieces, and how long those are that begin with the same three characters."""
    packed = (files("structrag.text") / "token_pieces.txt.gz").read_bytes()
    pieces = frozenset(gzip.decompress(packed).decode("latin-1").split("\n"))
    lengths: defaultdict[str, set[int]] = defaultdict(set)
    for piece in pieces:
        if len(piece) > 2:
            lengths[piece[:3]].add(len(piece))
    return pieces, {start: sorted(sizes) for start, sizes in lengths.items()}


TokenCounter = Callable[[str], int]
_SAMPLE = "two words"  # what a counter is tried with

# Counted character by character: scripts written without spaces (Thai, Lao, Myanmar, Khmer,
# Kana, Han), which would be one long word, and emoji.
_SINGLE = re.compile(
    "([\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e81-\u0edf\u1000-\u109f\u1780-\u17dd\u17e0-\u17f9"
    "\u19e0-\u19ff\u200d\ua9e0-\ua9fe\uaa60-\uaa7f\u2e80-\u2fd5\u3005\u3007\u3021-\u3029"
    "\u3038-\u303b\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufad9\ufe0f\uff66-\uff9d\U0001b000-\U0001faff\U00020000-\U000323af]+)"
)
# all of them and others; three times as fast to look for
_MAYBE_SINGLE = re.compile("[^\x00-\u0e00\u2000-\u200c\u200e-\u2e7f]")
# No token goes over the end of a run of letters or digits.
_PARTS = re.compile(r"[\W_]*[^\W\d_]+|\d+|[\W_]+")
_LINE_ENDS = (".\n", ",\n", ";\n", ":\n", ")\n", "{\n", "}\n", "]\n")
_SPACES = re.compile(r"\s\s+")
_SURROGATE = re.compile("[\ud800-\udfff]")

_FOLDER_VARIABLE = "TIKTOKEN_CACHE_DIR"  # where tiktoken looks for an encoding's file


def count_tokens(text: str) -> int:
    """Estimate the number of tokens of `text` without a tokenizer.

    Close to what cl100k_base counts, in all languages, code, numbers and encoded data: the fewest
    pieces of its vocabulary that make up each word (characters of Chinese, Japanese, Thai, Lao,
    Khmer, Burmese and emoji one by one), and what lines, indentation and numbers add. "" gives 0,
    "a" 1, ten common words 10. For two texts put together the estimate is never more than the sum
    of both. `benchmarks/token_estimate.py` compares it with the count by kind of text.
    """
    tokens: float = _space_tokens(text)
    if not text.isascii() and _MAYBE_SINGLE.search(text):
        parts = _SINGLE.split(text)
        tokens += sum(map(_PIECES.__getitem__, "".join(parts[1::2])))
        text = " ".join(parts[::2])
    return math.ceil(tokens + sum(map(_WORDS.__getitem__, text.split())))


def _space_tokens(text: str) -> float:
    """Tokens of white space other than one space between words."""
    lines = text.count("\n")
    tokens: float = lines + text.count("\t") + text[:1].isspace()
    if lines:  # a sign at the end of a line and the line's end are one token
        tokens -= sum(map(text.count, _LINE_ENDS))
    if lines or "  " in text:
        tokens += sum(map(_RUNS.__getitem__, _SPACES.findall(text)))
    return tokens


def _run_tokens(run: str) -> int:
    """Count the tokens that a run of white space adds to its lines and tabs: its lines are one
    token, and so is the indentation after them."""
    _, line, indentation = run.rpartition("\n")
    tokens = bool(line) + ("  " in indentation or "\t" in indentation)
    return tokens - run.count("\n") - run.count("\t")


def _word_tokens(word: str) -> float:
    """Tokens of a word and the space before it. Words that are not ASCII are rarely cut into as few
    pieces as they could be."""
    extra = (
        0 if word.isascii() else len(word.encode("utf-8", "surrogatepass")) - len(word)
    )
    tokens = sum(map(_PIECES.__getitem__, _PARTS.findall(word)))
    return tokens + (not goes_with_space(word[0])) + extra / 32


_WORDS, _PIECES, _RUNS = map(Remembered, (_word_tokens, fewest_pieces, _run_tokens))


@dataclass(frozen=True, slots=True)
class TiktokenCounter:
    """Counts the tokens of a tiktoken encoding. Special tokens in the text count as ordinary
    characters."""

    encoding: str  # "cl100k_base", "o200k_base", "p50k_base" or "r50k_base"

    def __call__(self, text: str) -> int:
        return len(_tiktoken_encoding(self.encoding).encode_ordinary(text))


@dataclass(frozen=True, slots=True)
class HuggingFaceCounter:
    """Counts the tokens of a Hugging Face tokenizer. The special tokens that a model adds ([CLS],
    [SEP]) do not count."""

    name: str  # class, model name and a digest of the vocabulary
    tokenizer: Any = field(repr=False, compare=False)

    def __call__(self, text: str) -> int:
        text = without_surrogates(text)
        if hasattr(self.tokenizer, "to_str"):
            return len(self.tokenizer.encode(text, add_special_tokens=False).ids)
        options = {
            "add_special_tokens": False,
            "truncation": False,
            "padding": False,
            "verbose": False,
        }
        return len(self.tokenizer(text, **options)["input_ids"])


def check_counter(counter: TokenCounter) -> TokenCounter:
    """The counter itself, tried on two words. Raises InvalidParameter where it cannot be called or
    returns no number, such as an encoder that returns the tokens themselves."""
    if not callable(counter):
        raise InvalidParameter(
            f"counter must be a function from a string to its number of tokens; got {counter!r}."
        )
    count = counter(_SAMPLE)
    if not isinstance(count, Real) or count < 0:
        raise InvalidParameter(
            f"counter must be a function from a string to its number of tokens; of {_SAMPLE!r} it "
            f"returned {count!r}. If it returns the tokens themselves, pass lambda text: "
            "len(encode(text))."
        )
    return counter


def tiktoken_counter(encoding: str = "cl100k_base") -> TokenCounter:
    """A counter for a tiktoken encoding.

    tiktoken itself finds the file of the encoding in `TIKTOKEN_CACHE_DIR`, or downloads it once.
    An installed llama-index-core carries cl100k_base and o200k_base, and its folder is used where
    that variable is not set.

    Raises InvalidParameter for an unknown encoding, and for one that is neither on disk nor can be
    downloaded; MissingExtra when tiktoken is not installed.
    """
    _tiktoken_encoding(encoding)
    return TiktokenCounter(encoding)


def huggingface_counter(tokenizer: Any) -> TokenCounter:
    """A counter for a `transformers` tokenizer or a `tokenizers.Tokenizer`.

    The tokenizer's own truncation and padding are ignored, and the caller's object is not changed.
    Raises InvalidParameter for anything that cannot encode.
    """
    kind = type(tokenizer).__qualname__
    if hasattr(tokenizer, "to_str") and hasattr(tokenizer, "no_truncation"):
        tokenizer = type(tokenizer).from_str(tokenizer.to_str())
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return HuggingFaceCounter(f"{kind}:{_digest(tokenizer.to_str())}", tokenizer)
    if not (callable(tokenizer) and hasattr(tokenizer, "get_vocab")):
        raise InvalidParameter(
            "tokenizer must be a transformers tokenizer or a tokenizers.Tokenizer; "
            f"got {kind}. Any other counter can be passed as a function from str to int."
        )
    vocabulary = sorted(tokenizer.get_vocab().items())
    model = getattr(tokenizer, "name_or_path", "") or "unnamed"
    return HuggingFaceCounter(f"{kind}:{model}:{_digest(repr(vocabulary))}", tokenizer)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def without_surrogates(text: str) -> str:
    """`text` with U+FFFD for each surrogate, so that no offset moves. Surrogates have no UTF-8
    form, so tokenizers and services refuse them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text


@functools.lru_cache(maxsize=8)
def _tiktoken_encoding(name: str) -> Any:
    tiktoken = require("tiktoken", extra="models")
    spec = find_spec("llama_index")
    for location in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(location, "core", "_static", "tiktoken_cache")
        if folder.is_dir():  # LlamaIndex itself sets it when it is imported
            os.environ.setdefault(_FOLDER_VARIABLE, str(folder))
    check_choice("encoding", name, tiktoken.list_encoding_names())
    try:
        return tiktoken.get_encoding(name)
    except OSError as error:
        raise InvalidParameter(
            f"encoding {name!r} is not on this machine, and tiktoken could not download it "
            f"({error}). Try again with a connection, name the folder that has it in "
            f"{_FOLDER_VARIABLE}, or use another counter."
        ) from error
