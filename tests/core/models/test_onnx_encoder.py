"""An encoder by ONNX Runtime gives what the same encoder by PyTorch gives, without PyTorch."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from shutil import copy
from typing import Any

import numpy as np
import pytest

from structrag import EvidenceRetriever, Index, read_text
from structrag.errors import InvalidParameter
from structrag.models import OnnxEncoder

for package in ("onnxruntime", "onnxscript", "tokenizers", "transformers"):
    pytest.importorskip(package)

TEXTS = [
    "Pümps move water.",
    "",
    "word " * 700,
    "Much longer: valves, seals and their care. " * 9,
    "天气很好",
]


def exported(encoder: Any, folder: Path) -> None:
    import torch

    ids = torch.tensor([[2, 5, 6, 3], [2, 5, 3, 0]])
    mask = (ids > 0).long()
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": ids * 0}
    axes = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    torch.onnx.export(
        encoder.eval(),
        (),
        str(folder / "model.onnx"),
        kwargs=inputs,
        dynamic_shapes=dict.fromkeys(inputs, axes),
        dynamo=True,
        verbose=False,
    )


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a very small encoder of random weights, whose tokens are words."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("small")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "pumps", "move", "water", "cats", "."]
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=9)
    tokenizer.save(str(folder / "tokenizer.json"))
    size = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = BertConfig(vocab_size=len(words), intermediate_size=8, **size)
    exported(BertModel(config, add_pooling_layer=False), folder)
    return folder


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
class TestSmall:
    """What holds for any encoder."""

    def test_tokens_have_their_places_and_a_text_its_mean(self, small: Path) -> None:
        encoder = OnnxEncoder(str(small), query_prompt="cats ", max_tokens=8)
        text = "pumps move water . " * 5
        (tokens,), (asked,) = (
            encoder.embed_tokens([text], query=query) for query in (False, True)
        )
        assert [text[a:b] for a, b in tokens.spans] == text.split()
        assert tokens.spans.tolist() == asked.spans.tolist()
        assert tokens.vectors.shape == (20, 8) and tokens.vectors.dtype == np.float32
        vectors = encoder.embed([text, "", "cats"])
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        assert np.allclose(
            vectors[2], encoder.embed(["pumps " * 99, "cats"])[1], atol=1e-5
        )
        assert encoder.count_tokens(text) == 22 and encoder.embed_tokens([]) == []

    def test_its_name_tells_models_and_prompts_apart(
        self, small: Path, tmp_path: Path
    ) -> None:
        encoder = OnnxEncoder(str(small))
        copied = pickle.loads(pickle.dumps(encoder))
        assert copied == encoder
        assert np.array_equal(copied.embed(["cats"]), encoder.embed(["cats"]))
        for file in small.iterdir():
            copy(file, tmp_path)
        tokenizer = json.loads((small / "tokenizer.json").read_text())
        tokenizer["model"]["vocab"].update(cats=6, water=7)
        (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
        names = {
            encoder.name,
            OnnxEncoder(str(small), query_prompt="q: ").name,
            OnnxEncoder(str(tmp_path)).name,
        }
        assert len(names) == 3

    def test_evidence_and_an_index_take_it_as_it_is(self, small: Path) -> None:
        encoder = OnnxEncoder(str(small))
        document = read_text("# A\n\nPumps move water.\n\n# B\n\nCats move.", id="d")
        for place in (EvidenceRetriever(encoder), Index(embedder=encoder)):
            place.add([document])
            assert place.search("cats")

    def test_other_folders_are_named(self, small: Path, tmp_path: Path) -> None:
        import torch

        with pytest.raises(InvalidParameter, match="model must be a folder with model"):
            OnnxEncoder(str(tmp_path))
        with pytest.raises(
            InvalidParameter, match="max_tokens must be a number of at least 8"
        ):
            OnnxEncoder(str(small), max_tokens=4)
        copy(small / "tokenizer.json", tmp_path)
        torch.onnx.export(
            torch.nn.Linear(2, 2),
            (torch.ones(1, 2),),
            str(tmp_path / "model.onnx"),
            dynamo=True,
            verbose=False,
        )
        with pytest.raises(InvalidParameter, match="must read nothing but input_ids"):
            OnnxEncoder(str(tmp_path))


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_minilm_by_onnx_runtime_is_minilm_by_pytorch(
    minilm: Any, tmp_path: Path
) -> None:
    from structrag.models.bundled import minilm_path

    exported(minilm.model[0].auto_model, tmp_path)
    copy(minilm_path() / "tokenizer.json", tmp_path)
    encoder = OnnxEncoder(str(tmp_path), max_tokens=256)
    pairs = zip(encoder.embed_tokens(TEXTS), minilm.embed_tokens(TEXTS), strict=True)
    for ours, theirs in pairs:
        assert np.array_equal(ours.ids, theirs.ids)
        assert np.array_equal(ours.spans, theirs.spans)
        assert np.allclose(ours.vectors, theirs.vectors, atol=1e-4)
        assert np.allclose(ours.vector, theirs.vector, atol=1e-4)
    assert np.allclose(encoder.embed(TEXTS[:2]), minilm.embed(TEXTS[:2]), atol=1e-4)
    code = (
        "import sys; from structrag.models import OnnxEncoder; "
        "OnnxEncoder(sys.argv[1]).embed(['a pump']); "
        "print(sorted({'torch', 'transformers', 'scipy'} & set(sys.modules)))"
    )
    output = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True
    )
    assert output.stdout.strip() == "[]", output.stderr
