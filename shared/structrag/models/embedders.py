"""Embedders: sentence-transformers, or a plain function.

An embedder has a `name` (it goes into cache keys and saved indexes) and `embed(texts,
query=False)`. More attributes are optional: `max_tokens` with `count_tokens(text)` lets long texts
be embedded in windows instead of being truncated. `aembed(texts, query=False)` is awaited on an
event loop; without it `embed` runs in a worker thread. `fit(texts)` says that vectors depend on the
whole corpus. `instant = True` says that vectors are cheaper to make than to keep, so that texts
come in one call and no cache is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from structrag._locks import cached_property
from structrag.errors import InvalidParameter, require
from structrag.model_calls.naming import setting_name
from structrag.model_calls.requests import Embedder, TokenVectors
from structrag.models.loading import encoder_label
from structrag.models.lsa import LsaEmbedder
from structrag.models.token_vectors import reader_of
from structrag.text.tokens import without_surrogates

# Texts that a tokenizer and what stands around it may count otherwise
_PROBES = ("", "A pump, 3.5 l/min.", "Émile \U0001f600  天气\n<s>", "word " * 2000)


@dataclass(frozen=True)
class SentenceTransformerEmbedder:
    """A sentence-transformers model with its prompts.

    Example:
        >>> model = "intfloat/e5-small-v2"
        >>> embedder = SentenceTransformerEmbedder(
        ...     model, query_prompt="query: ", document_prompt="passage: "
        ... )  # doctest: +SKIP
        >>> vectors = embedder.embed(["Pumps move water."])  # doctest: +SKIP

    Attributes:
        model: A loaded `SentenceTransformer`, a folder, or the name of a downloaded model; nothing
            is downloaded.
        query_prompt, document_prompt: Prefixes of queries and documents ("query: " and "passage: "
            for E5); None: the model's own prompts named "query" and "document" or "passage", if it
            has them, else its default one.
        name: For cache keys; default: the model's name or folder name with the prompts, its
            backend, the type of its numbers and a digest of the weights (`weights_label`), so that
            a rounded, quantised or fine-tuned copy of the model has another name.
        batch_size: The largest number of texts in one pass of the model, which pads them to the
            longest; None: 16 on a CPU, where padding costs most, 64 elsewhere.

    Raises:
        InvalidParameter: there is no such model on this machine (a ValueError).
        MissingExtra: a name or folder was given and sentence-transformers is not installed.
    """

    model: Any
    query_prompt: str | None = None
    document_prompt: str | None = None
    name: str = ""
    batch_size: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.model, str):
            label = Path(self.model).name if Path(self.model).is_dir() else self.model
            folder = Path(self.model)
            source = str(folder.absolute()) if folder.is_dir() else self.model
            self._set("model", _sentence_transformer(self.model))
            self._set("_source", (source, encoder_label(self.model)))
        else:
            label = model_label(self.model)
        if self.batch_size is None:
            on_processor = (
                getattr(getattr(self.model, "device", None), "type", "") == "cpu"
            )
            self._set("batch_size", 16 if on_processor else 64)
        query_prompt, document_prompt = _prompts_of(self.model)
        if self.query_prompt is None:
            self._set("query_prompt", query_prompt)
        if self.document_prompt is None:
            self._set("document_prompt", document_prompt)
        if not self.name:
            both = f"{self.query_prompt}|{self.document_prompt}"
            self._set(
                "name",
                f"sentence-transformers/{label}|{both}|{encoder_label(self.model)}",
            )

    def __reduce_ex__(self, protocol: Any) -> Any:
        """For pickle: a model that was loaded by its name or folder, by that."""
        source, label = vars(self).get("_source", ("", ""))
        if not source or label != encoder_label(self.model):
            return super().__reduce_ex__(protocol)
        settings = self.query_prompt, self.document_prompt, self.name, self.batch_size
        return _of_source, (source, label, settings)

    def _set(self, attribute: str, value: Any) -> None:
        """Fill in a default; the object is frozen from then on."""
        object.__setattr__(self, attribute, value)

    @property
    def max_tokens(self) -> int | None:
        """The number of tokens that the encoder reads; it would truncate longer texts."""
        limit = getattr(self.model, "max_seq_length", None)
        return int(limit) if limit else None

    def count_tokens(self, text: str) -> int:
        """The number of tokens as the encoder counts them, including special tokens and the
        document prompt."""
        read = without_surrogates(f"{self.document_prompt}{text}")
        return len(
            self.model.tokenizer(read, truncation=False, verbose=False)["input_ids"]
        )

    def token_counter(self) -> TokenizerCounter | None:
        """`count_tokens` as an object that can be sent to other processes. None if the tokenizer is
        not a fast one, or counts differently on its own."""
        tokenizer = getattr(self.model, "tokenizer", None)
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            return None
        counter = TokenizerCounter(backend.to_str(), self.document_prompt or "")
        is_alike = all(counter(probe) == self.count_tokens(probe) for probe in _PROBES)
        return counter if is_alike else None

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        """Vectors of shape (len(texts), dimension)."""
        prompt = self.query_prompt if query else self.document_prompt
        options: dict[str, Any] = {
            "batch_size": self.batch_size,
            "show_progress_bar": False,
            "convert_to_numpy": True,
        }
        if prompt or getattr(self.model, "default_prompt_name", None):
            options["prompt"] = prompt  # an empty one keeps the default away
        return self.model.encode(list(map(without_surrogates, texts)), **options)

    @property
    def gives_tokens(self) -> bool:
        """Whether `embed_tokens` can be used: the model has a fast tokenizer."""
        return reader_of(self.model, self.batch_size or 16) is not None

    def embed_tokens(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[TokenVectors]:
        """The token vectors of each text.

        They come from the pass that computes the text's own vector: the last layer, without special
        tokens and the prompt. A text longer than the model's limit is read in parts of equal
        length. Raises InvalidParameter for a model whose tokenizer reports no token offsets.
        """
        reader = reader_of(self.model, self.batch_size or 16)
        if reader is None:
            raise InvalidParameter(
                f"the tokenizer of {self.name!r} must be a fast one, which reports token offsets; "
                f"got {type(getattr(self.model, 'tokenizer', None)).__name__}. Load the model "
                "with a fast tokenizer, or pass another token_encoder."
            )
        prompt = self.query_prompt if query else self.document_prompt
        return reader.read(texts, prompt or "")


@dataclass(frozen=True)
class TokenizerCounter:
    """Counts tokens as an encoder does, without the encoder.

    Attributes:
        tokenizer: A tokenizer of the package tokenizers, as JSON.
        prompt: Put in front of each text.
    """

    tokenizer: str
    prompt: str

    def __call__(self, text: str) -> int:
        """The tokens of a text, special ones and the prompt's included."""
        read = without_surrogates(f"{self.prompt}{text}")
        return len(self._loaded.encode(read).ids)

    @cached_property
    def _loaded(self) -> Any:
        tokenizer = require("tokenizers", extra="models").Tokenizer.from_str(
            self.tokenizer
        )
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def __getstate__(self) -> dict[str, str]:
        return {"tokenizer": self.tokenizer, "prompt": self.prompt}


