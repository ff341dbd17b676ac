"""ColBERT models of random weights, in both formats: markers, linear layers, skipped tokens."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from structrag import EvidenceRetriever, read_text
from structrag.errors import InvalidParameter
from structrag.models import ColbertTokens
from structrag.models.colbert import ColbertSettings

torch = pytest.importorskip("torch", reason="the extra 'models' is not installed")
transformers = pytest.importorskip(
    "transformers", reason="the extra 'models' is not installed"
)
safetensors = pytest.importorskip(
    "safetensors.torch", reason="the extra 'models' is not installed"
)

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]", "[unused1]"]
WORDS = [*SPECIAL, "which", "pump", "leaks", "the", "blue", ".", ",", "?"]


def tokenizer(markers: tuple[str, ...] = ()) -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = [*WORDS, *markers]
    plain = Tokenizer(
        models.WordLevel(
            {word: i for i, word in enumerate(vocabulary)}, unk_token="[UNK]"
        )
    )
    plain.normalizer = normalizers.Lowercase()
    plain.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    plain.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=ends
    )
    names = ("pad", "unk", "cls", "sep", "mask")
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain,
        **{f"{name}_token": f"[{name.upper()}]" for name in names},
    )
    fast.add_tokens(list(markers), special_tokens=True)
    return fast


def bert(size: int) -> Any:
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=size,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    )
    return transformers.BertModel(config, add_pooling_layer=False).eval()


LINEAR = torch.linspace(-1, 1, 128).reshape(8, 16).sin()


def pylate(folder: Path, **settings: Any) -> Path:
    made = tokenizer(("[Q]", "[D]"))
    bert(len(made)).save_pretrained(folder)
    made.save_pretrained(folder)
    (folder / "1_Dense").mkdir()
    safetensors.save_file(
        {"linear.weight": LINEAR}, str(folder / "1_Dense" / "model.safetensors")
    )
    dense = {"activation_function": "torch.nn.modules.linear.Identity", **settings}
    (folder / "1_Dense" / "config.json").write_text(json.dumps(dense))
    modules = [
        {"path": "", "type": "sentence_transformers.models.Transformer"},
        {"path": "1_Dense", "type": "pylate.models.Dense.Dense"},
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    reading = {
        "query_length": 12,
        "document_length": 60,
        "skiplist_words": [".", ",", "?"],
    }
    prefixes = {"query_prefix": "[Q] ", "document_prefix": "[D] "}
    (folder / "config_sentence_transformers.json").write_text(
        json.dumps({**reading, **prefixes})
    )
    return folder


def stanford(folder: Path) -> Path:
    made = tokenizer()
    bert(len(made)).save_pretrained(folder)
    made.save_pretrained(folder)
    weights = safetensors.load_file(str(folder / "model.safetensors"))
    tensors = {
        **{f"bert.{name}": of for name, of in weights.items()},
        "linear.weight": LINEAR,
    }
    safetensors.save_file(
        tensors, str(folder / "model.safetensors"), metadata={"format": "pt"}
    )
    settings = {
        "query_token_id": "[unused0]",
        "doc_token_id": "[unused1]",
        "query_maxlen": 12,
    }
    (folder / "artifact.metadata").write_text(
        json.dumps({**settings, "mask_punctuation": True})
    )
    return folder


def expected(folder: Path, words: str, attended: int | None = None) -> np.ndarray:
    """The vectors of a row of words, markers and fillers included, worked out by hand."""
    made = transformers.AutoTokenizer.from_pretrained(folder)
    ids = torch.tensor([made.convert_tokens_to_ids(words.split())])
    mask = torch.ones_like(ids)
    if attended is not None:
        mask[:, attended:] = 0
    with torch.no_grad():
        model = bert(len(made))
        states = model(input_ids=ids, attention_mask=mask).last_hidden_state @ LINEAR.T
    return torch.nn.functional.normalize(states[0], dim=-1).numpy()  # type: ignore[no-any-return]


@pytest.mark.parametrize("layout", [pylate, stanford])
def test_documents_have_a_marker_and_no_vectors_of_punctuation(
    layout: Any, tmp_path: Path
) -> None:
    encoder = ColbertTokens(str(layout(tmp_path)))
    marker = encoder.settings.document_marker.strip()
    text = "The blue pump, leaks."
    (tokens,) = encoder.embed_tokens([text])
    row = expected(tmp_path, f"[CLS] {marker} the blue pump , leaks . [SEP]")
    assert [text[start:end] for start, end in tokens.spans] == [
        "The",
        "blue",
        "pump",
        "leaks",
    ]
    assert np.allclose(tokens.vectors, row[[2, 3, 4, 6]], atol=1e-5)
    assert np.allclose(np.linalg.norm(tokens.vectors, axis=1), 1, atol=1e-5)
    assert np.allclose(
        tokens.vector, tokens.vectors.mean(axis=0)
    ) and tokens.vector.shape == (8,)


@pytest.mark.parametrize("layout", [pylate, stanford])
def test_questions_are_filled_up_by_mask_tokens(layout: Any, tmp_path: Path) -> None:
    folder = layout(tmp_path)
    encoder, plain = (
        ColbertTokens(str(folder)),
        ColbertTokens(str(folder), expansion=False),
    )
    marker = encoder.settings.query_marker.strip()
    row = expected(
        tmp_path, f"[CLS] {marker} which pump ? [SEP] " + "[MASK] " * 6, attended=6
    )
    (tokens,), (few,) = (
        one.embed_tokens(["Which pump?"], query=True) for one in (encoder, plain)
    )
    assert few.spans.tolist() == [[0, 5], [6, 10], [10, 11]]
    assert np.allclose(few.vectors, row[2:5], atol=1e-5)
    assert len(tokens.ids) == 3 + 6 and set(tokens.ids) == set(few.ids)
    assert np.all(np.diff(tokens.spans[:, 0]) >= 0)
    for vector, token in zip(tokens.vectors, tokens.ids, strict=True):
        at = int((few.vectors @ vector).argmax())
        assert token == few.ids[at]
    assert all(
        np.isclose(tokens.vectors @ filler, 1, atol=1e-4).any() for filler in row[6:]
    )
    assert encoder.name != plain.name and encoder.name.startswith(
        f"colbert/{tmp_path.name}|True|"
    )


def test_long_questions_and_blank_ones(tmp_path: Path) -> None:
    encoder = ColbertTokens(str(pylate(tmp_path)))
    (long,) = encoder.embed_tokens(["blue pump " * 60], query=True)
    assert len(long.ids) == 120
    for query in (True, False):
        blank, marks = encoder.embed_tokens(["", ".,"], query=query)
        assert not len(blank.ids) and blank.vector.shape == (8,)
        assert len(marks.ids) == 0 or query
    assert encoder.embed_tokens([]) == []


def test_an_object_of_pylate_is_read_by_its_own_layers(tmp_path: Path) -> None:
    folder = pylate(tmp_path)
    made = transformers.AutoTokenizer.from_pretrained(folder)

    class Model:
        tokenizer = made
        query_prefix, document_prefix, query_length = "[Q] ", "[D] ", 12
        skiplist_words = (".", ",", "?")

        def __init__(self) -> None:
            self.encoder = bert(len(made))

        def state_dict(self) -> Any:
            return self.encoder.state_dict()

        def __call__(self, features: Any) -> Any:
            states = self.encoder(**features).last_hidden_state @ LINEAR.T
            return {"token_embeddings": states}

    own, theirs = ColbertTokens(str(folder)), ColbertTokens(Model())
    for query in (True, False):
        (one,), (other,) = (
            each.embed_tokens(["Which blue pump leaks?"], query=query)
            for each in (own, theirs)
        )
        assert np.array_equal(one.spans, other.spans)
        assert np.allclose(one.vectors, other.vectors, atol=1e-5)


@pytest.mark.parametrize("options", [{}, {"expansion": False}])
def test_a_retriever_matches_its_tokens(
    options: dict[str, Any], tmp_path: Path
) -> None:
    encoder = ColbertTokens(str(pylate(tmp_path)), **options)
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
    again = ColbertTokens(str(tmp_path), **options)
    assert (
        EvidenceRetriever.load(tmp_path / "index", again).search("Which pump leaks?")
        == hits
    )


def test_what_is_no_colbert_model_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="model must be a ColBERT model"):
        ColbertTokens(str(tmp_path / "nowhere"))
    (tmp_path / "modules.json").write_text("[]")
    with pytest.raises(InvalidParameter, match="model must be a ColBERT model"):
        ColbertTokens(str(tmp_path))
    (tmp_path / "other").mkdir()
    curved = pylate(
        tmp_path / "other", activation_function="torch.nn.modules.activation.Tanh"
    )
    with pytest.raises(InvalidParameter, match="linear layers behind its encoder"):
        ColbertTokens(str(curved))
    slow = SimpleNamespace(
        query_prefix="[Q] ", tokenizer=SimpleNamespace(is_fast=False)
    )
    with pytest.raises(InvalidParameter, match="model must have a fast tokenizer"):
        ColbertTokens(slow)
    slow.tokenizer = SimpleNamespace()  # says nothing of its speed
    with pytest.raises(InvalidParameter, match="model must have a fast tokenizer"):
        ColbertTokens(slow)
    for part in ({"query_prefix": "[Q] "}, {"tokenizer": tokenizer()}):
        with pytest.raises(
            InvalidParameter,
            match=r"model must be a ColBERT model: .* of PyLate; got SimpleNamespace",
        ):
            ColbertTokens(SimpleNamespace(**part))


def set_in(file: Path, **settings: Any) -> None:
    """Change settings in a model's file."""
    merged = {**json.loads(file.read_text()), **settings}
    file.write_text(json.dumps(merged))


