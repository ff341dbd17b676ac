"""Labelled questions from a file: JSON Lines, JSON or CSV, as Excel writes it too."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from structrag.errors import InvalidDocument, InvalidParameter
from structrag.evaluation.labelled import GoldQuestion
from structrag.evaluation.measure import Span
from structrag.reading.data.csv import delimiter_of
from structrag.reading.decoding import decoded
from structrag.records import Document

FIELDS = {
    "question": "question",
    "query": "question",
    "doc": "docs",
    "quote": "quotes",
    "answer": "answers",
    "span": "spans",
}


def read_questions(
    path: str | os.PathLike[str], documents: Sequence[Document]
) -> list[GoldQuestion]:
    """The questions of a file, with their gold found in the documents.

    A question is an object with `question` and one kind of gold:

    - `spans`: `[document, start, end]` or `{"doc", "start", "end"}`, characters of `Document.text`.
      Together they are the evidence.
    - `quotes`: passages to be found word for word (white space aside) in `Document.text`, so with
      the markup that Markdown has. All are asked for, at any of their places.
    - `answers`: spellings of one answer. Any place of any of them will do.
    - `docs`: documents. One chunk of each is asked for. Beside quotes or answers they say where to
      look for these.

    A single value may replace a list, and `quote`, `answer`, `doc`, `span` the plurals. Documents
    are named by id, or by the end of it (`guide.md`, `docs/guide.md`) where that is one document's
    alone. A `.jsonl` file has an object a line, a `.json` file a list of them (or `{"questions":
    [...]}`), a `.csv` or `.tsv` file a row each under these names, with `doc`, `start`, `end` for a
    span; cells are separated by commas, semicolons or tabs.

    Raises:
        InvalidParameter: the file cannot be read, or has no question; or a question of it is not
            as above, names an unknown document, or has a quote or answers that no document holds.
            The message says which line.
    """
    path = Path(path)
    finder = QuoteFinder(documents)
    ids = [document.id for document in documents]
    lengths = {document.id: len(document.text) for document in documents}
    questions = []
    for place, record in _records(path):
        try:
            questions.append(_question(record, ids, lengths, finder))
        except InvalidParameter as error:
            raise InvalidParameter(f"{place} of {path.name}: {error}") from None
    if not questions:
        raise InvalidParameter(
            f"There is no question in {str(path)!r}. Give at least one, with its gold."
        )
    return questions


def _records(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the questions as they are in the file, each with its place."""
    suffix = path.suffix.lower()
    if suffix not in _READERS:
        raise InvalidParameter(
            "The file of questions must end in .jsonl, .json, .csv or .tsv; got "
            f"{str(path)!r}."
        )
    try:
        text = decoded(path.read_bytes(), path.name).text
    except (OSError, InvalidDocument) as error:
        reason = getattr(error, "strerror", None) or "it holds no text"
        raise InvalidParameter(
            f"Cannot read the questions in {str(path)!r}: {reason}."
        ) from error
    yield from _READERS[suffix](text, path.name)


def _csv_records(text: str, name: str) -> Iterator[tuple[str, Any]]:
    delimiter, begin = delimiter_of(text, name)
    reader = csv.DictReader(io.StringIO(text[begin:], newline=""), delimiter=delimiter)
    columns = [key.strip().casefold() for key in reader.fieldnames or ()]
    if columns and not {"question", "query"} & set(columns):
        raise InvalidParameter(
            f"The first row of {name} must name its columns, 'question' and one of 'quote', "
            f"'answer', 'span' and 'doc'; got {', '.join(map(repr, columns))}."
        )
    reader.fieldnames = columns
    is_declared = begin > 0
    for row in reader:
        filled = {key: value for key, value in row.items() if key and value}
        if filled:
            yield f"Line {reader.line_num + is_declared}", filled


def _json_records(text: str, name: str) -> Iterator[tuple[str, Any]]:
    records = _parsed(text, f"{name} is")
    records = records.get("questions") if isinstance(records, dict) else records
    if not isinstance(records, list):
        raise InvalidParameter(
            f"{name} must hold a list of questions, or an object with one under 'questions'."
        )
    for number, record in enumerate(records, start=1):
        yield f"Question {number}", record


