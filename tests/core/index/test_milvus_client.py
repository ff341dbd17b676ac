"""Connections to Milvus: addresses, who asks, encryption, time limits and pages of rows."""

from __future__ import annotations

import datetime
import ipaddress
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


def test_an_encrypted_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grpc = pytest.importorskip("grpc")
    from milvus_lite.adapter.grpc.server import _build_server
    from milvus_lite.db import MilvusLite

    key, certificate = _certificate()
    (tmp_path / "server.pem").write_bytes(certificate)
    lite = MilvusLite(str(tmp_path / "server"))
    server = _build_server(lite, 2)
    credentials = grpc.ssl_server_credentials([(key, certificate)])
    port = server.add_secure_port("127.0.0.1:0", credentials)
    server.start()
    try:
        monkeypatch.setenv("MILVUS_TIMEOUT", "1")
        with pytest.raises(ModelFailed):  # nobody vouches for the server
            MilvusDatabase(f"https://127.0.0.1:{port}")
        monkeypatch.setenv("MILVUS_SERVER_PEM", str(tmp_path / "server.pem"))
        monkeypatch.setenv("MILVUS_TIMEOUT", "20")
        assert MilvusDatabase(f"https://127.0.0.1:{port}").collections() == set()
    finally:
        server.stop(grace=0)
        lite.close()


def _certificate() -> tuple[bytes, bytes]:
    """A key, and a certificate that it has signed for itself."""
    pytest.importorskip("cryptography")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder(
            name, name, key.public_key(), x509.random_serial_number()
        )
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName(
                [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
            ),
            False,
        )
        .sign(key, hashes.SHA256())
    )
    return (
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
        certificate.public_bytes(serialization.Encoding.PEM),
    )
