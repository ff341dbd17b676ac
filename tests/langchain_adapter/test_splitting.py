"""The text splitters: sizes in tokens, settings."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_fakes import assert_exact, count_words
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from langchain_structrag import (
    ContentAwareTextSplitter,
    FixedTextSplitter,
    HiQATransformer,
    PICTextSplitter,
)
from structrag.errors import InvalidParameter
from structrag.text.tokens import tiktoken_counter

WORDS = " ".join(f"w{i}" for i in range(60))


# -- sizes in tokens


# L14, L17.
def test_from_tiktoken_encoder_counts_tokens_and_special_tokens_as_text() -> None:
    text = "alpha beta gamma delta epsilon zeta eta theta iota kappa <|endoftext|> b"
    splitter = ContentAwareTextSplitter.from_tiktoken_encoder(
        "cl100k_base", chunk_size=4, chunk_overlap=0
    )
    assert isinstance(splitter, ContentAwareTextSplitter)
    chunks = splitter.create_documents([text])
    count = tiktoken_counter("cl100k_base")
    assert_exact(text, chunks)
    assert max(count(c.page_content) for c in chunks) <= 4
    assert len(chunks) > 3
    by_model = ContentAwareTextSplitter.from_tiktoken_encoder(
        model_name="gpt-4", chunk_size=4
    )
    assert by_model.split_text(text) == splitter.split_text(text)


def tokenizer() -> Tokenizer:
    made = Tokenizer(
        WordLevel(
            {"[UNK]": 0, **{f"w{i}": i + 1 for i in range(60)}}, unk_token="[UNK]"
        )
    )
    made.pre_tokenizer = Whitespace()
    return made


def test_from_huggingface_tokenizer_counts_tokens() -> None:
    transformers: Any = pytest.importorskip("transformers")
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer(), unk_token="[UNK]"
    )
    for given_tokenizer in (fast, tokenizer()):
        splitter = ContentAwareTextSplitter.from_huggingface_tokenizer(
            given_tokenizer, chunk_size=7
        )
        chunks = splitter.create_documents([WORDS])
        assert_exact(WORDS, chunks)
        assert max(count_words(c.page_content) for c in chunks) <= 7
        assert 9 <= len(chunks) <= 12
    with pytest.raises(InvalidParameter, match="tokenizer"):
        ContentAwareTextSplitter.from_huggingface_tokenizer("bert")


# -- settings


def test_fixed_splitter_refuses_an_overlap() -> None:
    with pytest.raises(InvalidParameter, match="chunk_overlap"):
        FixedTextSplitter(chunk_overlap=5)


@pytest.mark.parametrize("wrong", [None, str.split, lambda text: -1])
@pytest.mark.parametrize("kind", [ContentAwareTextSplitter, HiQATransformer])
def test_a_length_function_is_refused_by_its_own_name(kind: Any, wrong: Any) -> None:
    with pytest.raises(InvalidParameter, match="length_function must be"):
        kind(chunk_size=50, length_function=wrong)


@pytest.mark.parametrize("base", [ContentAwareTextSplitter, PICTextSplitter])
def test_an_own_split_text_decides_what_documents_are_made(base: Any) -> None:
    class Sentences(base):  # type: ignore[misc]
        def split_text(self, text: str) -> list[str]:
            return [f"{part}." for part in text.split(".") if part]

    splitter = Sentences()
    parent = Document("# A\nOne. Two.", metadata={"source": "a.md"})
    expected = [
        Document("# A\nOne.", metadata={"source": "a.md", "start_index": 0}),
        Document(" Two.", metadata={"source": "a.md", "start_index": 8}),
    ]
    assert splitter.split_documents([parent]) == expected
    assert (
        splitter.create_documents([parent.page_content], [parent.metadata]) == expected
    )
    assert splitter.transform_documents([parent]) == expected
    assert asyncio.run(splitter.atransform_documents([parent])) == expected
    with pytest.raises(InvalidParameter):
        splitter.split_documents(parent)