@pytest.mark.parametrize(("n_words", "fillers"), [(7, 2), (8, 1), (9, 0), (10, 0)])
def test_a_question_is_filled_up_to_exactly_the_length(
    tmp_path: Path, n_words: int, fillers: int
) -> None:
    # Beside the words stand [CLS], the marker and [SEP]; the length is 12.
    words = " ".join(["which blue pump"] * 4).split()[:n_words]
    encoder = ColbertTokens(str(pylate(tmp_path)))
    (tokens,) = encoder.embed_tokens([" ".join(words)], query=True)
    assert len(tokens.ids) == n_words + fillers
    row = expected(
        tmp_path,
        " ".join(["[CLS] [Q]", *words, "[SEP]", *["[MASK]"] * fillers]),
        attended=n_words + 3,
    )
    for vector in [*row[2 : 2 + n_words], *row[n_words + 3 :]]:
        assert np.isclose(tokens.vectors @ vector, 1, atol=1e-4).any()


@pytest.mark.parametrize("layout", [pylate, stanford])
def test_tokens_look_at_those_that_fill_up_where_the_model_says_so(
    layout: Any, tmp_path: Path
) -> None:
    folder = layout(tmp_path)
    if layout is pylate:
        file = folder / "config_sentence_transformers.json"
        set_in(file, attend_to_expansion_tokens=True)
    else:
        set_in(folder / "artifact.metadata", attend_to_mask_tokens=True)
    encoder = ColbertTokens(str(folder))
    marker = encoder.settings.query_marker.strip()
    (tokens,) = encoder.embed_tokens(["which pump leaks"], query=True)
    row = expected(folder, f"[CLS] {marker} which pump leaks [SEP] " + "[MASK] " * 6)
    for vector in [*row[2:5], *row[6:]]:
        assert np.isclose(tokens.vectors @ vector, 1, atol=1e-4).any()


