"""The tables of the MC-indexing paper, on one small document."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from doubles import HashTokens

from benchmarks import mc_raptor, mc_tables
from benchmarks.evidence import KeptTokens
from benchmarks.hiqa_scores import Sizes
from benchmarks.question_sets import Dataset, Question
from structrag import FixedSplitter, read_text
from structrag.text.tokens import count_tokens


def dataset() -> Dataset:
    """Two sections; the evidence of one question is a section, that of the other a word of it."""
    bodies = [
        " ".join(f"{word} number {i} is here." for i in range(30))
        for word in ("pump", "seal")
    ]
    text = f"# Pumps\n\n{bodies[0]}\n\n# Seals\n\n{bodies[1]}\n"
    start = text.index(bodies[1])
    questions = (
        Question("whole", "seal", (), (("d", start, start + len(bodies[1])),), False),
        Question("word", "seal number 3", (), (("d", start, start + 4),), True),
    )
    return Dataset("set", (read_text(text, id="d", format="markdown"),), questions)


def test_small_chunks_cut_evidence_and_sections_do_not() -> None:
    rows = [row.split(" | ") for row in mc_tables.errors([dataset()]).splitlines()[2:]]
    errors = {row[0].strip("| "): row[-1].strip("| ") for row in rows}
    assert errors["fixed 100"] == errors["fixed 100 within sections"] == "50.0"
    assert errors["whole sections"] == "0.0"


@pytest.fixture(scope="module")
def rows() -> dict[str, list[str]]:
    """The cells of each row of the table, by its label."""
    encoders = {"minilm": HashTokens(), "e5": HashTokens(name="another")}
    table = mc_tables.recalls([dataset()], encoders, Sizes(count_tokens))
    cells = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()
    ]
    return {row[0]: row for row in cells[2:]}


def test_every_kind_of_chunks_has_a_row_by_each_retriever(
    rows: dict[str, list[str]],
) -> None:
    kinds = (*mc_tables.KINDS, mc_tables.RAPTOR)
    retrievers = mc_tables.RETRIEVERS
    assert sorted(rows) == sorted(
        f"{one}: {kind}" for one in retrievers for kind in kinds
    )
    groups = [label.partition(":")[0] for label in rows]
    assert list(dict.fromkeys(groups)) == list(retrievers)
    assert groups == sorted(groups, key=list(retrievers).index)
    for row in rows.values():
        assert "nan" not in " ".join(row) and len(row) == 5


def test_sections_hold_the_evidence(rows: dict[str, list[str]]) -> None:
    row = rows["TF-IDF: sections"]
    assert row[2] == "100.0 / 100.0 / 100.0 / 100.0 [100.0, 100.0]"
    assert row[3].endswith(" / 2.0 / 2.0 / 2.0")
    assert row[4].startswith("100.0")


def test_figures_of_the_paper_stand_beside_the_retriever_that_they_are_of(
    rows: dict[str, list[str]],
) -> None:
    assert rows["E5: without raw"][1] == "63.3 / 81.4 / 90.3 / 95.9"
    assert rows["MiniLM's tokens: MC-indexing"][1] == "62.3 / 77.1 / 85.2 / 94.8"
    assert rows["MiniLM: MC-indexing"][1] == "best"
    assert rows["MiniLM: without raw"][1] == rows["E5: sections"][1] == ""


def test_the_retrievers_are_those_of_the_paper() -> None:
    bodies = ("Pump pump pump water.", "Water heron heron.", "Tank oil oil pump.")
    text = "\n\n".join(f"# {body[0]}\n\n{body}" for body in bodies)
    document = read_text(text, id="d", format="markdown")
    encoder = HashTokens()
    index = mc_tables.indexed([document], encoder, mc_tables.SECTIONS, mc_tables.RAW)
    searches = dict(mc_tables.searches(index, mc_tables.RAW, "row", "minilm"))
    names = [name for name, _ in searches]
    assert names == ["TF-IDF", "BM25", "MiniLM", "MiniLM's tokens"]
    question = Question("q", "oil water", (), (("d", 0, 1),), True)
    ranked = {
        name: [chunk.path[0] for chunk in search(question, 3, 0)]
        for (name, _), search in searches.items()
    }
    assert ranked["TF-IDF"] == ["T", "W", "P"]  # LSA has T, P, W
    assert encoder.passes.count(("oil water",)) == 1  # late interaction's


class Words:
    """A tokenizer of words, and an encoder that reads four of them, with the prompt's."""

    name, max_tokens, document_prompt, query_prompt = "words", 4, "to read: ", ""

    def __init__(self) -> None:
        self.model, self.tokens = self, HashTokens()

    def tokenizer(
        self, text: str, *, max_length: int, **_: object
    ) -> dict[str, object]:
        spans = [word.span() for word in re.finditer(r"\S+", text)]
        return {"offset_mapping": spans[:max_length]}

    def embed_tokens(self, texts: list[str], *, query: bool = False) -> object:
        return self.tokens.embed_tokens(texts, query=query)


def test_the_rest_of_a_long_text_is_cut_off(tmp_path: Path) -> None:
    encoder = mc_tables.Beginnings(Words(), tmp_path)
    texts = ["one two three", "one two", "one two four"]
    vectors = encoder.embed(texts)
    assert (vectors[0] == vectors[1]).all() and (vectors[0] == vectors[2]).all()
    assert encoder.encoder.tokens.passes == [("one two",)]
    again = mc_tables.Beginnings(Words(), tmp_path)
    assert (again.embed(texts) == vectors).all()
    assert not any(again.encoder.tokens.passes)


def test_an_encoder_that_is_not_installed_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = KeptTokens(Words(), tmp_path)
    makers = {"minilm": lambda: (kept, "", tmp_path), "e5": lambda: sys.exit(1)}
    monkeypatch.setattr(mc_tables, "ENCODERS", makers)
    monkeypatch.setattr(mc_tables, "find_spec", lambda name: None)
    assert list(mc_tables.encoders()) == ["minilm"]


def test_a_tree_is_gone_through_from_its_root() -> None:
    leaves = FixedSplitter(3).split(read_text("One two. Three four. Five six. Seven."))
    texts = tuple(chunk.text for chunk in leaves)
    assert len(leaves) == 4
    tree = mc_raptor.Tree(leaves, (texts, ("a", "b")), (((0, 1), (1, 2, 3)),))
    scores = [[4, 3, 2, 1], [1, 2]]  # the best leaf is not below the best root
    assert tree.traversed(scores, 1) == [leaves[1]]
    assert tree.traversed(scores, 2) == [leaves[0], leaves[1]]


def test_nodes_that_are_alike_are_clustered() -> None:
    random = np.random.default_rng(0)
    vectors = np.repeat(np.eye(16)[:3], 8, axis=0) + random.normal(0, 0.01, (24, 16))
    clusters = mc_raptor.clustered(vectors)
    assert sorted(place for own in clusters for place in own) == list(range(24))
    assert len(clusters) >= 3
    assert all(len({place // 8 for place in own}) == 1 for own in clusters)
    few = FixedSplitter(3).split(read_text("One two. Three four."))
    assert mc_raptor.build(few, lambda texts: vectors).children == ()
