"""Real documents of every format through the whole path: read, split, index, search, save, load."""

from __future__ import annotations

from pathlib import Path

import pytest
from doubles import HashEmbedder
from places import DATA
from real_documents import (
    EVERYTHING,
    FORMATS,
    INDEXES,
    Source,
    check_searches,
    check_splits,
    drawn,
    queries_of,
    sources,
    splitters_for,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.timeout(0 if EVERYTHING else 300),
]
# The index over the documents of one format; all kinds of index are made of some of each format.
INDEX_OF = dict(
    zip(FORMATS, ("fixed", "HiQA", "PIC", "IDMS", "LSA", "D3"), strict=True)
)


@pytest.fixture(scope="module")
def groups() -> dict[str, list[Source]]:
    if not DATA.is_dir():
        pytest.skip(f"no evaluation data at {DATA}; set STRUCTRAG_DATA to its folder")
    return sources(DATA)


@pytest.mark.parametrize("format", FORMATS)
def test_documents_of_one_format(
    groups: dict[str, list[Source]], format: str, tmp_path: Path
) -> None:
    documents = []
    short = 100 if format == "pdf" else 200  # a PDF is printed first
    for number, source in enumerate(drawn(groups[format], short)):
        document = source.read()
        try:
            check_splits(document, splitters_for(number), HashEmbedder())
        except Exception as error:
            raise AssertionError(
                f"{source.id}: {type(error).__name__}: {error}"
            ) from error
        documents.append(document)
    names = list(INDEXES) if EVERYTHING else [INDEX_OF[format]]
    assert check_searches(documents, queries_of(documents, 10), names, tmp_path)


def test_documents_of_all_formats_in_one_index(
    groups: dict[str, list[Source]], tmp_path: Path
) -> None:
    documents = [
        source.read() for format in FORMATS for source in drawn(groups[format], 6, 1)
    ]
    assert check_searches(documents, queries_of(documents, 10), list(INDEXES), tmp_path)
