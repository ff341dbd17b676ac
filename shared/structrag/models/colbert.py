"""Token vectors of ColBERT models, which were trained to be matched one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structrag.errors import InvalidParameter, check_at_least, require
from structrag.model_calls.requests import TokenVectors
from structrag.models.token_vectors import TokenReader, without_surrogates
from structrag.models.weights import weights_settings
from structrag.text.arrays import Array


@dataclass(eq=False)
class ColbertTokens:
    """Token vectors of a ColBERT model that PyLate has loaded.

    Example:
        >>> from pylate.models import ColBERT  # doctest: +SKIP
        >>> encoder = ColbertTokens(ColBERT("models/GTE-ModernColBERT-v1"))  # doctest: +SKIP
        >>> retriever = EvidenceRetriever(encoder)  # doctest: +SKIP

    Questions are encoded and filled up as the model says. Vectors of markers and special tokens are
    left out, as they stand for no words; a filler counts as one more token of the kind that it is
    nearest to. Texts longer than the model's `document_length`, and questions longer than its
    `query_length`, are read in parts.

    Args:
        model: A `pylate.models.ColBERT` with a fast tokenizer.
        name: Default: "colbert". A digest of the weights is added.
        batch_size: Most texts in one pass of the model.

    Raises:
        InvalidParameter: the model is something else.
    """

    model: Any
    name: str = ""
    batch_size: int = 16

    def __post_init__(self) -> None:
        check_at_least("batch_size", self.batch_size, 1)
        model = self.model
        is_fast = getattr(getattr(model, "tokenizer", None), "is_fast", False)
        if not is_fast or not hasattr(model, "skiplist"):
            raise InvalidParameter(
                "model must be a pylate.models.ColBERT with a fast tokenizer; got "
                f"{type(model).__name__}. Load it with PyLate: ColBERT(folder)."
            )
        settings = (model.do_query_expansion, model.query_length, model.document_length)
        parts = (self.name or "colbert", *settings, *weights_settings(model))
        self.name = f"colbert/{'|'.join(map(str, parts))}"

    def embed_tokens(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[TokenVectors]:
        """The token vectors of each text, of length 1."""
        model = self.model
        prompt = model.query_prefix if query else model.document_prefix
        reader = TokenReader(
            model.tokenizer,
            self._forward,
            model.document_length,
            self.batch_size,
            model.device,
        )
        read = reader.read(texts, prompt)
        if query and texts and model.do_query_expansion:
            read = list(map(self._filled_up, texts, read, self._encoded(texts)))
        if not query:
            return [_chosen(of, ~np.isin(of.ids, model.skiplist)) for of in read]
        return [_chosen(of, slice(None)) for of in read]

    def _forward(self, features: Mapping[str, Any]) -> tuple[Any, None]:
        torch: Any = require("torch", extra="models")
        states = self.model.eval()(dict(features))["token_embeddings"]
        return torch.nn.functional.normalize(states.float(), dim=-1), None

    def _encoded(self, questions: Sequence[str]) -> list[Array]:
        """A row for each token of a question as PyLate reads it, those that fill it up too."""
        encoded: list[Array] = self.model.encode(
            list(map(without_surrogates, questions)),
            is_query=True,
            batch_size=self.batch_size,
            show_progress_bar=False,
        )
        return encoded

    def _filled_up(self, text: str, tokens: TokenVectors, rows: Array) -> TokenVectors:
        """A question's tokens, each followed by the fillers that are nearest to it."""
        read = without_surrogates(text).lstrip()  # as PyLate does
        encoded = self.model.tokenizer(read.rstrip(), return_offsets_mapping=True)
        ids = np.array(encoded["input_ids"], dtype=np.int32)
        spans = np.array(encoded["offset_mapping"], dtype=np.int32).reshape(-1, 2)
        if self.model.query_prefix:  # the marker stands behind the first token
            ids, spans = np.insert(ids, 1, 0), np.insert(spans, 1, 0, axis=0)
        words = np.flatnonzero(spans[:, 1] > spans[:, 0])
        fillers = rows[len(ids) :]
        if not len(fillers) or not len(words):
            return tokens
        nearest = (fillers @ rows[words].T).argmax(axis=1)
        order = np.argsort(
            np.concatenate([np.arange(len(words)), nearest]), kind="stable"
        )
        of = np.concatenate([words, words[nearest]])[order]
        vectors = np.concatenate([rows[words], fillers])[order]
        shift = np.int32(len(text) - len(read))
        return TokenVectors(ids[of], spans[of] + shift, vectors, tokens.vector)


def _chosen(tokens: TokenVectors, chosen: Any) -> TokenVectors:
    """Some of the tokens, with their own mean as the vector of the text; zeros without any."""
    vectors = np.ascontiguousarray(tokens.vectors[chosen], dtype=np.float32)
    mean = vectors.sum(axis=0) / np.float32(max(1, len(vectors)))
    return TokenVectors(tokens.ids[chosen], tokens.spans[chosen], vectors, mean)
