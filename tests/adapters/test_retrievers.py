"""The retrievers of both frameworks: results with their places, limits, changes, saving, errors."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from doubles import HashTokens
from frameworks import RETRIEVERS, SPLITTERS

from structrag import ContentAwareSplitter, FunctionEmbedder, read_text, resolve
from structrag.errors import (
    BudgetExceeded,
    InvalidParameter,
    ModelFailed,
    SaveFailed,
    UnknownArgument,
)
from structrag.integrations import kinds
from structrag.retrieval.d3.outlines import Routing
from structrag.retrieval.d3.selection import Selection

TEXTS = {
    "pump": "# Pump PX-20\n\nIt moves water.\n\n## Cleaning\n\nRinse the filter every week.\n",
    "valve": "# Valve\n\nIt is made of brass.\n\n## Care\n\nOil the stem of the valve yearly.\n",
    "cats": "# Cats\n\nCats sleep all day.\n\n## Food\n\nThey eat fish at noon.\n",
}
WHALES = "# Whales\n\nThe whale sings in the deep sea.\n"
MICE = "# Cats\n\nCats hunt mice at night.\n"
QUESTION = "How often do I rinse the filter of the PX-20?"
ANSWER = "Rinse the filter every week."
each_retriever = pytest.mark.parametrize("name", RETRIEVERS)
each_index = pytest.mark.parametrize("name", ["MultiView", "HiQA"])


def made(framework: Any, name: str, **options: Any) -> Any:
    documents = framework.documents(TEXTS)
    return framework.index(name, documents, **options)


# -- results


@each_retriever
async def test_results_are_json_with_exact_places(framework: Any, name: str) -> None:
    documents = framework.documents(TEXTS, year=2020, seen=datetime(2020, 1, 2))
    limit = {"max_tokens": 8} if name == "Evidence" else {}
    retriever = framework.index(name, documents, **limit)
    results = framework.ask(retriever, QUESTION)
    (best,) = (result for result in results if ANSWER in result.text)
    assert best.doc_id == "pump"
    assert best.metadata["heading_path"] == "Pump PX-20 > Cleaning"
    assert best.metadata["seen"] == "2020-01-02T00:00:00"
    for result in results:
        assert TEXTS[result.doc_id][result.start : result.end] == result.text
        facts = result.metadata
        assert json.loads(json.dumps(facts)) == facts
        assert facts["year"] == 2020 and "page_starts" not in facts
        source = read_text(TEXTS[result.doc_id], id=result.doc_id, format="markdown")
        cited = resolve(facts["citation"], source)
        assert (cited.state, cited.text) == ("there", result.text)
        place = facts["source_start"], facts["source_end"]
        assert place == (result.start, result.end)
        if name != "D3":
            assert result.score == pytest.approx(sum(facts["score_parts"].values()))
    assert framework.ask(retriever, " ") == []


CORES: list[tuple[str, dict[str, Any], str]] = [
    ("MultiView", {"preset": "paper", "k": 1.5}, QUESTION),
    ("MultiView", {"routes": ["bm25"], "views": ["raw"], "k": 3}, QUESTION),
    ("MultiView", {"routes": ["tfidf", HashTokens()], "k": 2}, "brass valve"),
    ("HiQA", {"alpha": 0.3, "beta": 0.6, "k": 4}, "water of the PX-20"),
    ("HiQA", {"preset": "paper", "k": 3}, "water of the PX-20"),
    ("HiQA", {"routes": ["dense", "keywords"], "diversify": "round_robin"}, "PX-20"),
    ("D3", {"k": 3}, QUESTION),
    ("D3", {"strategy": "lexical", "selection": Selection(k=2)}, QUESTION),
    ("D3", {"preset": "paper", "routing": Routing(on_empty="lexical")}, QUESTION),
    ("Evidence", {}, QUESTION),
]


@pytest.mark.parametrize(("name", "settings", "question"), CORES)
def test_results_are_those_of_the_core(
    framework: Any, name: str, settings: dict[str, Any], question: str
) -> None:
    retriever = made(framework, name, **settings)
    kind = getattr(kinds, name.upper())
    core = kind.core(retriever.index, **settings) if kind.settings else retriever.index
    hits = core.search(question)
    results = framework.ask(retriever, question)
    assert [(one.doc_id, one.score) for one in results] == [
        (hit.chunk.doc_id, hit.score) for hit in hits
    ]


@each_retriever
async def test_limits_and_conditions(framework: Any, name: str) -> None:
    retriever = (
        made(framework, name, max_tokens=None)
        if name == "D3"
        else made(framework, name)
    )
    ask = framework.ask
    assert [len(ask(retriever, QUESTION, k=k)) for k in (1, 2, 3)] == [1, 2, 3]
    assert len(ask(made(framework, name, k=2), QUESTION)) == 2
    for where in ({"doc_id": "cats"}, {"doc_id": ["cats", "cats"]}):
        found = ask(retriever, "fish at noon", where=where)
        assert found and {one.doc_id for one in found} == {"cats"}
        assert await framework.aask(retriever, "fish at noon", where=where) == found
    with pytest.raises(InvalidParameter, match="where"):
        ask(retriever, QUESTION, where={"yaer": 2020})
    empty = framework.index(name, [])
    assert ask(empty, QUESTION) == []


@each_retriever
def test_scores_are_from_0_to_1(framework: Any, name: str) -> None:
    retriever = made(framework, name, **({} if name == "D3" else {"k": 6}))
    results = framework.ask(retriever, QUESTION)
    scores = [one.score for one in results]
    assert len(results) > 1 and all(0 <= score <= 1 + 1e-12 for score in scores)
    if name != "D3":  # its evidence is in reading order
        assert scores == sorted(scores, reverse=True)
    assert ANSWER in max(results, key=lambda one: one.score).text


@each_retriever
def test_a_passage_is_equal_whatever_was_asked(framework: Any, name: str) -> None:
    retriever = made(framework, name)
    passages: dict[str, Any] = {}
    for question in (QUESTION, "Do cats sleep all day?", "brass valve", "water"):
        for one in framework.ask(retriever, question):
            first = passages.setdefault(one.id, one)
            assert first == one
            node = getattr(one.host, "node", one.host)
            assert node == getattr(first.host, "node", first.host)
            copies = {**one.metadata}, json.loads(json.dumps(node.metadata))
            for copied in (*copies, node.model_dump()["metadata"]):
                assert copied == dict(one.metadata) and "score_parts" in copied


@each_retriever
def test_hits_of_html_lead_to_the_markup(framework: Any, name: str) -> None:
    html = (
        "<h1>Pumps</h1>\n<p>A pump  moves <b>water</b>.</p>\n<h2>Filters</h2>\n"
        "<p>Rinse the filter &amp; dry it.</p>"
    )
    page = framework.document(html, **{framework.file_key: "page.html"})
    results = framework.ask(framework.index(name, [page]), "Rinse the filter")
    assert results
    for one in results:
        markup = html[one.metadata["source_start"] : one.metadata["source_end"]]
        shown = read_text(f"<div>{markup}</div>", format="html").text
        assert shown.split() == one.text.split()


def test_a_code_block_keeps_its_indentation(framework: Any) -> None:
    code = "# Pump\n\nIt moves water.\n\n## Start\n\nRun this:\n\n    start(pump)\n    wait()\n"
    retriever = framework.index("D3", [framework.document(code)])
    results = framework.ask(retriever, "start(pump)")
    (block,) = (one for one in results if "start(pump)" in one.text)
    assert block.text == "    start(pump)\n    wait()"
    assert block.start == code.index("    start")


SPELLINGS = [(PurePosixPath("/a/b"), "/a/b"), ({"b", "a"}, ["a", "b"]), (b"a", "YQ==")]


@pytest.mark.parametrize(("value", "plain"), SPELLINGS)
def test_metadata_is_spelt_in_one_way(framework: Any, value: Any, plain: Any) -> None:
    retriever = framework.index("MultiView", [framework.document("Water.", seen=value)])
    assert framework.ask(retriever, "water")[0].metadata["seen"] == plain


@each_retriever
async def test_a_document_deleted_while_it_is_found_is_left_out(
    framework: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    retriever = made(framework, name)
    kind = type(framework.core(retriever))
    run = kind.run

    def search_then_delete(self: Any, flow: Any) -> Any:
        hits = run(self, flow)
        retriever.delete("pump")
        return hits

    monkeypatch.setattr(kind, "run", search_then_delete)
    assert "pump" not in {one.doc_id for one in framework.ask(retriever, QUESTION)}


# -- what is indexed


@each_index
@pytest.mark.parametrize("splitter", [*SPLITTERS, None])
def test_the_heading_path_is_indexed_and_not_shown(
    framework: Any, name: str, splitter: str | None
) -> None:
    titles = ["Handbook of the CA-300", "Maintenance", "Filter cartridge"]
    headings = [
        f"{'#' * level} {title}\n\nWords.\n\n" for level, title in enumerate(titles, 1)
    ]
    text = f"{''.join(headings)}Do it with care. Do it each week.\n\n# End\n\nBye.\n"
    settings = {"within_sections": True} if splitter == "Fixed" else {}
    chosen = splitter and framework.splitter_class(splitter)(**settings)
    retriever = framework.index(
        name, [framework.document(text, "d")], splitter=chosen, views=["raw"], k=9
    )
    chunk = next(one for one in retriever.index.chunks() if "with care" in one.text)
    assert all(title in chunk.index_text for title in titles)
    results = framework.ask(retriever, "cartridge, care")
    shown = next(one for one in results if "with care" in one.text)
    assert text[shown.start : shown.end] == shown.text
    assert shown.metadata["heading_path"] == " > ".join(titles)


def test_splitters_decide_what_is_indexed(framework: Any) -> None:
    documents = framework.documents(TEXTS)
    small = framework.splitter("ContentAware", 12)
    retriever = framework.index("MultiView", documents, splitter=small)
    sizes = [len(chunk.index_text.split()) for chunk in retriever.index.chunks()]
    assert max(sizes) <= 12
    of_core = ContentAwareSplitter(context=False)
    retriever = framework.index("MultiView", documents, splitter=of_core)
    assert not any(chunk.context for chunk in retriever.index.chunks())
    with pytest.raises(InvalidParameter, match=r"know a document's\s+sections"):
        framework.index("MultiView", documents, splitter=object())


@each_retriever
def test_chunks_are_noticed_where_documents_are_wanted(
    framework: Any, name: str
) -> None:
    chunks = framework.split(
        framework.splitter("ContentAware", 12), *framework.documents(TEXTS)
    )
    with pytest.warns(UserWarning, match="pass whole documents"):
        framework.index(name, [chunk.host for chunk in chunks])


def test_a_language_model_writes_the_views(framework: Any) -> None:
    answer = '{"summary": "A scripted summary.", "keywords": ["scripted", "zebra"]}'
    llm = framework.model(lambda prompt: answer)
    options: dict[str, Any] = {"llm": llm, "invented_keywords": True, "k": 2}
    retriever = made(framework, "MultiView", **options)
    assert retriever.index.usage.calls == 6
    assert "bm25:keywords" in framework.ask(retriever, "zebra")[0].metadata["routes"]


def test_results_tell_what_a_splitter_saw(framework: Any) -> None:
    for splitter, key in (("PIC", "pic_relevant"), ("IDMS", "idms_margin_source")):
        chosen = framework.splitter_class(splitter)()
        results = framework.ask(made(framework, "MultiView", splitter=chosen), "cats")
        assert results and all(key in one.metadata for one in results)


# -- documents come, change and go


def cases(framework: Any) -> dict[str, tuple[str, Callable[[], dict[str, Any]]]]:
    lsa: dict[str, Any] = {"embedding": "lsa"}
    llm = framework.language_model(lambda prompt: "1, 2")
    return {
        **{name: (name, dict) for name in RETRIEVERS},
        **{f"{name} by lsa": (name, lambda: lsa) for name in RETRIEVERS},
        "MultiView in a store": ("MultiView", framework.store),
        "HiQA in a store": ("HiQA", framework.store),
        "Evidence of tokens": ("Evidence", lambda: {"embedding": HashTokens()}),
        "D3 with a model": ("D3", lambda: {**lsa, "llm": llm, "preset": "paper"}),
    }


CASES = [
    *RETRIEVERS,
    *(f"{name} by lsa" for name in RETRIEVERS),
    "MultiView in a store",
    "HiQA in a store",
    "Evidence of tokens",
    "D3 with a model",
]


@pytest.mark.parametrize("case", CASES)
async def test_documents_come_change_and_go_and_are_saved(
    framework: Any, case: str, tmp_path: Path
) -> None:
    name, options = cases(framework)[case]
    ask, chosen = framework.ask, {"embedding": framework.embedding(), **options()}
    if case.endswith("a store"):
        del chosen["embedding"]
    documents, kind = framework.documents(TEXTS), framework.kind(name)
    said = pytest.warns(UserWarning, match="could not be used; .*: chunks 6")
    with said if "llm" in chosen else nullcontext():
        retriever = kind.from_documents(documents, **chosen)
        fresh = {**chosen, **(options() if case.endswith("a store") else {})}
        awaited = await kind.afrom_documents(documents, **fresh)
    for question in (QUESTION, "brass valve", "nothing like it", ""):
        found = ask(retriever, question)
        assert found == await framework.aask(retriever, question)
        assert found == await framework.aask(awaited, question)
    assert framework.add(retriever, documents).unchanged == 3
    changes = framework.documents({"whales": WHALES, "cats": MICE})
    report = await framework.aadd(retriever, changes)
    assert (report.added, report.replaced) == (1, 1)
    found = ask(retriever, "cats whale sea mice", k=20)
    assert "fish" not in "".join(one.text for one in found)
    retriever.save(tmp_path / "index")
    loaded = kind.load(tmp_path / "index", **chosen)
    assert ask(loaded, "whale") == ask(retriever, "whale")
    assert framework.add(loaded, [*documents[:2], *changes]).unchanged == 4
    loaded.delete("cats")
    loaded.save(tmp_path / "index")
    with pytest.raises(SaveFailed, match="changed by another"):
        retriever.save(tmp_path / "index")
    assert len(kind.load(tmp_path / "index", **chosen).index.document_ids) == 3
    assert retriever.delete("whales") and not retriever.delete(["whales", "cats"])
    assert retriever.delete("valve") and retriever.index.document_ids == ["pump"]
    assert {one.doc_id for one in ask(retriever, "whale cats valve water", k=20)} <= {
        "pump"
    }


@each_retriever
def test_a_retriever_is_pickled_and_copied(
    framework: Any, name: str, tmp_path: Path
) -> None:
    retriever = made(framework, name, embedding="lsa")
    copied = copy.deepcopy(retriever)
    assert copied.index is retriever.index
    unsaved = pickle.loads(pickle.dumps(retriever))
    assert framework.ask(unsaved, QUESTION) == framework.ask(retriever, QUESTION)
    unsaved.delete("cats")
    assert len(retriever.index.document_ids) == 3
    retriever.save(tmp_path / "index")
    loaded = framework.load_index(name, tmp_path / "index", embedding="lsa")
    for one in (retriever, loaded):
        again = pickle.loads(pickle.dumps(one))
        assert framework.ask(again, QUESTION) == framework.ask(one, QUESTION)


@pytest.mark.xdist_group("engines")
@each_index
async def test_documents_are_kept_in_an_engine(
    framework: Any, name: str, tmp_path: Path
) -> None:
    pytest.importorskip("lancedb", reason="the extra 'lancedb' is not installed")
    store = f"lancedb:{tmp_path}"
    near, far = made(framework, name, k=2), made(framework, name, store=store, k=2)
    opened = framework.load_index(name, store, k=2)
    for question in (QUESTION, "brass valve", ""):
        found = framework.ask(near, question)
        assert framework.ask(far, question) == found
        assert await framework.aask(opened, question) == found
    assert far.delete("pump")
    assert "pump" not in {one.doc_id for one in framework.ask(opened, QUESTION)}
    with pytest.raises(RuntimeError, match="not saved by EvidenceRetriever"):
        framework.load_index("Evidence", store)


@pytest.mark.xdist_group("engines")
def test_d3_is_not_kept_in_an_engine(framework: Any, tmp_path: Path) -> None:
    store = f"lancedb:{tmp_path}"
    for call in (
        lambda: made(framework, "D3", store=store),
        lambda: framework.load_index("D3", store),
    ):
        with pytest.raises(
            InvalidParameter, match="store must be a folder for D3Index"
        ):
            call()


@each_index
def test_a_long_document_comes_to_a_store_in_batches(framework: Any, name: str) -> None:
    """Chroma takes 166 entries at once where SQLite is an old one."""
    options = framework.store()
    store = options[framework.store_name]
    sizes = framework.batch_sizes(store)
    sections = [f"## Rule {i}\n\nRule {i} costs {i} euro.\n\n" for i in range(180)]
    book = framework.document("# Book\n\n" + "".join(sections), "book")
    retriever = framework.index(name, [book], **options)
    assert sum(sizes) > 170 and max(sizes) <= 166
    assert len(getattr(store, framework.kept)) == sum(sizes)
    assert retriever.delete("book") and not getattr(store, framework.kept)


# -- what is broken off, and wrong arguments


@each_retriever
async def test_an_error_says_what_is_kept_and_how_to_go_on(
    framework: Any, name: str, tmp_path: Path
) -> None:
    def fail(texts: Any) -> Any:
        raise ConnectionError("no network")

    model = FunctionEmbedder(fail, name="fails")
    parts = r"no network.* But {0}from_documents returned no retriever: {1}.*{0}from_documents\("
    nothing, kept = "nothing is kept", "only the cache is kept"
    with pytest.raises(ModelFailed, match=parts.format("", nothing)) as error:
        made(framework, name, embedding=model)
    assert isinstance(error.value.__cause__, ConnectionError)
    with pytest.raises(ModelFailed, match=parts.format("", kept)):
        made(framework, name, embedding=model, cache=tmp_path / "calls.sqlite")
    with pytest.raises(ModelFailed, match=parts.format("a", nothing)):
        documents = framework.documents(TEXTS)
        await framework.kind(name).afrom_documents(documents, embedding=model)


def test_going_on_by_the_cache_or_an_empty_retriever(
    framework: Any, tmp_path: Path
) -> None:
    llm = framework.language_model(
        lambda prompt: '{"summary": "A.", "keywords": ["b"]}'
    )
    documents = [
        framework.document("# T\n\n" + f"Word{i} says much. " * 80, str(i))
        for i in range(3)
    ]
    options: dict[str, Any] = {"llm": llm, "max_concurrency": 1}
    cached = {**options, "cache": tmp_path / "calls.sqlite"}
    with pytest.raises(BudgetExceeded, match="only the cache is kept"):
        framework.index("MultiView", documents, max_calls=2, **cached)
    usage = framework.index("MultiView", documents, **cached).index.usage
    assert (usage.calls, usage.cache_hits) == (4, 2)
    retriever = framework.index("MultiView", [], max_calls=5, **options)
    with pytest.raises(BudgetExceeded) as error:
        for document in documents:
            framework.add(retriever, [document])
    assert "no retriever" not in str(error.value)
    assert retriever.index.document_ids == ["0", "1"]


@each_retriever
def test_names_of_arguments(framework: Any, name: str) -> None:
    what = f"{name}Retriever.from_documents has no argument 'max_call'. Did you mean 'max_calls'"
    with pytest.raises(UnknownArgument, match=what) as error:
        made(framework, name, max_call=3)
    assert "Known: " in str(error.value)
    retriever = made(framework, name)
    for wrong in ("chunk_size", "search_kwargs", "text_splitter", "storage_context"):
        for call in (
            lambda **options: made(framework, name, **options),
            lambda **options: framework.over(name, retriever.index, **options),
        ):
            with pytest.raises(UnknownArgument) as error:
                call(**{wrong: 3})
            advice, _, known = str(error.value).partition(" Known: ")
            _, is_advised, advised = advice.partition("Pass ")
            argument = advised.partition("=")[0]
            assert (
                not is_advised
                or argument in known.strip(".").split(", ")
                or " " in argument
            )


@each_retriever
@pytest.mark.parametrize(
    "alias", ["embedding", "embeddings", "embed_model", "embedder"]
)
def test_the_embedding_has_several_names(
    framework: Any, name: str, alias: str, tmp_path: Path
) -> None:
    kind, model = framework.kind(name), {alias: framework.embedding()}
    retriever = kind.from_documents(framework.documents(TEXTS), **model)
    assert type(model[alias]).__name__ in retriever.index.embedder.name
    retriever.save(tmp_path / "index")
    assert kind.load(tmp_path / "index", **model).index.document_ids == [*TEXTS]
    with pytest.raises(InvalidParameter, match="mean the same"):
        kind.from_documents([], **{"embedder": 1, "embed_model": 2} | model)


@pytest.mark.xdist_group("engines")
@each_retriever
def test_errors_call_the_embedding_as_the_user_did(framework: Any, name: str) -> None:
    for wrong in ("no-such-model", object()):
        with pytest.raises(
            InvalidParameter, match=rf"^{framework.embedding_name} must be"
        ):
            framework.kind(name).from_documents(
                framework.documents(TEXTS), **{framework.embedding_name: wrong}
            )
    if name in ("MultiView", "Evidence"):
        with pytest.raises(
            InvalidParameter, match=rf" Pass {framework.embedding_name}=\."
        ):
            made(framework, name, embedding="lsa", store="lancedb:nowhere")


@each_retriever
def test_lsa_is_asked_for_or_warned_of(
    framework: Any, name: str, recwarn: pytest.WarningsRecorder
) -> None:
    kind, documents = framework.kind(name), framework.documents(TEXTS)
    with pytest.warns(UserWarning, match="No embedding model was given"):
        silent = kind.from_documents(documents)
    recwarn.clear()
    chosen = kind.from_documents(documents, embedding="lsa")
    assert not recwarn.list
    assert framework.ask(silent, QUESTION) == framework.ask(chosen, QUESTION)


@pytest.mark.parametrize("wrong", ["folder", ["text"], [read_text("# A")], None])
def test_what_is_no_document_is_named(framework: Any, wrong: Any) -> None:
    wrong = wrong or framework.document("# A")  # one, not in a list
    for call in (
        lambda: framework.index("MultiView", wrong),
        lambda: framework.split_all(framework.splitter("ContentAware"), wrong),
    ):
        with pytest.raises(InvalidParameter, match="documents must "):
            call()


def test_progress_is_a_line_or_a_function(
    framework: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    made(framework, "MultiView", progress=True)
    assert " of " in capsys.readouterr().err
    with pytest.raises(InvalidParameter, match="progress must be a function"):
        made(framework, "MultiView", progress=3)
