"""MonoT5 on a tiny T5 with random weights, against a direct computation."""

from __future__ import annotations

import math
import pickle
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fixture_cases import examples

torch = pytest.importorskip("torch", reason="the extra 'models' is not installed")
transformers = pytest.importorskip(
    "transformers", reason="the extra 'models' is not installed"
)

from small_models import words_tokenizer  # noqa: E402

from structrag.errors import InvalidParameter  # noqa: E402
from structrag.models.scorers import MonoT5, as_monot5  # noqa: E402

WORDS = [
    "<pad>",
    "</s>",
    "<unk>",
    "Query",
    ":",
    "Document",
    "Relevant",
    "true",
    "false",
    "yes",
    "no",
    "cats",
    "dogs",
    "eat",
    "sleep",
    "fish",
    "pumps",
    "move",
    "water",
    ".",
    "what",
    "do",
]
QUESTION = "what do cats eat"
TEXTS = [
    "cats eat fish .",
    "dogs sleep .",
    "pumps move water . cats sleep . dogs eat fish .",
    "fish",
]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return words_tokenizer(
        WORDS, "$A </s>", pad_token="<pad>", eos_token="</s>", model_max_length=512
    )


@pytest.fixture(scope="module")
def model() -> Any:
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=len(WORDS), d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2,
        decoder_start_token_id=0,
        pad_token_id=0, eos_token_id=1, dropout_rate=0.0, initializer_factor=2.0,
    )  # fmt: skip
    return transformers.T5ForConditionalGeneration(config).eval()


@pytest.fixture(scope="module")
def folder(model: Any, tokenizer: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("monot5"))
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def direct(
    model: Any, tokenizer: Any, text: str, words: tuple[str, str] = ("true", "false")
) -> float:
    """log p(first word) from one unpadded pass."""
    ids = torch.tensor(
        [tokenizer.encode(f"Query: {QUESTION} Document: {text} Relevant:")]
    )
    assert ids[0, -1] == WORDS.index("</s>")
    with torch.no_grad():
        logits = (
            model(input_ids=ids, decoder_input_ids=torch.tensor([[0]]))
            .logits[0, 0]
            .double()
        )
    first, second = (float(logits[WORDS.index(word)]) for word in words)
    return -math.log1p(math.exp(second - first))


@pytest.mark.parametrize("batch_size", [1, 2, 16])
def test_padded_batches_equal_single_passes(
    model: Any, tokenizer: Any, batch_size: int
) -> None:
    expected = [direct(model, tokenizer, text) for text in TEXTS]
    # The model tells them apart.
    assert len({round(score, 3) for score in expected}) == len(TEXTS)
    scores = MonoT5(model, tokenizer, batch_size=batch_size).score(QUESTION, TEXTS)
    assert scores == pytest.approx(expected, abs=1e-4)
    assert all(score <= 0 for score in scores)


def test_the_words_are_a_parameter(model: Any, tokenizer: Any) -> None:
    scores = MonoT5(model, tokenizer, true="yes", false="no").score(QUESTION, TEXTS)
    assert scores == pytest.approx(
        [direct(model, tokenizer, text, ("yes", "no")) for text in TEXTS], abs=1e-4
    )
    assert MonoT5(model, tokenizer).score(QUESTION, []) == []


@contextmanager
def read_by(model: Any) -> Iterator[list[list[str]]]:
    """The words of the inputs that a model reads."""
    inputs: list[list[str]] = []

    def note(_: Any, __: Any, named: dict[str, Any]) -> None:
        rows = named["input_ids"].tolist()
        inputs.extend([WORDS[i] for i in row if i] for row in rows)

    hook = model.register_forward_pre_hook(note, with_kwargs=True)
    try:
        yield inputs
    finally:
        hook.remove()


def test_a_long_text_counts_by_its_best_window_and_keeps_its_ending(
    model: Any, tokenizer: Any
) -> None:
    sentences = ["pumps move water .", "cats eat fish .", "dogs sleep ."]
    text = " ".join(sentence for sentence in sentences for _ in range(6))
    scorer = MonoT5(model, tokenizer, max_tokens=36)
    with read_by(model) as inputs:
        (score,) = scorer.score(QUESTION, [text])
    assert len(inputs) > 2 and all(len(words) <= 36 for words in inputs)
    assert all(words[-3:] == ["Relevant", ":", "</s>"] for words in inputs)
    pieces = [words[words.index("Document") + 2 : -3] for words in inputs]
    shown = Counter(word for piece in pieces for word in piece)
    assert shown == Counter(text.split())  # nothing is lost, nothing twice
    assert all(piece[-1] == "." for piece in pieces)
    best = max(direct(model, tokenizer, " ".join(piece)) for piece in pieces)
    assert score == pytest.approx(best, abs=1e-4)


def test_a_folder_is_loaded_without_the_network(
    folder: str, model: Any, tokenizer: Any
) -> None:
    scorer = MonoT5(folder)
    assert scorer.name.startswith(f"{folder}|float32#")
    assert scorer.name.endswith("|true|false|512")
    assert scorer.score(QUESTION, TEXTS) == pytest.approx(
        MonoT5(model, tokenizer).score(QUESTION, TEXTS), abs=1e-6
    )
    assert as_monot5(folder).score(QUESTION, TEXTS) == scorer.score(QUESTION, TEXTS)
    again = pickle.loads(pickle.dumps(scorer))
    assert again.score(QUESTION, TEXTS) == scorer.score(QUESTION, TEXTS)


@examples
def test_a_word_must_be_one_token(
    model: Any, tokenizer: Any, parameter: str, word: str
) -> None:
    with pytest.raises(
        InvalidParameter,
        match=rf"{parameter} must be a word that is one token .* got '{word}'",
    ):
        MonoT5(model, tokenizer, **{parameter: word})


def test_what_is_no_model_is_refused(
    model: Any, tokenizer: Any, tmp_path: Path
) -> None:
    with pytest.raises(
        InvalidParameter, match="different tokens; got 'true' and 'true'"
    ):
        MonoT5(model, tokenizer, false="true")
    with pytest.raises(InvalidParameter, match="tokenizer must be passed"):
        MonoT5(model)
    with pytest.raises(
        InvalidParameter, match=r"model must be an encoder-decoder .* got object"
    ):
        MonoT5(object(), tokenizer)
    with pytest.raises(
        InvalidParameter, match="max_tokens must be a number of at least 32"
    ):
        MonoT5(model, tokenizer, max_tokens=8)
    for name in (str(tmp_path / "absent"), "castorini/no-such-model"):
        with pytest.raises(
            InvalidParameter,
            match=r"model must be a folder .* nothing is downloaded here",
        ):
            MonoT5(name)
    with pytest.raises(
        InvalidParameter, match=r"model must be .* exists but cannot be loaded"
    ):
        MonoT5(str(tmp_path))
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    with pytest.raises(InvalidParameter, match="model must be a folder"):
        MonoT5(str(tmp_path))
    with pytest.raises(InvalidParameter, match="tokenizer must be a folder"):
        MonoT5(model, str(tmp_path / "absent"))
    with pytest.raises(InvalidParameter, match=r"monot5 must be a MonoT5, .* got int"):
        as_monot5(3)


def test_what_scores_is_taken_as_it_is(model: Any, tokenizer: Any) -> None:
    scorer = MonoT5(model, tokenizer)
    assert as_monot5(scorer) is scorer and as_monot5(None) is None

    class Named:
        score = "a number"

    with pytest.raises(InvalidParameter, match="got Named"):
        as_monot5(Named())
