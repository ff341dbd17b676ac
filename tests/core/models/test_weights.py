"""Names of loaded models: equal for the same weights, different for any others."""

from __future__ import annotations

import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the extra 'models' is not installed")
pytest.importorskip(
    "sentence_transformers", reason="the extra 'models' is not installed"
)

from structrag import SentenceTransformerEmbedder  # noqa: E402
from structrag.models.loading import weights_label  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:torch.ao.quantization is deprecated"),
    pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor"),
]


def network(seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Linear(40, 30), torch.nn.ReLU(), torch.nn.Linear(30, 20)
    )


def test_the_same_weights_have_one_label_and_others_another() -> None:
    label = weights_label(network())
    assert label.startswith("float32#") and weights_label(network()) == label
    trained = network()
    with torch.no_grad():
        trained[0].weight.add_(1e-4)
    others = [
        network(1),
        trained,
        network().to(torch.bfloat16),
        network().to(torch.float16),
        torch.ao.quantization.quantize_dynamic(
            network(), {torch.nn.Linear}, dtype=torch.qint8
        ),
    ]
    assert len({label, *map(weights_label, others)}) == 6


def test_a_pooler_that_the_checkpoint_lacks_does_not_count(tmp_path: Path) -> None:
    """It is drawn anew by every load; an index could not be opened again."""
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=30,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
    )
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained(tmp_path)
    models = [transformers.BertModel.from_pretrained(tmp_path) for _ in range(2)]
    drawn = [model.pooler.dense.weight for model in models]
    assert not torch.equal(*drawn)
    first, second = map(weights_label, models)
    assert first and first == second
    with torch.no_grad():
        models[1].embeddings.word_embeddings.weight.add_(1e-4)
    assert weights_label(models[1]) != first


def test_a_model_of_another_backend_is_told_by_its_files(tmp_path: Path) -> None:
    labels = []
    for name, content in (
        ("a", b"1" * 10_000),
        ("b", b"1" * 9_999 + b"2"),
        ("c", b"1" * 10_001),
    ):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "model.onnx").write_bytes(content)
        labels.append(weights_label(SimpleNamespace(model_save_dir=folder)))
        assert labels[-1] == weights_label(
            SimpleNamespace(model_path=folder / "model.onnx")
        )
    assert len(set(labels)) == 3


def test_two_folders_called_model_have_two_names(minilm: Any, tmp_path: Path) -> None:
    plain = minilm.model
    changed = copy.deepcopy(plain)
    with torch.no_grad():
        for parameter in changed.parameters():
            parameter.mul_(1.001)
    names = []
    for parent, model in (("one", plain), ("two", changed), ("three", plain)):
        folder = tmp_path / parent / "model"
        model.save(str(folder))
        names.append(SentenceTransformerEmbedder(str(folder)).name)
    assert names[0] == names[2] != names[1]
    assert all(name.startswith("sentence-transformers/model|") for name in names)


def test_the_name_of_an_encoder_tells_numbers_and_pooling_apart(minilm: Any) -> None:
    plain = minilm.model
    cut, pooled = copy.deepcopy(plain), copy.deepcopy(plain)
    cut.truncate_dim = 64
    pooled[1].pooling_mode = "cls"
    models = [
        plain,
        cut,
        pooled,
        copy.deepcopy(plain).bfloat16(),
        torch.ao.quantization.quantize_dynamic(
            copy.deepcopy(plain), {torch.nn.Linear}, dtype=torch.qint8
        ),
    ]
    names = [SentenceTransformerEmbedder(model).name for model in models]
    assert len(set(names)) == len(models)
    assert SentenceTransformerEmbedder(copy.deepcopy(plain)).name == names[0]
    assert "torch float32#" in names[0] and "torch bfloat16#" in names[3]
