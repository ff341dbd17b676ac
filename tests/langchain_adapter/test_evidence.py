"""Evidence within a token budget in LangChain."""

from __future__ import annotations

import asyncio
import pickle
from pathlib import Path
from typing import Any

import pytest
from doubles import HashEmbedder, HashTokens
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_fakes import BagOfWords
from langchain_tests.integration_tests import RetrieversIntegrationTests

from langchain_structrag import (
    ContentAwareTextSplitter,
    EvidenceCompressor,
    EvidenceRetriever,
)
from structrag.text.tokens import count_tokens

PUMP = "# Pump\n\nIt moves water.\n\n## Cleaning\n\nRinse the filter every week.\n"
CATS = "# Cats\n\nCats sleep all day.\n\n## Food\n\nThey eat fish at noon.\n"
DOCUMENTS = [
    Document(PUMP, metadata={"source": "pump.md", "year": 2020}),
    Document(CATS, metadata={"source": "cats.md", "year": 2021}),
]
QUESTION = "How often do I rinse the filter?"


class TestStandard(RetrieversIntegrationTests):
    """LangChain's own tests of retrievers."""

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return EvidenceRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        texts = [document.page_content for document in DOCUMENTS]
        return {"index": EvidenceRetriever.from_texts(texts * 3).index}

    @property
    def retriever_query_example(self) -> str:
        return "filter water cats fish day week"


@pytest.mark.parametrize(
    "models",
    [
        {},
        {"embedding": DeterministicFakeEmbedding(size=16)},
        {"embedding": HashTokens()},
        {
            "embedding": DeterministicFakeEmbedding(size=16),
            "token_encoder": HashTokens(),
        },
    ],
)
def test_passages_are_slices_with_their_places(
    models: dict[str, Any], tmp_path: Path
) -> None:
    retriever = EvidenceRetriever.from_documents(DOCUMENTS, **models)
    texts = {
        document.metadata["source"]: document.page_content for document in DOCUMENTS
    }
    results = retriever.invoke(QUESTION)
    assert results and [result.metadata["rank"] for result in results] == sorted(
        result.metadata["rank"] for result in results
    )
    for result in results:
        metadata = result.metadata
        place = slice(metadata["start_index"], metadata["end_index"])
        assert texts[metadata["source"]][place] == result.page_content
        assert sum(metadata["score_parts"].values()) == pytest.approx(metadata["score"])
    assert asyncio.run(retriever.ainvoke(QUESTION)) == results
    assert retriever.batch([QUESTION]) == [results]
    retriever.save(tmp_path / "index")
    assert (
        EvidenceRetriever.load(tmp_path / "index", **models).invoke(QUESTION) == results
    )


def test_limits_of_a_search() -> None:
    retriever = EvidenceRetriever.from_documents(DOCUMENTS, max_tokens=8)
    (best,) = retriever.invoke(QUESTION)
    assert best.page_content == "Rinse the filter every week."
    assert best.metadata["heading_path"] == "Pump > Cleaning"
    assert len(retriever.invoke(QUESTION, k=3, max_tokens=100)) == 3
    (cats,) = retriever.invoke(QUESTION, where={"year": 2021}, k=1, max_tokens=100)
    assert cats.metadata["source"] == "cats.md"
    for limit in (5, 20, 60):
        given = retriever.invoke(QUESTION, max_tokens=limit)
        assert sum(count_tokens(result.page_content) for result in given) <= limit
    in_order = retriever.invoke(QUESTION, max_tokens=200, order="document")
    places = [
        (result.metadata["doc_id"], result.metadata["start_index"])
        for result in in_order
    ]
    assert places == sorted(
        places, key=lambda place: (place[0] != places[0][0], place[1])
    )


def test_results_of_others_are_shortened() -> None:
    text = "Cats sleep all day. The blue pump leaks at the seal. Birds sing."
    found = [
        Document(
            text, metadata={"id": 7, "start_index": 100, "end_index": 100 + len(text)}
        ),
        Document("Nothing of interest.", metadata={"id": 8}),
        Document("  "),
    ]
    compressor = EvidenceCompressor(max_tokens=10)
    (short,) = compressor.compress_documents(found, "Which pump leaks?")
    assert short.page_content == "The blue pump leaks at the seal."
    assert short.metadata["id"] == 7 and short.metadata["rank"] == 1
    assert short.metadata["start_index"] == 100 + text.index("The blue")
    assert short.metadata["end_index"] == short.metadata["start_index"] + len(
        short.page_content
    )
    assert asyncio.run(compressor.acompress_documents(found, "Which pump leaks?")) == [
        short
    ]
    everything = EvidenceCompressor().compress_documents(found, "Which pump leaks?")
    assert {result.metadata["id"] for result in everything} == {7, 8}
    assert short.id is None
    (named,) = compressor.compress_documents(
        [Document(text, id="7")], "Which pump leaks?"
    )
    assert named.id == "7:20-52" and text[20:52] == named.page_content
    assert compressor.compress_documents([], "pump") == []
    assert compressor.compress_documents(found, " ") == []
    changed = EvidenceCompressor(max_tokens=1000)
    changed.max_tokens = 10
    assert changed.compress_documents(found, "Which pump leaks?") == [short]
    with pytest.raises(ValueError, match="max_tokens"):
        EvidenceCompressor(max_tokens=0)


