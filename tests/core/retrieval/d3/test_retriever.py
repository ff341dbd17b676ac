"""The D3 index and retriever: whole or not at all, whatever a model answers, counted."""

from __future__ import annotations

import asyncio
import itertools
from math import exp
from pathlib import Path
from typing import Any

import pytest
from d3_making import Overlap
from doubles import HashEmbedder, Reluctant, ScriptedModel
from fixture_cases import examples
from samples import GUIDE_WORDS

from structrag import Cache, EvidenceRetriever, Index
from structrag.errors import (
    IndexDamaged,
    InvalidParameter,
    ModelFailed,
)
from structrag.reading.files import read_text
from structrag.records import Document
from structrag.retrieval.d3.index import D3Index
from structrag.retrieval.d3.outlines import Routing
from structrag.retrieval.d3.retriever import D3Retriever
from structrag.retrieval.d3.selection import Selection

FILLER = (
    "Nothing of interest happens in this long paragraph about weather and trains. " * 12
)
TEXT = f"""# Report

Opening words.

## Birds

The heron eats frogs.

The heron eats frogs.

{FILLER}

## Machines

### Engines

The engine burns diesel.

| part | weight |
|---|---|
| piston | 3 kg |

{FILLER}
"""
OTHER = "# Other\n\n## Fish\n\nThe pike eats small fish.\n\n## Birds\n\nThe owl hunts mice.\n"


def document(text: str = TEXT, name: str = "report") -> Document:
    return read_text(text, format="markdown", id=name)


@pytest.fixture(scope="module")
def index() -> D3Index:
    made = D3Index(embedder=HashEmbedder())
    made.add([document(), document(OTHER, "other")])
    return made


def answering(route: str, select: str) -> ScriptedModel:
    return ScriptedModel(
        lambda prompt: route if "Which of these sections" in prompt else select
    )


def test_without_a_model_the_paragraph_is_found_in_reading_order(
    index: D3Index,
) -> None:
    result = D3Retriever(index, k=2).result(
        "What does the engine burn?", where={"doc_id": "report"}
    )
    assert (
        min(result.hits, key=lambda hit: hit.rank).chunk.text.strip()
        == "The engine burns diesel."
    )
    assert result.route.how == "scores"
    assert [hit.chunk.start for hit in result.hits] == sorted(
        hit.chunk.start for hit in result.hits
    )
    assert result.total.calls == 0
    assert result.cost["select"].scored <= len(index)
    (best,) = [hit for hit in result.hits if hit.rank == 1]
    assert {"bm25", "dense", "route"} == set(best.scores) == set(best.parts)
    for hit in result.hits:
        assert sum(hit.parts.values()) == pytest.approx(hit.score)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"strategy": "lexical"},
        {"strategy": "dense"},
        {
            "strategy": "cross_encoder",
            "selection": Selection(cross_encoder=Overlap(lambda x: 9 * x)),
        },
        {
            "strategy": "lexical+monot5",
            "selection": Selection(monot5=Overlap(lambda x: x - 1)),
        },
        {"llm": answering("2, 3", "1, 2"), "strategy": "fused"},
        {"llm": answering("2, 3", "1, 2")},
    ],
)
@pytest.mark.parametrize(
    "question", ["What does the engine burn?", "What does the heron eat?"]
)
def test_scores_are_from_0_to_1_and_fall_with_the_rank(
    index: D3Index, options: dict[str, Any], question: str
) -> None:
    hits = sorted(
        D3Retriever(index, k=4, **options).search(question), key=lambda hit: hit.rank
    )
    scores = [round(hit.score, 9) for hit in hits]
    assert scores == sorted(scores, reverse=True) and all(
        0 <= score <= 1 for score in scores
    )
    assert all(
        not hit.parts or sum(hit.parts.values()) == pytest.approx(hit.score)
        for hit in hits
    )
    if options.get("strategy") == "lexical+monot5":
        assert hits and all(exp(hit.scores["monot5"]) == hit.score for hit in hits)


