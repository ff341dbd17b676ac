"""Evidence from documents: exact slices within a budget, whatever the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder, HashTokens, by_words
from growth import LINEAR, power
from hypothesis import given
from hypothesis import strategies as st
from index_making import search_beside_changes
from samples import BAD, manual

from structrag import EvidenceRetriever, Retriever, parse, read_text
from structrag.errors import (
    IndexDamaged,
    InvalidAnswer,
    InvalidParameter,
    UnknownDocument,
)
from structrag.models import LsaEmbedder
from structrag.reading.settings import ReadOptions
from structrag.records import Document, Hit
from structrag.retrieval.evidence.atoms import named_columns
from structrag.text.tokens import count_tokens

PUMPS = read_text(
    "# Pumps\n\nThe blue pump leaks. Its seal is worn.\n\n## Care\n\n- Rinse it weekly.\n"
    "- Dry it.\n\n# Cats\n\nCats sleep all day. They like fish.\n",
    id="pumps",
    meta={"year": 2020},
)
BOATS = read_text(
    "# Boats\n\nBoats float. A blue boat leaks too.\n", id="boats", meta={"year": 2021}
)
MODELS = [None, HashEmbedder(), HashTokens()]
COUNTED = ReadOptions(counter=by_words)


def made(embedding: Any = None, **options: Any) -> EvidenceRetriever:
    return EvidenceRetriever.from_documents([PUMPS, BOATS], embedding, **options)


def texts(hits: Sequence[Hit]) -> list[str]:
    return [hit.chunk.text for hit in hits]


@pytest.mark.parametrize("model", MODELS, ids=["lsa", "embedder", "tokens"])
def test_the_sentence_that_answers_comes_with_its_paragraph(model: Any) -> None:
    (hit,) = made(model).search("Which blue pump leaks?", 1, where={"doc_id": "pumps"})
    assert hit.chunk.text == "The blue pump leaks. Its seal is worn."
    assert (hit.chunk.path, hit.chunk.section_id, hit.rank) == (
        ("Pumps",),
        "pumps#1",
        1,
    )
    assert PUMPS.text[hit.chunk.start : hit.chunk.end] == hit.chunk.text
    assert hit.score == pytest.approx(sum(hit.parts.values()))
    assert ("tokens" in hit.parts) == (isinstance(model, HashTokens))


def test_the_document_is_read_once_by_an_encoder_of_tokens() -> None:
    encoder = HashTokens()
    retriever = made(encoder)
    assert len(encoder.passes) == 1 and not encoder.texts
    retriever.search("pumps")
    assert encoder.passes[1:] == [("pumps",)] and not encoder.queries


def test_tokens_of_a_second_encoder_stand_beside_an_embedding() -> None:
    embedder, encoder = HashEmbedder(), HashTokens()
    hits = made(embedder, token_encoder=encoder).search("Which blue pump leaks?", 1)
    assert hits[0].chunk.doc_id == "pumps" and "tokens" in hits[0].parts
    assert embedder.queries == ["Which blue pump leaks?"] and len(encoder.passes) == 2
    alone = made(token_encoder=encoder)
    assert alone.embedder is None and alone.search("pump", 1)[0].chunk.doc_id == "pumps"


def test_rank_and_reading_order() -> None:
    retriever = made(HashTokens(), read_options=COUNTED)
    by_rank = retriever.search("Do cats like fish? blue boat", max_tokens=25)
    by_place = retriever.search(
        "Do cats like fish? blue boat", max_tokens=25, order="document"
    )
    assert sorted(texts(by_rank)) == sorted(texts(by_place)) and len(by_rank) > 1
    assert [hit.rank for hit in by_rank] == sorted(hit.rank for hit in by_rank)
    places = [(hit.chunk.doc_id != "pumps", hit.chunk.start) for hit in by_place]
    assert places == sorted(places)
    assert made(HashTokens(), order="document").search("cats fish", max_tokens=25)


def test_a_passage_that_starts_with_its_heading_shows_what_is_above_it() -> None:
    hit, *_ = made(HashTokens(), context="all").search("care rinse dry", max_tokens=20)
    assert hit.chunk.text.startswith("## Care") and hit.chunk.context == "Pumps"
    assert hit.chunk.body.lstrip().startswith("- Rinse")


def test_below_one_sentence_its_beginning_is_given() -> None:
    retriever = made(HashTokens(), read_options=COUNTED)
    (hit,) = retriever.search("Which blue pump leaks?", max_tokens=4)
    assert hit.chunk.text == "The blue pump" and hit.chunk.extras == {"cut": True}
    assert retriever.search("Which blue pump leaks?", max_tokens=1) == []


@pytest.mark.parametrize("model", MODELS, ids=["lsa", "embedder", "tokens"])
def test_saved_and_opened(model: Any, tmp_path: Path) -> None:
    retriever = made(model)
    hits = retriever.search("Which blue pump leaks?")
    retriever.save(tmp_path / "index")
    loaded = EvidenceRetriever.load(tmp_path / "index", model, verify=True)
    assert loaded.search("Which blue pump leaks?") == hits
    assert loaded.add([PUMPS, BOATS]).unchanged == 2
    loaded.delete("boats")
    loaded.save(tmp_path / "index")
    assert EvidenceRetriever.load(tmp_path / "index", model).document_ids == ["pumps"]


def test_fitted_vectors_are_saved_once_they_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    retriever = made()
    retriever.save(tmp_path / "cold")
    retriever.warm_up()
    retriever.save(tmp_path / "warm")
    before = retriever.search("Which blue pump leaks?")

    def fit(self: LsaEmbedder, texts: Sequence[str]) -> LsaEmbedder:
        raise AssertionError("fitted again")

    monkeypatch.setattr(LsaEmbedder, "fit", fit)
    loaded = EvidenceRetriever.load(tmp_path / "warm")
    assert loaded.search("Which blue pump leaks?") == before
    loaded.save(tmp_path / "warm")
    loaded = EvidenceRetriever.load(tmp_path / "warm")
    assert loaded.search("Which blue pump leaks?") == before
    loaded.add([read_text("Another.", id="other")])
    for stale in (loaded, EvidenceRetriever.load(tmp_path / "cold")):
        with pytest.raises(AssertionError, match="fitted again"):
            stale.search("Which blue pump leaks?")


def test_vectors_of_another_model_are_refused(tmp_path: Path) -> None:
    made(HashTokens()).save(tmp_path / "index")
    with pytest.raises(InvalidParameter, match="embedding must match the index at"):
        EvidenceRetriever.load(tmp_path / "index", HashTokens(name="other"))
    with pytest.raises(IndexDamaged, match="no saved index"):
        EvidenceRetriever.load(tmp_path / "none", HashTokens())


async def test_on_an_event_loop() -> None:
    retriever = EvidenceRetriever(HashTokens())
    await retriever.aadd([PUMPS, BOATS])
    assert await retriever.asearch("blue pump", 2) == made(HashTokens()).search(
        "blue pump", 2
    )
    assert isinstance(retriever, Retriever)
    assert (await retriever.aupdate([PUMPS])).unchanged == 1


async def test_several_questions_are_read_together() -> None:
    encoder = HashTokens()
    retriever = made(encoder)
    questions = ["blue pump", " ", "Do cats like fish?"]
    expected = [retriever.search(question, max_tokens=20) for question in questions]
    encoder.passes.clear()
    assert retriever.batch(questions, max_tokens=20) == expected
    assert encoder.passes == [("blue pump", "Do cats like fish?")]
    assert await retriever.abatch(questions, max_tokens=20) == expected
    one_each = retriever.batch(questions, 1, where={"year": 2021}, order="document")
    assert [len(hits) for hits in one_each] == [1, 0, 1] and retriever.batch([]) == []
    both = made(HashEmbedder(), token_encoder=encoder)
    assert both.batch(questions) == [both.search(question) for question in questions]
    with pytest.raises(
        InvalidParameter, match="queries must be a list of strings; got one"
    ):
        retriever.batch("pump")
    with pytest.raises(InvalidParameter, match="query must be a string; got int"):
        retriever.batch([3])  # type: ignore[list-item]


QUESTIONS = {
    "one word": "pump",
    "stop words": "the of and",
    "marks": "???",
    "German": "Warum tropft die blaue Pumpe?",
    "Chinese": "为什么漏水？",
    "identifiers": "X-200/7 v1.5",
    "500 words": "blue pump " * 250,
    "a lone surrogate": "\ud83d",
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
@pytest.mark.parametrize("model", MODELS, ids=["lsa", "embedder", "tokens"])
def test_odd_questions_have_passages(model: Any, question: str) -> None:
    hits = made(model).search(question, max_tokens=40)
    assert hits and all(np.isfinite(hit.score) for hit in hits)


def test_blank_questions_and_empty_retrievers_have_none() -> None:
    assert made(HashTokens()).search(" \n") == []
    assert EvidenceRetriever(HashTokens()).search("pump") == []
    assert (
        EvidenceRetriever.from_documents([read_text("", id="e")]).search("pump") == []
    )


def check(document: Document, hits: Sequence[Hit], budget: int) -> None:
    for hit in hits:
        chunk = hit.chunk
        assert (
            document.text[chunk.start : chunk.end] == chunk.text and chunk.text.strip()
        )
        assert chunk.start <= chunk.body_start <= chunk.end
    spans = sorted((hit.chunk.start, hit.chunk.end) for hit in hits)
    assert all(left[1] <= right[0] for left, right in pairwise(spans))
    assert sum(count_tokens(hit.chunk.text) for hit in hits) <= budget


PARTS = ["pump", "leaks.", "cat\n\n", "#", "-", "|", "blue", "water?", "7"]
WORDS = st.lists(st.sampled_from(PARTS), max_size=80)


@given(WORDS, st.integers(1, 60), st.integers(1, 60))
def test_any_document_gives_exact_slices_and_more_tokens_give_more(
    words: list[str], one: int, other: int
) -> None:
    document = read_text(" ".join(words), id="d")
    retriever = EvidenceRetriever.from_documents([document], HashTokens())
    covered = []
    for budget in sorted((one, other)):
        hits = retriever.search("Which blue pump leaks?", max_tokens=budget)
        check(document, hits, budget)
        if any(hit.chunk.extras for hit in hits):
            return  # only a part of a sentence
        places = {
            place for hit in hits for place in range(hit.chunk.start, hit.chunk.end)
        }
        covered.append(
            {place for place in places if not document.text[place].isspace()}
        )
    assert covered[0] <= covered[1]


def test_an_embedder_whose_tokenizer_gives_no_offsets_embeds_sentences() -> None:
    class Slow(HashTokens):
        # As an embedder of sentence-transformers says of a slow tokenizer.
        gives_tokens = False

    encoder = Slow()
    (hit,) = made(encoder).search("Which blue pump leaks?", 1)
    assert (
        hit.chunk.text == "The blue pump leaks. Its seal is worn."
        and not encoder.passes
    )
    assert "tokens" not in hit.parts and encoder.texts
    with pytest.raises(InvalidParameter, match="got Slow"):
        EvidenceRetriever(token_encoder=encoder)


MIXED = st.lists(
    st.sampled_from(
        [
            "# Pumps\n\n",
            "Which pumps leak? These do:\n\n",
            "- The blue pump. It leaks.\n",
            "- Seals:\n  - red seal leaks\n",
            "\n\n| pump | leaks |\n|---|---|\n",
            "| the blue pump leaks every day | 7 |\n",
            "\nTable 7: Leaks\n\n",
            "\nNo pump. ",
        ]
    ),
    max_size=30,
)


@pytest.mark.parametrize("context", ["none", "lead", "all"])
@given(parts=MIXED, budget=st.integers(1, 80))
def test_contexts_are_within_the_budget_and_beside_exact_slices(
    context: str, parts: list[str], budget: int
) -> None:
    document = read_text("".join(parts), id="d", format="markdown")
    retriever = EvidenceRetriever.from_documents(
        [document], HashTokens(), context=context
    )
    hits = retriever.search("Which blue pump leaks?", max_tokens=budget)
    check(document, hits, budget)
    assert sum(count_tokens(hit.chunk.index_text) for hit in hits) <= budget
    assert context != "none" or not any(hit.chunk.context for hit in hits)


def test_a_row_comes_with_its_header_whatever_was_saved(tmp_path: Path) -> None:
    rows = "".join(f"| part {i} | {i * 7} pieces |\n" for i in range(90))
    stock = read_text(
        f"Stock in May\n\n| part | stock |\n|---|---|\n{rows}", id="stock"
    )
    retriever = EvidenceRetriever.from_documents([stock], HashTokens())
    retriever.save(tmp_path / "index")
    loaded = EvidenceRetriever.load(tmp_path / "index", HashTokens())
    for one in (retriever, loaded):
        (hit, *_) = one.search("How many pieces of part 77?", max_tokens=60)
        assert "| part 77 | 539 pieces |" in hit.chunk.text
        assert hit.chunk.context == "Stock in May\n| part | stock |\n|---|---|"
    (alone,) = retriever.search("How many pieces of part 77?", max_tokens=12)
    assert (alone.chunk.text, alone.chunk.context) == ("| part 77 | 539 pieces |", "")


@pytest.mark.slow
@pytest.mark.long
def test_a_manual_with_many_sections_with_minilm(minilm: Any) -> None:
    retriever = EvidenceRetriever.from_documents([manual()], minilm)
    (hit,) = retriever.search("How often is the heron rinsed?", max_tokens=40, k=1)
    assert "The heron must be rinsed every month" in hit.chunk.text


def test_searches_while_documents_come_and_go_never_mix_two_fits() -> None:
    retriever = EvidenceRetriever.from_documents(
        [read_text(f"Pump {i} has valve w{i}.", id=f"d{i}") for i in range(12)]
    )

    def change(number: int) -> None:
        retriever.add([read_text(f"Other churn{number} thing.", id=f"x{number % 5}")])

    def search() -> None:
        for i in range(12):
            hit = retriever.search(f"Which pump has valve w{i}?", k=1)[0]
            assert hit.chunk.doc_id == f"d{i}"

    search_beside_changes(search, change, searchers=3)


def test_a_number_of_passages_uses_the_tokens_it_is_given() -> None:
    text = "# Notes\n\n" + "\n\n".join(
        f"Line {i} says that valve {i} is kept dry." for i in range(60)
    )
    retriever = EvidenceRetriever.from_documents(
        [read_text(text, id="d")], HashTokens()
    )
    alone = retriever.search("Which valve is valve 7 or 40?", 2)
    within = retriever.search("Which valve is valve 7 or 40?", 2, max_tokens=200)
    assert sum(hit.chunk.n_tokens for hit in alone) < 40
    assert len(within) <= 2 and 160 < sum(hit.chunk.n_tokens for hit in within) <= 200
    for hit in within:
        assert text[hit.chunk.start : hit.chunk.end] == hit.chunk.text


def test_a_report_counts_documents_and_their_sentences() -> None:
    retriever = EvidenceRetriever(HashTokens())
    report = retriever.add([PUMPS, BOATS])
    assert (report.added, report.replaced, report.unchanged) == (2, 0, 0)
    assert report.chunks == 9 + 3  # sentences, items and headings
    new = read_text("Kites fly. They fall.", id="kites")
    changed = read_text("Boats sink.", id="boats")
    report = retriever.add([new, changed, PUMPS])
    assert (report.added, report.replaced, report.unchanged) == (1, 1, 1)
    assert report.chunks == 2 + 1
    assert retriever.document_ids == ["pumps", "boats", "kites"]
    report = retriever.add([])
    assert (report.added, report.replaced, report.unchanged, report.chunks) == (0,) * 4


@pytest.mark.parametrize("model", MODELS, ids=["lsa", "embedder", "tokens"])
def test_documents_without_text_or_words_stand_beside_others(model: Any) -> None:
    retriever = EvidenceRetriever(model)
    retriever.add([read_text("", id="empty"), read_text("?!", id="marks")])
    assert (
        retriever.search("Which blue pump leaks?", 1, where={"doc_id": "empty"}) == []
    )
    retriever.add([read_text(" ", id="blank"), PUMPS, read_text("...", id="dots")])
    (hit,) = retriever.search("Which blue pump leaks?", 1)
    assert hit.chunk.text == "The blue pump leaks. Its seal is worn."
    assert len(retriever) == 5


def test_the_tokens_of_the_retriever_hold_where_no_number_is_asked_for() -> None:
    retriever = made(HashTokens(), max_tokens=6)
    (few,) = retriever.search("Which blue pump leaks?")
    assert few.chunk.text == "The blue pump leaks."
    assert texts(retriever.search("Which blue pump leaks?", 1)) == [
        "The blue pump leaks. Its seal is worn."
    ]
    assert texts(retriever.search("Which blue pump leaks?", 1, max_tokens=6)) == [
        "The blue pump leaks."
    ]
    assert len(retriever.search("Which blue pump leaks?", max_tokens=99)) > 1


def test_of_so_many_passages_none_is_a_heading_alone() -> None:
    retriever = made(HashTokens())
    headings = ("# Pumps", "## Care", "# Cats", "# Boats")
    for k, max_tokens in ((1, None), (5, None), (5, 60)):
        hits = retriever.search("care pumps cats boats", k, max_tokens=max_tokens)
        assert hits and not set(texts(hits)) & set(headings)
    # Without a number they are passages, or parts of some.
    whole = retriever.search("care pumps cats boats")
    assert any(text.startswith(headings) for text in texts(whole))


def test_a_number_of_passages_are_not_joined() -> None:
    retriever = made(HashTokens(), read_options=COUNTED)
    hits = retriever.search("pump leaks care rinse dry", 9, where={"doc_id": "pumps"})
    assert sorted(texts(hits)) == [
        "- Rinse it weekly.\n- Dry it.",
        "Cats sleep all day. They like fish.",
        "The blue pump leaks. Its seal is worn.",
    ]
    (joined,) = retriever.search("pump leaks care", where={"doc_id": "pumps"})
    assert joined.chunk.text == PUMPS.text.strip()


def test_blocks_and_what_is_beside_a_passage() -> None:
    retriever = made(HashTokens())
    first, second, third = retriever.blocks("pumps")
    assert first.text.startswith("# Pumps") and third.text.endswith("They like fish.")
    (hit,) = retriever.search("Rinse it weekly", 1)
    assert retriever.neighbours(hit.chunk) == (first, third)
    assert retriever.neighbours(first) == (None, second)
    assert retriever.neighbours(third) == (second, None)
    with pytest.raises(UnknownDocument, match="got 'none'"):
        retriever.blocks("none")


def test_settings_of_reading_must_be_those_it_was_built_with(tmp_path: Path) -> None:
    made(HashTokens()).save(tmp_path / "index")
    with pytest.raises(InvalidParameter, match="read_options must match the index"):
        EvidenceRetriever.load(tmp_path / "index", HashTokens(), language="german")


@pytest.mark.parametrize("kind", [HashEmbedder, HashTokens])
async def test_a_model_that_gives_other_vectors_now_is_refused(kind: Any) -> None:
    model = kind()
    retriever = made(model)
    model.dimensions = 48
    expected = r"must have (shape|\d+ dim).*got \(?48.*that the index was built with"
    with pytest.raises(InvalidAnswer, match=expected):
        retriever.search("blue pump")
    with pytest.raises(InvalidAnswer, match=expected):
        await retriever.asearch("blue pump", where={"year": 2021})
    with pytest.raises(InvalidAnswer, match=expected):
        retriever.explain("blue pump", [])
    edited = replace(PUMPS, text=f"{PUMPS.text}\n\nA new sentence.")
    for added in (read_text("A new text.", id="new"), edited):
        with pytest.raises(
            InvalidAnswer, match=r"must (be|have) .*(in the store|like those of)"
        ):
            retriever.add([added])
    assert retriever.document_ids == ["pumps", "boats"]


def test_of_a_long_question_the_ends_are_read_and_the_rarest_words_matched() -> None:
    model = HashTokens()
    pasted = " ".join(f"word{i % 700} of the page" for i in range(1500))
    (hit, *_) = made(model).search(f"Which pump leaks? {pasted} Is its seal worn?", 1)
    assert "The blue pump leaks." in hit.chunk.text
    assert len(model.passes[-1][0]) < 5_000
    (hit, *_) = made().search(f"{pasted} fish {pasted}", 1)  # stems count anywhere
    assert "fish" in hit.chunk.text


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda: EvidenceRetriever(token_encoder=HashEmbedder()), "token_encoder"),  # type: ignore[arg-type]
        (lambda: EvidenceRetriever(context="heading"), "context"),
        (lambda: EvidenceRetriever(order="best"), "order"),
        (lambda: EvidenceRetriever(max_tokens=0), "max_tokens"),
        (lambda: made().search(3), "query"),  # type: ignore[arg-type]
        (lambda: made().search("pump", 0), "k"),
        (lambda: made().search("pump", 1.5), "k"),
        (lambda: made().search("pump", max_tokens=0), "max_tokens"),
        (lambda: made().search("pump", order="best"), "order"),
        (lambda: made().search("pump", where={"colour": "red"}), "where"),
    ],
)
def test_what_is_not_allowed_is_named(call: Any, parameter: str) -> None:
    with pytest.raises(InvalidParameter, match=parameter):
        call()


def check_blocks(text: str, format: str) -> None:
    """Blocks in reading order are exact slices, and hold every word once."""
    document = read_text(text, id="d", format=format)
    blocks = EvidenceRetriever.from_documents([document]).blocks("d")
    for block in blocks:
        assert document.text[block.start : block.end] == block.text
    assert all(left.end <= right.start for left, right in pairwise(blocks))
    body = document.text[parse(document).sections[0].body_start :]
    assert "".join("".join(block.text for block in blocks).split()) == "".join(
        body.split()
    )


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("format", ["markdown", "text"])
def test_odd_texts_are_held_whole(name: str, format: str) -> None:
    check_blocks(BAD[name][:20_000], format)


@given(
    st.text(st.sampled_from("ab. \n#-|`>:;1"), max_size=300),
    st.sampled_from(["markdown", "text"]),
)
def test_any_text_is_held_whole(text: str, format: str) -> None:
    check_blocks(text, format)


def test_sections_that_are_excluded_are_not_there() -> None:
    document = read_text("# A\n\none\n\n# References\n\ntwo\n", id="d")
    options = ReadOptions(exclude_titles=["references"])
    retriever = EvidenceRetriever.from_documents([document], read_options=options)
    assert [block.text for block in retriever.blocks("d")] == ["# A\n\none"]


def test_blocks_of_html_have_their_place_in_the_markup() -> None:
    markup = "<title>x</title><h1>Pumps</h1><p>They <b>leak</b>.</p><pre>  a &amp; b\n  c</pre>"
    page = read_text(markup, id="page", format="html")
    for chunk in EvidenceRetriever.from_documents([page]).blocks("page"):
        place = markup[chunk.extras["source_start"] : chunk.extras["source_end"]]
        shown = read_text(f"<div>{place}</div>", format="html").text
        assert shown.split() == chunk.text.split()
    assert "source_start" not in made().blocks("pumps")[0].extras


PARAGRAPHS = EvidenceRetriever.from_documents(
    [
        read_text(
            "\n\n".join(
                f"Paragraph {i} {name} {'has so many words ' * 12}here."
                for i in range(12)
            ),
            id=name,
        )
        for name in "ab"
    ],
    HashTokens(),
)


def places_of(question: str, k: int, budget: int) -> set[tuple[str, int]]:
    hits = PARAGRAPHS.search(question, k, max_tokens=budget)
    assert len(hits) <= k and sum(hit.chunk.n_tokens for hit in hits) <= budget
    assert all(0 <= hit.score <= 1 + 1e-9 for hit in hits)
    assert [hit.score for hit in hits] == sorted(
        (hit.score for hit in hits), reverse=True
    )
    places = [
        (hit.chunk.doc_id, place)
        for hit in hits
        for place in range(hit.chunk.start, hit.chunk.end)
    ]
    assert len(places) == len(set(places))
    return set(places)


@given(
    st.lists(st.integers(0, 11), min_size=1, max_size=4),
    st.integers(1, 4),
    st.integers(20, 800),
)
def test_with_both_limits_both_hold_and_less_is_within_more(
    numbers: list[int], k: int, budget: int
) -> None:
    question = " ".join(f"Paragraph {number}" for number in numbers)
    few, more = places_of(question, k, budget), places_of(question, k, budget + 100)
    assert few <= more


def manual_of(n: int, inserted: str = "") -> Document:
    sections = [
        f"## Part {i}\n\n"
        + " ".join(f"Part {i} has item {j} at place {i * j}." for j in range(12))
        for i in range(n)
    ]
    text = "# Manual\n\n" + "\n\n".join(sections)
    place = text.index(f"Part {n // 2} has item 5")
    return read_text(text[:place] + inserted + text[place:], id="manual")


@pytest.mark.parametrize("inserted", ["It is new. ", "\n\n## New\n\nIt is new.\n\n"])
def test_after_an_insertion_three_pieces_are_encoded(inserted: str) -> None:
    encoder = HashTokens()
    retriever = EvidenceRetriever.from_documents([manual_of(40)], encoder)
    report = retriever.add([manual_of(40, inserted)])
    new = report.usage["embedded"]
    assert 1 <= new <= 3 and new + report.reused > 30
    assert f"{new} of {new + report.reused} texts embedded" in str(report)
    kept = search_all(retriever)
    retriever.delete("manual")
    retriever.add([manual_of(40, inserted)])
    assert search_all(retriever) == kept


def search_all(retriever: EvidenceRetriever) -> list[Any]:
    queries = ("Which part is new?", "item 7 of part 3", "place 40")
    hits = [hit for query in queries for hit in retriever.search(query)]
    return [(hit.chunk, pytest.approx(hit.score, abs=1e-5)) for hit in hits]


@pytest.mark.parametrize("model", [HashEmbedder(), HashTokens()])
def test_another_encoder_reuses_nothing(model: Any, tmp_path: Path) -> None:
    retriever = EvidenceRetriever.from_documents([manual_of(4)], model)
    retriever.save(tmp_path / "index")
    opened = EvidenceRetriever.load(tmp_path / "index", model)
    assert opened.add([manual_of(4, "It is new. ")]).reused > 0
    opened.delete("manual")
    assert opened.add([manual_of(4)]).reused == 0


@pytest.mark.parametrize("model", [HashEmbedder(), HashTokens()])
@given(
    at=st.integers(0, 300), text=st.sampled_from(["New. ", "\n\n# New\n\n", "🙂" * 400])
)
def test_any_edit_gives_the_hits_of_a_fresh_index(
    model: Any, at: int, text: str
) -> None:
    retriever = EvidenceRetriever.from_documents([PUMPS, manual_of(3)], model)
    edited = PUMPS.text[:at] + text + PUMPS.text[at:]
    changed = read_text(edited, id="pumps", format="markdown")
    retriever.add([changed])
    kept = search_all(retriever)
    retriever.delete("pumps")
    retriever.add([changed])
    assert search_all(retriever) == kept


def test_a_passage_over_sections_is_cited_under_that_of_its_best_sentence() -> None:
    text = "# Law\n\n## Ohio\n\nNotice is ten days.\n\n## Utah\n\nNotice takes thirty days.\n"
    retriever = EvidenceRetriever.from_documents(
        [read_text(text, id="law")], HashTokens()
    )
    (hit,) = retriever.search("Utah: notice takes thirty days?", max_tokens=40)
    assert "Ohio" in hit.chunk.text and hit.chunk.path == ("Law", "Utah")
    assert hit.chunk.section_id == "law#3"
    assert hit.chunk.extras["section_paths"] == [
        ["Law"],
        ["Law", "Ohio"],
        ["Law", "Utah"],
    ]


def conditions(n: int) -> str:
    items = "\n".join(
        f"- Condition {i} of the standard asks for a test of the part and a report about it."
        for i in range(n)
    )
    return (
        f"# Standard\n\nThese conditions hold:\n\n{items}\n\nNothing else is asked.\n"
    )


def test_a_short_hole_in_a_list_is_filled_and_what_is_left_out_is_marked() -> None:
    document = read_text(conditions(60), id="d")
    retriever = EvidenceRetriever.from_documents([document], HashTokens())
    hits = retriever.search(
        "Condition 20 and condition 22 of the standard", max_tokens=400
    )
    numbers = [
        [
            int(word)
            for word in hit.chunk.text.replace(".", " ").split()
            if word.isdigit()
        ]
        for hit in hits
    ]
    assert any({20, 21, 22} <= set(of) for of in numbers)
    for hit, of in zip(hits, numbers, strict=True):
        assert of == list(range(of[0], of[-1] + 1)) if of else True
        begins_inside = bool(of) and of[0] > 0 and hit.chunk.text.startswith("- ")
        assert hit.chunk.context.endswith("[…]") == begins_inside


OPTIONS = "".join(
    f"# Option {i} of the server. It sets how many workers of kind {i} are started,\n"
    f"# and should be at most the number of processors.\n#   default: {i}\n"
    f"option_{i}:\n    value: {i}\n    unit: workers\n    comment: see the manual, part {i}\n"
    for i in range(40)
)


def test_an_option_comes_with_its_name_and_a_turn_with_its_speaker() -> None:
    code = read_text(f"# Server\n\n```yaml\n{OPTIONS}```\n", id="code")
    talk = "".join(
        f"{'Ann Lee' if i % 2 else 'Bob'}: We spoke of item {i}.\nIt costs {i} euros. "
        f"That is much\nfor what item {i} does\n"
        for i in range(90)
    )
    minutes = read_text(f"# Minutes\n\n{talk}", id="talk")
    retriever = EvidenceRetriever.from_documents([code, minutes], HashTokens())
    for i in (7, 23):
        (hit, *_) = retriever.search(f"unit workers of option_{i}", max_tokens=150)
        assert f"option_{i}:" in hit.chunk.text
    (hit, *_) = retriever.search("What does item 33 cost in euros?", max_tokens=60)
    assert hit.chunk.text.startswith("Ann Lee: We spoke of item 33.")


def test_no_introduction_stands_alone_and_wide_headers_name_filled_columns() -> None:
    names = [f"Figure of the region {i}" for i in range(56)]
    cells = [f"{i * 7}" if i % 5 == 0 else "" for i in range(56)]
    table = (
        f"| {' | '.join(names)} |\n|{'---|' * 56}\n| {' | '.join(cells)} |\n"
        + f"| {' | '.join('' for _ in cells)} x |\n" * 3
    )
    text = f"# Report\n\nThis table is a summary of the figures.\n\n{table}\n# End\n\nNo more.\n"
    retriever = EvidenceRetriever.from_documents(
        [read_text(text, id="d")], HashTokens()
    )
    for hit in retriever.search("summary of the figures", max_tokens=900):
        assert not hit.chunk.text.endswith("summary of the figures.")
    header = named_columns(*table.split("\n")[0:3:2])
    assert (
        header.count("|") == 57 and "region 5 |" in header and "region 6 " not in header
    )


def test_an_emoji_a_token_ends_nothing() -> None:
    text = "🙂" * 900 + " It is blue. " + "🦀" * 300
    retriever = EvidenceRetriever.from_documents(
        [read_text(text, id="d")], HashTokens()
    )
    assert any("It is blue." in hit.chunk.text for hit in retriever.search("blue"))


@pytest.mark.parametrize("embedding", MODELS, ids=["lsa", "sentences", "tokens"])
def test_as_many_pieces_are_read_as_are_asked_for(embedding: Any) -> None:
    # 100 pieces are read for an ordinary question
    parts = [
        read_text(
            f"# Part {i}\n\nPart {i} costs {i} euro.", id=f"p{i}", format="markdown"
        )
        for i in range(260)
    ]
    retriever = EvidenceRetriever.from_documents(parts, embedding)
    question = "What does a part cost?"

    def count(k: int | None, max_tokens: int | None = None) -> int:
        hits = retriever.search(question, k, max_tokens=max_tokens)
        return len({hit.chunk.doc_id for hit in hits})

    assert [count(20), count(130), count(400)] == [20, 130, 260]
    assert count(None, 100_000) == 260 and count(210, 100_000) == 210
    hits = retriever.search(question, 230)
    explained = retriever.explain(question, hits)
    assert all(sentences for sentences in explained)


@pytest.mark.parametrize("blank", ["\n\n", "\n  \n\n"])
@pytest.mark.parametrize("fence", ["", "```\n"])
def test_a_passage_over_several_pieces_has_the_blank_lines_between_them(
    blank: str, fence: str
) -> None:
    parts = blank.join(
        f"## Part {i}{blank}### Wheel {i}{blank}turn wheel {i}:\n    oil the rotor {i}"
        for i in range(60)
    )
    text = f"# Pump\n\n{fence}{parts}\n{fence}"
    retriever = EvidenceRetriever.from_documents([read_text(text, id="d")])
    hits = retriever.search("Which wheel has the rotor?", max_tokens=20_000)
    assert len(hits) == 1
    for hit in hits:
        assert hit.chunk.text == text[hit.chunk.start : hit.chunk.end]


def test_one_long_paragraph_takes_linear_time() -> None:
    def add(document: Document) -> None:
        EvidenceRetriever(HashEmbedder()).add([document])

    def paragraph(size: int) -> Document:
        return read_text("The pump moves water. It leaks. " * size, id="d")

    assert power(add, paragraph, 4_000) <= LINEAR