@dataclass(frozen=True)
class FunctionEmbedder:
    """A function `list[str] -> array of shape (n, dimension)` as an embedder.

    Example:
        >>> lengths = FunctionEmbedder(lambda texts: [[len(t), 1.0] for t in texts], "lengths")
        >>> lengths.embed(["one", "three"])
        [[3, 1.0], [5, 1.0]]
    """

    function: Callable[[list[str]], Any]
    name: str
    max_tokens: int | None = None

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        """The function's vectors for the texts, whether queries or documents."""
        return self.function(list(texts))


def as_embedder(value: Any) -> Embedder:
    """An embedder from what a caller has.

    That is None or "lsa" (LSA), a model name or folder, a SentenceTransformer, a function, an
    embedder.

    Raises:
        InvalidParameter: none of these.
        MissingExtra: a name was given and sentence-transformers is not installed.
    """
    if value is None or value == "lsa":
        return LsaEmbedder()
    if hasattr(value, "embed") and hasattr(value, "name"):
        return value  # type: ignore[no-any-return]
    if isinstance(value, str) or hasattr(value, "encode"):
        return SentenceTransformerEmbedder(value)
    # A model of LlamaIndex can be called, but not with texts.
    if callable(value) and not hasattr(value, "get_text_embedding"):
        return FunctionEmbedder(value, name=setting_name(value))
    raise InvalidParameter(
        "embedder must be None (LSA), the name or folder of a sentence-transformers model, a "
        "SentenceTransformer, a function list[str] -> array, or an object with name and embed; got "
        f"{type(value).__name__}. Objects of LangChain and LlamaIndex go through "
        "langchain_structrag and llama_index_structrag."
    )