def test_route_and_select_in_two_calls(index: D3Index) -> None:
    model = answering("3", "1, 2")
    result = D3Retriever(index, llm=model).result(
        "What does the heron eat?", where={"doc_id": "report"}
    )
    assert [section.path for section in result.route.sections] == [
        ("Report", "Machines", "Engines")
    ]
    assert len(model.prompts) == result.total.calls == 2
    assert all(len(hit.chunk.text) and hit.score == 1.0 for hit in result.hits)


PROSE = "I believe it may be the second one."
UNUSABLE_IDS = {"", PROSE, "abc " * 10_000, "[" * 9999, "1. Dogs.\n2. Cats.", "第2段"}
UNUSABLE_NAMES = (UNUSABLE_IDS - {""}) | {"1-4", "[1, 2, 999]", '{"ids": [1]}'}


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "none",
        "N/A",
        "[1, 2, 999]",
        '{"ids": [1]}',
        PROSE,
        "1. Dogs.\n2. Cats.",
        "第2段",
        "1-4",
        "abc " * 10_000,
        "[" * 9999,
    ],
)
@pytest.mark.parametrize("preset", ["default", "paper"])
def test_any_answer_gives_a_valid_result(
    index: D3Index, answer: str, preset: str
) -> None:
    result = D3Retriever(index, llm=ScriptedModel(answer), preset=preset).result(
        "What does the heron eat?"
    )
    ids = [hit.chunk.id for hit in result.hits]
    assert len(ids) == len(set(ids))
    # The paper's prompts ask for an empty response where nothing is relevant.
    by_names = answer in UNUSABLE_NAMES if preset == "paper" else answer in UNUSABLE_IDS
    by_ids = answer in UNUSABLE_IDS and not (preset == "paper" and not answer)
    assert result.route.degraded == by_names * len(result.route.answers)
    assert result.evidence.degraded == by_ids * len(result.evidence.answers)
    assert len(result.route.failures + result.evidence.failures) == result.degraded
    assert result.total.calls >= 1


def test_on_empty(index: D3Index) -> None:
    where = {"doc_id": "report"}

    def route(how: str) -> Any:
        retriever = D3Retriever(
            index, llm=answering("none", "1"), routing=Routing(on_empty=how)
        )
        return retriever.result("What does the heron eat?", where=where)

    assert route("none").hits == ()
    assert route("lexical").route.how == "scores"
    assert route("lexical").hits


def test_a_model_that_raises_on_every_third_call(index: D3Index) -> None:
    numbers = itertools.count(1)

    def script(prompt: str) -> str:
        if next(numbers) % 3 == 0:
            raise OSError("down")
        return "1, 2, 3"

    retriever = D3Retriever(index, llm=script)
    results = [retriever.result(f"What does the heron eat, {i}?") for i in range(6)]
    assert sum(result.degraded for result in results) == 4
    assert all(result.hits for result in results)
    assert results[1].route.failures == ("OSError: down",)


@pytest.mark.parametrize(
    "strategy", ["base", "hierbase", "lexical", "dense", "lexical+base"]
)
def test_strategies_async_and_batch_give_the_same(
    index: D3Index, strategy: str
) -> None:
    questions = ["What does the heron eat?", "What does the engine burn?", ""]
    retriever = D3Retriever(index, llm=answering("1-9", "1, 3"), strategy=strategy)
    results = [retriever.result(question) for question in questions]
    assert results == retriever.results(questions)
    assert results == asyncio.run(retriever.aresults(questions))
    assert results[0] == asyncio.run(retriever.aresult(questions[0]))
    assert results[0].hits
    assert results[2].hits == ()


