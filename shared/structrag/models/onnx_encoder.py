"""Encoders that ONNX Runtime runs, without PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from structrag.errors import InvalidParameter, check_at_least, require
from structrag.model_calls.requests import TokenVectors
from structrag.models.loading import files_label
from structrag.models.token_vectors import TokenReader
from structrag.text.arrays import Array, unit_vectors
from structrag.text.tokens import without_surrogates

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


@dataclass(frozen=True)
class OnnxEncoder:
    """Vectors of tokens and of texts by ONNX Runtime, without PyTorch.

    Example:
        >>> encoder = OnnxEncoder("models/minilm-onnx")  # doctest: +SKIP
        >>> retriever = EvidenceRetriever(encoder)  # doctest: +SKIP

    Token vectors are those of the last layer, without special tokens. The vector of a text is the
    mean of all its tokens at length 1, as sentence-transformers makes it for encoders that pool by
    the mean. A text longer than the model reads is read in parts of equal length. It is an embedder
    for `Index` too.

    Attributes:
        model: A folder with `model.onnx` and `tokenizer.json`. Nothing is downloaded.
        name: For cache keys; default: the folder's name with the prompts and a digest of the files.
        max_tokens: What the model reads at once, special tokens included, at least 8.
        batch_size: Most texts in one pass of the model.
        query_prompt, document_prompt: Put in front of queries and documents; their tokens are left
            out.

    Raises:
        InvalidParameter: the files are not there or broken, or the model reads or gives something
            else.
        MissingExtra: onnxruntime or tokenizers is not installed.
    """

    model: str
    name: str = ""
    max_tokens: int = 512
    batch_size: int = 16
    query_prompt: str = ""
    document_prompt: str = ""
    _reader: TokenReader = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_at_least("batch_size", self.batch_size, 1)
        check_at_least("max_tokens", self.max_tokens, 8)
        runtime: Any = require("onnxruntime", extra="onnx")
        tokenizers: Any = require("tokenizers", extra="onnx")
        folder = Path(self.model).absolute()
        file = folder / "tokenizer.json"
        try:
            tokenizer = tokenizers.Tokenizer.from_file(str(file))
            providers = runtime.get_available_providers()
            session = runtime.InferenceSession(
                str(folder / "model.onnx"), providers=providers
            )
        except Exception as error:
            raise InvalidParameter(
                "model must be a folder with model.onnx and tokenizer.json; those of "
                f"{self.model!r} cannot be loaded: {error}"
            ) from error
        read = [value.name for value in session.get_inputs()]
        outputs = {value.name: len(value.shape) for value in session.get_outputs()}
        states = [name for name, dimensions in outputs.items() if dimensions == 3]
        if not states or not set(read) <= set(_INPUTS):
            raise InvalidParameter(
                f"model.onnx must read nothing but {', '.join(_INPUTS)} and give a vector for each "
                f"token; that of {self.model!r} reads {', '.join(read)} and gives "
                f"{', '.join(outputs)}. Export the encoder itself, for feature extraction."
            )
        tokenizer.no_truncation()
        tokenizer.no_padding()

        def forward(rows: Sequence[list[int]]) -> tuple[Array, Array]:
            lengths = np.array(list(map(len, rows)))[:, None]
            mask = np.arange(lengths.max()) < lengths
            ids = np.zeros(mask.shape, dtype=np.int64)
            ids[mask] = list(chain.from_iterable(rows))
            inputs = dict(
                zip(_INPUTS, (ids, mask.astype(np.int64), ids * 0), strict=True)
            )
            (hidden,) = session.run(states[:1], {name: inputs[name] for name in read})
            sums = (hidden * mask[..., None]).sum(axis=1, dtype=np.float32)
            return hidden.astype(np.float32), unit_vectors(sums).astype(np.float32)

        reader = TokenReader(
            _Tokens(tokenizer), forward, self.max_tokens, self.batch_size
        )
        object.__setattr__(self, "_reader", reader)
        object.__setattr__(self, "model", str(folder))
        if not self.name:
            digest = files_label([file, *folder.glob("model.onnx*")])
            prompts = f"{self.query_prompt}|{self.document_prompt}"
            object.__setattr__(self, "name", f"onnx/{folder.name}|{prompts}|{digest}")

    def __reduce__(self) -> Any:
        """For pickle: loaded anew from the folder."""
        prompts = self.query_prompt, self.document_prompt
        settings = self.model, self.name, self.max_tokens, self.batch_size, *prompts
        return type(self), settings

    def count_tokens(self, text: str) -> int:
        """The tokens of a text, special ones and the document prompt's included."""
        read = without_surrogates(f"{self.document_prompt}{text}")
        return len(self._reader.tokenizer([read])["input_ids"][0])

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Array:
        """Vectors of shape (len(texts), dimension), of length 1."""
        read = self.embed_tokens(texts, query=query)
        return unit_vectors([tokens.vector for tokens in read]).astype(np.float32)

    def embed_tokens(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[TokenVectors]:
        """The token vectors of each text."""
        prompt = self.query_prompt if query else self.document_prompt
        return self._reader.read(texts, prompt)


class _Tokens:
    """A tokenizer of the package tokenizers, called as those of transformers are."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def __call__(
        self, texts: list[str], *, add_special_tokens: bool = True, **_options: Any
    ) -> dict[str, list[Any]]:
        encoded = self.tokenizer.encode_batch(
            texts, add_special_tokens=add_special_tokens
        )
        return {
            "input_ids": [row.ids for row in encoded],
            "offset_mapping": [row.offsets for row in encoded],
        }
