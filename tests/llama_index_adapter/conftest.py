"""Fixtures of these tests, none of which may use the network."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from llama_index.core.node_parser import SentenceSplitter
from pytest_socket import disable_socket, enable_socket


@pytest.fixture(autouse=True)
def no_network() -> Iterator[None]:
    """Only Unix sockets, which event loops need."""
    disable_socket(allow_unix_socket=True)
    yield
    enable_socket()


@pytest.fixture
def sentence_splitter() -> type[SentenceSplitter]:
    """LlamaIndex's own splitter, where it works."""
    try:
        SentenceSplitter(chunk_size=9, chunk_overlap=0).split_text(
            "Pumps move water. " * 9
        )
    except (LookupError, PermissionError) as error:
        # NLTK's stop words are missing beside old releases, and new ones of NLTK read no files that
        # an installer has linked into the environment.
        pytest.skip(
            f"NLTK gives LlamaIndex's SentenceSplitter no files: {type(error).__name__}"
        )
    return SentenceSplitter
