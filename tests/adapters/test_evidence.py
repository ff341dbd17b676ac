"""Evidence within a token budget, and results of any retriever shortened to it."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from doubles import HashEmbedder, HashTokens
from langchain_core.embeddings import DeterministicFakeEmbedding

from structrag.errors import InvalidParameter, UnknownArgument
from structrag.text.tokens import count_tokens

PUMP = "# Pump\n\nIt moves water.\n\n## Cleaning\n\nRinse the filter every week.\n"
CATS = "# Cats\n\nCats sleep all day.\n\n## Food\n\nThey eat fish at noon.\n"
TEXTS = {"pump": PUMP, "cats": CATS}
QUESTION = "How often do I rinse the filter?"
LEAKS = "Cats sleep all day. The blue pump leaks at the seal. Birds sing."
SEAL = "The blue pump leaks at the seal."


@pytest.mark.parametrize("tokens", [{}, {"token_encoder": HashTokens()}])
def test_passages_are_slices_with_their_places(
    framework: Any, tokens: dict[str, Any], tmp_path: Path
) -> None:
    retriever = framework.index("Evidence", framework.documents(TEXTS), **tokens)
    results = framework.ask(retriever, QUESTION)
    assert results
    for one in results:
        assert TEXTS[one.doc_id][one.start : one.end] == one.text
        assert sum(one.metadata["score_parts"].values()) == pytest.approx(one.score)
    retriever.save(tmp_path / "index")
    opened = framework.load_index("Evidence", tmp_path / "index", **tokens)
    assert framework.ask(opened, QUESTION) == results


def test_limits_of_a_search(framework: Any) -> None:
    documents = framework.documents(TEXTS)

    def ask(**options: Any) -> list[Any]:
        return framework.ask(
            framework.index("Evidence", documents, **options), QUESTION
        )

    (best,) = ask(max_tokens=8)
    assert best.text == "Rinse the filter every week."
    assert best.metadata["heading_path"] == "Pump > Cleaning"
    for limit in (5, 20, 60):
        assert sum(count_tokens(one.text) for one in ask(max_tokens=limit)) <= limit
    places = [(one.doc_id, one.start) for one in ask(max_tokens=200, order="document")]
    assert places == sorted(
        places, key=lambda place: (place[0] != places[0][0], place[1])
    )
    for wrong in ({"order": "best"}, {"k": 0}, {"max_tokens": 0}):
        (name,) = wrong
        named = framework.k_name if name == "k" else name
        with pytest.raises(ValueError, match=named):
            ask(**wrong)


def test_results_of_others_are_shortened(framework: Any) -> None:
    placed = framework.piece(LEAKS, 50)
    others = [framework.piece("Nothing of interest."), framework.piece("  ")]
    (short,) = framework.shorten([placed, *others], "Which pump leaks?", max_tokens=10)
    assert short.text.removeprefix("[…]\n") == SEAL
    start = 50 + LEAKS.index(SEAL)
    assert (short.start, short.end) == (start, start + len(SEAL))
    assert len(framework.shorten([placed, *others], "Which pump leaks?")) == 2
    assert framework.shorten([], "pump") == []
    (named,) = framework.shorten(
        [framework.piece(LEAKS, id="7")], "leaks?", max_tokens=10
    )
    assert named.id == "7:20-52" and named.text.endswith(LEAKS[20:52])
    with pytest.raises(ValueError, match="max_tokens"):
        framework.shorten([placed], "pump", max_tokens=0)
    with pytest.raises(
        UnknownArgument, match=r"'max_token'\. Did you mean 'max_tokens'"
    ):
        framework.shorten([placed], "pump", max_token=3)


@pytest.mark.xdist_group("engines")
@pytest.mark.parametrize(
    ("model", "engine"), [(HashTokens, True), (HashEmbedder, False)]
)
def test_results_of_an_index_are_not_embedded_again(
    framework: Any, model: Any, engine: bool, tmp_path: Path
) -> None:
    encoder = model()
    text = "# Valves\n\n" + "\n\n".join(
        f"## Valve {number}\n\nValve {number} is kept in room {number * 7 % 50}. "
        + "It is opened by hand, and dried before winter. " * 3
        for number in range(40)
    )
    retriever = framework.index(
        "Evidence",
        framework.documents({**TEXTS, "valves": text}),
        embedding=encoder,
        max_tokens=1500,
        store=f"lancedb:{tmp_path}" if engine else str(tmp_path / "index"),
    )
    other = framework.piece("The filter is rinsed. Tokens are matched in rows.")
    for question in ("Where is valve 17 kept?", QUESTION, "valve in room 33"):
        hosts = [one.host for one in framework.ask(retriever, question)]
        for order, more in (("rank", []), ("document", []), ("rank", [other])):
            n_texts, n_passes = len(encoder.texts), len(getattr(encoder, "passes", []))
            short = framework.shorten(
                [*hosts, *more],
                question,
                embedding=encoder,
                max_tokens=300,
                order=order,
            )
            read = {*encoder.texts[n_texts:]}
            if model is HashTokens:
                read = {of for call in encoder.passes[n_passes:] for of in call}
            assert bool(read - {question}) == bool(more)
            for one in short:
                if one.start is not None and one.doc_id == "valves":
                    assert text[one.start : one.end] in one.text


def test_results_that_changed_or_have_another_model_are_embedded(
    framework: Any,
) -> None:
    encoder, other = HashTokens(), HashTokens(name="another")
    documents = framework.documents(TEXTS)
    retriever = framework.index("Evidence", documents, embedding=encoder)
    (best, *_) = framework.ask(retriever, QUESTION)
    assert framework.passage(pickle.loads(pickle.dumps(best.host))) == best
    changed = framework.with_text(best.host, best.text.replace("week", "month"))
    for model, host in ((other, best.host), (encoder, changed)):
        n_passes = len(model.passes)
        assert framework.shorten([host], QUESTION, embedding=model, max_tokens=8)
        assert len(model.passes) == n_passes + 2
    retriever.delete("pump")
    (short,) = framework.shorten([best.host], QUESTION, embedding=encoder, max_tokens=8)
    assert short.text == "Rinse the filter every week."


@pytest.mark.parametrize("add_context", [False, True])
def test_places_of_chunks_move_along(framework: Any, add_context: bool) -> None:
    text = f"# Other\n\nx\n\n# Stock\n\n## Pump\n\n{LEAKS}"
    splitter = framework.splitter("ContentAware", add_context=add_context)
    (*_, chunk) = framework.split(splitter, framework.document(text))
    (short,) = framework.shorten([chunk.host], "Which pump leaks?", max_tokens=10)
    place = slice(short.metadata["source_start"], short.metadata["source_end"])
    assert text[place] == text[short.start : short.end] == SEAL


@pytest.mark.xdist_group("torch")
@pytest.mark.slow
def test_the_model_inside_an_embedding_matches_tokens(framework: Any) -> None:
    from structrag.models.bundled import has_minilm, minilm

    if not has_minilm():
        pytest.skip("the extra 'demo' is not installed")
    encoder = minilm()
    held = framework.holding(encoder)
    question, documents = "Which animals purr?", framework.documents(TEXTS)
    (one, *_), (other, *_) = (
        framework.ask(framework.index("Evidence", documents, embedding=model), question)
        for model in (held, encoder)
    )
    assert one.metadata["score_parts"]["tokens"] > 0
    assert one.score == pytest.approx(other.score, abs=1e-4)


def test_a_shortener_of_another_framework_is_no_embedding(framework: Any) -> None:
    wrong = DeterministicFakeEmbedding(size=4) if framework.name != "langchain" else 3
    with pytest.raises((InvalidParameter, ValueError), match="must be"):
        framework.shorten([framework.piece("A pump.")], "pump", embedding=wrong)


TABLE = "# Prices\n\n| part | euro |\n|---|---|\n" + "".join(
    f"| {name} | {price} |\n"
    for price, name in enumerate(("seal", "valve", "filter", "lamp", "hose") * 9)
)


def test_the_slice_of_a_result_is_exact_and_its_header_is_read(framework: Any) -> None:
    documents = [framework.document(TABLE, "prices")]
    retriever = framework.index("Evidence", documents, max_tokens=60)
    results = framework.ask(retriever, "What does a filter cost?")
    header = [one for one in results if one.metadata["heading_context"]]
    assert header and all("| part | euro |" in framework.read(one) for one in header)
    for one in results:
        context = one.metadata["heading_context"]
        text = TABLE[one.start : one.end]
        assert one.text in (text, f"{context}\n{text}")
        assert one.text.endswith(text) and len(one.text) >= len(text)


def test_overlapping_chunks_are_given_once(framework: Any) -> None:
    text = " ".join(f"Room {i} has {i} chairs and a lamp." for i in range(12))
    spans = [(0, 200), (100, 300), (250, len(text)), (40, 110)]
    pieces = [framework.piece(text[a:b], a, f"p{a}") for a, b in spans]
    results = framework.shorten(
        pieces, "How many chairs are in room 4?", max_tokens=900
    )
    assert len(results) == 3
    characters = [at for one in results for at in range(one.start, one.end)]
    assert len(characters) == len(set(characters)) >= len(text) - 2
