"""A causal language model of transformers with random weights, and its tokenizer of a few words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

WORDS = [
    "<pad>",
    "<unk>",
    "<s>",
    "1",
    "2",
    "yes",
    "no",
    "cats",
    "dogs",
    "eat",
    "sleep",
    ".",
]


def words_tokenizer(words: Sequence[str], form: str = "$A", **options: Any) -> Any:
    """A fast tokenizer of whole words; `form` says which special tokens surround a text."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    numbers = {word: i for i, word in enumerate(words)}
    plain = Tokenizer(models.WordLevel(numbers, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    around = [(word, numbers[word]) for word in form.split() if word in numbers]
    plain.post_processor = processors.TemplateProcessing(
        single=form, special_tokens=around
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, unk_token="<unk>", **options
    )


def small_tokenizer() -> Any:
    return words_tokenizer(WORDS, pad_token="<pad>", bos_token="<s>")


def small_causal_model(
    seed: int = 0, words: Sequence[str] = WORDS, longest: int = 64
) -> Any:
    import torch
    import transformers

    torch.manual_seed(seed)
    config = transformers.GPT2Config(
        vocab_size=len(words), n_positions=longest, n_embd=16, n_layer=2, n_head=2
    )
    return transformers.GPT2LMHeadModel(config).eval()