def test_a_folder_that_says_nothing_is_read_as_most_models_are(tmp_path: Path) -> None:
    folder = pylate(tmp_path)
    (folder / "config_sentence_transformers.json").unlink()
    encoder = ColbertTokens(str(folder))
    assert encoder.settings == ColbertSettings()
    assert (encoder.settings.query_length, encoder.settings.attends) == (32, False)
    (tokens,) = encoder.embed_tokens(["which pump"], query=True)
    assert len(tokens.ids) == 2 + (32 - 5)  # [CLS] [Q] which pump [SEP]


def test_a_model_of_stanford_that_says_nothing_is_read_as_most_are(
    tmp_path: Path,
) -> None:
    folder = stanford(tmp_path)
    (folder / "artifact.metadata").write_text("{}")
    settings = ColbertTokens(str(folder)).settings
    assert settings == ColbertSettings("[unused0] ", "[unused1] ")


@pytest.mark.parametrize(("masked", "n_tokens"), [(True, 2), (False, 4)])
def test_punctuation_has_vectors_where_the_model_says_so(
    tmp_path: Path, masked: bool, n_tokens: int
) -> None:
    folder = stanford(tmp_path)
    set_in(folder / "artifact.metadata", mask_punctuation=masked)
    (tokens,) = ColbertTokens(str(folder)).embed_tokens(["The pump,."])
    assert len(tokens.ids) == n_tokens