def test_text_without_headings_that_fits_one_call_is_not_routed() -> None:
    index = D3Index(embedder=HashEmbedder())
    index.add(
        [Document(text="The heron eats frogs.\n\nThe owl hunts mice.", id="flat")]
    )
    model = answering("1", "2")
    result = D3Retriever(index, llm=model).result("Who hunts mice?")
    assert (result.route.how, len(model.prompts)) == ("direct", 1)
    assert [hit.chunk.text for hit in result.hits] == ["The owl hunts mice."]


def test_saved_and_opened_it_finds_the_same(index: D3Index, tmp_path: Path) -> None:
    index.save(tmp_path / "d3")
    index.save(tmp_path / "d3")
    assert [entry.name for entry in tmp_path.iterdir()] == ["d3"]
    opened = D3Index.load(tmp_path / "d3", embedder=HashEmbedder(), verify=True)
    question = "What does the heron eat?"
    assert D3Retriever(opened).result(question) == D3Retriever(index).result(question)
    assert opened.add([document()]).unchanged == 1
    with pytest.raises(InvalidParameter, match="embedder must be the one"):
        D3Index.load(tmp_path / "d3")
    (tmp_path / "d3" / "manifest.json").unlink()
    with pytest.raises(IndexDamaged):
        D3Index.load(tmp_path / "d3", embedder=HashEmbedder())
    Index().save(tmp_path / "plain")
    with pytest.raises(IndexDamaged, match=r"not saved by D3Index\.save"):
        D3Index.load(tmp_path / "plain")
    with pytest.raises(InvalidParameter):
        index.save(tmp_path)


def test_documents_change_whole_or_not_at_all() -> None:
    class Failing(HashEmbedder):
        def embed(self, texts: Any, *, query: bool = False) -> Any:
            if any("poison" in text and "Report" not in text for text in texts):
                raise OSError("down")
            return super().embed(texts, query=query)

    index = D3Index(embedder=Failing())
    index.add([document()])
    asyncio.run(index.aadd([document(OTHER, "other")]))
    question = "What does the heron eat?"
    before = D3Retriever(index).result(question, where={"doc_id": "report"})
    with pytest.raises(ModelFailed):
        index.add([document("# X\n\nThe poison.\n", "new")])
    assert index.document_ids == ["report", "other"]
    levels = (index.sections, index.parts, index.paragraphs)
    assert all(level.document_ids == ["report", "other"] for level in levels)
    assert D3Retriever(index).result(question, where={"doc_id": "report"}) == before
    index.update([document(TEXT.replace("frogs", "eels"))])
    assert "eels" in D3Retriever(index, k=1).search("heron eats eels")[0].chunk.text
    assert index.delete("report")
    assert not index.delete("report")
    assert {
        hit.chunk.doc_id for hit in D3Retriever(index).search("heron eats birds owl")
    } == {"other"}
    with pytest.raises(InvalidParameter):
        index.update([document()])
    assert D3Retriever(D3Index()).search("anything") == []


PUMPS = "# Pumps\n\nOne pump.\n\nTwo pump pump.\n\n# Fans\n\nOne fan.\n"


@pytest.fixture(scope="module")
def pumps() -> D3Index:
    small = D3Index(embedder=HashEmbedder())
    small.add([document(PUMPS, "pumps")])
    return small


@examples
def test_what_a_setting_needs_is_named(
    pumps: D3Index, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidParameter, match=message):
        D3Retriever(pumps, **options)


def test_router_and_strategy_by_what_is_there(pumps: D3Index) -> None:
    evidence = EvidenceRetriever.from_documents([document(PUMPS, "pumps")])
    model = ScriptedModel("1")

    def chosen(**options: Any) -> tuple[str, str]:
        retriever = D3Retriever(pumps, **options)
        return retriever.router, retriever.strategy

    assert chosen() == ("scores", "fused")
    assert chosen(evidence=evidence) == ("evidence", "evidence")
    assert chosen(llm=model) == ("llm", "base")
    assert chosen(llm=model, evidence=evidence) == ("llm", "base")
    assert chosen(llm=model, preset="paper") == ("llm", "base")
    assert chosen(preset="paper") == ("scores", "fused")
    assert chosen(llm=model, router="scores", strategy="fused") == ("scores", "fused")


