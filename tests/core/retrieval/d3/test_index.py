"""The index of D3: what its levels hold, what is asked again, what is counted."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from doubles import HashEmbedder, ScriptedModel

from structrag.errors import InvalidParameter
from structrag.reading.files import read_text
from structrag.records import Document
from structrag.retrieval.d3.index import D3Index
from structrag.retrieval.d3.retriever import D3Retriever

LONG = "The heron stands in the river and waits for a frog to come. " * 30
TEXT = f"# Report\n\n## Birds\n\n{LONG}\n\n## Machines\n\nThe engine burns diesel.\n"
TWO_LONG = (
    f"# Report\n\n## Birds\n\n{LONG}\n\n## Fish\n\n{LONG.replace('heron', 'pike')}\n"
)


def document(text: str = TEXT, name: str = "report") -> Document:
    return read_text(text, format="markdown", id=name)


def test_parts_and_paragraphs_are_embedded_and_sections_are_not() -> None:
    embedder = HashEmbedder()
    index = D3Index(embedder=embedder)
    index.add([document()])
    chunks = (*index.parts.chunks(), *index.paragraphs.chunks())
    assert sorted(embedder.texts) == sorted({chunk.index_text for chunk in chunks})
    assert len(index) == len(index.paragraphs)


def test_what_adding_did_is_counted_and_said() -> None:
    failing = ScriptedModel(OSError("down"))
    index = D3Index(llm=failing)
    report = index.add([document()])
    assert (report.added, report.replaced, report.unchanged) == (1, 0, 0)
    assert (report.sections, report.paragraphs) == (3, 3)
    assert "1 document added, 0 replaced, 0 unchanged; 3 sections" in str(report)
    assert str(report).endswith("fell back: chunks 1 (OSError: down)")
    assert len(failing.prompts) == 1 and index.store.stored("report").degraded == 1


def test_what_a_failed_call_left_is_made_again() -> None:
    model = ScriptedModel(OSError("down"))
    index = D3Index(llm=model)
    index.add([document()])
    model.script = "A heron waits for frogs."
    report = index.add([document()])
    assert (report.added, report.replaced, report.unchanged) == (0, 1, 0)
    assert "fell back" not in str(report) and index.store.stored("report").degraded == 0
    summaries = [chunk.extras["summary"] for chunk in index.sections.chunks()]
    assert "A heron waits for frogs." in summaries
    assert index.add([document()]).unchanged == 1 and len(model.prompts) == 2


def without_herons(prompt: str) -> str:
    if "heron" in prompt:
        raise OSError("down")
    return "Pikes wait for frogs."


def test_answers_of_a_document_are_kept_until_all_of_it_is_answered() -> None:
    model = ScriptedModel(without_herons)
    index = D3Index(llm=model)
    for asked in (2, 3):
        index.add([document(TWO_LONG)])
        assert (
            len(model.prompts) == asked and index.store.stored("report").degraded == 1
        )
    model.script = "Herons wait for frogs."
    index.add([document(TWO_LONG)])
    assert len(model.prompts) == 4


async def test_only_documents_that_are_there_can_be_updated() -> None:
    index = D3Index()
    with pytest.raises(InvalidParameter, match="report"):
        index.update([document()])
    with pytest.raises(InvalidParameter, match="report"):
        await index.aupdate([document()])
    await index.aadd([document()])
    assert (await index.aupdate([document(TWO_LONG)])).replaced == 1


def test_a_prompt_that_is_chosen_stands() -> None:
    chat = ScriptedModel("A heron waits.")
    D3Index(llm=chat, prompt="Sum up: {text}").add([document()])
    assert len(chat.prompts) == 1 and chat.prompts[0].startswith("Sum up: The heron")


def test_every_setting_decides_the_fingerprint() -> None:
    source = document()
    prints = [
        D3Index(**options).fingerprint(source)
        for options in (
            {},
            {"preset": "paper"},
            {"whole_tokens": 99},
            {"keywords": 3},
            {"exclude_titles": ["Birds"]},
            {"plain_headings": False},
            {"embedder": HashEmbedder()},
            {"llm": ScriptedModel("a")},
        )
    ]
    assert len(set(prints)) == len(prints)
    assert (
        prints[0]
        == D3Index().fingerprint(source)
        != D3Index().fingerprint(document("a"))
    )


def test_an_opened_index_has_the_settings_it_was_made_with(tmp_path: Path) -> None:
    index = D3Index(preset="paper", whole_tokens=77, exclude_titles=["Machines"])
    index.add([document()])
    index.save(tmp_path / "d3")
    opened = D3Index.load(tmp_path / "d3")
    assert opened.fingerprint(document()) == index.fingerprint(document())
    assert [chunk.path for chunk in opened.sections.chunks()] == [
        ("Report",),
        ("Report", "Birds"),
    ]
    assert opened.usage.calls == 0 and opened.add([document()]).unchanged == 1


# -- at an address


@pytest.fixture
def address(tmp_path: Path) -> str:
    return str(tmp_path / "index")


QUESTIONS = ("Where does the heron stand?", "What does the engine burn?", "frog pike")


def found(index: D3Index, **options: Any) -> list[list[tuple[str, str, float]]]:
    retriever = D3Retriever(index)
    return [
        [
            (hit.chunk.id, hit.chunk.text, pytest.approx(hit.score, abs=5e-3))
            for hit in retriever.search(question, **options)
        ]
        for question in QUESTIONS
    ]


def test_an_index_at_an_address_is_there_as_it_comes(address: str) -> None:
    documents = [document(), replace(document(TWO_LONG, "other"), meta={"year": 2021})]
    near = D3Index(embedder=HashEmbedder())
    far = D3Index(embedder=HashEmbedder(), store=address)
    for index in (near, far):
        index.add(documents[:1])
        index.update([replace(documents[0], meta={"year": 2020})])
        report = index.add(documents[1:])
        assert (report.added, report.parts) == (1, 4)
    assert found(far) == found(near)
    for where in (
        {"year": 2020},
        {"doc_id": "other"},
        lambda meta: meta["year"] > 2020,
    ):
        assert found(far, where=where) == found(near, where=where)
    opened = D3Index.load(address, embedder=HashEmbedder())
    assert found(opened) == found(near) and len(opened) == len(near)
    assert opened.config() == near.config() and opened.fingerprint(
        document()
    ) == near.fingerprint(document())
    # One that is there gets more.
    again = D3Index(embedder=HashEmbedder(), store=address)
    assert again.add([documents[1]]).unchanged == 1
    for index in (near, again):
        assert index.delete("report") and not index.delete("report")
    last = D3Index.load(address, embedder=HashEmbedder())
    assert found(last) == found(near) and last.document_ids == ["other"]


async def test_on_an_event_loop_too(address: str) -> None:
    index = D3Index(embedder=HashEmbedder(), store=address)
    assert (await index.aadd([document()])).added == 1
    assert (await index.aupdate([document(TWO_LONG)])).replaced == 1
    index.warm_up()
    assert D3Index.load(address, embedder=HashEmbedder()).document_ids == ["report"]


@pytest.mark.parametrize("engine", ["lancedb", "milvus"])
def test_an_engine_is_refused(tmp_path: Path, engine: str) -> None:
    address = f"{engine}:{tmp_path / 'corpus'}"
    for make in (D3Index, partial(D3Index.load, address)):
        options = {} if isinstance(make, partial) else {"store": address}
        with pytest.raises(InvalidParameter, match="store must be a folder") as caught:
            make(embedder=HashEmbedder(), **options)
        assert address in str(caught.value)
        assert "MultiViewRetriever" in str(caught.value)
    assert not any(tmp_path.iterdir())
