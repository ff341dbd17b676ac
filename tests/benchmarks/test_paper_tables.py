"""Tables of the papers: how documents are cut for them, and what their cells say."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest
from doubles import HashEmbedder

from benchmarks import paper_tables
from benchmarks.datasets import Dataset, Question
from benchmarks.hiqa_scores import Sizes
from benchmarks.methods_systems import Models
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
    rows = paper_tables.pic_rows(one, models())
    table = paper_tables.chunk_table([rows], [one], Sizes(count_tokens)).splitlines()
    assert len(table) == 2 + len(rows)
    sentence = [cell.strip() for cell in table[2].split("|")]
    assert sentence[1:3] == ["sentence", "33.0 / 48.4"]
    assert sentence[3].startswith("100.0 / 100.0") and sentence[4].startswith("100.0")
    assert set(paper_tables.PAPER_PIC) <= set(rows)


def test_instructions_are_those_of_the_row() -> None:
    documents = dataset(TEXT, TEXT.replace("pump", "valve")).documents
    (other,) = paper_tables.another_summary(0, documents)
    assert "valve" in other
    (sentence,) = paper_tables.random_sentence(0, documents)
    assert sentence in TEXT and paper_tables.random_sentence(0, documents) == [sentence]


def test_lumber_groups_begin_where_the_model_says() -> None:
    class Picks:
        def __init__(self) -> None:
            self.shown: list[list[str]] = []

        def score(
            self, prompt: str, options: Sequence[str], *, whole: bool
        ) -> list[float]:
            self.shown.append(re.findall(r"^(\d+):", prompt, re.MULTILINE))
            return [-1.0] * len(options)

    paragraphs = [f"Paragraph {number}." for number in range(6)]
    llm = Picks()
    texts = paper_tables.lumber_texts(llm, lambda text: 200, "\n".join(paragraphs))
    # Three paragraphs reach 550 tokens; the last group is not asked about.
    assert llm.shown == [["0", "1", "2"], ["1", "2", "3"], ["2", "3", "4"]]
    assert texts == [*paragraphs[:3], "\n\n".join(paragraphs[3:])]


def test_titles_are_replaced_in_place() -> None:
    (document,) = dataset(TEXT).documents
    bare = paper_tables.without_titles(document)
    assert len(bare.text) == len(TEXT) and "Herons nest" in bare.text
    assert not re.search(r"^# (Pumps|Herons)$", bare.text, re.MULTILINE)
    assert paper_tables.without_titles(document).text == bare.text


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


def test_parts_keep_their_last_table() -> None:
    first = paper_tables.page("", "hiqa", "## HiQA\n\nh", 2)
    both = paper_tables.page(first, "pic", "## PIC\n\np", 2)
    assert both.index("## PIC") < both.index("## HiQA")
    again = paper_tables.page(both, "pic", "## PIC\n\nnew", 2)
    assert "\np\n" not in again and "\nnew\n" in again and again.count("<!--") == 2


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(SystemExit):
        paper_tables.main(["--parts", "mc"])


def test_propositions_are_found_by_what_the_model_wrote() -> None:
    class Rewrites:
        def complete_many(self, prompts: Sequence[str]) -> list[str]:
            return ["Zebras graze." for _ in prompts]

    one = dataset(TEXT)
    (chunks,) = paper_tables.propositions(Rewrites(), one.documents)
    assert "".join(chunk.text for chunk in chunks) == TEXT
    assert {chunk.index_text for chunk in chunks} == {"Zebras graze."}


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
        "propositions",
        "IDMS, similarity",
        "IDMS, the model's margins",
    ]
