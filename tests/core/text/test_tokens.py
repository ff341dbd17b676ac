"""Token counters: the estimate, tiktoken from disk, Hugging Face, names."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.token_estimate import written
from structrag.errors import InvalidParameter
from structrag.model_calls.naming import setting_name
from structrag.text.tokens import (
    TokenCounter,
    check_counter,
    count_tokens,
    huggingface_counter,
    tiktoken_counter,
)

TEXTS = st.text(
    st.sampled_from('abing12_("é \u00a0\r\n\t.手今ไทยກမក្かカ<|>ß😀\u200d\ufe0f\ud800'),
    max_size=60,
)


@pytest.mark.parametrize(("name", "text"), written().items())
def test_the_estimate_is_close_to_cl100k(name: str, text: str) -> None:
    assert 0.9 <= count_tokens(text) / tiktoken_counter()(text) <= 1.2


def test_the_estimate_of_a_long_word_takes_time_that_grows_with_it() -> None:
    assert count_tokens("a" * 100_000) <= 100_000
    assert count_tokens("aB3/" * 25_000) <= 100_000


@settings(max_examples=200)
@given(TEXTS, TEXTS)
def test_a_sum_is_never_below_the_whole(left: str, right: str) -> None:
    assert count_tokens(left + right) <= count_tokens(left) + count_tokens(right)


def test_tiktoken_counts_special_tokens_and_surrogates_as_text() -> None:
    count = tiktoken_counter()
    assert count("hello world") == 2
    assert count("<|endoftext|>") > 1
    assert count("a \ud800 b") > 2
    assert count("") == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_tiktoken_agrees_with_tiktoken(name: str) -> None:
    spec = find_spec("llama_index")
    assert spec is not None and spec.submodule_search_locations
    folders = (
        Path(place, "core", "_static", "tiktoken_cache")
        for place in spec.submodule_search_locations
    )
    folder = next(folder for folder in folders if folder.is_dir())
    text = "It's  3.14\n\n  – naïve 手机's \U0001f469\u200d\U0001f469 CamelCase\tI'll GO12345\r\n"
    script = (
        "import sys, tiktoken; "
        "print(len(tiktoken.get_encoding(sys.argv[1]).encode_ordinary(sys.argv[2])))"
    )
    environment = {**os.environ, "TIKTOKEN_CACHE_DIR": str(folder), "PYTHONUTF8": "1"}
    answer = subprocess.run(
        [sys.executable, "-c", script, name, text],
        env=environment,
        capture_output=True,
        check=True,
    )
    assert tiktoken_counter(name)(text) == int(answer.stdout)


def test_an_encoding_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    script = (
        "import socket, sys\n"
        "def refuse(*a, **k): raise OSError('no network')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from structrag.text.tokens import tiktoken_counter\n"
        "for name in ('p50k_base', 'nonsense'):\n"
        "    try: tiktoken_counter(name)\n"
        "    except ValueError as error: print(error)\n"
    )
    environment = {**os.environ, "TIKTOKEN_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    absent, unknown = done.stdout.splitlines()
    assert "'p50k_base' is not on this machine" in absent
    assert "TIKTOKEN_CACHE_DIR" in absent
    assert "encoding must be one of 'cl100k_base'" in unknown and "nonsense" in unknown


def test_llama_index_brings_encodings_without_being_imported() -> None:
    script = (
        "import sys; from structrag.text.tokens import tiktoken_counter\n"
        "assert tiktoken_counter()('hello world') == 2\n"
        "assert not [name for name in sys.modules if name.startswith('llama_index.core')]\n"
    )
    environment = {**os.environ}
    environment.pop("TIKTOKEN_CACHE_DIR", None)
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)


def word_tokenizer(max_length: int | None = None):  # type: ignore[no-untyped-def]
    tokenizers = pytest.importorskip("tokenizers")
    model = tokenizers.models.WordLevel({"[UNK]": 0, "a": 1, "b": 2}, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    if max_length:
        tokenizer.enable_truncation(max_length)
        tokenizer.enable_padding(length=max_length)
    return tokenizer


def test_huggingface_ignores_truncation_and_leaves_the_tokenizer_alone() -> None:
    tokenizer = word_tokenizer(4)
    count = huggingface_counter(tokenizer)
    assert count("a b " * 10) == 20
    assert count("a") == 1
    assert count("a \ud800") == 2
    assert tokenizer.truncation is not None


@pytest.mark.slow
def test_huggingface_transformers() -> None:
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=word_tokenizer(), model_max_length=4, unk_token="[UNK]"
    )
    count = huggingface_counter(tokenizer)
    assert count("a b " * 10) == 20
    assert count("\udc00") == 1
    assert pickle.loads(pickle.dumps(count))("a b") == 2


def test_huggingface_refuses_other_things() -> None:
    with pytest.raises(InvalidParameter, match="tokenizer"):
        huggingface_counter("all-MiniLM-L6-v2")
    with pytest.raises(InvalidParameter, match="got SimpleNamespace"):
        huggingface_counter(SimpleNamespace(to_str=str))
    with pytest.raises(InvalidParameter, match="got SimpleNamespace"):
        huggingface_counter(SimpleNamespace(no_truncation=str))


@pytest.mark.parametrize(
    "make",
    [
        lambda: count_tokens,
        tiktoken_counter,
        lambda: huggingface_counter(word_tokenizer(4)),
    ],
)
def test_counters_survive_pickling(make) -> None:  # type: ignore[no-untyped-def]
    counter = make()
    copy = pickle.loads(pickle.dumps(counter))
    assert copy("a b c") == counter("a b c")
    assert setting_name(copy) == setting_name(counter)


@pytest.mark.parametrize(
    "wrong", [str.split, lambda text: str(len(text)), lambda text: -1]
)
def test_a_counter_that_returns_no_number_is_named(wrong: TokenCounter) -> None:
    with pytest.raises(InvalidParameter, match="counter must be"):
        check_counter(wrong)
