"""Tables of the papers: how documents are cut for them, and what their cells say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from doubles import HashEmbedder

from benchmarks import paper_tables
from benchmarks.hiqa_scores import Sizes
from benchmarks.methods_systems import Models
from benchmarks.question_sets import Dataset, Question
from benchmarks.splitting_choices import SentenceMeans, sentence_means
from structrag import Document
from structrag.text.tokens import count_tokens

TEXT = (
    "# Pumps\n\nThe pump moves water. Its filter is rinsed weekly.\n\n# Herons\n\nHerons nest in "
    "alders. In spring they come back."
)


def dataset(*texts: str) -> Dataset:
    documents = tuple(
        Document(text, id=f"d{i}", format="markdown", title=f"d{i}")
        for i, text in enumerate(texts)
    )
    questions = []
    for document in documents:
        start = document.text.index("Its filter")
        gold = ((document.id, start, start + 29),)
        questions.append(
            Question("q", "What is rinsed weekly?", ("Its filter",), gold, True)
        )
    return Dataset("nq", documents, tuple(questions))


def models() -> Models:
    return Models(HashEmbedder(), None)


def test_semantic_chunks_end_between_the_least_alike_sentences() -> None:
    one = dataset(TEXT)
    spans = [(0, 20), (20, 60), (60, 90), (90, len(TEXT))]
    vectors = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], dtype=np.float32)
    means = SentenceMeans(one, {"d0": (spans, vectors)}, {})
    (chunks,) = paper_tables.semantic(means)(one.documents)
    assert [(chunk.start, chunk.end) for chunk in chunks] == [(0, 59), (61, len(TEXT))]


def test_every_row_of_pic_finds_something_and_counts_words() -> None:
    one = sentence_means(
        dataset(TEXT, TEXT.replace("pump", "valve")), models().runner()
    )
    sizes = Sizes(count_tokens)
    rows = paper_tables.size_rows(one, models())
    own = dict.fromkeys(rows, models())
    table = paper_tables.chunk_table([rows], [one], sizes, own).splitlines()
    assert len(table) == 2 + len(rows)
    sentence = [cell.strip() for cell in table[2].split("|")]
    assert sentence[1:3] == ["sentence", "33.0 / 48.4"]
    assert sentence[3].startswith("100.0 / 100.0") and sentence[4].startswith("100.0")
    told = paper_tables.instruction_rows(one, models())
    assert len(
        paper_tables.chunk_table([told], [one], sizes, {}).splitlines()
    ) == 2 + len(told)
    assert set(paper_tables.PAPER_PIC) == {*rows, *told} & set(paper_tables.PAPER_PIC)


def test_relevant_chunks_are_counted_among_those_found() -> None:
    one = sentence_means(dataset(TEXT), models().runner())
    split = paper_tables.size_rows(one, models())["PIC"]
    (chunks,) = split(one.dataset.documents)
    found = paper_tables.found_by(split, one, Sizes(count_tokens), models())
    labels = [float(chunk.extras["relevant"]) for chunk in chunks]
    assert found["all"] == labels
    (golden,) = [i for i, chunk in enumerate(chunks) if "Its filter" in chunk.text]
    assert found["golden"] == [labels[golden]]
    row = paper_tables.relevant_table(one, models(), Sizes(count_tokens)).splitlines()
    assert row[2] == "| paper, NQ | 70.1 | 65.7 | 66.7 |  |"


def test_instructions_are_those_of_the_row() -> None:
    documents = dataset(TEXT, TEXT.replace("pump", "valve")).documents
    (other,) = paper_tables.another_summary(0, documents)
    assert "valve" in other
    (sentence,) = paper_tables.random_sentence(0, documents)
    assert sentence in TEXT and paper_tables.random_sentence(0, documents) == [sentence]


def test_manuals_alone_and_together() -> None:
    manual = "# Manual\n\n" + TEXT.replace("# ", "## ")
    one = dataset(manual, manual.replace("pump", "valve"))
    rows = paper_tables.alone_and_pooled(one, models()).splitlines()[2:]
    assert [row.split("|")[1].strip() for row in rows][:2] == [
        "paper: a plain system",
        "fixed 400, vectors",
    ]
    assert all("100.0 [100.0, 100.0]" in row for row in rows[1:])
    spread = paper_tables.spread_table(one, models()).splitlines()
    assert [row.split("|")[1].strip() for row in spread[2:]] == [
        "path",
        "own title",
        "bare",
    ]


def test_atomic_units_are_the_texts_sentences_where_the_model_cut() -> None:
    own = ["The pump moves water. ", "It is loud. ", "Herons nest. ", "They fish. "]
    written = ["the pump moves the water. It is very loud.", "Herons nest. They fish"]
    assert paper_tables.mapped(own, written) == ["".join(own[:2]), "".join(own[2:])]
    assert paper_tables.mapped(own, written[:1]) == ["".join(own)]


def test_every_row_of_a_model_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    class Small:
        name = "small"

        def complete_many(self, prompts: Sequence[str]) -> list[str]:
            return ["Zebras graze." for _ in prompts]

        def score(
            self, prompt: str, options: Sequence[str], *, whole: bool
        ) -> list[float]:
            return [-1.0] * len(options)

        def complete(self, prompt: str) -> str:
            return "5"

        def choose(self, prompt: str, options: tuple[str, str]) -> float:
            return 0.5 if "heron" in prompt.lower() else -0.5

    monkeypatch.setattr(paper_tables, "chosen_model", lambda name: Small())
    monkeypatch.setattr(paper_tables, "load", lambda name: dataset(TEXT, TEXT))
    table = paper_tables.by_model(models(), Sizes(count_tokens), 1).splitlines()
    names = [row.split("|")[1].strip() for row in table if row.startswith("| ")]
    assert names[2:] == [
        "paragraph",
        "fixed size, 100 words",
        "PIC",
        "LumberChunker",
        "atomic units",
        "propositions",
        "IDMS, similarity",
        "IDMS, the model's margins",
    ]