@pytest.mark.parametrize("in_safetensors", [True, False])
def test_a_layer_may_have_a_bias_and_its_weights_may_be_in_either_file(
    tmp_path: Path, in_safetensors: bool
) -> None:
    folder = pylate(tmp_path)
    file = folder / "1_Dense" / "model.safetensors"
    bias = torch.linspace(2, -3, 8)
    weights = {"linear.weight": LINEAR, "linear.bias": bias, "other": LINEAR + 1}
    plain = ColbertTokens(str(folder))
    file.unlink()
    if in_safetensors:
        safetensors.save_file(weights, str(file))
    else:
        torch.save(weights, file.with_name("pytorch_model.bin"))
    encoder = ColbertTokens(str(folder))
    (tokens,) = encoder.embed_tokens(["blue pump"])
    made = transformers.AutoTokenizer.from_pretrained(folder)
    words = ["[CLS]", "[D]", "blue", "pump", "[SEP]"]
    with torch.no_grad():
        ids = torch.tensor([made.convert_tokens_to_ids(words)])
        states = bert(len(made))(input_ids=ids).last_hidden_state @ LINEAR.T + bias
    row = torch.nn.functional.normalize(states[0], dim=-1).numpy()
    assert np.allclose(tokens.vectors, row[2:4], atol=1e-5)
    assert encoder.name != plain.name  # the layers are other ones


def test_a_layer_without_weights_is_no_model(tmp_path: Path) -> None:
    folder = stanford(tmp_path)
    (folder / "model.safetensors").unlink()
    with pytest.raises(InvalidParameter, match="model must be a ColBERT model"):
        ColbertTokens(str(folder))


class Bare:
    """A model of PyLate that says nothing but its prefix."""

    query_prefix = "[Q] "

    def __init__(self, reader: Any) -> None:
        self.tokenizer = reader
        self.encoder = bert(64)

    def __call__(self, features: Any) -> Any:
        states = self.encoder(**features).last_hidden_state
        return {"token_embeddings": states}


def test_an_object_that_says_nothing_is_read_as_most_models_are() -> None:
    encoder = ColbertTokens(Bare(tokenizer(("[Q]", "[D]"))), name="mine")
    assert encoder.settings == ColbertSettings()
    assert encoder.max_tokens == 512
    assert encoder.name == "colbert/mine|True"
    assert ColbertTokens(Bare(tokenizer())).name == "colbert/colbert|True"


