"""The presets against the papers: each test computes what a paper's formula gives, by hand."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder, HashTokens, ScriptedModel

from benchmarks.judging import (
    accuracy,
    adequacy,
    answer_prompt,
)
from structrag import (
    D3Index,
    D3Retriever,
    HiQASplitter,
    IDMSEnricher,
    Index,
    MultiViewRetriever,
    PICSplitter,
    read_text,
)
from structrag.records import Chunk, Document
from structrag.retrieval.d3.selection import Selection

ARTICLE = {
    "Pump": "the pump leaks and the pump is loud",
    "Valve": "the valve of the pump is made of brass",
    "Cats": "cats sleep all day",
    "Birds": "birds sing in the morning",
    "Rain": "rain falls on leaks",
}
OTHER = {"Pump": "pump pump pump", "Leaks": "leaks and more leaks of pumps"}


def sections(bodies: dict[str, str]) -> str:
    return "\n\n".join(f"# {title}\n\n{body}" for title, body in bodies.items())


def indexed(**options: Any) -> Index:
    index = Index(preset="paper", views=["raw"], **options)
    index.add(
        [
            read_text(sections(bodies), format="markdown", id=name)
            for name, bodies in (("article", ARTICLE), ("other", OTHER))
        ]
    )
    return index


def okapi(texts: list[list[str]], query: list[str]) -> list[float]:
    """Okapi BM25 of appendix D.2's package: k1 1.5, b 0.75, epsilon 0.25."""
    n, mean = len(texts), sum(map(len, texts)) / len(texts)
    df = Counter(term for text in texts for term in set(text))
    idf = {term: math.log((n - f + 0.5) / (f + 0.5)) for term, f in df.items()}
    floor = 0.25 * sum(idf.values()) / len(idf)
    scores = []
    for text in texts:
        counts = Counter(text)
        norm = 1.5 * (0.25 + 0.75 * len(text) / mean)
        scores.append(
            sum(
                (idf[term] if idf[term] >= 0 else floor)
                * counts[term]
                * 2.5
                / (counts[term] + norm)
                for term in query
                if term in idf
            )
        )
    return scores


def by_title(hits: list[Any], route: str) -> dict[str, float]:
    return {hit.chunk.path[-1]: hit.scores[route] for hit in hits}


def test_bm25_within_one_article_knows_that_article_alone() -> None:
    index = indexed()
    tokenizer = index.store.settings.tokenizer
    texts = [tokenizer(body) for body in ARTICLE.values()]
    expected = okapi(texts, tokenizer("pump leaks"))
    where = {"doc_id": "article"}
    retriever = MultiViewRetriever(index, preset="paper", routes=["bm25"], k=9)
    for hits in (
        index.search("pump leaks", k=9, route="bm25", where=where),
        retriever.search("pump leaks", where=where),
    ):
        assert by_title(hits, "bm25:raw") == pytest.approx(
            dict(zip(ARTICLE, expected, strict=True))
        )


def test_okapi_is_scored_by_rank_bm25_itself() -> None:
    rank_bm25 = pytest.importorskip("rank_bm25")
    index = indexed()
    tokenizer = index.store.settings.tokenizer
    bodies = [*ARTICLE.values(), *OTHER.values()]
    package = rank_bm25.BM25Okapi([tokenizer(body) for body in bodies])
    scores = package.get_scores(tokenizer("pump leaks")).tolist()
    hits = index.search("pump leaks", k=9, route="bm25")
    assert sorted(hit.score for hit in hits) == sorted(scores)  # to the last bit


def test_tfidf_is_a_route_fitted_to_the_article() -> None:
    texts = [body.split() for body in ARTICLE.values()]
    n = len(texts)
    df = Counter(term for text in texts for term in set(text))
    idf = {term: math.log((1 + n) / (1 + f)) + 1 for term, f in df.items()}

    def unit(terms: list[str]) -> dict[str, float]:
        weights = {t: c * idf[t] for t, c in Counter(terms).items() if t in idf}
        length = math.sqrt(sum(weight**2 for weight in weights.values()))
        return {term: weight / length for term, weight in weights.items()}

    question = unit(["pump", "leaks"])
    expected = {
        title: sum(w * question.get(term, 0.0) for term, w in unit(text).items())
        for title, text in zip(ARTICLE, texts, strict=True)
    }
    retriever = MultiViewRetriever(indexed(), preset="paper", routes=["tfidf"], k=9)
    hits = retriever.search("pump leaks", where={"doc_id": "article"})
    assert by_title(hits, "tfidf:raw") == pytest.approx(expected)