def _line_records(text: str, name: str) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield f"Line {number}", _parsed(line, f"Line {number} of {name} is")


_READERS: Mapping[str, Callable[[str, str], Iterator[tuple[str, Any]]]] = {
    ".csv": _csv_records,
    ".tsv": _csv_records,
    ".json": _json_records,
    ".jsonl": _line_records,
}


def _parsed(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidParameter(
            f"{what} not JSON: {getattr(error, 'msg', error)}."
        ) from None


def _question(
    record: Any, ids: Sequence[str], lengths: Mapping[str, int], finder: QuoteFinder
) -> GoldQuestion:
    fields = _fields(record)
    question = fields["question"]
    docs = tuple(_document(name, ids) for name in _texts(fields, "docs"))
    quotes, answers = _texts(fields, "quotes"), _texts(fields, "answers")
    spans = tuple(_span(value, ids, lengths) for value in _spans(fields.get("spans")))
    _check_gold(spans, quotes, answers, docs)
    if spans:
        return GoldQuestion(question, spans)
    spellings = [answers] if answers else [[quote] for quote in quotes]
    places = tuple(_places(texts, docs, finder) for texts in spellings)
    return GoldQuestion(question, places=places, docs=() if places else docs)


def _fields(record: Any) -> dict[str, Any]:
    """A question's fields by their names in the plural."""
    if not isinstance(record, Mapping):
        raise InvalidParameter(
            "a question must be an object with 'question' and its gold; "
            f"got {type(record).__name__}."
        )
    fields = {FIELDS.get(str(key), str(key)): value for key, value in record.items()}
    question = fields.get("question")
    if not isinstance(question, str) or not question.strip():
        raise InvalidParameter(
            f"'question' must be a non-blank string; got {question!r}."
        )
    if "start" in fields and "spans" not in fields:  # the columns of a CSV file
        doc = fields.pop("docs", None)
        fields["spans"] = [
            {"doc": doc, "start": fields["start"], "end": fields.get("end")}
        ]
    return fields


def _check_gold(
    spans: Sequence[Span],
    quotes: Sequence[str],
    answers: Sequence[str],
    docs: Sequence[str],
) -> None:
    """Refuse a question without gold, or with several kinds of it."""
    if sum(map(bool, (spans, quotes, answers))) > 1:
        raise InvalidParameter(
            "a question must have one kind of gold, 'spans', 'quotes' or 'answers'; got several."
        )
    if not (spans or quotes or answers or docs):
        raise InvalidParameter(
            "a question must have its gold as 'spans', 'quotes', 'answers' or 'docs'; got none."
        )


def _texts(fields: Mapping[str, Any], name: str) -> list[str]:
    """A field's one text or list of texts as a list."""
    value = fields.get(name)
    if value is None:
        return []
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(text, str) and text.strip() for text in values):
        raise InvalidParameter(
            f"{name!r} must be a non-blank string or a list of them; got {value!r}."
        )
    return values


def _spans(value: Any) -> list[Any]:
    """One span or a list of them as a list."""
    if value is None:
        return []
    if not isinstance(value, list):
        return [value]
    # A list that begins with a document's name is a span itself.
    return [value] if value and isinstance(value[0], str) else value


def _span(value: Any, ids: Sequence[str], lengths: Mapping[str, int]) -> Span:
    parts: Any = value
    if isinstance(value, Mapping):
        parts = [value.get(name) for name in ("doc", "start", "end")]
    try:
        name, start, end = parts
        start, end = int(start), int(end)
    except (TypeError, ValueError):
        raise InvalidParameter(
            f"a span must be [document, start, end]; got {value!r}."
        ) from None
    doc_id = _document(name, ids)
    if not 0 <= start < end <= lengths[doc_id]:
        raise InvalidParameter(
            f"a span must have 0 <= start < end <= {lengths[doc_id]}, "
            f"the characters of {doc_id!r}; got {start} and {end}."
        )
    return doc_id, start, end


