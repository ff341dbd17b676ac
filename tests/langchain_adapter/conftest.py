"""Nothing in these tests may use the network."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_socket import disable_socket, enable_socket


@pytest.fixture(autouse=True)
def no_network() -> Iterator[None]:
    """Only Unix sockets, which event loops need."""
    disable_socket(allow_unix_socket=True)
    yield
    enable_socket()