def test_a_token_encoder_is_a_route_by_late_interaction() -> None:
    encoder = HashTokens()

    def units(text: str, *, query: bool = False) -> np.ndarray:
        (tokens,) = encoder.embed_tokens([text], query=query)
        rows = np.asarray(tokens.vectors, dtype=float)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    question = units("pump leaks", query=True)
    expected = {
        title: float((question @ units(body).T).max(axis=1).sum())
        for title, body in ARTICLE.items()
    }
    retriever = MultiViewRetriever(indexed(), preset="paper", routes=[encoder], k=9)
    hits = retriever.search("pump leaks", where={"doc_id": "article"})
    assert by_title(hits, "tokens:raw") == pytest.approx(expected, abs=1e-5)


def test_routes_over_texts_follow_the_index_and_mix_with_others() -> None:
    index = indexed()
    routes = ["bm25", "tfidf", HashTokens()]
    retriever = MultiViewRetriever(index, routes=routes, k=3)
    assert retriever.search("pump leaks")[0].chunk.path == ("Pump",)
    index.add([read_text("# New\n\nzebras graze", format="markdown", id="new")])
    (first, *_) = retriever.search("zebras")
    assert first.chunk.path == ("New",)
    assert set(first.routes) == {"bm25:raw", "tfidf:raw", "tokens:raw"}
    assert retriever.search("zebras", where={"doc_id": "other"})[0].routes.keys() <= {
        "bm25:raw",
        "tokens:raw",
    }
    empty = MultiViewRetriever(Index(views=["raw"]), routes=["tfidf", HashTokens()])
    assert empty.search("zebras") == []


@pytest.mark.parametrize(
    "routes", [["tokens"], ["tfidf", "tfidf"], ["splade"], "bm25", []]
)
def test_what_is_no_route_is_refused(routes: Any) -> None:
    with pytest.raises(ValueError, match="routes must be"):
        MultiViewRetriever(indexed(), routes=routes)


def test_chunks_that_are_no_sections_are_indexed_as_they_stand() -> None:
    index = Index(preset="paper", views=["raw"], splitter=PICSplitter.paper())
    index.add([read_text("# Cats\n\nCats purr. Pumps leak.", format="markdown")])
    reader = index.reader()
    for row in range(len(reader)):
        assert reader.view_text(row, "raw") == reader.chunk(row).text
    assert str(reader.view_text(0, "raw")).startswith("# Cats\n\nCats purr.")


LONG_SUMMARY = " ".join(f"The pump number {i} leaks." for i in range(60))


@pytest.mark.parametrize(
    "summary", ["An invented summary, longer than it.", LONG_SUMMARY]
)
def test_a_section_is_represented_by_the_summary_of_its_text(summary: str) -> None:
    summariser = ScriptedModel(summary)
    index = D3Index(preset="paper", llm=summariser, prompt="{text}")
    index.add([read_text("# Pump\n\nIt leaks.\n", format="markdown")])
    assert summariser.prompts == ["It leaks."]  # S(paragraphs(section)), section 3.2
    (section,) = index.sections.chunks()
    assert section.extras["summary"] == summary


def test_hierbases_summaries_are_kept_with_the_index(tmp_path: Path) -> None:
    summariser = ScriptedModel(lambda prompt: f"On: {prompt}", name="s")
    options: dict[str, Any] = {"preset": "paper", "prompt": "{text}"}
    index = D3Index(**options, llm=summariser, paragraph_summaries=True)
    text = "# Pump\n\nIt leaks.\n\nIt is loud.\n"
    index.add([read_text(text, format="markdown")])
    assert sorted(summariser.prompts) == [
        "It is loud.",
        "It leaks.",
        "It leaks.\n\nIt is loud.",
    ]
    index.save(tmp_path / "index")
    again = D3Index.load(tmp_path / "index", llm=summariser)
    asked: list[str] = []

    def reader(prompt: str) -> str:
        asked.append(prompt)
        return "Pump" if "Section:" in prompt else "1"

    retriever = D3Retriever(
        again, llm=ScriptedModel(reader), preset="paper", strategy="hierbase"
    )
    before = len(summariser.prompts)
    (hit,) = retriever.search("Does it leak?")
    assert hit.chunk.text.strip() == "It leaks."
    assert len(summariser.prompts) == before
    (first, second) = asked[-2:]
    assert "[1] On: It leaks.\n[2] On: It is loud." in first
    assert "[1] It leaks.\n" in second and "On:" not in second


