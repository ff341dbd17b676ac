"""A store by its address."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixture_cases import examples
from store_making import VIEWS, small_store

from structrag.errors import InvalidParameter, NoIndex
from structrag.index.document_index import engine_of, open_store
from structrag.index.store import Store


@pytest.mark.parametrize("address", ["qdrant:corpus", "s3://bucket/corpus", "lancedb:"])
def test_unknown_engines_are_named(address: str) -> None:
    with pytest.raises(
        InvalidParameter, match=f"lancedb:PLACE, milvus:PLACE.*; got '{address}'"
    ):
        engine_of(address)


def test_a_folder_is_opened_or_begun(tmp_path: Path) -> None:
    settings = Store(VIEWS).settings
    with pytest.raises(NoIndex, match="There is no saved index"):
        open_store(tmp_path / "corpus")
    begun = open_store(tmp_path / "corpus", settings, {"a": 1})
    assert (
        begun.settings == settings
        and begun.config == {"a": 1}
        and not begun.document_ids
    )
    small_store().save(tmp_path / "corpus", config={"b": 2})
    opened = open_store(tmp_path / "corpus", small_store().settings)
    assert opened.document_ids == small_store().document_ids and opened.config == {
        "b": 2
    }
    with pytest.raises(InvalidParameter, match=r"views, dtype, .* must match"):
        open_store(tmp_path / "corpus", Store(["raw"]).settings)


@examples
def test_an_address_names_an_engine_and_a_place(
    address: str, engine: tuple[str, str] | None
) -> None:
    assert engine_of(address) == engine