def test_at_most_k_of_what_is_scored(pumps: D3Index) -> None:
    retriever = D3Retriever(pumps, k=1)
    (best,) = retriever.search("pump pump")
    assert best.chunk.text.strip() == "Two pump pump."
    both = retriever.search("pump pump", 2)
    assert [hit.rank for hit in both] == [2, 1]  # in reading order
    lexical = Selection(strategy="lexical", threshold=0.0, k=2)
    for k, most in ((None, 2), (1, 1), (3, 3)):
        retriever = D3Retriever(pumps, selection=lexical, k=k)
        assert len(retriever.search("one pump fan")) == most
    assert len(D3Retriever(pumps, selection=lexical).search("one pump fan", 3)) == 3


@pytest.mark.parametrize("strategy", ["fused", "evidence"])
def test_the_tokens_of_the_best_are_the_limit(pumps: D3Index, strategy: str) -> None:
    tokens = pumps.layout().tokens.tolist()
    evidence = EvidenceRetriever.from_documents([document(PUMPS, "pumps")])

    def texts(max_tokens: int | None) -> list[str]:
        retriever = D3Retriever(
            pumps,
            router="scores",
            strategy=strategy,
            evidence=evidence,
            max_tokens=max_tokens,
        )
        return [hit.chunk.text.strip() for hit in retriever.search("pump pump one")]

    best = texts(1)
    assert len(best) == 1
    assert len(texts(tokens[0] + tokens[1])) == 2
    assert len(texts(tokens[0] + tokens[1] - 1)) == 1
    assert len(texts(None)) == len(texts(1000)) >= 2


class Open:
    """A model that counts how many of its calls are open at once."""

    name = "open"

    def __init__(self) -> None:
        self.open = self.most = 0

    def complete(self, prompt: str) -> str:
        return "1"

    async def acomplete(self, prompt: str) -> str:
        self.open += 1
        self.most = max(self.most, self.open)
        await asyncio.sleep(0.002)
        self.open -= 1
        return "1"


def test_single_calls_asked_at_the_same_time_share_the_limit(index: D3Index) -> None:
    model = Open()
    retriever = D3Retriever(index, llm=model, max_concurrency=3)
    questions = [f"What does the heron eat, {i}?" for i in range(20)]

    async def all_at_once() -> list[Any]:
        return await asyncio.gather(
            *(retriever.aresult(question) for question in questions)
        )

    first = asyncio.run(all_at_once())
    assert model.most == 3
    assert first == asyncio.run(all_at_once()) == retriever.results(questions)


