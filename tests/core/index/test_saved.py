"""An index as it is saved and loaded."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder, HostStore

from structrag import (
    Document,
    Index,
)
from structrag.errors import (
    IndexDamaged,
    InvalidParameter,
)
from structrag.index.store import Store

QUERIES = ["pump pressure", "a valve", "the gearbox of document 2", "unknownword", "water"]


def document(number: int, extra: str = "", **fields: Any) -> Document:
    text = (
        f"Preface of document {number}.\n\n# Pump {number}\n\nThe pump of document {number} holds "
        f"pressure. {extra}\n\n"
        f"## Valve\n\nA valve lets water {number} pass.\n\n# Gearbox\n\nThe gearbox number "
        f"{number} needs oil.\n"
    )
    return Document(text, id=f"doc{number}", title=f"Manual {number}", format="markdown", **fields)


def state(index: Index) -> list[Any]:
    """What every route and view of an index answers."""
    return [
        [
            (hit.chunk.id, hit.chunk.text, round(hit.score, 6))
            for hit in index.search(query, 50, view=view, route=route)
        ]
        for query, view, route in itertools.product(QUERIES, index.views, ("dense", "bm25"))
    ]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"dtype": "float16"},
        {"preset": "paper"},
        {"views": ("keywords", "raw")},
        {"language": "german"},
    ],
)
def test_what_is_saved_comes_back(options: dict[str, Any], tmp_path: Path) -> None:
    index = Index(embedder=HashEmbedder(), **options)
    index.add([document(1), document(2)])
    index.save(tmp_path / "index")
    embedder = HashEmbedder()
    loaded = Index.load(tmp_path / "index", embedder=embedder, verify=True)
    assert (
        state(loaded) == state(index)
        and loaded.views == index.views
        and loaded.preset == index.preset
    )
    assert loaded.add([document(1), document(2)]).unchanged == 2 and embedder.texts == []
    loaded.delete("doc1")
    loaded.add([document(3)])
    loaded.save(tmp_path / "index")
    assert state(Index.load(tmp_path / "index", embedder=HashEmbedder())) == state(loaded)


def test_a_loaded_lsa_index_answers_like_the_saved_one(tmp_path: Path) -> None:
    index = Index()
    index.add([document(i) for i in range(4)])
    index.save(tmp_path / "index")
    loaded = Index.load(tmp_path / "index")
    assert state(loaded) == state(index)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"embedder": HashEmbedder(name="other")},
            "embedder must be the one the index at .* was built with, 'hash'; got 'other'",
        ),
        ({}, "embedder must be the one .* 'hash'; got 'LSA"),
        (
            {"embedder": HashEmbedder(), "preset": "paper"},
            "preset of the index at .* is 'default'; got 'paper'",
        ),
        ({"embedder": HashEmbedder(), "views": ("raw",)}, "views of the index"),
        ({"embedder": HashEmbedder(), "dtype": "float16"}, "dtype of the index"),
        ({"embedder": HashEmbedder(), "lexical": "okapi"}, "lexical of the index"),
        ({"embedder": HashEmbedder(), "language": "german"}, "language of the index"),
    ],
)
def test_loading_with_other_settings_is_refused(
    options: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    index = Index(embedder=HashEmbedder())
    index.add([document(1)])
    index.save(tmp_path / "index")
    with pytest.raises(InvalidParameter, match=sentence):
        Index.load(tmp_path / "index", **options)


def test_loading_what_is_no_index(tmp_path: Path) -> None:
    with pytest.raises(IndexDamaged, match="There is no saved index"):
        Index.load(tmp_path / "nothing")
    Store(("raw",)).save(tmp_path / "store")
    with pytest.raises(IndexDamaged, match=r"was not saved by Index\.save"):
        Index.load(tmp_path / "store")


@pytest.mark.parametrize("existing", [True, False])
def test_a_crash_while_saving_leaves_the_old_index_or_none(
    existing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index(embedder=HashEmbedder())
    index.add([document(1)])
    before = state(index)
    if existing:
        index.save(tmp_path / "index")
    index.add([document(2)])
    save = np.save
    for crash_at in range(1, 13):
        count = itertools.count(1)

        def crash(*args: Any, at: int = crash_at, count: Any = count, **kwargs: Any) -> None:
            if next(count) == at:
                raise KeyboardInterrupt
            save(*args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(np, "save", crash)
            with pytest.raises(KeyboardInterrupt):
                index.save(tmp_path / "index")
        if existing:
            assert (
                state(Index.load(tmp_path / "index", embedder=HashEmbedder(), verify=True))
                == before
            )
        else:
            assert list(tmp_path.iterdir()) == []
    index.save(tmp_path / "index")
    assert state(Index.load(tmp_path / "index", embedder=HashEmbedder())) == state(index)


def test_an_index_beside_a_host_is_saved_without_vectors(tmp_path: Path) -> None:
    host = HostStore(wants_vectors=True)
    index = Index(embedder=HashEmbedder(), dense_store=host)
    index.add([document(1)])
    index.save(tmp_path / "index")
    loaded = Index.load(tmp_path / "index", embedder=HashEmbedder(), dense_store=host)
    assert state(loaded) == state(index)
    assert loaded.add([document(1)]).unchanged == 1


def test_an_index_with_an_embedder_without_a_name_opens_with_that_very_one(tmp_path: Path) -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        return [[float(len(text)), 1.0] for text in texts]

    index = Index(embedder=embed)
    index.add([document(1)])
    with pytest.warns(UserWarning, match="FunctionEmbedder and FunctionModel"):
        index.save(tmp_path / "index")
    assert len(Index.load(tmp_path / "index", embedder=embed)) == len(index)
    with pytest.raises(InvalidParameter, match="embedder cannot be checked"):
        Index.load(tmp_path / "index", embedder=lambda texts: embed(texts))
