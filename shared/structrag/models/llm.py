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


@dataclass(eq=False)
class TransformersSummariser:
    """An encoder-decoder that summarises what it is given.

    Example:
        >>> summariser = TransformersSummariser("facebook/bart-large-cnn")  # doctest: +SKIP
        >>> summary = summariser.complete("A pump moves water. ...")  # doctest: +SKIP

    Pass it as `llm` where sections are condensed. The defaults are the generation settings of
    bart-large-cnn; texts beyond `max_input` tokens of the model are cut there, so they are given in
    windows of 1,000 tokens.

    Attributes:
        model: The folder or name of a checkpoint on this machine (nothing is downloaded), or a
            (model, tokenizer) pair.
        min_length, max_length: Of a summary, in tokens of the model.
        num_beams, length_penalty, no_repeat_ngram_size: As in transformers' `generate`.
        max_input: Most tokens of the model it reads.
        name: For cache keys; default: the checkpoint's name with the settings.

    Raises:
        InvalidParameter: there is no such model on this machine.
        MissingExtra: a name was given and transformers is not installed.
    """

    summary_prompt: ClassVar[str] = "{text}"
    model: Any
    min_length: int = 56
    max_length: int = 142
    num_beams: int = 4
    length_penalty: float = 2.0
    no_repeat_ngram_size: int = 3
    max_input: int = 1024
    name: str = ""
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        check_at_least("min_length", self.min_length, 0)
        check_at_least("max_length", self.max_length, max(1, self.min_length))
        check_at_least("num_beams", self.num_beams, 1)
        check_at_least("max_input", self.max_input, 8)
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
            self.min_length,
            self.max_length,
            self.num_beams,
            self.length_penalty,
            self.no_repeat_ngram_size,
        )
        weights = "".join(f"|{part}" for part in weights_settings(self.model[0]))
        self.name = self.name or f"{label}{settings}{weights}"

    def complete(self, prompt: str) -> str:
        """The summary of a text; "" for a blank one. One text at a time goes through the model."""
        if not prompt.strip():
            return ""
        torch: Any = require("torch", extra="models")
        model, tokenizer = self.model
        with self._lock, torch.inference_mode():
            read = tokenizer(
                [prompt],
                truncation=True,
                max_length=self.max_input,
                return_tensors="pt",
            )
            written = model.generate(
                input_ids=read["input_ids"].to(model.device),
                attention_mask=read["attention_mask"].to(model.device),
                min_length=self.min_length,
                max_length=self.max_length,
                num_beams=self.num_beams,
                length_penalty=self.length_penalty,
                no_repeat_ngram_size=self.no_repeat_ngram_size,
                do_sample=False,
            )
            return str(tokenizer.decode(written[0], skip_special_tokens=True)).strip()
