"""A store by its address."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fixture_cases import examples
from store_making import VIEWS, small_store

from structrag.errors import IndexDamaged, InvalidParameter, NoIndex
from structrag.index import opening
from structrag.index.opening import engine_of, open_store
from structrag.index.store import Store


@pytest.mark.parametrize("address", ["qdrant:corpus", "s3://bucket/corpus", "lancedb:"])
def test_unknown_engines_are_named(address: str) -> None:
    with pytest.raises(
        InvalidParameter, match=f"lancedb:PLACE, milvus:PLACE.*; got '{address}'"
    ):
        engine_of(address)


def test_a_drive_or_a_path_is_a_folder() -> None:
    assert (
        engine_of("C:\\corpus")
        is engine_of(Path("a/corpus"))
        is engine_of("./a:b")
        is None
    )
    assert engine_of("lancedb:s3://bucket/corpus") == ("lancedb", "s3://bucket/corpus")
    assert engine_of("milvus:https://host:19530/db") == (
        "milvus",
        "https://host:19530/db",
    )


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
    with pytest.raises(InvalidParameter, match=r"views, dtype, .* must be those"):
        open_store(tmp_path / "corpus", Store(["raw"]).settings)


@examples
def test_an_address_names_an_engine_and_a_place(
    address: str, engine: tuple[str, str] | None
) -> None:
    assert engine_of(address) == engine


def test_an_engine_is_given_the_place_and_what_a_new_store_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Engine:
        @staticmethod
        def place_of(place: str) -> str:
            return f"place of {place}"

        @staticmethod
        def open(*arguments: Any) -> tuple[Any, ...]:
            return arguments

    monkeypatch.setitem(opening._STORES, "milvus", Engine)  # type: ignore[arg-type]
    settings = Store(VIEWS).settings
    opened: Any = open_store("milvus:corpus.db", settings, {"a": 1})
    assert opened == ("place of corpus.db", settings, {"a": 1})
    assert open_store("milvus:corpus.db") == ("place of corpus.db", None, None)  # type: ignore[comparison-overlap]


def test_a_damaged_folder_is_noticed_at_once_only_if_all_is_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("structrag.index.blocks.BLOCK", 64)  # bytes checked together
    small_store().save(tmp_path / "corpus")
    (file,) = (tmp_path / "corpus" / "segments").iterdir()
    content = bytearray(file.read_bytes())
    at = content.index(b"apple banana")  # in the rows, which are not read to open it
    content[at] ^= 1
    file.write_bytes(content)
    settings = small_store().settings
    with pytest.raises(IndexDamaged):
        open_store(tmp_path / "corpus", settings, verify=True)
    assert open_store(tmp_path / "corpus", settings).document_ids == ["a", "b", "c"]
