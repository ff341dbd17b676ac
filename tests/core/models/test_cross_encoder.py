"""Cross-encoders as scorers: sentence-transformers' own on a tiny model, and any object that
predicts."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from structrag.errors import InvalidAnswer, InvalidParameter
from structrag.models.scorers import CrossEncoderScorer, as_cross_encoder

QUESTION = "what do cats eat"
TEXTS = ["cats eat fish", "pumps move water", "dogs sleep", "cats eat fish"]


class Overlap:
    """Predicts the share of the question's words in the text."""

    def __init__(self) -> None:
        self.pairs: list[tuple[str, str]] = []

    def predict(self, pairs: list[tuple[str, str]]) -> Any:
        self.pairs += pairs
        return [len(set(q.split()) & set(t.split())) / len(q.split()) for q, t in pairs]


def test_any_object_that_predicts() -> None:
    model = Overlap()
    scorer = as_cross_encoder(model)
    assert scorer.score(QUESTION, TEXTS) == [0.5, 0.0, 0.0, 0.5]
    assert len(model.pairs) == 3  # equal texts are one pair
    assert scorer.score(QUESTION, []) == []
    assert as_cross_encoder(scorer) is scorer
    assert as_cross_encoder(None) is None
    assert scorer.name == ""  # nothing tells the model from others


def test_the_name_tells_models_and_settings_apart() -> None:
    model = Overlap()
    model.name = "overlap"  # type: ignore[attr-defined]
    assert CrossEncoderScorer(model).name == "overlap|300"
    assert CrossEncoderScorer(model, window_tokens=60).name == "overlap|60"
    assert CrossEncoderScorer(model, name="mine").name == "mine"


def test_a_long_text_counts_by_its_best_window() -> None:
    model = Overlap()
    text = (
        "".join(f"Pump {i} moves water. " for i in range(200))
        + "So cats eat fish . "
        + "Dogs sleep. " * 9
    )
    assert CrossEncoderScorer(model, window_tokens=60).score(QUESTION, [text]) == [0.5]
    assert len(model.pairs) > 10
    assert max(len(window.split()) for _, window in model.pairs) <= 46
    assert sum(len(window.split()) for _, window in model.pairs) == len(text.split())


def test_bad_models_and_bad_answers() -> None:
    with pytest.raises(
        InvalidParameter, match=r"cross_encoder must be a CrossEncoder .* got object"
    ):
        as_cross_encoder(object())

    class TwoLabels:
        def predict(self, pairs: Any) -> Any:
            return np.zeros((len(pairs), 2))

    with pytest.raises(
        InvalidAnswer,
        match=r"one number for each of 3 pairs; got an array of shape \(3, 2\)",
    ):
        CrossEncoderScorer(TwoLabels()).score(QUESTION, TEXTS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    torch = pytest.importorskip("torch", reason="the extra 'models' is not installed")
    transformers = pytest.importorskip(
        "transformers", reason="the extra 'models' is not installed"
    )
    pytest.importorskip(
        "sentence_transformers", reason="the extra 'models' is not installed"
    )
    path = tmp_path_factory.mktemp("cross-encoder")
    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "what",
        "do",
        "cats",
        "eat",
        "fish",
        "pumps",
        "move",
        "water",
        "dogs",
        "sleep",
    ]
    (path / "vocab.txt").write_text("\n".join(words))
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, num_labels=1,
        max_position_embeddings=64, initializer_range=2.0,
    )  # fmt: skip
    transformers.BertForSequenceClassification(config).eval().save_pretrained(path)
    transformers.BertTokenizer(str(path / "vocab.txt")).save_pretrained(path)
    return str(path)


def test_a_model_of_sentence_transformers_gives_probabilities(folder: str) -> None:
    import torch
    import transformers
    from sentence_transformers import CrossEncoder

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        folder
    ).eval()
    expected = []
    for text in TEXTS:
        with torch.no_grad():
            logit = float(
                model(**tokenizer(QUESTION, text, return_tensors="pt")).logits[0, 0]
            )
        expected.append(1 / (1 + math.exp(-logit)))
    assert len({round(p, 3) for p in expected}) == 3
    assert CrossEncoderScorer(folder).score(QUESTION, TEXTS) == pytest.approx(
        expected, abs=1e-4
    )
    raw = CrossEncoder(folder, local_files_only=True)
    raw.activation_fn = torch.nn.Identity()  # as the checkpoints of ms-marco configure
    scorer = CrossEncoderScorer(raw, batch_size=1)
    assert scorer.name == CrossEncoderScorer(folder).name
    assert scorer.name.startswith(f"{folder}|float32#") and scorer.name.endswith("|300")
    assert scorer.score(QUESTION, TEXTS) == pytest.approx(expected, abs=1e-4)
    assert scorer.score(QUESTION, TEXTS[::-1]) == scorer.score(QUESTION, TEXTS)[::-1]


def test_a_folder_that_is_no_model(tmp_path: Path) -> None:
    pytest.importorskip(
        "sentence_transformers", reason="the extra 'models' is not installed"
    )
    for name in (str(tmp_path / "absent"), "no/such-cross-encoder"):
        with pytest.raises(InvalidParameter, match="nothing is downloaded here"):
            CrossEncoderScorer(name)
    with pytest.raises(InvalidParameter, match="exists but cannot be loaded"):
        CrossEncoderScorer(str(tmp_path))


@pytest.mark.parametrize("activation", ["activation_fn", "activation_fct"])
def test_models_of_any_version_are_asked_for_probabilities(activation: str) -> None:
    torch = pytest.importorskip("torch", reason="the extra 'models' is not installed")
    options: dict[str, Any] = {}

    def newer(self: Any, pairs: Any, activation_fn: Any = None, **others: Any) -> Any:
        options.update(others, activation_fn=activation_fn)
        return np.zeros(len(pairs))

    def older(self: Any, pairs: Any, activation_fct: Any = None, **others: Any) -> Any:
        options.update(others, activation_fct=activation_fct)
        return np.zeros(len(pairs))

    predict = newer if activation == "activation_fn" else older
    module = "sentence_transformers.cross_encoder"
    model = type("Encoder", (), {"__module__": module, "predict": predict})()
    CrossEncoderScorer(model, batch_size=3).score(QUESTION, ["cats"])
    assert isinstance(options.pop(activation), torch.nn.Sigmoid)
    assert options == {"batch_size": 3, "show_progress_bar": False}
