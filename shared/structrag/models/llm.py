"""Language models made of a plain function, for scripts and tests, or of a summariser of
transformers. The host frameworks' models come through their adapters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from structrag._locks import Lock
from structrag.errors import InvalidParameter, check_at_least, require
from structrag.model_calls.naming import setting_name
from structrag.model_calls.requests import LanguageModel
from structrag.models.loading import load_pair, weights_settings


@dataclass(frozen=True)
class FunctionModel:
    """A function `prompt -> answer` as a language model.

    Example:
        >>> FunctionModel(str.upper, name="upper").complete("yes")
        'YES'

    `name` goes into cache keys.
    """

    function: Callable[[str], str]
    name: str

    def complete(self, prompt: str) -> str:
        """The function's answer."""
        return self.function(prompt)


def as_language_model(value: Any, argument: str = "llm") -> LanguageModel | None:
    """A language model from what a caller has, as an argument.

    That is None, a function `str -> str`, or an object with name and complete.

    Raises:
        InvalidParameter: none of these.
    """
    if value is None or (hasattr(value, "complete") and hasattr(value, "name")):
        return value  # type: ignore[no-any-return]
    if callable(value) and not hasattr(value, "invoke"):
        return FunctionModel(value, name=setting_name(value))
    raise InvalidParameter(
        f"{argument} must be None, a function str -> str, or an object with name and complete; got "
        f"{type(value).__name__}. Models of LangChain and LlamaIndex go through the retrievers of "
        "langchain_structrag and llama_index_structrag, or their LangChainModel and "
        "LlamaIndexModel."
    )


# The generation settings that bart-large-cnn was trained with. Other lengths need `max_length`
# alone, and no paper or measurement here varies the others.
MIN_LENGTH = 56
NUM_BEAMS = 4
LENGTH_PENALTY = 2.0
NO_REPEAT_NGRAM_SIZE = 3
MAX_INPUT = 1024  # its positions


@dataclass(eq=False)
class TransformersSummariser:
    """An encoder-decoder that summarises what it is given.

    Example:
        >>> summariser = TransformersSummariser("facebook/bart-large-cnn")  # doctest: +SKIP
        >>> summary = summariser.complete("A pump moves water. ...")  # doctest: +SKIP

    Pass it as `llm` where sections are condensed. Summaries are generated with the settings of
    bart-large-cnn, at least 56 tokens of the model; texts beyond 1,024 tokens, or the model's
    positions if they are fewer, are cut there, so they are given in windows of 1,000 tokens.

    Attributes:
        model: The folder or name of a checkpoint on this machine (nothing is downloaded), or a
            (model, tokenizer) pair.
        max_length: Most tokens of a summary; below 56, the least too.
        name: For cache keys; default: the checkpoint's name with the settings.

    Raises:
        InvalidParameter: there is no such model on this machine.
        MissingExtra: a name was given and transformers is not installed.
    """

    summary_prompt: ClassVar[str] = "{text}"
    model: Any
    max_length: int = 142
    name: str = ""
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        check_at_least("max_length", self.max_length, 1)
        label = Path(self.model).name if isinstance(self.model, str) else ""
        if isinstance(self.model, str):
            self.model = load_pair(
                self.model, None, "AutoModelForSeq2SeqLM", "a summariser"
            )
        if not (
            isinstance(self.model, tuple)
            and len(self.model) == 2
            and hasattr(self.model[0], "generate")
        ):
            raise InvalidParameter(
                "model must be the folder or name of a summariser or a (model, tokenizer) pair; "
                f"got {type(self.model).__name__}."
            )
        self.model[0].eval()
        label = label or str(getattr(self.model[0].config, "_name_or_path", ""))
        label = label or type(self.model[0]).__name__
        settings = (
            MIN_LENGTH,
            self.max_length,
            NUM_BEAMS,
            LENGTH_PENALTY,
            NO_REPEAT_NGRAM_SIZE,
        )
        weights = "".join(f"|{part}" for part in weights_settings(self.model[0]))
        self.name = self.name or f"{label}{settings}{weights}"

    def complete(self, prompt: str) -> str:
        """The summary of a text; "" for a blank one. One text at a time goes through the model."""
        if not prompt.strip():
            return ""
        torch: Any = require("torch", extra="models")
        model, tokenizer = self.model
        positions = getattr(model.config, "max_position_embeddings", MAX_INPUT)
        with self._lock, torch.inference_mode():
            read = tokenizer(
                [prompt],
                truncation=True,
                max_length=min(MAX_INPUT, positions),
                return_tensors="pt",
            )
            written = model.generate(
                input_ids=read["input_ids"].to(model.device),
                attention_mask=read["attention_mask"].to(model.device),
                min_length=min(MIN_LENGTH, self.max_length),
                max_length=self.max_length,
                num_beams=NUM_BEAMS,
                length_penalty=LENGTH_PENALTY,
                no_repeat_ngram_size=NO_REPEAT_NGRAM_SIZE,
                do_sample=False,
            )
            return str(tokenizer.decode(written[0], skip_special_tokens=True)).strip()
