"""Connections to Milvus: addresses, who asks, encryption, time limits and pages of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from structrag.errors import InvalidParameter, ModelFailed
from structrag.index.milvus_client import MilvusDatabase, check_file

pymilvus = pytest.importorskip("pymilvus", reason="the extra 'milvus' is not installed")
pytest.importorskip("milvus_lite", reason="Milvus Lite is not installed")


class Client:
    """Takes what a connection is made with."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.options: dict[str, Any] = {}

    def __call__(self, **options: Any) -> Client:
        self.options = options
        if self.error:
            raise self.error
        return self

    def get_server_version(self, timeout: float) -> str:
        return "v2.6.5"


def test_credentials_and_limits_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = Client()
    monkeypatch.setattr(pymilvus, "MilvusClient", client)
    address = "https://milvus.example:19530/manuals"
    assert not MilvusDatabase(address).is_lite
    assert (
        client.options.keys() == {"uri", "timeout"} and client.options["uri"] == address
    )
    for name, value in {
        "MILVUS_TOKEN": "root:secret",
        "MILVUS_USER": "root",
        "MILVUS_PASSWORD": "secret",
        "MILVUS_SERVER_PEM": "server.pem",
        "MILVUS_TIMEOUT": "2.5",
    }.items():
        monkeypatch.setenv(name, value)
    assert MilvusDatabase(address).seconds == 2.5
    del client.options["timeout"]
    assert client.options == {
        "uri": address,
        "token": "root:secret",
        "user": "root",
        "password": "secret",
        "server_pem_path": "server.pem",
    }
    for wrong in ("soon", "0", "inf", "nan"):
        monkeypatch.setenv("MILVUS_TIMEOUT", wrong)
        with pytest.raises(
            InvalidParameter, match=f"MILVUS_TIMEOUT must be .* got '{wrong}'"
        ):
            MilvusDatabase(address)


def test_who_may_not_ask_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = pymilvus.MilvusException(
        1800, "auth check failure, please check the password"
    )
    monkeypatch.setattr(pymilvus, "MilvusClient", Client(refused))
    with pytest.raises(
        ModelFailed, match=r"rejected the credentials .*Set MILVUS_TOKEN"
    ):
        MilvusDatabase("http://milvus.example:19530")
    odd = pymilvus.MilvusException(99, "no such database: manuals")
    monkeypatch.setattr(pymilvus, "MilvusClient", Client(odd))
    with pytest.raises(
        ModelFailed, match=r"raised MilvusException: .*no such database"
    ):
        MilvusDatabase("http://milvus.example:19530/manuals")


def test_a_file_of_another_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "corpus.db").write_text("SQLite")
    with pytest.raises(InvalidParameter, match="nothing in it was changed"):
        check_file(str(tmp_path / "corpus.db"))
