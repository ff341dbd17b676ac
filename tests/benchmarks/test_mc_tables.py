"""The tables of the MC-indexing paper, on one small document."""

from __future__ import annotations

import numpy as np
from doubles import HashEmbedder

from benchmarks import mc_raptor, mc_tables
from benchmarks.hiqa_scores import Sizes
from benchmarks.methods_systems import Models
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


def test_every_way_of_leaving_a_view_out_has_a_row() -> None:
    table = mc_tables.views([dataset()], Sizes(count_tokens))
    assert len(table.splitlines()) == 2 + len(mc_tables.ROUTES) * len(
        mc_tables.LEFT_OUT
    )
    (row,) = [line for line in table.splitlines() if "TF-IDF: raw view alone" in line]
    cells = [cell.strip() for cell in row.split("|")]
    assert cells[3] == "100.0 / 100.0 / 100.0 / 100.0 [100.0, 100.0]"
    assert cells[4].endswith(" / 2.0 / 2.0 / 2.0")
    assert cells[5].startswith("100.0")


def test_the_routes_are_those_of_the_paper() -> None:
    bodies = ("Pump pump pump water.", "Water heron heron.", "Tank oil oil pump.")
    text = "\n\n".join(f"# {body[0]}\n\n{body}" for body in bodies)
    document = read_text(text, id="d", format="markdown")
    searches = mc_tables.searches(mc_tables.indexed([document]), mc_tables.RAW)
    assert list(searches) == ["TF-IDF", "BM25"]
    question = Question("q", "oil water", (), (("d", 0, 1),), True)
    ranked = [chunk.path[0] for chunk in searches["TF-IDF"](question, 3, 0)]
    assert ranked == ["T", "W", "P"]  # LSA has T, P, W


def test_every_kind_of_chunks_has_a_row_by_each_route() -> None:
    models = Models(HashEmbedder(), None)
    table = mc_tables.kinds([dataset()], models, Sizes(count_tokens))
    names = [line.split("|")[1].strip() for line in table.splitlines()[2:]]
    kinds = (*mc_tables.KINDS, mc_tables.RAPTOR)
    assert names == [f"{route}: {kind}" for route in mc_tables.ROUTES for kind in kinds]


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
