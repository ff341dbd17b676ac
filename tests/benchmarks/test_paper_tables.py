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
    table = paper_tables.chunk_table([rows], [one], sizes, {"": models()}).splitlines()
    assert len(table) == 2 + len(rows)
    sentence = [cell.strip() for cell in table[2].split("|")]
    assert sentence[1:3] == ["sentence", "33.0 / 48.4"]
    assert sentence[3].startswith("100.0 / 100.0") and sentence[4].startswith("100.0")
    told = paper_tables.instruction_rows(one, models())
    ways = {", own": models(), ", reused": None}
    table = paper_tables.chunk_table([told], [one], sizes, ways, ordered=True)
    cells = table.splitlines()[2].split("|")
    assert len(cells) == 12 and cells[3].strip().startswith("100.0 / 100.0")
    assert table.count("\n| PIC") == len(told)
    assert (
        table.count("\n- ") == 3 * 2 * 2
    )  # figures 2, tables 3 and 4; two points, two ways
    assert set(paper_tables.PAPERS["PIC"]) <= {*rows, *told}


def test_the_order_of_rows_is_told_against_the_papers() -> None:
    high, low = [[1.0] * 20], [[0.0] * 20]
    names = [
        "PIC",
        "PIC, threshold mean +1",
        "PIC, a random sentence",
        paper_tables.RIC,
    ]
    told = paper_tables.orders(
        {"hits": dict(zip(names, (low, high, low, high), strict=True))}
    )
    assert told.splitlines() == [
        "- Figure 2, hits: against the paper. Best is PIC, threshold mean +1, "
        "+100.0 [+100.0, +100.0] over PIC.",
        "- Table 3, hits: as in the paper. Best is PIC, +0.0 [+0.0, +0.0] over "
        "PIC, a random sentence.",
        f"- Table 4, hits: as in the paper. Best is {paper_tables.RIC}, "
        "+100.0 [+100.0, +100.0] over PIC.",
    ]


def test_relevant_chunks_are_counted_among_those_found() -> None:
    one = sentence_means(dataset(TEXT), models().runner())
    split = paper_tables.size_rows(one, models())["PIC"]
    (chunks,) = split(one.dataset.documents)
    found = paper_tables.found_by([chunks], one, Sizes(count_tokens), models())
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


def test_tables_lose_their_fields() -> None:
    text = (
        "Board\n=====\n\nIt is small.\n\n.. list-table::\n\n  * - **RAM**\n    - 64KB\n"
        "  * - **Clock**\n    - 80MHz\n\nMore.\n"
    )
    gold = (("b", text.index("64KB"), text.index("64KB") + 4),)
    one = Dataset(
        "boards",
        (Document(text, id="b", format="rst", title="b"),),
        (Question("q", "How much RAM?", ("64KB",), gold, False),),
    )
    changed = paper_tables.pipe_tables(one)
    ((_, start, end),) = changed.questions[0].gold
    assert changed.documents[0].text[start:end] == "64KB"
    table = paper_tables.cells_table([changed], models()).splitlines()
    assert table[2].startswith("| boards, 1 questions | hit at 1 | ")
    removed, kept = table[-1].split("|")[3:5]  # the cosine
    assert removed != kept


class Small:
    """Answers everything, and finds that herons belong together."""

    name = "small"

    def complete_many(self, prompts: Sequence[str]) -> list[str]:
        return ["Zebras graze." for _ in prompts]

    def score(self, prompt: str, options: Sequence[str], *, whole: bool) -> list[float]:
        return [-1.0] * len(options)

    def complete(self, prompt: str) -> str:
        return "5"

    def choose(self, prompt: str, options: tuple[str, str]) -> float:
        return 0.5 if "heron" in prompt.lower() else -0.5


def test_idms_with_and_without_its_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    long = TEXT + "\n\nThe NOVA A10 is the pump of the house. Nobody says more." * 30
    monkeypatch.setattr(paper_tables, "small_model", lambda *_: Small())
    monkeypatch.setattr(paper_tables, "load", lambda name: dataset(TEXT, long))
    table = paper_tables.idms(models(), Sizes(count_tokens), 2).splitlines()
    rows = {row.split("|")[1].strip(): row.split("|")[2:-1] for row in table[6:]}
    assert [*rows] == [*paper_tables.PAPERS["IDMS"]]
    chunks, largest, *changed, calls = rows["neither"][-6:]
    assert int(chunks) > 2 and int(calls) > 60  # a call a gap
    assert int(largest) > 100 and [int(number) for number in changed] == [0, 0, 0]
    # Each chunk is rated.
    assert int(rows["shortened only"][-1]) == int(calls) + int(chunks)
    assert int(rows["no initial chunking"][-2]) == 1  # "Zebras graze." is no list
    assert rows["sentences joined, not enriched"][-1].strip() == "0"
    assert rows["full IDMS"][2].strip() == "" != rows["neither"][2].strip()


def test_papers_with_the_most_questions_for_their_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        paper_tables, "load", lambda name: dataset(TEXT + " More." * 9, TEXT)
    )
    one = paper_tables.densest(1)
    assert [document.id for document in one.documents] == ["d1"]
    assert [question.gold[0][0] for question in one.questions] == ["d1"]


def test_parts_go_on_one_page_in_order() -> None:
    first = paper_tables.page("", "model", "Cut.", 2)
    both = paper_tables.page(first, "pic", "Found.", 2)
    assert both == paper_tables.page(both, "model", "Cut.", 2)
    assert both.index("Found.") < both.index("Cut.")
    assert "paper_tables.py --parts model --papers 2`" in both
    assert "paper_tables.py --parts pic`" in both


def test_every_row_of_a_model_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paper_tables, "small_model", lambda *_: Small())
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