def test_hierbases_prompt_is_the_indexs_or_a_setting() -> None:
    summariser = ScriptedModel("Short.", name="s")
    index = D3Index(preset="paper", llm=summariser, prompt="Sum up: {text}")
    index.add([read_text("# Pump\n\nIt leaks.\n", format="markdown")])
    answer = lambda prompt: "Pump" if "Section:" in prompt else "1"  # noqa: E731
    model = ScriptedModel(answer)
    D3Retriever(index, llm=model, preset="paper", strategy="hierbase").search("Leak?")
    assert summariser.prompts == ["Sum up: It leaks."] * 2
    selection = Selection.paper(
        strategy="hierbase", summariser=summariser, summary_prompt="Only: {text}"
    )
    D3Retriever(index, llm=model, preset="paper", selection=selection).search("Leak?")
    assert summariser.prompts[2:] == ["Only: It leaks."]


def test_pics_summary_and_sentences_are_one_embedding_each() -> None:
    summary = " ".join(f"cats{i} purr" for i in range(200))
    sentence = " ".join(f"Cats{i} sleep" for i in range(100)) + "."
    text = f"{sentence} Cats purr. The pump leaks."
    embedder = HashEmbedder(256)
    found = PICSplitter.paper().explain(
        Document(text), embedder=embedder, llm=ScriptedModel(summary)
    )
    assert set(embedder.texts) == {sentence, "Cats purr.", "The pump leaks.", summary}
    assert embedder.queries == []
    # Equation 1: cosines with the summary's vector; equation 2: their mean.
    vector = embedder.vector(summary)
    sentences = [sentence, "Cats purr.", "The pump leaks."]
    expected = [float(embedder.vector(one) @ vector) for one in sentences]
    (series,) = found.series
    assert series.values == pytest.approx(expected, abs=1e-6)
    assert series.thresholds[0] == pytest.approx(np.mean(expected), abs=1e-6)


@pytest.mark.parametrize("as_query", [False, True])
def test_real_instructions_are_embedded_as_the_setting_says(as_query: bool) -> None:
    embedder = HashEmbedder()
    splitter = PICSplitter.paper(instructions="Do cats purr?", as_query=as_query)
    splitter.split(Document("Cats purr. The pump leaks."), embedder=embedder)
    told = embedder.queries if as_query else embedder.texts
    assert "Do cats purr?" in told


def test_what_a_model_finds_missing_is_added_whether_or_not_density_falls() -> None:
    texts = [
        "Nova is a phone of ACME.",
        "It rains in the garden.",
        "The Nova and the LSTM of 2014 beat the GRU at WMT14 and at WMT15 by 2 BLEU.",
        "Cats sleep.",
        "ACME Corp makes phones for NASA in Oslo.",
    ]
    document, chunks, start = Document("".join(texts)), [], 0
    for text in texts:
        end = start + len(text)
        chunks.append(Chunk(f"d:{start}-{end}", "d", "d#0", start, end, text))
        start = end

    def answer(prompt: str) -> str:
        if prompt.startswith("Rate"):
            return "10"
        return '["Oslo"]' if "Missing entities" in prompt else "[]"

    def added(**changes: Any) -> list[str]:
        enricher = IDMSEnricher.paper(reduce=False, high=0.0, growth=1.0, **changes)
        enriched = enricher.enrich(
            document, chunks, embedder=HashEmbedder(), llm=ScriptedModel(answer)
        )
        return [item["text"] for item in enriched[2].extras.get("added", ())]

    assert added() == [texts[4]]  # equation 4's W makes it denser by one more entity
    assert added(if_less_dense=True) == []


def test_hiqas_path_is_whole_however_long() -> None:
    title = " ".join(f"word{i}" for i in range(81))
    text = f"# Manual\n\nIntro.\n\n## {title}\n\nBody.\n\n### Deep\n\nA text.\n"
    document = read_text(text, format="markdown")
    for splitter in (HiQASplitter.paper(), HiQASplitter.paper(max_tokens=8000)):
        chunk = splitter.split(document)[-1]
        assert chunk.index_text == f"Manual > {title}\n{chunk.text}"
        assert "context_shortened" not in chunk.extras
    assert len(HiQASplitter().split(document)[-1].context.split()) < 81
    some = HiQASplitter.paper(path_tokens=8).split(document)[-1]
    assert "context_shortened" in some.extras


def test_hiqas_measures_of_answers() -> None:
    assert accuracy([1, 0.5, 0]) == 0.5 and accuracy([]) is None
    assert adequacy([1, 3, 2]) == [3, 1, 2]  # (K + 1) - r, K = 3
    for wrong in (0.7, 2):
        with pytest.raises(ValueError, match="grades must be"):
            accuracy([wrong])
    with pytest.raises(ValueError, match="ranks must be from 1 to 2"):
        adequacy([1, 3])
    prompt = answer_prompt("What leaks?", ["Pump > Seal\nIt leaks."], paper="hiqa")
    assert "Pump > Seal\nIt leaks." in prompt and "What leaks?" in prompt