@pytest.mark.parametrize(("padding", "filler"), [("[PAD]", 0), ("blue", 11), (None, 0)])
def test_questions_are_filled_up_by_padding_where_there_is_no_mask_token(
    padding: str | None, filler: int
) -> None:
    reader = tokenizer(("[Q]", "[D]"))
    reader.mask_token = None
    reader.pad_token = padding
    encoder = ColbertTokens(Bare(reader))
    ids, first, missing = encoder._filled("which pump")
    assert first == 2 and missing == 32 - 5
    assert ids[5:] == [filler] * missing


def test_a_batch_is_of_one_text_at_least(tmp_path: Path) -> None:
    folder = str(pylate(tmp_path))
    with pytest.raises(InvalidParameter, match="batch_size must be"):
        ColbertTokens(folder, batch_size=0)
    one, many = ColbertTokens(folder, batch_size=1), ColbertTokens(folder)
    texts = ["blue pump", "which pump leaks"]
    pairs = zip(one.embed_tokens(texts), many.embed_tokens(texts), strict=True)
    for alone, together in pairs:
        assert np.allclose(alone.vectors, together.vectors, atol=1e-5)


def test_models_are_told_apart_as_objects_and_take_no_settings() -> None:
    one, other = (ColbertTokens(Bare(tokenizer(("[Q]", "[D]")))) for _ in range(2))
    assert len({one, other}) == 2
    assert (one.batch_size, one.expansion) == (16, True)
    for name in ("settings", "max_tokens"):
        with pytest.raises(TypeError):
            ColbertTokens(one.model, **{name: None})


def test_fillers_are_masked_and_of_the_first_kind_of_text() -> None:
    reader = tokenizer(("[Q]", "[D]"))
    reader.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    model = Bare(reader)
    passes: list[dict[str, Any]] = []
    encoder = ColbertTokens(model)
    forward = model.__class__.__call__

    class Noted(Bare):
        def __call__(self, features: Any) -> Any:
            passes.append({name: rows.tolist() for name, rows in features.items()})
            return forward(self, features)

    model.__class__ = Noted
    encoder.embed_tokens(["which pump"], query=True)
    filled = passes[-1]
    assert filled["input_ids"] == [[2, 15, 7, 8, 3, *[4] * 27]]
    assert filled["attention_mask"] == [[1] * 5 + [0] * 27]
    assert filled["token_type_ids"] == [[0] * 32]


def test_markers_that_are_added_are_no_words_of_a_text() -> None:
    encoder = ColbertTokens(Bare(tokenizer()), expansion=False)
    texts = ["which [q] pump", "which pump"]
    marked, plain = encoder.embed_tokens(texts, query=True)
    assert len(plain.ids) == 2
    assert [texts[0][start:end] for start, end in marked.spans] == [
        "which", "[", "q", "]", "pump"
    ]  # fmt: skip


def test_a_file_of_weights_is_not_run(tmp_path: Path) -> None:
    folder = pylate(tmp_path)
    (folder / "1_Dense" / "model.safetensors").unlink()
    weights = {"linear.weight": Path("not a tensor")}
    torch.save(weights, folder / "1_Dense" / "pytorch_model.bin")
    with pytest.raises(InvalidParameter, match=r"cannot be read as weights") as caught:
        ColbertTokens(str(folder))
    assert isinstance(caught.value.__cause__, pickle.UnpicklingError)


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
def test_a_broken_file_of_weights_is_said(tmp_path: Path, name: str) -> None:
    folder = pylate(tmp_path)
    (folder / "1_Dense" / "model.safetensors").unlink()
    (folder / "1_Dense" / name).write_bytes(b"half a file")
    with pytest.raises(InvalidParameter, match=f"{name}' cannot be read as weights"):
        ColbertTokens(str(folder))


def test_a_layer_without_its_weights_is_said(tmp_path: Path) -> None:
    folder = pylate(tmp_path)
    (folder / "1_Dense" / "model.safetensors").unlink()
    with pytest.raises(InvalidParameter, match="1_Dense' has no weights of its layer"):
        ColbertTokens(str(folder))