@pytest.mark.parametrize(
    ("model", "engine"), [(HashTokens, "lancedb"), (HashEmbedder, "folder")]
)
def test_results_of_an_index_are_not_embedded_again(
    model: Any, engine: str, tmp_path: Path
) -> None:
    encoder = model()
    text = "# Valves\n\n" + "\n\n".join(
        f"## Valve {number}\n\nValve {number} is kept in room {number * 7 % 50}. "
        + "It is opened by hand, and dried before winter. " * 3
        for number in range(40)
    )
    documents = [*DOCUMENTS, Document(text, metadata={"source": "valves.md"})]
    store = str(tmp_path / "index") if engine == "folder" else f"lancedb:{tmp_path}"
    retriever = EvidenceRetriever.from_documents(
        documents, encoder, max_tokens=1500, store=store
    )
    other = Document("The filter is rinsed. Tokens are matched in rows.")
    for question in ("Where is valve 17 kept?", QUESTION, "valve in room 33"):
        found = retriever.invoke(question)
        plain = [Document(one.page_content, metadata={**one.metadata}) for one in found]
        for order, more in (("rank", []), ("document", []), ("rank", [other])):
            compressor = EvidenceCompressor(
                embedding=encoder, max_tokens=300, order=order
            )
            before = [*encoder.texts], len(getattr(encoder, "passes", []))
            short = compressor.compress_documents([*found, *more], question)
            read = {*encoder.texts[len(before[0]) :]}
            if model is HashTokens:
                read = {of for call in encoder.passes[before[1] :] for of in call}
            assert "".join(sorted(read - {question})) in ("", other.page_content)
            assert bool(read - {question}) == bool(more)
            expected = compressor.compress_documents([*plain, *more], question)
            best, same = (
                next(one for one in of if one.metadata["rank"] == 1)
                for of in (short, expected)
            )
            assert best.page_content == same.page_content
            for one in short:
                if one.metadata.get("source") == "valves.md":
                    start, end = map(one.metadata.get, ("start_index", "end_index"))
                    assert one.page_content.endswith(text[start:end])


def test_results_that_changed_or_have_another_model_are_embedded() -> None:
    encoder, other = HashTokens(), HashTokens(name="another")
    retriever = EvidenceRetriever.from_documents(DOCUMENTS, encoder)
    (best, *_) = found = retriever.invoke(QUESTION)
    assert pickle.loads(pickle.dumps(found)) == found
    changed = best.model_copy()
    changed.page_content = best.page_content.replace("week", "month")
    for model, document in ((other, best), (encoder, changed)):
        compressor = EvidenceCompressor(embedding=model, max_tokens=8)
        before = len(model.passes)
        (short,) = compressor.compress_documents([document], QUESTION)
        assert short.page_content in document.page_content
        assert len(model.passes) == before + 2
    compressor = EvidenceCompressor(embedding=encoder, max_tokens=8)
    retriever.delete("pump.md")
    (short,) = compressor.compress_documents([best], QUESTION)
    assert short.page_content == "Rinse the filter every week."


@pytest.mark.parametrize("add_context", [False, True])
def test_places_of_chunks_move_along(add_context: bool) -> None:
    text = "# Stock\n\n## Pump\n\nCats sleep all day. The blue pump leaks at the seal. Birds sing."
    splitter = ContentAwareTextSplitter(add_context=add_context)
    (*_, chunk) = splitter.split_documents([Document(f"# Other\n\nx\n\n{text}")])
    compressor = EvidenceCompressor(max_tokens=10)
    (short,) = compressor.compress_documents([chunk], "Which pump leaks?")
    for start, end in (("start_index", "end_index"), ("source_start", "source_end")):
        place = slice(short.metadata[start], short.metadata[end])
        assert f"# Other\n\nx\n\n{text}"[place] == "The blue pump leaks at the seal."


def test_in_langchains_own_compression_retriever() -> None:
    classic = pytest.importorskip("langchain_classic.retrievers")
    base = EvidenceRetriever.from_documents(DOCUMENTS)
    retriever = classic.ContextualCompressionRetriever(
        base_compressor=EvidenceCompressor(max_tokens=8), base_retriever=base
    )
    (short,) = retriever.invoke(QUESTION)
    assert short.page_content == "Rinse the filter every week."


def test_the_model_inside_an_embedding_matches_tokens() -> None:
    from structrag.models.bundled import has_minilm, minilm

    if not has_minilm():
        pytest.skip("the extra 'demo' is not installed")
    encoder = minilm()

    class Held(BagOfWords):
        """Holds a SentenceTransformer, as HuggingFaceEmbeddings does."""

        def __init__(self) -> None:
            super().__init__()
            self._client = encoder.model

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return encoder.embed(texts).tolist()  # type: ignore[no-any-return]

    made = EvidenceRetriever.from_documents(DOCUMENTS, Held())
    (found, *_) = made.invoke("Which animals purr?")
    (other, *_) = EvidenceRetriever.from_documents(DOCUMENTS, encoder).invoke(
        "Which animals purr?"
    )
    assert found.metadata["score_parts"]["tokens"] > 0
    assert found.metadata["score"] == pytest.approx(other.metadata["score"], abs=1e-4)
