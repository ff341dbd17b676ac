"""Answer strings: Hits@k by tokens, exact match and token F1 of SQuAD."""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

import regex

from structrag.errors import InvalidParameter, check_at_least

_TOKENS = regex.compile(r"[\p{L}\p{M}\p{N}]+")
_MARKS = regex.compile(r"\p{Mn}+")
_WITHOUT_SPACES = regex.compile(
    r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}"
    r"\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]"
)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def answer_tokens(text: str, *, strip_marks: bool = False) -> list[str]:
    """The tokens that Hits@k compares.

    They are runs of letters, marks and digits, in NFKC and casefolded. Accents are kept ("Beyoncé"
    is not "Beyonce") unless `strip_marks`, which removes non-spacing marks.

    Example:
        >>> answer_tokens("19.5 Hours")
        ['19', '5', 'hours']
    """
    tokens: list[str] = _TOKENS.findall(_fold(text, strip_marks))
    return tokens


def has_answer(aliases: Iterable[str], text: str, *, strip_marks: bool = False) -> bool:
    """Return True if any alias occurs in the text as a contiguous token sequence.

    An alias in a script without spaces (Han, Kana, Thai, Lao, Khmer, Myanmar) is looked for as a
    substring after white space is removed on both sides. An alias without tokens never occurs.

    Example:
        >>> has_answer(["nineteen hours"], "It lasts nineteen hours.")
        True
    """
    _check_list("aliases", aliases)
    folded = _fold(text, strip_marks)
    tokens = f" {' '.join(_TOKENS.findall(folded))} "
    compact = ""
    for alias in aliases:
        folded_alias = _fold(alias, strip_marks)
        alias_tokens = _TOKENS.findall(folded_alias)
        if not alias_tokens:
            continue
        if _WITHOUT_SPACES.search(folded_alias):
            compact = compact or "".join(folded.split())
            if "".join(folded_alias.split()) in compact:
                return True
        elif f" {' '.join(alias_tokens)} " in tokens:
            return True
    return False


def hits_at_k(
    aliases: Sequence[str], texts: Sequence[str], k: int, *, strip_marks: bool = False
) -> float | None:
    """Return 1 if one of the first k texts contains the answer, else 0.

    A text contains it if it `has_answer` for any alias, so pass every alias. Each chunk is searched
    by itself, never across a border. None when no alias has a token. Short aliases also match
    inside numbers ("3" in "3.50").

    Example:
        >>> hits_at_k(["19 h", "19 hours"], ["The Nova.", "It lasts 19 hours."], k=1)
        0.0
    """
    check_at_least("k", k, 1)
    _check_list("aliases", aliases)
    if not any(answer_tokens(alias, strip_marks=strip_marks) for alias in aliases):
        return None
    return float(
        any(has_answer(aliases, text, strip_marks=strip_marks) for text in texts[:k])
    )


def normalize_answer(text: str) -> str:
    """SQuAD's normal form of an answer.

    Lower case, no ASCII punctuation, no "a", "an", "the", single spaces.

    Example:
        >>> normalize_answer("The Nova, a phone.")
        'nova phone'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def token_f1(references: Iterable[str], prediction: str) -> float | None:
    """The best F1 of bags of tokens over the references.

    In [0, 1]. Tokens are those of SQuAD's normal form. 0 without a common token, also when both are
    empty. None without references. For QASPER the reference of an unanswerable question is the
    string "Unanswerable", of a boolean one "Yes" or "No".

    Example:
        >>> token_f1(["nineteen hours"], "about nineteen hours of talk")
        0.5714285714285714
    """
    _check_list("references", references)
    predicted = _bag(prediction)
    return max(
        (_bag_f1(predicted, _bag(reference)) for reference in references), default=None
    )


def _check_list(name: str, gold: Iterable[str]) -> None:
    if isinstance(gold, str):
        raise InvalidParameter(
            f"{name} must be a list of strings; got the string {gold[:60]!r}. "
            "The gold comes first, then what was found."
        )


def _equal(prediction: str, normal: str, reference: str) -> bool:
    expected = normalize_answer(reference)
    return normal == expected if expected else prediction == reference


def _bag(text: str) -> Counter[str]:
    return Counter(normalize_answer(text).split())


def _bag_f1(predicted: Counter[str], reference: Counter[str]) -> float:
    common = (predicted & reference).total()
    return 2 * common / (predicted.total() + reference.total()) if common else 0.0


def _fold(text: str, strip_marks: bool) -> str:
    folded = unicodedata.normalize(
        "NFKC", unicodedata.normalize("NFKC", text).casefold()
    )
    if strip_marks:
        folded = unicodedata.normalize(
            "NFC", _MARKS.sub("", unicodedata.normalize("NFD", folded))
        )
    return folded
