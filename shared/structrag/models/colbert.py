"""Token vectors of ColBERT models.

These were trained to be matched one by one.
"""

from __future__ import annotations

import json
import os
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from structrag.asking.requests import Array, TokenVectors
from structrag.errors import InvalidParameter, check_at_least, require
from structrag.models.loading import load_pair
from structrag.models.token_vectors import TokenReader
from structrag.models.weights import weights_settings

_LONGEST = 512  # tokens, for models that name no limit
# Endings of the names of activations that change nothing.
_IDENTITY = ("Identity", "None", "")
_WHAT = "a ColBERT model: a folder of PyLate, or one with artifact.metadata"


@dataclass(frozen=True, slots=True)
class ColbertSettings:
    """How a ColBERT model reads.

    Example:
        >>> ColbertSettings().query_length
        32
    """

    query_marker: str = "[Q] "  # in front of questions and documents, a token each
    document_marker: str = "[D] "
    query_length: int = 32  # tokens to which questions are filled up
    attends: bool = False  # whether tokens look at those that fill up
    # Tokens of documents without a vector.
    skipped: tuple[str, ...] = tuple(string.punctuation)


@dataclass(eq=False)
class ColbertTokens:
    """Token vectors of a ColBERT model, by transformers; nothing is downloaded.

    Example:
        >>> encoder = ColbertTokens("models/GTE-ModernColBERT-v1")  # doctest: +SKIP
        >>> retriever = EvidenceRetriever(encoder)  # doctest: +SKIP

    What is done as in ColBERTv2 and PyLate: a marker in front of questions and of documents, the
    linear layers behind the encoder, vectors of length 1, no vectors of punctuation in documents,
    questions filled up with mask tokens to 32. What differs: vectors of markers and special tokens
    are left out, as they stand for no words; a question above the model's length is read whole; a
    mask token counts as one more token of the kind that it is nearest to.

    Args:
        model: A folder in PyLate's format or in that of Stanford's ColBERT, or a `ColBERT` object
            of PyLate.
        name: Default: the folder's. A digest of the weights is added.
        batch_size: Most texts in one pass of the model.
        expansion: Whether questions are filled up.

    Raises:
        InvalidParameter: there is no such model, or a layer that is not linear.
        MissingExtra: transformers is not installed.
    """

    model: Any
    name: str = ""
    batch_size: int = 16
    expansion: bool = True
    settings: ColbertSettings = field(init=False)
    max_tokens: int = field(init=False)

    def __post_init__(self) -> None:
        check_at_least("batch_size", self.batch_size, 1)
        self._layers: list[tuple[Array, Array | None]] = []
        if hasattr(self.model, "query_prefix") and hasattr(self.model, "tokenizer"):
            self._take_object()
            label = self.name or "colbert"
        else:
            if not isinstance(self.model, str | os.PathLike):
                raise InvalidParameter(
                    f"model must be {_WHAT}, or a ColBERT object of PyLate; got "
                    f"{type(self.model).__name__}."
                )
            folder = Path(self.model)
            self.settings, self._layers = _read_folder(folder)
            self.model, self.tokenizer = load_pair(
                str(folder), None, "AutoModel", _WHAT
            )
            label = self.name or folder.name
        if not getattr(self.tokenizer, "is_fast", False):
            raise InvalidParameter(
                "model must have a fast tokenizer, which says where each token stands; got "
                f"{type(self.tokenizer).__name__}."
            )
        markers = [
            self.settings.query_marker.strip(),
            self.settings.document_marker.strip(),
        ]
        # Those of the vocabulary stay.
        self.tokenizer.add_tokens(markers, special_tokens=True)
        config = getattr(self.model, "config", None)
        self.max_tokens = getattr(config, "max_position_embeddings", None) or _LONGEST
        parts = (
            label,
            str(self.expansion),
            *weights_settings(self.model),
            _digest(self._layers),
        )
        self.name = f"colbert/{'|'.join(filter(None, parts))}"

    def _take_object(self) -> None:
        """The tokenizer and settings of an object of PyLate."""
        model = self.model
        self.tokenizer = model.tokenizer
        defaults = ColbertSettings()
        self.settings = ColbertSettings(
            model.query_prefix,
            getattr(model, "document_prefix", defaults.document_marker),
            getattr(model, "query_length", defaults.query_length),
            bool(getattr(model, "attend_to_expansion_tokens", defaults.attends)),
            tuple(getattr(model, "skiplist_words", defaults.skipped)),
        )

    def embed_tokens(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[TokenVectors]:
        """The token vectors of each text, of length 1."""
        device = getattr(self.model, "device", "cpu")
        reader = TokenReader(
            self.tokenizer, self._forward, self.max_tokens, self.batch_size, device
        )
        if query:
            read = reader.read(texts, self.settings.query_marker)
            if self.expansion:
                pairs = zip(texts, read, strict=True)
                read = [self._expanded(reader, text, tokens) for text, tokens in pairs]
            return [_with_mean(tokens) for tokens in read]
        read = reader.read(texts, self.settings.document_marker)
        skipped = set(self.settings.skipped)
        documents = []
        for text, tokens in zip(texts, read, strict=True):
            words = [text[start:end].strip() for start, end in tokens.spans]
            shown = np.array([word not in skipped for word in words], dtype=bool)
            ids, spans = tokens.ids[shown], tokens.spans[shown]
            rest = TokenVectors(ids, spans, tokens.vectors[shown], tokens.vector)
            documents.append(_with_mean(rest))
        return documents

    def _forward(self, features: Mapping[str, Any]) -> tuple[Any, None]:
        torch: Any = require("torch", extra="models")
        if self._layers:
            states = self.model(**features).last_hidden_state
            for weight, bias in self._layers:
                states = states @ torch.as_tensor(weight).to(states).T
                if bias is not None:
                    states = states + torch.as_tensor(bias).to(states)
        else:  # an object of PyLate has its layers inside
            states = self.model(dict(features))["token_embeddings"]
        return torch.nn.functional.normalize(states.float(), dim=-1), None

    def _expanded(
        self, reader: TokenReader, text: str, tokens: TokenVectors
    ) -> TokenVectors:
        """A question's tokens and the vectors of the mask tokens behind it.

        Each of these stands at the token that it is nearest to.
        """
        ids, first, missing = self._filled(text)
        if missing < 1 or not len(tokens.ids):
            return tokens
        torch: Any = require("torch", extra="models")
        mask = [1] * (len(ids) - missing) + [int(self.settings.attends)] * missing
        features = {"input_ids": [ids], "attention_mask": [mask]}
        if "token_type_ids" in getattr(self.tokenizer, "model_input_names", ()):
            features["token_type_ids"] = [[0] * len(ids)]
        with torch.inference_mode():
            states, _ = self._forward(
                {
                    name: torch.tensor(rows, device=reader.device)
                    for name, rows in features.items()
                }
            )
        hidden = states[0].cpu().numpy()
        of_tokens, fillers = hidden[first : first + len(tokens.ids)], hidden[-missing:]
        nearest = (fillers @ of_tokens.T).argmax(axis=1)
        order = np.argsort(
            np.concatenate([np.arange(len(of_tokens)), nearest]), kind="stable"
        )
        return TokenVectors(
            np.concatenate([tokens.ids, tokens.ids[nearest]])[order],
            np.concatenate([tokens.spans, tokens.spans[nearest]])[order],
            np.concatenate([of_tokens, fillers])[order],
            tokens.vector,
        )

    def _filled(self, text: str) -> tuple[list[int], int, int]:
        """A question's ids, filled up.

        Also where its own tokens begin, and how many fill it up.
        """
        marker = self.tokenizer(self.settings.query_marker, add_special_tokens=False)[
            "input_ids"
        ]
        ids = self.tokenizer(self.settings.query_marker + text)["input_ids"]
        filler = self.tokenizer.mask_token_id
        if filler is None:
            filler = self.tokenizer.pad_token_id or 0
        missing = self.settings.query_length - len(ids)
        at = next((i for i, token in enumerate(ids) if token == marker[0]), 0)
        filled = [*ids, *[filler] * missing]  # nothing for fewer than 0
        return filled, at + len(marker), missing


def _with_mean(tokens: TokenVectors) -> TokenVectors:
    """The tokens with their own mean as the vector of the text."""
    vectors = np.ascontiguousarray(tokens.vectors, dtype=np.float32)
    width = vectors.shape[1]
    mean = vectors.mean(axis=0) if len(vectors) else np.zeros(width, dtype=np.float32)
    return TokenVectors(tokens.ids, tokens.spans, vectors, mean)


def _read_folder(
    folder: Path,
) -> tuple[ColbertSettings, list[tuple[Array, Array | None]]]:
    """How a model in a folder reads, and its linear layers."""
    defaults = ColbertSettings()
    if (folder / "modules.json").is_file():
        modules = _json(folder / "modules.json")
        settings = _json(folder / "config_sentence_transformers.json")
        layers = [
            _dense(folder / module["path"])
            for module in modules
            if str(module["type"]).endswith(".Dense")
        ]
        if layers:
            return ColbertSettings(
                settings.get("query_prefix", defaults.query_marker),
                settings.get("document_prefix", defaults.document_marker),
                settings.get("query_length", defaults.query_length),
                bool(settings.get("attend_to_expansion_tokens", defaults.attends)),
                tuple(settings.get("skiplist_words", defaults.skipped)),
            ), layers
    elif (folder / "artifact.metadata").is_file():
        settings = _json(folder / "artifact.metadata")
        weights = _weights(folder)
        if "linear.weight" in weights:
            return ColbertSettings(
                settings.get("query_token_id", "[unused0]") + " ",
                settings.get("doc_token_id", "[unused1]") + " ",
                settings.get("query_maxlen", defaults.query_length),
                bool(settings.get("attend_to_mask_tokens", defaults.attends)),
                defaults.skipped if settings.get("mask_punctuation", True) else (),
            ), [(weights["linear.weight"], None)]
    raise InvalidParameter(
        f"model must be {_WHAT}; {str(folder)!r} is none, or not on this machine. Nothing is "
        "downloaded here."
    )


def _dense(folder: Path) -> tuple[Array, Array | None]:
    """The weights of a layer of sentence-transformers, and its bias."""
    activation = str(_json(folder / "config.json").get("activation_function", ""))
    if activation.rpartition(".")[2] not in _IDENTITY:
        raise InvalidParameter(
            f"model must have linear layers behind its encoder; {folder.name!r} has {activation}. "
            "Pass an object of PyLate."
        )
    weights = _weights(folder)
    if "linear.weight" not in weights:
        raise InvalidParameter(
            f"model must be {_WHAT}; {str(folder)!r} has no weights of its layer. Copy the whole "
            "model again."
        )
    return weights["linear.weight"], weights.get("linear.bias")


def _weights(folder: Path) -> dict[str, Array]:
    """The arrays of a folder's file of weights.

    Those that are not numbers of NumPy come as float32.
    """
    torch: Any = require("torch", extra="models")
    files = (folder / "model.safetensors", folder / "pytorch_model.bin")
    file = next((file for file in files if file.is_file()), None)
    if file is None:
        return {}
    if file.suffix == ".safetensors":
        load = require("safetensors.torch", extra="models").load_file
    else:  # anything but tensors is refused, so that nothing in the file is run
        load = partial(torch.load, map_location="cpu", weights_only=True)
    try:
        tensors = load(file)
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise InvalidParameter(
            f"model must be {_WHAT}; {str(file)!r} cannot be read as weights ({reason}). Copy the "
            "model again."
        ) from error
    linear = {
        name: tensor for name, tensor in tensors.items() if name.startswith("linear.")
    }
    return {name: tensor.float().numpy() for name, tensor in linear.items()}


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _digest(layers: Sequence[tuple[Array, Array | None]]) -> str:
    if not layers:
        return ""
    torch: Any = require("torch", extra="models")
    arrays = [array for pair in layers for array in pair if array is not None]

    class _Layers:
        def state_dict(self) -> list[Any]:
            return [torch.as_tensor(array) for array in arrays]

    return "|".join(weights_settings(_Layers()))
