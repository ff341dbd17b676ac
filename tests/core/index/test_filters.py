"""Conditions that folders and engines both understand: the same documents meet them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from engine_making import ENGINES, address_in

from structrag import FunctionEmbedder, Index, read_text
from structrag.errors import InvalidParameter
from structrag.index.selection import Filter, Filters

META: dict[str, dict[str, Any]] = {
    "a": {"fruit": "apple", "year": 2019, "tags": ["x", "y"], "price": 1.5},
    "b": {"fruit": "Banana's", "year": 2021, "tags": ["z"], "price": 2},
    "c": {"fruit": "pineapple", "year": 2021, "tags": [], "price": -1},
    "d": {"fruit": "", "year": "2021", "sold": True},
    "e": {"fruit": None},
}
FRUIT, YEAR = Filter("fruit", "==", "apple"), Filter("year", ">", 2019)
CASES: list[tuple[Any, str]] = [
    (FRUIT, "a"),
    (Filter("fruit", "==", "Banana's"), "b"),
    (Filter("fruit", "!=", "apple"), "bcde"),
    (Filter("fruit", "in", ["apple", "pineapple"]), "ac"),
    (Filter("fruit", "nin", ["apple", "pineapple"]), "bde"),
    (Filter("fruit", "==", None), ""),
    (Filter("fruit", "!=", None), "abcde"),
    (Filter("year", "==", 2021), "bc"),
    (Filter("year", "==", 2021.0), "bc"),
    (Filter("sold", "==", 1), "d"),
    (YEAR, "bc"),
    (Filter("year", ">=", 2019), "abc"),
    (Filter("year", "<", 2020.5), "a"),
    (Filter("year", "<=", "2021"), "d"),
    (Filter("price", "<", 2), "ac"),
    (Filter("price", ">", 10), ""),
    (Filter("fruit", ">", "a"), "ac"),
    (Filter("tags", "==", "x"), "a"),
    (Filter("tags", "!=", "x"), "bcde"),
    (Filter("tags", "any", ["x", "z"]), "ab"),
    (Filter("tags", "all", ["x", "y"]), "a"),
    (Filter("tags", "all", ["x", "z"]), ""),
    (Filter("tags", "contains", "z"), "b"),
    (Filter("fruit", "contains", "apple"), "ac"),
    (Filter("fruit", "text_match", "nana"), "b"),
    (Filter("fruit", "text_match_insensitive", "BANA"), "b"),
    (Filter("fruit", "is_empty"), "de"),
    (Filter("tags", "is_empty"), "cde"),
    (Filter("unknown", "==", 1), ""),
    (Filter("unknown", "!=", 1), "abcde"),
    (Filter("doc_id", "in", ["a", "e"]), "ae"),
    (Filter("doc_id", "!=", "a"), "bcde"),
    (Filters("and", [FRUIT, YEAR]), ""),
    (Filters("or", [FRUIT, YEAR]), "abc"),
    (Filters("not", [FRUIT, YEAR]), "de"),
    (Filters("and", []), "abcde"),
    (Filters("or", []), "abcde"),
    (Filters("and", [Filters("or", [FRUIT, YEAR]), Filter("tags", "any", ["z"])]), "b"),
    (Filters("or", [Filters("and", [YEAR, Filter("price", ">", 0)]), FRUIT]), "ab"),
    (Filters("not", [Filters("not", [FRUIT])]), "a"),
    (Filters("not", [Filters("and", [YEAR, Filter("fruit", "nin", ["x"])])]), "ade"),
]


def length(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0] for text in texts]


def filled(store: str | None) -> Index:
    index = Index(
        embedder=FunctionEmbedder(length, name="length"), views=("raw",), store=store
    )
    index.add(
        [read_text(f"Crate {name}.", id=name, meta=meta) for name, meta in META.items()]
    )
    return index


@pytest.mark.parametrize("engine", ["memory", *ENGINES])
def test_the_same_documents_meet_a_condition_wherever_they_are(
    engine: str, tmp_path: Path
) -> None:
    if engine == "memory":
        check(filled(None))
        return
    with address_in(engine, tmp_path) as address:
        index = filled(address)
        check(index)
        with pytest.raises(InvalidParameter, match=r"'doc_id'.*'>'"):
            index.search("crate", where=Filter("doc_id", ">", "a"))


def check(index: Index) -> None:
    reader = index.store.reader()
    names = {row: reader.chunk(row).doc_id for row in reader.first_rows(None, 9)}
    for where, expected in CASES:
        rows = reader.first_rows(reader.select(where), 9)
        assert "".join(sorted(names[row] for row in rows)) == expected, where
    where = Filters("not", [FRUIT])
    for route in ("dense", "bm25"):
        hits = index.search("crate", k=9, route=route, where=where)
        assert sorted(hit.chunk.doc_id for hit in hits) == list("bcde")


@pytest.mark.parametrize(
    "make", [lambda: Filter("year", "~", 1), lambda: Filters("xor", [])]
)
def test_what_is_no_condition_is_refused(make: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"'~'|'xor'"):
        make()
