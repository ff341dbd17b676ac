"""What a kept prefix saves a local model that gives IDMS its margins: prints tokens and times.

    python benchmarks/prefix_reuse.py

A small LLaMA with random weights and the tokens of all-MiniLM-L6-v2 reads the first 15,000
characters of a paper of qasper, once as it is and once with every prompt read whole.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks.machine import machine_line, versions_line
from benchmarks.question_sets import load_or_exit
from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.models.bundled import minilm_path
from structrag.models.transformers_model import TransformersMargin
from structrag.reading.files import read_text

LENGTH = 15_000  # characters
CONTEXTS = ("window:4", "adjacent", "chunk")


def small_model() -> Any:
    """About forty million weights."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=30_522,
        hidden_size=512,
        intermediate_size=1376,
        num_hidden_layers=8,
        num_attention_heads=8,
        max_position_embeddings=4096,
        initializer_range=0.1,  # large, so that margins differ
        tie_word_embeddings=True,
    )
    return LlamaForCausalLM(config).eval()


def measured(model: Any, tokenizer: Any, text: str, context: str, reuse: bool) -> Any:
    """Margins of a document, tokens that the model ran, seconds of the processor."""
    weigher = TransformersMargin(model, tokenizer, reuse_prefix=reuse)
    weigher.choose(
        "Which of the two is it, the first one or the second one?", ("1", "2")
    )
    sizes: list[int] = []

    def count(module: Any, arguments: Any, options: dict[str, Any]) -> None:
        sizes.append(options["input_ids"].numel())

    hook = model.register_forward_pre_hook(count, with_kwargs=True)
    start = time.process_time()
    splitter = IDMSSplitter(margin=weigher, context=context, max_tokens=300)
    series = splitter.explain(read_text(text, format="text")).series
    seconds = time.process_time() - start
    hook.remove()
    return np.concatenate([part.values[1:] for part in series]), sum(sizes), seconds


def main() -> None:
    """Run the benchmark."""
    from transformers import AutoTokenizer

    model, tokenizer = small_model(), AutoTokenizer.from_pretrained(str(minilm_path()))
    documents = load_or_exit("qasper").documents
    text = next(each.text for each in documents if len(each.text) > LENGTH)[:LENGTH]
    print(
        "| context | gaps | tokens, whole prompts | tokens, prefix kept | CPU s, whole | kept |"
    )
    print("|---|---:|---:|---:|---:|---:|")
    for context in CONTEXTS:
        margins, tokens, seconds = measured(model, tokenizer, text, context, True)
        whole, all_tokens, all_seconds = measured(
            model, tokenizer, text, context, False
        )
        if not np.allclose(margins, whole, atol=1e-3):
            sys.exit(f"{context}: the margins differ")
        print(
            f"| {context} | {len(margins)} | {all_tokens:,} | {tokens:,} | {all_seconds:.1f} | "
            f"{seconds:.1f} |"
        )
    print(f"\n{versions_line(('torch', 'transformers'))}; {machine_line()}")


if __name__ == "__main__":
    main()
