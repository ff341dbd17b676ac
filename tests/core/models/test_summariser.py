"""The summariser of transformers on a tiny BART built here."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from small_models import words_tokenizer

from structrag.errors import InvalidParameter
from structrag.models.llm import TransformersSummariser
from structrag.reading.files import read_text
from structrag.retrieval.d3.index import D3Index

WORDS = [
    "<s>",
    "<pad>",
    "</s>",
    "<unk>",
    *[
        "heron",
        "eats",
        "frogs",
        "the",
        "owl",
        "hunts",
        "mice",
        "at",
        "night",
        "by",
        "pond",
    ],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch: Any = pytest.importorskip("torch")
    transformers: Any = pytest.importorskip("transformers")
    tokenizer = words_tokenizer(
        WORDS, bos_token="<s>", eos_token="</s>", pad_token="<pad>"
    )
    torch.manual_seed(0)
    layers = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in (("layers", 1), ("attention_heads", 2), ("ffn_dim", 16))
    }
    config = transformers.BartConfig(
        vocab_size=len(WORDS), d_model=16, max_position_embeddings=64, bos_token_id=0,
        pad_token_id=1, eos_token_id=2,
        decoder_start_token_id=2, forced_eos_token_id=2, **layers,
    )  # fmt: skip
    place = tmp_path_factory.mktemp("bart")
    transformers.BartForConditionalGeneration(config).save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place


def test_it_summarises_within_the_lengths_deterministically(folder: Path) -> None:
    summariser = TransformersSummariser(str(folder), max_length=12)
    text = "the heron eats frogs by the pond " * 30
    summary = summariser.complete(text)
    assert summary == summariser.complete(text)
    assert 0 < len(summary.split()) <= 12
    assert summariser.complete("  ") == ""
    assert summariser.name != TransformersSummariser(str(folder), max_length=100).name


def test_an_index_gives_it_the_text_alone(folder: Path) -> None:
    summariser = TransformersSummariser(str(folder), max_length=12)
    body = "the heron eats frogs by the pond at night . " * 30
    index = D3Index(llm=summariser)
    index.add([read_text(f"# Birds\n\n{body}\n", format="markdown")])
    assert index.usage.calls == 1
    assert index.sections.chunk(0).extras["summary"] == summariser.complete(
        body.strip()
    )


def test_it_is_not_downloaded(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(InvalidParameter):
        TransformersSummariser(str(tmp_path))
    with pytest.raises(InvalidParameter):
        TransformersSummariser(3)


class Writes:
    """Writes the same summary of every text, and remembers what it was given."""

    device = "cpu"

    def __init__(self, path: str = "") -> None:
        self.config = SimpleNamespace(_name_or_path=path)
        self.evaluates = False
        self.options: list[dict[str, Any]] = []

    def eval(self) -> None:
        self.evaluates = True

    def generate(self, **options: Any) -> Any:
        torch: Any = pytest.importorskip("torch")
        self.options.append(options)
        summary = ["</s>", "<s>", "owl", "hunts", "</s>"]
        return torch.tensor([[WORDS.index(word) for word in summary]])


def tokenizer() -> Any:
    pytest.importorskip("transformers")
    return words_tokenizer(WORDS, bos_token="<s>", eos_token="</s>", pad_token="<pad>")


def test_its_name_is_that_of_the_checkpoint(folder: Path) -> None:
    pair = (Writes("some/bart"), tokenizer())
    assert TransformersSummariser(pair).name == "some/bart(56, 142, 4, 2.0, 3)"
    assert TransformersSummariser(pair, name="mine").name == "mine"
    loaded = TransformersSummariser(str(folder)).name
    assert loaded.startswith(f"{folder.name}(56, 142, 4, 2.0, 3)|float32#")


@pytest.mark.parametrize(
    "model", [("one", "two"), (Writes(),), (Writes(), None, None), Writes()]
)
def test_what_is_no_pair_is_refused(model: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"or a \(model, tokenizer\) pair"):
        TransformersSummariser(model)