class Slow(HashEmbedder):
    """Later calls are answered earlier."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    async def aembed(self, texts: Any, *, query: bool = False) -> Any:
        self.calls += 1
        await asyncio.sleep(0.02 / self.calls)
        return self.embed(texts, query=query)


def test_a_plain_call_amid_an_awaited_one_does_not_wait() -> None:
    index = D3Index(embedder=Slow())

    async def amid() -> None:
        adding = asyncio.ensure_future(index.aadd([document()]))
        await asyncio.sleep(0)
        assert not index.delete("report")
        await adding
        assert index.delete("report")
        stopped = asyncio.ensure_future(index.aadd([document()]))
        waiting = asyncio.ensure_future(index.aadd([document(OTHER, "other")]))
        await asyncio.sleep(0)
        stopped.cancel()
        await waiting
        with pytest.raises(asyncio.CancelledError):
            await stopped

    asyncio.run(amid())
    assert index.document_ids == ["other"]


def test_the_route_names_every_part_of_a_section_that_evidence_comes_from() -> None:
    words = ("heron", "otter", "lynx", "owl", "pike", "newt", "toad", "vole")
    body = "\n\n".join(
        f"The {word} is seen at dawn. " + f"It was {word} weather again. " * 65
        for word in words
    )
    index = D3Index(embedder=HashEmbedder())
    index.add(
        [document(f"# Animals\n\n## Sightings\n\n{body}\n\n## End\n\nNothing.\n")]
    )
    sections = index.layout().sections
    assert [(each.part, each.parts) for each in sections] == [
        (0, 0),
        *((i, 4) for i in (1, 2, 3, 4)),
        (0, 0),
    ]
    assert [row for each in sections for row in each.rows] == list(range(len(index)))
    for each in sections:
        assert all(
            each.start <= chunk.start < chunk.end <= each.end
            for chunk in index.paragraphs.chunks()[each.rows.start : each.rows.stop]
        )
    for word in words:
        found = D3Retriever(index, routing=Routing(share=0, least_tokens=1)).result(
            f"Where is the {word}?"
        )
        assert found.hits
        rows = {row for each in found.route.sections for row in each.rows}
        assert {index.paragraphs.row_of(hit.chunk.id) for hit in found.hits} <= rows
    model = answering("3", "1-9")
    one = D3Retriever(index, llm=model).result("Where is the lynx?")
    assert "[3] Sightings (part 2 of 4)" in model.prompts[0]
    assert [hit.chunk.text.split()[1] for hit in one.hits] == ["lynx", "owl"]


@pytest.mark.parametrize("format_", ["ids", "names"])
def test_d3_routing(format_: str, tmp_path: Path) -> None:
    sections = "".join(f"## Part {i}\n\n{GUIDE_WORDS}\n\n" for i in range(3))
    index = D3Index(embedder=HashEmbedder())
    index.add([read_text(f"# Guide\n\n{sections}")])
    llm = Reluctant("[2]" if format_ == "ids" else "Part 1")
    settings = Routing(answer_format=format_)
    found = []
    for _ in range(3):
        before = llm.calls
        retriever = D3Retriever(
            index,
            llm=llm.model,
            cache=Cache(tmp_path / "c"),
            router="llm",
            strategy="fused",
            routing=settings,
        )
        found.append(
            (retriever.result("Where is the red engine?").route.how, llm.calls - before)
        )
    assert [calls for _, calls in found] == [1, 1, 0]


def test_windows_are_filled_by_the_models_own_tokenizer(index: D3Index) -> None:
    class Letters(ScriptedModel):
        """Reads four tokens a character, far more than the estimate."""

        def count_tokens(self, text: str) -> int:
            return 4 * len(text)

    limit = 4000
    model = Letters(lambda prompt: "1")
    D3Retriever(
        index,
        llm=model,
        routing=Routing(context_tokens=limit, answer_tokens=0),
        selection=Selection(strategy="base", context_tokens=limit, answer_tokens=0),
    ).search("What does the engine burn?")
    assert model.prompts and all(
        model.count_tokens(prompt) <= limit for prompt in model.prompts
    )
    estimating = ScriptedModel(lambda prompt: "1")
    D3Retriever(
        index,
        llm=estimating,
        routing=Routing(context_tokens=limit, answer_tokens=0),
        selection=Selection(strategy="base", context_tokens=limit, answer_tokens=0),
    ).search("What does the engine burn?")
    assert len(estimating.prompts) < len(model.prompts)


def test_words_by_their_stems(tmp_path: Path) -> None:
    index = D3Index(stems=True)
    index.add(
        [read_text("# Pumps\n\nThe pumps leak.\n\n# Valves\n\nThey rust.\n", id="a")]
    )
    index.save(tmp_path / "index")
    for one in (index, D3Index.load(tmp_path / "index")):
        assert one.store.settings.tokenizer.stems
        hits = D3Retriever(one).search("leaking")
        assert hits[0].chunk.text.strip() == "The pumps leak."