def _document(name: Any, ids: Sequence[str]) -> str:
    """The id of a document named by it or by its end."""
    if name in ids:
        return str(name)
    parts = PurePath(str(name)).parts
    matches = [
        doc_id
        for doc_id in ids
        if parts and PurePath(doc_id).parts[-len(parts) :] == parts
    ]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise InvalidParameter(
            f"{name!r} matches the end of {len(matches)} document names, such as {matches[0]!r}; "
            "write a longer part of the name."
        )
    raise InvalidParameter(
        f"there is no document {name!r}; there are {len(ids)}, such as {min(ids)!r}."
    )


def _places(
    texts: Sequence[str], docs: Sequence[str], finder: QuoteFinder
) -> tuple[Span, ...]:
    """The places of any of the texts."""
    places = tuple(place for text in texts for place in finder.find(text, docs))
    if not places:
        where = f"in {docs[0]!r}" if len(docs) == 1 else "in the documents"
        shown = texts[0] if len(texts[0]) <= 80 else f"{texts[0][:80]}…"
        others = (
            f" (nor its {len(texts) - 1} other spellings)" if len(texts) > 1 else ""
        )
        raise InvalidParameter(
            f"{shown!r} was not found {where}{others}; it must occur there word for word, markup "
            "included."
        )
    return places


# -- where documents hold a quote, exactly but for white space


MOST_PLACES = 1000  # of one quote; an answer that is found more often tells nothing
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class _Collapsed:
    """A text with single spaces, and where its words were."""

    text: str
    starts: list[int]  # of each word in `text`
    sources: list[int]  # of each word in the document

    def source(self, offset: int) -> int:
        """The document's character for a character of a word."""
        word = bisect_right(self.starts, offset) - 1
        return self.sources[word] + offset - self.starts[word]


@dataclass(frozen=True, slots=True)
class QuoteFinder:
    """Finds quotes in documents.

    A document is read when it is first searched.

    Example:
        >>> QuoteFinder([Document("The Nova\\nrings.", id="nova")]).find("Nova rings")
        [('nova', 4, 14)]
    """

    documents: Sequence[Document]
    _read: dict[str, _Collapsed] = field(default_factory=dict)

    def find(self, quote: str, doc_ids: Sequence[str] = ()) -> list[Span]:
        """The places of a quote in these documents, in their order.

        Without `doc_ids` all documents are searched. There are at most 1,000 places, none for a
        blank quote. Case and punctuation count. A quote that begins or ends with an ASCII letter
        or digit does not match inside a longer run of those.
        """
        words = " ".join(quote.split())
        if not words:
            return []
        spans: list[Span] = []
        for document in self.documents:
            if doc_ids and document.id not in doc_ids:
                continue
            collapsed = self._read.get(document.id)
            if collapsed is None:
                collapsed = self._read[document.id] = _collapse(document.text)
            for start, end in _places_in(collapsed, words, MOST_PLACES - len(spans)):
                spans.append((document.id, start, end))
        return spans


def _collapse(text: str) -> _Collapsed:
    words = []
    starts = []
    sources = []
    length = 0
    for match in _WORD.finditer(text):
        words.append(match.group())
        starts.append(length)
        sources.append(match.start())
        length += len(match.group()) + 1
    return _Collapsed(" ".join(words), starts, sources)


def _places_in(collapsed: _Collapsed, words: str, most: int) -> list[tuple[int, int]]:
    places: list[tuple[int, int]] = []
    at = collapsed.text.find(words)
    while at >= 0 and len(places) < most:
        end = at + len(words)
        if not _runs_on(collapsed.text, at) and not _runs_on(collapsed.text, end):
            places.append((collapsed.source(at), collapsed.source(end - 1) + 1))
        at = collapsed.text.find(words, at + 1)
    return places


def _runs_on(text: str, border: int) -> bool:
    """Return True if ASCII letters or digits are on both sides of a place."""
    sides = text[border - 1 : border + 1] if border else ""
    return len(sides) == 2 and sides.isascii() and sides.isalnum()
