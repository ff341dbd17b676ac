"""Views chosen among what was extracted, by scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from doubles import Favours
from hypothesis import given
from hypothesis import strategies as st

from structrag import Document, Index
from structrag.asking.runner import Runner
from structrag.errors import InvalidParameter, ModelFailed
from structrag.index.chosen_views import (
    Sections,
    chosen_keywords_steps,
    chosen_summaries_steps,
)
from structrag.text.extractive import keywords, most_keywords

BODY = "The pump moves water. A heron stands by the lake. Rinse the filter every week."
LONG = " ".join(
    f"Sentence number {i} tells of thing{i} and of part{i} of it." for i in range(60)
)


class Scores:
    """A scorer by a function of the text."""

    def __init__(self, score: Any) -> None:
        self.of = score

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        return [float(self.of(text)) for text in texts]


def document(*bodies: str) -> Document:
    text = "".join(f"# Part {i}\n\n{body}\n\n" for i, body in enumerate(bodies))
    return Document(text, id="d", title="Manual", format="markdown")


def sections(*bodies: str) -> Sections:
    return Sections(["T"] * len(bodies), [""] * len(bodies), bodies, "english")


def test_the_likeliest_keyword_is_first_and_the_model_writes_nothing() -> None:
    model = Favours("heron")
    index = Index(llm=model, choose_views=True)
    report = index.add([document(BODY, BODY)])
    assert report.usage["calls"] == 0 and report.usage["scored"] > 0
    assert not report.usage["fallbacks"]
    assert any(prompt.startswith("Part 0\n\nThe pump") for prompt in model.prompts)
    assert len(index.search("heron", k=3, route="bm25", view="keywords")) == 2


def test_there_are_as_many_keywords_as_without_a_model_each_of_them_extracted() -> None:
    steps = chosen_keywords_steps(sections(LONG), [0], Scores(len))
    (chosen,) = Runner().run(steps).values()
    assert len(chosen) == most_keywords(LONG)
    assert chosen == sorted(chosen, key=len, reverse=True)
    assert set(chosen) <= set(keywords(LONG, most=1000))
    plain = keywords(LONG, document_frequency=None, n_sections=1)
    assert chosen != plain


@given(st.lists(st.sampled_from(LONG.split(". ")), max_size=30), st.integers(-5, 5))
def test_a_summary_is_sentences_in_their_order(sentences: list[str], sign: int) -> None:
    body = ". ".join(sentences)
    steps = chosen_summaries_steps(
        sections(body), [0], Scores(lambda text: sign * len(text))
    )
    (summary,) = Runner().run(steps).values()
    assert len(summary.split()) <= 200
    rest = body
    for sentence in summary.split(". "):  # each is found behind the one before
        place = rest.find(sentence.rstrip("."))
        assert place >= 0
        rest = rest[place:]


def test_a_chosen_summary_stands_under_its_path() -> None:
    model = Favours("thing59")
    index = Index(llm=model, choose_views=True, views=["summary"])
    index.add([document(LONG)])
    assert any(prompt.endswith("Summary:") for prompt in model.prompts)
    hit = index.search("thing59", k=1, route="bm25", view="summary")[0]
    assert "thing59" in hit.chunk.text


@pytest.mark.parametrize("llm", [None, lambda prompt: "x"])
def test_a_model_without_likelihoods_is_refused(llm: Any) -> None:
    with pytest.raises(
        InvalidParameter, match=r"choose_views=True.* must give likelihoods"
    ):
        Index(llm=llm, choose_views=True)


def test_an_estimate_counts_what_will_be_scored() -> None:
    index = Index(llm=Favours("heron"), choose_views=True)
    estimate = index.estimate([document(BODY, LONG)])
    report = index.add([document(BODY, LONG)])
    assert estimate.total.calls == 0
    assert estimate.total.scored == report.usage["scored"] > 0
    assert "texts to score" in str(estimate)


def test_a_model_that_raises_leaves_the_document_out() -> None:
    class Broken(Favours):
        def score(
            self, prompt: str, texts: Sequence[str], *, chat: bool = True
        ) -> list[float]:
            raise OSError("out of memory")

    index = Index(llm=Broken("x"), choose_views=True)
    with pytest.raises(ModelFailed, match="out of memory"):
        index.add([document(BODY)])
    assert len(index) == 0


def test_an_index_without_keywords_or_long_texts_scores_nothing() -> None:
    model = Favours("heron")
    Index(llm=model, choose_views=True, views=["raw"]).add([document(LONG)])
    Index(llm=model, choose_views=True, views=["summary"]).add([document(BODY)])
    Index(llm=model, choose_views=True).add([Document("", id="empty")])
    assert not model.prompts
