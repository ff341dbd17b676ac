"""Sentences by NLTK's Punkt (Kiss and Strunk 2006), for those who ask for it by name.

Nothing is ever downloaded, and no setting of NLTK is changed. NLTK takes about 1.4 seconds to
import, so it is imported by the first text.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from structrag.errors import MissingExtra, require

_WINDOW = 65_536  # characters given to Punkt at once: NLTK limits the time of a match


def punkt_starts(text: str, language: str) -> list[int]:
    """Starts of the sentences after the first, as `nltk.sent_tokenize` cuts them.

    Long texts are read in windows of whole words, which keeps memory and the time of one call
    small. A window's last sentence is read again at the start of the next window. Of a sentence
    longer than a window, the last word is read again. That is all that Punkt looks back on, so
    windows change its answer only inside words longer than a window.

    Example:
        >>> punkt_starts("Dr. Smith left. He came back.", "english")
        [16]

    Raises:
        MissingExtra: NLTK or its model of the language is not on this machine.
    """
    tokenizer = _tokenizer(language)
    starts: list[int] = []
    position = 0
    while True:
        stop = min(position + _WINDOW, len(text))
        if stop < len(text):
            stop = _last_word(text, position, stop) or stop
        spans = list(tokenizer.span_tokenize(text[position:stop]))
        starts += (position + left for left, _ in spans[1:])
        if stop == len(text):
            return starts
        if len(spans) > 1:
            position += spans[-1][0]
        else:
            position = _last_word(text, position, stop) or stop


def _last_word(text: str, left: int, right: int) -> int:
    """Return the start of the last word in `text[left:right]`; 0 unless another word or white space
    precedes it."""
    word = text[left:right].split()[-1:]
    offset = text.rindex(word[0], left, right) if word else left
    return offset if offset > left else 0


@lru_cache(maxsize=20)
def _tokenizer(language: str) -> Any:
    punkt: Any = require("nltk.tokenize.punkt", extra="paper")
    try:
        return punkt.PunktTokenizer(language)
    except (LookupError, OSError, ValueError) as error:
        folder = _folder_of_llama_index(language)
        if folder is None:
            raise MissingExtra(
                f"sentence_splitter 'punkt' needs NLTK's model of {language}, which is not in its "
                "data folders, nor in an installed llama-index-core. Run "
                "python -m nltk.downloader punkt_tab."
            ) from error
    params = punkt.PunktParameters()
    params.abbrev_types = set(_entries(folder / "abbrev_types.txt"))
    params.sent_starters = set(_entries(folder / "sent_starters.txt"))
    params.collocations = {
        tuple(line.split("\t")) for line in _entries(folder / "collocations.tab")
    }
    for line in _entries(folder / "ortho_context.tab"):
        word, flags = line.rsplit("\t", 1)
        params.ortho_context[word] = int(flags)
    return punkt.PunktSentenceTokenizer(params)


def _folder_of_llama_index(language: str) -> Path | None:
    """The copy of NLTK's models that llama-index-core brings. NLTK itself refuses to read files
    that an installer has linked."""
    spec = find_spec("llama_index")
    inside = Path("core", "_static", "nltk_cache", "tokenizers", "punkt_tab", language)
    for location in (spec.submodule_search_locations or ()) if spec else ():
        if (folder := location / inside).is_dir():
            return folder
    return None


def _entries(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line]
