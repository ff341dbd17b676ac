"""Names of loaded models: equal for the same weights, different for any others."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fixture_cases import examples

torch = pytest.importorskip("torch", reason="the extra 'models' is not installed")
pytest.importorskip(
    "sentence_transformers", reason="the extra 'models' is not installed"
)

from structrag import SentenceTransformerEmbedder  # noqa: E402
from structrag.models.weights import encoder_label, weights_label  # noqa: E402

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


def test_the_names_of_tensors_do_not_count() -> None:
    renamed = torch.nn.ModuleDict({"a": network(), "b": torch.nn.Identity()})
    assert weights_label(renamed) == weights_label(network())


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


def test_a_model_without_weights_has_no_label() -> None:
    assert (
        weights_label(SimpleNamespace()) == ""
        and encoder_label(SimpleNamespace()) == ""
    )
    assert weights_label(SimpleNamespace(state_dict=dict)) == ""


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


class Saved:
    """An encoder of ONNX in the place of a SentenceTransformer's."""

    backend = "onnx"

    def __init__(self, folder: Path, **options: Any) -> None:
        self.modules = [
            SimpleNamespace(auto_model=SimpleNamespace(model_path=folder, **options))
        ]

    def __iter__(self) -> Any:
        return iter(self.modules)

    def __getitem__(self, number: int) -> Any:
        return self.modules[number]


def test_the_backend_and_its_options_are_told(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"weights")
    label = encoder_label(Saved(tmp_path))
    assert label.startswith("onnx #")
    assert (
        encoder_label(Saved(tmp_path, ov_config={"INFERENCE_PRECISION_HINT": "bf16"}))
        != label
    )


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


@examples
def test_sixty_four_numbers_spread_over_a_tensor_count(
    size: int, seen: list[int], unseen: list[int]
) -> None:
    def changed(place: int | None) -> str:
        numbers = torch.zeros(size)
        if place is not None:
            numbers[place] = 1
        return weights_label(SimpleNamespace(state_dict=lambda: {"a": numbers}))

    label = changed(None)
    assert re.fullmatch(r"float32#[0-9a-f]{16}", label)
    assert all(changed(place) != label for place in seen)
    assert all(changed(place) == label for place in unseen)


def test_a_tensor_of_fewer_numbers_or_none_counts_by_its_shape_too() -> None:
    labels = {
        weights_label(
            SimpleNamespace(state_dict=lambda shape=shape: [torch.ones(shape)])
        )
        for shape in ((0,), (1,), (2,), (2, 1), (1, 2))
    }
    assert len(labels) == 5


def test_tensors_whose_numbers_are_elsewhere_count_by_shape_and_type() -> None:
    labels = [
        weights_label(torch.nn.Linear(3, width, device="meta")) for width in (2, 2, 4)
    ]
    assert labels[0] == labels[1] != labels[2]


def test_the_types_of_mixed_numbers_are_all_named() -> None:
    mixed = [torch.ones(2), torch.ones(2, dtype=torch.float16), torch.ones(3)]
    label = weights_label(SimpleNamespace(state_dict=lambda: mixed))
    assert label.startswith("float16+float32#")


def test_the_order_of_options_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"weights")
    one = Saved(tmp_path, ov_config={"a": 1, "b": tmp_path})
    other = Saved(tmp_path, ov_config={"b": tmp_path, "a": 1})
    assert encoder_label(one) == encoder_label(other)


def test_a_models_file_is_read_at_both_ends_and_in_between(tmp_path: Path) -> None:
    size = 4096 * 15  # 16 blocks that overlap a little
    labels = set()
    for place in (None, 0, 1, 4095, 4096, size // 2, size - 4097, size - 1):
        content = bytearray(size)
        if place is not None:
            content[place] = 1
        file = tmp_path / "model.onnx"
        file.write_bytes(content)
        labels.add(weights_label(SimpleNamespace(path=str(file))))
    assert len(labels) == 8
    assert weights_label(SimpleNamespace(path=str(tmp_path / "absent"))) == ""


class Bare:
    """An encoder that can be gone through and not be asked for a part."""

    def __iter__(self) -> Any:
        raise AssertionError("it is no list of modules")

    def state_dict(self) -> dict[str, Any]:
        return {"a": torch.ones(2)}


def test_an_encoder_that_is_no_list_is_told_by_its_weights() -> None:
    assert encoder_label(Bare()).startswith("torch float32#")
