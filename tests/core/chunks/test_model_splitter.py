"""Splitters that ask models: side by side, with answers remembered, on an index's own models."""

from __future__ import annotations

import asyncio
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder, ScriptedModel

from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.chunks.model_splitter import (
    ReadingSplitter,
)
from structrag.chunks.pic.splitter import PICSplitter
from structrag.errors import InvalidParameter
from structrag.index.index import Index
from structrag.models.embedders import LsaEmbedder
from structrag.models.static import StaticEmbedder
from structrag.reading.files import read_text

DOCUMENTS = [
    read_text(
        " ".join(f"Document {d} says thing {i} of {i % 5}." for i in range(40)),
        id=f"d{d}",
        title=f"T{d}",
    )
    for d in range(3)
]
SPLITTER = PICSplitter(max_tokens=60, min_tokens=10)


def test_a_splitter_must_say_how_it_splits() -> None:
    with pytest.raises(TypeError, match="must define explain_flow"):
        ReadingSplitter().split(DOCUMENTS[0])


def test_an_index_splits_with_its_own_models_and_counts_them() -> None:
    llm, embedder = ScriptedModel("Document says thing 3."), HashEmbedder()
    index = Index(splitter=SPLITTER, embedder=embedder, llm=llm, views=("raw",))
    report = index.add(DOCUMENTS)
    expected = list(
        SPLITTER.split_all(
            DOCUMENTS,
            embedder=HashEmbedder(),
            llm=ScriptedModel("Document says thing 3."),
        )
    )
    assert [chunk for chunks in expected for chunk in chunks] == index.chunks()
    assert report.usage["calls"] == 3 and len(llm.prompts) == 3
    assert not report.usage["fallbacks"]


def test_an_index_without_an_encoder_splits_by_each_documents_own_sentences() -> None:
    llm = ScriptedModel("Document says thing 3.")
    index = Index(splitter=SPLITTER, llm=llm, views=("raw",))
    index.add(DOCUMENTS)
    expected = SPLITTER.split(DOCUMENTS[1], llm=ScriptedModel("Document says thing 3."))
    assert index.chunks("d1") == expected
    assert len(llm.prompts) == 3


def test_chunks_made_without_their_summary_are_counted_and_made_again() -> None:
    llm = ScriptedModel(RuntimeError("down"))
    index = Index(splitter=SPLITTER, embedder=HashEmbedder(), llm=llm, views=("raw",))
    report = index.add(DOCUMENTS)
    assert report.usage["fallbacks"] == {"chunks": report.chunks}
    llm.script = "Document says thing 3."
    again = index.add(DOCUMENTS)
    assert again.unchanged == 0 and not again.usage["fallbacks"]
    assert index.add(DOCUMENTS).unchanged == 3


@pytest.mark.parametrize(
    "splitter",
    [
        PICSplitter(max_tokens=60),
        IDMSSplitter(max_tokens=60),
        IDMSSplitter(max_tokens=60, margin="words"),
    ],
    ids=["pic", "idms", "idms by words"],
)
def test_reused_vectors_embed_nothing_twice_and_can_be_searched(
    splitter: PICSplitter | IDMSSplitter,
) -> None:
    embedder = HashEmbedder()
    index = Index(splitter=splitter, embedder=embedder, views=("raw",))
    index.add(
        [*DOCUMENTS, read_text("", id="empty"), read_text("Short one.", id="short")]
    )
    sentences = {
        f"Document {d} says thing {i} of {i % 5}." for d in range(3) for i in range(40)
    } | {"Short one."}
    assert sorted(embedder.texts) == sorted(sentences)
    hits = index.search("Document 2 says thing 7 of 2.", k=3)
    assert hits[0].chunk.doc_id == "d2"


pytest.importorskip("model2vec", reason="the extra 'static' is not installed")


SUBJECTS = [
    "The cat eats fish in house {i} and the cat sleeps.",
    "An engine burns fuel {i} and the engine needs oil.",
    "Judges read the law {i} before the court rules on law.",
]


TEXT = " ".join(subject.format(i=i) for subject in SUBJECTS for i in range(12))


DOCUMENT = read_text(TEXT, id="d")


def _statics() -> StaticEmbedder:
    from static_making import static_of_rows, words

    found = sorted(set(TEXT.replace(".", " ").split()))
    rows = np.vstack([np.zeros((1, 128)), HashEmbedder(128).embed(found)])
    return static_of_rows(rows.astype(np.float32), words(["[UNK]", *found]), "hashes")


STATICS = _statics()


def splitter(kind: str, **settings: Any) -> Any:
    if kind == "pic":
        return PICSplitter(min_tokens=20, max_tokens=120, **settings)
    return IDMSSplitter(margin="similarity", min_tokens=20, max_tokens=120, **settings)


def starts(chunks: Any) -> list[int]:
    return [chunk.start for chunk in chunks]


@pytest.mark.parametrize("kind", ["pic", "idms"])
def test_an_index_cuts_by_the_static_vectors_and_searches_by_its_own(kind: str) -> None:
    alone = splitter(kind).split(DOCUMENT, embedder=STATICS)
    assert len(alone) > 2 and "".join(chunk.text for chunk in alone) == TEXT
    own = HashEmbedder()
    index = Index(
        embedder=own, splitter=splitter(kind, boundary_embedder=STATICS), views=("raw",)
    )
    index.add([DOCUMENT])
    assert len(index) == len(alone) and len(own.texts) == len(set(own.texts)) <= len(
        alone
    )
    assert starts(
        splitter(kind, boundary_embedder=STATICS).split(DOCUMENT, embedder=own)
    ) == starts(alone)
    assert starts(splitter(kind, boundary_embedder=STATICS).split(DOCUMENT)) == starts(
        alone
    )
    again = pickle.loads(pickle.dumps(splitter(kind, boundary_embedder=STATICS)))
    assert starts(asyncio.run(again.asplit(DOCUMENT, embedder=own))) == starts(alone)


def test_idms_by_static_vectors_finds_the_subjects() -> None:
    places = [TEXT.index(subject[:8]) for subject in SUBJECTS]
    cut = IDMSSplitter(
        margin="similarity", min_tokens=60, max_tokens=400, boundary_embedder=STATICS
    ).split(DOCUMENT)
    assert set(places) <= set(starts(cut))


@pytest.mark.parametrize("kind", ["pic", "idms"])
def test_lsa_can_be_chosen_beside_an_encoder(kind: str) -> None:
    plain = splitter(kind).split(DOCUMENT)
    own = HashEmbedder()
    assert (
        splitter(kind, boundary_embedder=LsaEmbedder(64)).split(DOCUMENT, embedder=own)
        == plain
    )
    assert not own.texts


@pytest.mark.parametrize("kind", ["pic", "idms"])
@pytest.mark.parametrize("value", [3, "no/such-static-model", ""])
def test_a_boundary_embedder_that_is_none_is_refused_at_once(
    kind: str, value: Any
) -> None:
    with pytest.raises(InvalidParameter):
        splitter(kind, boundary_embedder=value)


def test_a_folder_is_a_static_model(tmp_path: Path) -> None:
    STATICS.model.save_pretrained(tmp_path / "own")
    made = splitter("idms", boundary_embedder=str(tmp_path / "own"))
    assert starts(made.split(DOCUMENT)) == starts(
        splitter("idms").split(DOCUMENT, embedder=STATICS)
    )


def test_static_vectors_are_distilled_by_model2vec() -> None:
    with pytest.raises(InvalidParameter, match=r"model2vec\.distill\.distill"):
        splitter("idms", boundary_embedder="static")
