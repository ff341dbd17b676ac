"""Critical keywords: how they match, which are detected, and that they stay right whatever happens
to the documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from doubles import HashEmbedder
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag import Document, Index
from structrag.errors import InvalidParameter
from structrag.retrieval.hiqa.keywords import Keywords
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


def plain(name: str, title: str = "", text: str = "Words.", **meta: Any) -> Document:
    """A document without headings."""
    return Document(text, id=name, title=title, format="text", meta=meta)


@examples
def test_a_name_in_more_than_half_of_four_documents_is_none(
    titles: list[str], counts: bool
) -> None:
    documents = [plain(f"d{i}", title) for i, title in enumerate(titles)]
    retriever = HiQARetriever(indexed(documents), detect_keywords=str.split)
    statistics = retriever.keyword_statistics()
    assert ("Nova" in statistics) is counts
    assert statistics["A"] == (1, 1)


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
    with pytest.warns(UserWarning, match="no critical keyword") as warned:
        best = HiQARetriever(index).search(query)[0]
        index.add([Document("# Lens\n\nIt is clear.", id="d5", format="markdown")])
        HiQARetriever(index).search(query)
    assert len(warned) == 1  # of an index
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