def as_fixed_embedder(value: Any) -> Embedder:
    """`as_embedder`, for hosts that keep the vectors.

    One that is fitted to its corpus is refused, and so is None.

    Raises:
        InvalidParameter: none of what `as_embedder` takes, or LSA.
        MissingExtra: a name was given and sentence-transformers is not installed.
    """
    embedder = as_embedder(value)
    if hasattr(embedder, "fit"):
        aside = ", which None stands for," if value is None else ""
        raise InvalidParameter(
            "embedder must be a model whose vectors stay the same when documents are added; "
            f"{embedder.name}{aside} is fitted to the documents. Pass the name or folder of a "
            "sentence-transformers model, a SentenceTransformer, a function list[str] -> array, or "
            "an object with name and embed."
        )
    return embedder


def model_label(model: Any) -> str:
    """Label a loaded model by its id, else the name or folder of its encoder, else its shape."""
    card = getattr(model, "model_card_data", None)
    encoder = (
        getattr(model[0], "auto_model", None) if hasattr(model, "__getitem__") else None
    )
    for value in (
        getattr(card, "model_id", None),
        getattr(encoder, "name_or_path", None),
    ):
        if value:
            return Path(value).name if Path(value).is_dir() else str(value)
    return f"{type(model).__name__}-{getattr(model, 'max_seq_length', '')}-{_dimension(model)}"


def _prompts_of(model: Any) -> tuple[str, str]:
    """The model's own prompts for queries and documents, or "".

    What has none of its own gets the model's default, unless that is meant for the other.
    """
    prompts = getattr(model, "prompts", None) or {}
    default = getattr(model, "default_prompt_name", None)

    def prompt(names: tuple[str, ...], others: tuple[str, ...]) -> str:
        chosen = names if default in others else (*names, default)
        return next(filter(None, map(prompts.get, chosen)), "")

    query, document = ("query",), ("document", "passage", "corpus", "text")
    return prompt(query, document), prompt(document, query)


@lru_cache(maxsize=2)
def _kept_model(source: str) -> Any:
    """Loaded once in a process that is given many pickles."""
    return _sentence_transformer(source)


def _of_source(
    source: str, label: str, settings: tuple[str, str, str, int]
) -> SentenceTransformerEmbedder:
    embedder = SentenceTransformerEmbedder(_kept_model(source), *settings)
    object.__setattr__(embedder, "_source", (source, label))
    return embedder


def _sentence_transformer(name: str) -> Any:
    """Load the model of a name or folder from this machine."""
    package: Any = require("sentence_transformers", extra="models")
    try:
        return package.SentenceTransformer(name, local_files_only=True)
    except (OSError, ValueError) as error:
        raise InvalidParameter(
            "embedder must be the folder of a sentence-transformers model or the name of one on "
            f"this machine; {name!r} cannot be loaded, and structrag downloads nothing by itself. "
            f"To have it downloaded pass the loaded model: SentenceTransformer({name!r})."
        ) from error


def _dimension(model: Any) -> Any:
    for method in ("get_embedding_dimension", "get_sentence_embedding_dimension"):
        if hasattr(model, method):
            return getattr(model, method)()
    return ""
