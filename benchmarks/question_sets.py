"""The evaluation sets as frozen records: documents, questions, gold spans.

The data is not part of the project. It is looked for in the folder STRUCTRAG_DATA, by default
`shared/data` beside the repository. Each set there is a folder with `documents.jsonl.gz` and
`questions.jsonl.gz`.

Gold spans of HTML documents (nq) point into the HTML source; `visible` turns such a set into the
text that `structrag.reading.html.reader` reads, and moves the gold with it.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from structrag.errors import check_choice
from structrag.models.static import StaticEmbedder
from structrag.records import Document

NAMES = ("boards", "chroma", "covid_qa", "cuad", "hotpotqa", "nq", "qasper", "qmsum")
OTHER_LANGUAGES = ("xquad_de", "xquad_zh")

OffsetMap = Callable[[Document, int], int]
"""(the document as it is searched, an offset into its source) -> where the first visible
character at or after it
stands in its text; the text's length when none follows."""


class DataMissing(FileNotFoundError):
    """The evaluation data is not on this machine."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question with the evidence that answers it."""

    id: str
    question: str
    answers: tuple[str, ...]  # may be empty
    # (document id, start, end) in characters, half-open.
    gold: tuple[tuple[str, int, int], ...]
    # True: one gold span is enough (occurrences of an answer); False: all together are the evidence
    any: bool

    @property
    def mode(self) -> str:
        """The `mode` of `span_recall` that fits this question's gold."""
        return "any" if self.any else "all"


@dataclass(frozen=True)
class Dataset:
    """A question set. Every gold span lies in one of `documents`."""

    name: str
    documents: tuple[Document, ...]  # in the file's order
    questions: tuple[Question, ...]

    @cached_property
    def texts(self) -> dict[str, str]:
        """Document id -> text, as `SpanMeasure` takes it."""
        return {document.id: document.text for document in self.documents}


def data_root() -> Path:
    """The folder of the evaluation data; raises DataMissing when there is none."""
    given = os.environ.get("STRUCTRAG_DATA")
    root = (
        Path(given)
        if given
        else Path(__file__).resolve().parents[2] / "shared" / "data"
    )
    if not root.is_dir():
        raise DataMissing(
            f"The evaluation data is not at {root}; set STRUCTRAG_DATA to the folder that holds it."
        )
    return root


def static_vectors() -> StaticEmbedder:
    """The static vectors of all-MiniLM-L6-v2 that model2vec distilled; raises DataMissing when
    there are none."""
    folder = os.environ.get("STRUCTRAG_STATIC")
    if not folder:
        raise DataMissing(
            "There are no static vectors; set STRUCTRAG_STATIC to the folder that model2vec "
            "distilled: distill(encoder).save_pretrained(folder)."
        )
    return StaticEmbedder.load(folder)


def load(name: str) -> Dataset:
    """One of the sets in NAMES and OTHER_LANGUAGES, as stored.

    Raises InvalidParameter for another name, DataMissing without its files.
    """
    folder = data_root() / check_choice("name", name, NAMES + OTHER_LANGUAGES)
    for part in ("documents", "questions"):
        if not (folder / f"{part}.jsonl.gz").is_file():
            raise DataMissing(
                f"The set {name!r} is incomplete: {part}.jsonl.gz is not in {folder}; fetch the "
                "data again."
            )
    return Dataset(
        name=name,
        documents=tuple(
            Document(
                row["text"], id=row["id"], title=row["title"], format=row["format"]
            )
            for row in _rows(folder / "documents.jsonl.gz")
        ),
        questions=tuple(
            Question(
                id=row["id"],
                question=row["question"],
                answers=tuple(row["answers"]),
                gold=tuple((doc_id, start, end) for doc_id, start, end in row["gold"]),
                any=row["any"],
            )
            for row in _rows(folder / "questions.jsonl.gz")
        ),
    )


def load_or_exit(name: str) -> Dataset:
    """`load` for scripts: when the data is absent, say so in one sentence and exit with code 0."""
    try:
        return load(name)
    except DataMissing as error:
        print(error, file=sys.stderr)
        raise SystemExit(0) from None


def map_gold(
    dataset: Dataset, documents: Iterable[Document], text_offset: OffsetMap
) -> Dataset:
    """The same questions over other readings of the documents, their gold moved by `text_offset`.

    A span that holds no visible character is dropped. Line ends that a reader puts between two
    blocks are not taken into a span that ends with the first.
    """
    readings = tuple(documents)
    by_id = {document.id: document for document in readings}

    def moved(doc_id: str, start: int, end: int) -> tuple[str, int, int]:
        reading = by_id[doc_id]
        after_last = text_offset(reading, end - 1) + 1
        return (
            doc_id,
            text_offset(reading, start),
            min(after_last, text_offset(reading, end)),
        )

    questions = (
        replace(
            question,
            gold=tuple(
                span
                for span in (moved(*gold) for gold in question.gold)
                if span[1] < span[2]
            ),
        )
        for question in dataset.questions
    )
    return Dataset(dataset.name, readings, tuple(questions))


def visible(dataset: Dataset) -> Dataset:
    """The set with its HTML documents read into visible text and their gold mapped there; others as
    they are."""
    from structrag.reading.html.reader import read_html, text_offset

    def reading(document: Document) -> Document:
        if document.format != "html":
            return document
        text, title, layout = read_html(document.text)
        return replace(
            document, text=text, title=title or document.title, layout=layout
        )

    def offset(document: Document, source_offset: int) -> int:
        return (
            text_offset(document.layout.source_map, source_offset)
            if document.layout
            else source_offset
        )

    return map_gold(dataset, map(reading, dataset.documents), offset)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
