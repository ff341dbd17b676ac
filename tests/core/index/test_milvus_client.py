"""Connections to Milvus: addresses, who asks, encryption, time limits and pages of rows."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engine_making import stop_milvus
from fixture_cases import examples

from structrag.errors import IndexDamaged, InvalidParameter, ModelFailed, TimedOut
from structrag.index import milvus_client
from structrag.index.milvus_client import MilvusDatabase, check_file
from structrag.index.milvus_collections import STATE, create, state_record

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
    with pytest.raises(ModelFailed, match=r"refuses who asks .*: set MILVUS_TOKEN"):
        MilvusDatabase("http://milvus.example:19530")
    odd = pymilvus.MilvusException(99, "no such database: manuals")
    monkeypatch.setattr(pymilvus, "MilvusClient", Client(odd))
    with pytest.raises(
        ModelFailed, match=r"raised MilvusException: .*no such database"
    ):
        MilvusDatabase("http://milvus.example:19530/manuals")


@pytest.mark.parametrize("name", ["corpus", "corpus.sqlite", "corpus.db/"])
def test_a_file_is_told_by_its_name(name: str, tmp_path: Path) -> None:
    if name.endswith("/"):
        assert not check_file(str(tmp_path / name))
    else:
        with pytest.raises(InvalidParameter, match=r"a file that ends in '\.db'"):
            check_file(str(tmp_path / name))


def test_all_rows_come_in_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(milvus_client, "MOST_HITS", 40)
    monkeypatch.setattr(milvus_client, "BATCH", 7)
    file = str(tmp_path / "new" / "corpus.db")
    database = MilvusDatabase(file)
    create(database, ["raw"])
    database.insert(STATE, [state_record(i, str(i)) for i in range(95)])
    database.insert(STATE, [state_record(3, "again")])
    rows = database.query(STATE, "id >= 2", ["id", "content"])
    assert {row["id"]: row["content"] for row in rows} == {
        i: "again" if i == 3 else str(i) for i in range(2, 95)
    }
    assert len(rows) == database.count(STATE, "id >= 2") == 93
    assert sorted(row["id"] for row in database.get(STATE, range(90, 200), ["id"])) == [
        *range(90, 95)
    ]
    stop_milvus(file)


class Server:
    """A client of Milvus that answers by the clock, and what time it is."""

    version = "v2.6.5"

    def __init__(self) -> None:
        self.now = 1000.0
        self.errors: list[Exception] = []
        self.asked: list[tuple[Any, ...]] = []
        self.left: list[float] = []
        self.pauses: list[float] = []
        self.kinds = {"corpus": 1, "tenant_acme_corpus": 7, "tenant_acme_more": 8}

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def answer(self, timeout: float) -> None:
        self.left.append(round(timeout, 9))
        if self.errors:
            raise self.errors.pop(0) if len(self.errors) > 1 else self.errors[0]

    def get_server_version(self, timeout: float) -> str:
        return self.version

    def list_collections(self, timeout: float) -> list[str]:
        return list(self.kinds)

    def describe_collection(self, name: str, timeout: float) -> dict[str, Any]:
        field = {"name": "id", "type": "INT64", "params": {}}
        return {"collection_id": self.kinds[name], "fields": [field]}

    def flush(self, name: str, timeout: float) -> str:
        self.asked.append((name,))
        self.answer(timeout)
        return "flushed"

    def upsert(self, name: str, rows: list[Any], timeout: float) -> None:
        self.asked.append((name, rows))

    def get(self, name: str, ids: list[int], **options: Any) -> list[Any]:
        self.asked.append((name, ids, options["output_fields"]))
        return [{"id": i} for i in ids]


Connecting = Callable[..., tuple[MilvusDatabase, Server]]


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> Connecting:
    """Gives a connection to a server, ten seconds for each call."""

    def connect(
        place: str = "http://milvus.example:19530", version: str = "v2.6.5"
    ) -> tuple[MilvusDatabase, Server]:
        server = Server()
        server.version = version
        monkeypatch.setattr(pymilvus, "MilvusClient", lambda **options: server)
        monkeypatch.setattr(milvus_client.time, "monotonic", lambda: server.now)
        monkeypatch.setattr(milvus_client.time, "sleep", server.sleep)
        monkeypatch.setattr(milvus_client, "_torn", {})
        monkeypatch.setenv("MILVUS_TIMEOUT", "10")
        return MilvusDatabase(place), server

    return connect


@pytest.mark.parametrize(
    "sentence", ["<unavailable>", "Fail connecting to server on x"]
)
def test_what_failed_on_the_way_is_tried_again(
    sentence: str, connected: Connecting
) -> None:
    database, server = connected()
    server.errors = [OSError(sentence)] * 3 + [OSError("other")]
    with pytest.raises(ModelFailed, match=r"store 'http://milvus\.example.*other"):
        database.call("flush", "corpus")
    assert server.pauses == [0.1, 0.2, 0.4]
    assert server.left == [10.0, 9.9, 9.7, 9.3]
    server.errors.clear()
    assert database.call("flush", "corpus") == "flushed"


def test_nobody_waits_longer_than_the_limit(connected: Connecting) -> None:
    database, server = connected()
    server.errors = [OSError("UNAVAILABLE")]
    with pytest.raises(TimedOut, match="gave no answer in 10 seconds"):
        database.call("flush", "corpus")
    assert server.pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.0, 3.0]
    server.pauses.clear()
    # A call that took all the time is not tried again.
    server.errors = [OSError("unavailable: Deadline Exceeded")]
    with pytest.raises(TimedOut):
        database.call("flush", "corpus")
    server.errors = [OSError("timeout")]
    with pytest.raises(TimedOut):
        database.call("flush", "corpus")
    assert server.pauses == []


def test_a_try_that_would_end_with_the_limit_is_not_made(connected: Connecting) -> None:
    database, server = connected()
    database.seconds = 0.3
    server.errors = [OSError("unavailable")]
    with pytest.raises(TimedOut):
        database.call("flush", "corpus")
    assert server.pauses == [0.1]  # another 0.2 would be all


def test_a_file_that_could_not_be_written_is_closed(connected: Connecting) -> None:
    database, server = connected(version="milvus-lite 3.0")
    assert database.is_lite and not connected()[0].is_lite
    database, server = connected(version="milvus-lite 3.0")
    server.errors = [OSError("[Errno 28] No space left on device")]
    for _ in range(2):
        with pytest.raises(ModelFailed, match=r"could not write .*Errno 28.*in a new"):
            database.call("flush", "corpus")
    assert len(server.asked) == 1  # the second was not tried
    database, server = connected()
    server.errors = [OSError("[Errno 28] No space left on device")]
    for _ in range(2):  # a server writes elsewhere
        with pytest.raises(ModelFailed, match="raised OSError"):
            database.call("flush", "corpus")
    assert len(server.asked) == 2


def test_a_long_error_is_cut(connected: Connecting) -> None:
    for length, is_cut in ((160 - 8, False), (161 - 8, True)):
        database, server = connected()
        server.errors = [OSError("timeout " + "x" * length)]
        with pytest.raises(TimedOut) as caught:
            database.call("flush", "corpus")
        assert ("x…" in str(caught.value)) is is_cut
        assert f"timeout {'x' * (160 - 8)}" in str(caught.value)


def test_collections_of_a_tenant_begin_with_its_name(connected: Connecting) -> None:
    database, server = connected()
    assert database.collections() == set(server.kinds)
    database, server = connected("http://milvus.example:19530?tenant=acme")
    assert database.collections() == {"corpus", "more"}
    database.call("flush", "corpus")
    assert server.asked == [("tenant_acme_corpus",)]


def test_a_collection_that_is_gone_or_another_is_noticed(connected: Connecting) -> None:
    database, server = connected("http://milvus.example:19530?tenant=acme")
    database.remember(["corpus", "more"])
    database.remember(["corpus"])
    database.check(["corpus", "more"])
    server.kinds["tenant_acme_more"] = 9
    database.remember(["more"])  # it was looked at before
    with pytest.raises(IndexDamaged, match="its collection more was made anew"):
        database.check(["corpus", "more"])
    del server.kinds["tenant_acme_corpus"]
    with pytest.raises(IndexDamaged, match="its collection corpus is missing"):
        database.check(["corpus"])
    # So it is after a call that failed.
    server.errors = [OSError("other")]
    with pytest.raises(IndexDamaged, match="corpus is missing"):
        database.call("flush", "corpus")
    with pytest.raises(ModelFailed, match="other"):
        database.call("flush", "never looked at")
    server.errors = [OSError("timeout")]
    with pytest.raises(TimedOut):
        database.call("flush", "corpus")


def test_rows_are_written_and_read_500_at_a_time(connected: Connecting) -> None:
    database, server = connected()
    rows = [{"id": i} for i in range(1001)]
    database.insert("corpus", rows)
    assert [len(some) for _, some in server.asked] == [500, 500, 1]
    assert [row for _, some in server.asked for row in some] == rows
    server.asked.clear()
    assert database.get("corpus", range(1001), ["id", "row"]) == rows
    assert [(name, len(ids), columns) for name, ids, columns in server.asked] == [
        ("corpus", 500, ["id", "row"]),
        ("corpus", 500, ["id", "row"]),
        ("corpus", 1, ["id", "row"]),
    ]
    database.insert("corpus", [])
    assert database.get("corpus", [], ["id"]) == [] and len(server.asked) == 3


@examples
def test_a_folder_of_milvus_lite_is_known_by_what_is_in_it(
    names: list[str], is_there: bool | None, tmp_path: Path
) -> None:
    place = tmp_path / "corpus.db"
    assert not check_file(str(place))
    place.mkdir()
    for name in names:
        (place / name).write_text("")
    if is_there is None:
        with pytest.raises(InvalidParameter, match="is something else"):
            check_file(str(place))
    else:
        assert check_file(str(place)) is is_there


def test_a_file_of_another_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "corpus.db").write_text("SQLite")
    with pytest.raises(InvalidParameter, match="nothing in it was changed"):
        check_file(str(tmp_path / "corpus.db"))


def test_without_a_limit_a_call_has_a_minute(
    connected: Connecting, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected()
    monkeypatch.delenv("MILVUS_TIMEOUT")
    assert MilvusDatabase("http://milvus.example:19530").seconds == 60
    monkeypatch.setenv("MILVUS_TIMEOUT", "-1")
    with pytest.raises(InvalidParameter, match="above 0; got '-1'"):
        MilvusDatabase("http://milvus.example:19530")


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
