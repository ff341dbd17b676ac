"""Fixtures of these tests, none of which may use the network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from llama_index_fakes import STORES
from pytest_socket import disable_socket, enable_socket


@pytest.fixture(autouse=True)
def no_network() -> Iterator[None]:
    """Only Unix sockets, which event loops need."""
    disable_socket(allow_unix_socket=True)
    yield
    enable_socket()


@pytest.fixture(params=list(STORES))
def options(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Where a retriever's vectors come from and are kept."""
    return STORES[request.param]()
