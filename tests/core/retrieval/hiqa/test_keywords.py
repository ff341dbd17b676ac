"""Critical keywords: how they match, which are detected, and that they stay right whatever happens
to the documents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag import Document, Index
from structrag.errors import InvalidParameter
from structrag.retrieval.hiqa.keyword_names import (
    Names,
)
from structrag.retrieval.hiqa.keywords import BodyNames, Keywords, KeywordTable
from structrag.retrieval.hiqa.retriever import HiQARetriever


def document(name: str, title: str, body: str = "The battery lasts long.") -> Document:
    return Document(
        f"# {title}\n\n## Battery\n\n{body}\n", id=name, title=title, format="markdown"
    )


def indexed(documents: Sequence[Document]) -> Index:
    index = Index(embedder=HashEmbedder(), views=("raw",))
    index.add(documents)
    return index


# -- matching


# -- detecting


def test_detected_names_and_their_numbers() -> None:
    index = indexed([document(f"d{i}", f"Acme Nova A{10 + i}") for i in range(4)])
    index.add([document("other", "Vega B1", "Unlike the Nova A10 it is light.")])
    statistics = HiQARetriever(index).keyword_statistics()
    assert statistics["A10"] == (2, 2) and statistics["B1"] == (1, 1)
    assert "Acme Nova" not in statistics  # in four documents of five


def test_two_names_in_half_of_the_documents_stay_and_few_documents_have_no_too_frequent_name() -> (
    None
):
    halves = indexed(
        [
            document(f"d{i}", f"{'Acme Nova' if i < 2 else 'Vega Line'} X{i}")
            for i in range(4)
        ]
    )
    assert HiQARetriever(halves).keyword_statistics()["Acme Nova"] == (2, 2)
    three = indexed([document(f"d{i}", f"Acme Nova A{i}") for i in range(3)])
    assert "Acme Nova" in HiQARetriever(three).keyword_statistics()


def table_of(
    documents: Sequence[Document], listed: Sequence[str] = (), detect: Any = False
) -> KeywordTable:
    return Keywords(listed, detect).table(indexed(documents).reader())


def plain(name: str, title: str = "", text: str = "Words.", **meta: Any) -> Document:
    """A document without headings."""
    return Document(text, id=name, title=title, format="text", meta=meta)


@examples
def test_a_name_in_more_than_half_of_four_documents_is_none(
    titles: list[str], counts: bool
) -> None:
    documents = [plain(f"d{i}", title) for i, title in enumerate(titles)]
    statistics = table_of(documents, detect=str.split).statistics()
    assert ("Nova" in statistics) is counts
    assert statistics["A"] == (1, 1)


def test_eight_names_of_a_text_count_that_stand_in_most_of_two_segments() -> None:
    # "n9" is in three segments, "n1" to "n8" in two, "once" in one; "-" is no name.
    few = " ".join(f"n{i}" for i in range(8, 0, -1))
    text = f"# A\n\n- {few} n9\n\n# B\n\n- {few} n9 once\n\n# C\n\nn9\n"
    document = Document(text, id="d", format="markdown")
    names = BodyNames(lambda text: re.findall(r"n\d|once|-", text))
    statistics = table_of([document], detect=names).statistics()
    expected = {f"n{i}": (1, 2) for i in range(1, 8)} | {"n9": (1, 3)}
    assert statistics == expected


def test_documents_without_text_have_no_segments_and_no_pages() -> None:
    nothing = table_of([])
    assert (nothing.n_rows, nothing.n_documents) == (0, 0)
    assert (nothing.structure, nothing.pages) == (0, 0)
    table = table_of(
        [plain("a", text=""), plain("b", text="The pump.", pages=6)], ["pump"]
    )
    assert (table.n_rows, table.n_documents, table.pages) == (1, 2, 3)
    assert table.places["pump"].tolist() == [0]


def test_listed_keywords_always_count() -> None:
    index = indexed([document(f"d{i}", f"Nova A{i}") for i in range(6)])
    statistics = HiQARetriever(
        index, keywords=["battery", "unheard of"]
    ).keyword_statistics()
    assert statistics["battery"] == (6, 6) and statistics["unheard of"] == (0, 0)
    assert HiQARetriever(index, detect_keywords=False).keyword_statistics() == {}


def test_names_by_a_function_of_the_title() -> None:
    index = indexed([document("d0", "Nova A10"), document("d1", "Vega B11")])
    retriever = HiQARetriever(index, detect_keywords=lambda title: title.split()[:1])
    assert retriever.keyword_statistics() == {"Nova": (1, 1), "Vega": (1, 1)}


def test_the_only_outermost_heading_and_the_file_name_are_titles_too() -> None:
    text = "Licence of all boards.\n\n# Elektor Uno R4\n\n## Hardware\n\nRAM 2KB\n"
    index = indexed(
        [
            Document(
                text,
                title="boards/atmel/uno_r4.md",
                format="markdown",
                meta={"source": "boards/atmel/uno_r4.md"},
            )
        ]
    )
    assert set(HiQARetriever(index).keyword_statistics()) >= {"R4", "Elektor Uno"}


@examples
def test_unusable_keywords_are_named(keywords: Any) -> None:
    with pytest.raises(InvalidParameter, match="keywords must be"):
        Keywords(keywords)


# -- staying right

TITLES = [
    "Nova A10",
    "Nova A10 Pro",
    "Nova B11",
    "Vega A10",
    "IS3722",
    "IS3722-HS",
    "手机 X1",
    "Plain words",
    "",
]
BODIES = [
    "See the Nova A10 and the IS3722.",
    "IS3722-HS replaces B11.",
    "手机X1 很好",
    "Nothing here.",
    "",
]
changes = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.sampled_from(TITLES),
        st.sampled_from(BODIES),
        st.booleans(),
    ),
    max_size=12,
)


def content(retriever: HiQARetriever) -> Any:
    """The whole table, rows by the ids of their chunks."""
    index = retriever.index
    table = retriever.source.keywords.table(index.reader())
    rows = {
        key: {index.store.reader().chunk(int(row)).id for row in found}
        for key, found in table.places.items()
    }
    return (
        retriever.keyword_statistics(),
        rows,
        table.structure,
        table.pages,
        table.n_rows,
        table.n_documents,
    )


@pytest.mark.filterwarnings("ignore:HiQARetriever found no critical keyword")
@settings(max_examples=60, deadline=None)
@given(changes, st.sampled_from([(), ("A10", "手机")]))
def test_after_any_changes_as_of_a_fresh_index(
    steps: list[tuple[int, str, str, bool]], listed: tuple[str, ...]
) -> None:
    index = indexed([])
    retriever = HiQARetriever(index, keywords=listed)
    current: dict[str, Document] = {}
    for number, title, body, delete in steps:
        name = f"d{number}"
        if delete:
            assert index.delete(name) == (current.pop(name, None) is not None)
        else:
            current[name] = document(name, title, body)
            index.add([current[name]])
        retriever.keyword_statistics()
    fresh = HiQARetriever(
        indexed([current[name] for name in index.document_ids]), keywords=listed
    )
    assert content(retriever) == content(fresh)


def test_after_saving_and_loading(tmp_path: Path) -> None:
    index = indexed(
        [document(f"d{i}", title, BODIES[i % 5]) for i, title in enumerate(TITLES)]
    )
    index.delete("d2")
    index.save(tmp_path / "index")
    loaded = Index.load(tmp_path / "index", embedder=HashEmbedder())
    assert content(HiQARetriever(loaded)) == content(HiQARetriever(index))
    assert [
        hit.chunk.id for hit in HiQARetriever(loaded).search("A10 Pro battery")
    ] == [hit.chunk.id for hit in HiQARetriever(index).search("A10 Pro battery")]


SIZE = 12


HOLDERS = st.dictionaries(
    st.sampled_from("abcd"), st.sets(st.integers(0, SIZE - 1)), max_size=4
)


WHERE = st.one_of(
    st.none(),
    st.tuples(st.integers(0, SIZE), st.integers(0, SIZE)).map(
        lambda ends: slice(min(ends), max(ends))
    ),
    st.lists(st.booleans(), min_size=SIZE, max_size=SIZE).map(np.array),
)


GAPS = st.lists(st.integers(1, 9), min_size=SIZE, max_size=SIZE).map(np.cumsum)


@given(HOLDERS, st.integers(-1, SIZE + 1), WHERE, st.none() | GAPS)
def test_best_equals_counting_row_by_row(
    holders: dict[str, set[int]],
    n: int,
    where: slice | np.ndarray | None,
    row_numbers: np.ndarray | None,
) -> None:
    """Also where rows have gaps, as in an engine."""
    rows = {
        key: np.array(sorted(found), dtype=np.int64) for key, found in holders.items()
    }
    written = {key: key for key in holders}
    table = KeywordTable(
        0,
        Names(holders),
        written,
        dict.fromkeys(holders, 1),
        rows,
        SIZE,
        1,
        0.0,
        1.0,
        row_numbers,
    )
    numbers = np.arange(SIZE) if row_numbers is None else row_numbers
    held = table.held([*holders], numbers)
    assert held.tolist() == [
        [i in holders[key] for i in range(SIZE)] for key in holders
    ]
    allowed = np.arange(SIZE) if where is None else np.arange(SIZE)[where]
    counts = {
        row: sum(row in found for found in holders.values()) for row in allowed.tolist()
    }
    ranked = sorted(
        (row for row in counts if counts[row]), key=lambda row: (-counts[row], row)
    )
    assert (
        table.best([*holders], n, where).tolist()
        == numbers[ranked[: max(0, n)]].tolist()
    )


def test_names_of_the_text_count_where_titles_say_none() -> None:
    index = Index(views=("raw",))
    sections = (
        "# Battery\n\nThe {0} lasts a day.\n\n# Camera\n\nThe {0} sees in the dark.\n"
    )
    names = ["X100", "Nova B20", "ZT-5", "Kite 7"]
    index.add(
        [
            Document(sections.format(name), id=f"d{i}", format="markdown")
            for i, name in enumerate(names)
        ]
    )
    query = "How long does the ZT-5 last?"
    with pytest.warns(UserWarning, match=r"no critical keyword in .* 4 documents"):
        best = HiQARetriever(index).search(query)[0]
    assert best.chunk.extras["keywords"] == []
    best = HiQARetriever(index, detect_keywords="bodies").search(query)[0]
    assert best.chunk.extras["keywords"] == ["ZT-5"]
    table = Keywords((), "bodies").table(index.reader())
    statistics = table.statistics()
    assert {statistics[name] for name in ("X100", "B20", "ZT-5")} == {(1, 2)}
    with pytest.raises(
        InvalidParameter, match="detect_keywords must be one of 'bodies'"
    ):
        HiQARetriever(index, detect_keywords="body")


@examples
def test_there_is_no_warning_where_no_names_are_wanted_or_few_documents(
    options: dict[str, Any], n: int
) -> None:
    index = indexed([Document("Some text here.", id=f"d{i}") for i in range(n)])
    assert HiQARetriever(index, **options).search("text")  # warnings are errors
