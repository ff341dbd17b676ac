"""Each test here runs with both frameworks, and none may use the network."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from frameworks import FRAMEWORKS, Framework
from pytest_socket import disable_socket, enable_socket


@pytest.fixture(params=FRAMEWORKS, ids=repr)
def framework(request: pytest.FixtureRequest) -> Framework:
    chosen: Framework = request.param
    return chosen


@pytest.fixture(autouse=True)
def no_network() -> Iterator[None]:
    """Only Unix sockets, which event loops need."""
    disable_socket(allow_unix_socket=True)
    yield
    enable_socket()
