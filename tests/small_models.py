"""A causal language model of transformers with random weights, and its tokenizer of a few words."""

from __future__ import annotations

from typing import Any

WORDS = ["<pad>", "<unk>", "<s>", "1", "2", "yes", "no", "cats", "dogs", "eat", "sleep", "."]


def small_tokenizer() -> Any:
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    plain = Tokenizer(
        models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<unk>")
    )
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="<pad>", unk_token="<unk>", bos_token="<s>"
    )


def small_causal_model(seed: int = 0) -> Any:
    import torch
    import transformers

    torch.manual_seed(seed)
    config = transformers.GPT2Config(
        vocab_size=len(WORDS), n_positions=64, n_embd=16, n_layer=2, n_head=2
    )
    return transformers.GPT2LMHeadModel(config).eval()
