"""Models of PyLate with random weights: markers, fillers, skipped tokens."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from structrag import EvidenceRetriever, read_text
from structrag.errors import InvalidParameter
from structrag.models import ColbertTokens

torch = pytest.importorskip("torch", reason="the extra 'models' is not installed")
transformers = pytest.importorskip(
    "transformers", reason="the extra 'models' is not installed"
)
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[Q] ", "[D] "]
WORDS = [*SPECIAL, "which", "pump", "leaks", "the", "blue", ".", ",", "?"]


def tokenizer() -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = {word: i for i, word in enumerate(WORDS)}
    plain = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    plain.normalizer = normalizers.Lowercase()
    plain.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    plain.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = ("pad", "unk", "cls", "sep", "mask")
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain,
        **{f"{name}_token": f"[{name.upper()}]" for name in names},
    )
    fast.add_tokens(["[Q] ", "[D] "])
    return fast


def bert() -> Any:
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    )
    return transformers.BertModel(config, add_pooling_layer=False).eval()


class StandIn:
    """What PyLate's `ColBERT` has and does, for one text at a time."""

    query_prefix, document_prefix = "[Q] ", "[D] "
    skiplist = (12, 13, 14)  # . , ?
    query_length, document_length = 12, 16
    device = "cpu"

    def __init__(self, *, expands: bool = True, attends: bool = False) -> None:
        self.tokenizer = tokenizer()
        self.encoder = bert()
        self.do_query_expansion = expands
        self.attend_to_expansion_tokens = attends

    def eval(self) -> StandIn:
        return self

    def state_dict(self) -> Any:
        return self.encoder.state_dict()

    def __call__(self, features: Any) -> Any:
        return {"token_embeddings": self.encoder(**features).last_hidden_state}

    def encode(self, texts: list[str], *, is_query: bool, **_: Any) -> list[Any]:
        assert is_query
        return [self._question(text) for text in texts]

    def _question(self, text: str) -> Any:
        first, *rest = self.tokenizer(text.strip())["input_ids"]
        ids = [first, WORDS.index("[Q] "), *rest][: self.query_length]
        missing = self.query_length - len(ids)
        mask = [1] * len(ids) + [int(self.attend_to_expansion_tokens)] * missing
        return self.rows([*ids, *[4] * missing], mask)

    def rows(self, ids: list[int], mask: list[int] | None = None) -> Any:
        features = {"input_ids": torch.tensor([ids])}
        features["attention_mask"] = torch.tensor([mask or [1] * len(ids)])
        with torch.no_grad():
            (states,) = self(features)["token_embeddings"]
        return torch.nn.functional.normalize(states, dim=-1).numpy()


def real(folder: Path, **options: Any) -> Any:
    pylate = pytest.importorskip("pylate.models", reason="PyLate is not installed")
    bert().save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    model = pylate.ColBERT(
        str(folder),
        embedding_size=8,
        query_length=12,
        document_length=16,
        skiplist_words=[".", ",", "?"],
        device="cpu",
        **options,
    )
    return model


@pytest.fixture(params=["a stand-in", "PyLate"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return StandIn() if request.param == "a stand-in" else real(tmp_path / "model")


def test_documents_have_no_vectors_of_markers_and_punctuation(model: Any) -> None:
    text = "The blue pump, leaks."
    (tokens,) = ColbertTokens(model).embed_tokens([text])
    assert [text[start:end] for start, end in tokens.spans] == [
        "The",
        "blue",
        "pump",
        "leaks",
    ]
    assert np.allclose(np.linalg.norm(tokens.vectors, axis=1), 1, atol=1e-5)
    assert np.allclose(tokens.vector, tokens.vectors.mean(axis=0))


def test_documents_are_what_pylate_encodes(tmp_path: Path) -> None:
    model = real(tmp_path)
    texts = ["The blue pump, leaks.", "which pump"]
    theirs = model.encode(texts, is_query=False, show_progress_bar=False)
    for of, rows in zip(ColbertTokens(model).embed_tokens(texts), theirs, strict=True):
        assert np.allclose(of.vectors, rows[2:-1], atol=1e-5)  # [CLS] [D] ... [SEP]


def test_questions_have_the_vectors_of_what_fills_them_up(model: Any) -> None:
    (tokens,) = ColbertTokens(model).embed_tokens(["  Which pump?"], query=True)
    (rows,) = model.encode(["Which pump?"], is_query=True, show_progress_bar=False)
    words, fillers = rows[2:5], rows[6:]  # [CLS] [Q] which pump ? [SEP] fillers
    assert len(tokens.ids) == 3 + 6 and np.all(np.diff(tokens.spans[:, 0]) >= 0)
    spans = [[2, 7], [8, 12], [12, 13]]
    for vector in [*words, *fillers]:
        at = int((tokens.vectors @ vector).argmax())
        assert np.allclose(tokens.vectors[at], vector, atol=1e-5)
        assert tokens.spans[at].tolist() == spans[int((words @ vector).argmax())]


def test_long_texts_are_read_whole_and_blank_ones_too(model: Any) -> None:
    encoder = ColbertTokens(model)
    for query in (True, False):
        (long,) = encoder.embed_tokens(["blue pump " * 60], query=query)
        assert len(long.ids) == 120
        blank, marks, odd = encoder.embed_tokens(["", ".,", "pump \ud800"], query=query)
        assert not len(blank.ids) and not blank.vector.any()
        assert bool(len(marks.ids)) == query and len(odd.ids) >= 2
        assert encoder.embed_tokens([], query=query) == []


def test_a_retriever_matches_its_tokens(model: Any, tmp_path: Path) -> None:
    encoder = ColbertTokens(model)
    documents = [
        read_text("The blue pump leaks. Which leaks?", id="a"),
        read_text("The pump.", id="b"),
    ]
    retriever = EvidenceRetriever.from_documents(documents, encoder)
    hits = retriever.search("Which pump leaks?")
    assert "tokens" in hits[0].parts and {hit.chunk.doc_id for hit in hits} == {
        "a",
        "b",
    }
    retriever.save(tmp_path / "index")
    again = EvidenceRetriever.load(tmp_path / "index", ColbertTokens(model))
    assert again.search("Which pump leaks?") == hits


def test_the_name_tells_models_apart() -> None:
    names = [ColbertTokens(StandIn()).name, ColbertTokens(StandIn(expands=False)).name]
    assert len(set(names)) == 2 and names[0].startswith("colbert/colbert|True|12|16|")
    assert ColbertTokens(StandIn(), name="mine").name.startswith("colbert/mine|")


@pytest.mark.parametrize(
    "given",
    [
        "folder",
        Path("folder"),
        SimpleNamespace(tokenizer=SimpleNamespace(is_fast=True)),
    ],
)
def test_what_is_no_model_of_pylate_is_said(given: Any) -> None:
    with pytest.raises(
        InvalidParameter,
        match=rf"must be a pylate.models.ColBERT .*; got {type(given).__name__}",
    ):
        ColbertTokens(given)
    with pytest.raises(InvalidParameter, match="batch_size must be"):
        ColbertTokens(StandIn(), batch_size=0)
