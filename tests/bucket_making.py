"""A bucket on this machine: as much of S3 as LanceDB asks for, with failures on demand."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import pytest

NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
DATE = "Wed, 01 Jan 2020 00:00:00 GMT"


@dataclass
class Bucket:
    """Objects by name, and what goes wrong."""

    name: str = "bucket"
    objects: dict[str, bytes] = field(default_factory=dict)
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)  # method, object
    # what the next requests of these methods are answered with instead
    failing: int = 0
    times: int = 0
    after: int = 0  # requests of these methods that still go well
    methods: tuple[str, ...] = ("PUT", "POST", "GET", "HEAD", "DELETE")
    lock: threading.RLock = field(default_factory=threading.RLock)

    def fail(self, status: int, times: int, *methods: str, after: int = 0) -> None:
        """Answer so many requests (all methods, or these) with a status."""
        self.failing, self.times, self.after = status, times, after
        self.methods = methods or Bucket.methods

    def fails(self, method: str) -> int:
        with self.lock:
            if not self.times or method not in self.methods:
                return 0
            if self.after:
                self.after -= 1
                return 0
            self.times -= 1
            return self.failing

    @property
    def uri(self) -> str:
        return f"s3://{self.name}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # an answer leaves as a whole
    bucket: Bucket

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""

    def handle_method(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        _, _, name = unquote(parts.path).lstrip("/").partition("/")
        query = {key: values[0] for key, values in parse_qs(parts.query, True).items()}
        bucket = self.bucket
        bucket.asked.append((self.command, name))
        status = bucket.fails(self.command)
        if status:
            self.answer(status, b"<Error><Code>Injected</Code></Error>")
            return
        with bucket.lock:
            getattr(self, f"on_{self.command.lower()}")(name, query, content)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_method

    def answer(self, status: int, content: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def on_get(self, name: str, query: dict[str, str], content: bytes) -> None:
        if not name:
            self.listing(query)
            return
        there = self.bucket.objects.get(name)
        if there is None:
            self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
            return
        facts = {"ETag": etag(there), "Last_Modified": DATE}
        asked = self.headers.get("Range")
        if asked is None:
            self.answer(200, there, **facts)
            return
        first, _, last = asked.removeprefix("bytes=").partition("-")
        start = int(first) if first else max(0, len(there) - int(last))
        stop = min(len(there), int(last) + 1) if first and last else len(there)
        if start >= len(there):
            self.answer(416)
            return
        where = f"bytes {start}-{stop - 1}/{len(there)}"
        self.answer(206, there[start:stop], Content_Range=where, **facts)

    def on_head(self, name: str, query: dict[str, str], content: bytes) -> None:
        there = self.bucket.objects.get(name)
        if there is None:
            self.answer(404)
            return
        self.send_response(200)
        self.send_header("ETag", etag(there))
        self.send_header("Last-Modified", DATE)
        self.send_header("Content-Length", str(len(there)))
        self.end_headers()

    def listing(self, query: dict[str, str]) -> None:
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        after = query.get("start-after", "")
        objects, folders = [], {}
        for name in sorted(self.bucket.objects):
            if not name.startswith(prefix) or name <= after:
                continue
            rest = name[len(prefix) :]
            if delimiter and delimiter in rest:
                folders[prefix + rest.partition(delimiter)[0] + delimiter] = None
            else:
                objects.append(name)
        contents = "".join(
            f"<Contents><Key>{escape(name)}</Key><LastModified>2020-01-01T00:00:00.000Z"
            f"</LastModified><ETag>{escape(etag(self.bucket.objects[name]))}</ETag>"
            f"<Size>{len(self.bucket.objects[name])}</Size></Contents>"
            for name in objects
        )
        prefixes = "".join(
            f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>"
            for folder in folders
        )
        self.answer(
            200,
            f'<ListBucketResult xmlns="{NAMESPACE}"><IsTruncated>false</IsTruncated>'
            f"{contents}{prefixes}</ListBucketResult>".encode(),
        )

    def on_put(self, name: str, query: dict[str, str], content: bytes) -> None:
        objects = self.bucket.objects
        if "partNumber" in query:
            self.bucket.uploads[query["uploadId"]][int(query["partNumber"])] = content
            self.answer(200, ETag=etag(content))
            return
        source = self.headers.get("x-amz-copy-source")
        if source is not None:
            content = objects[unquote(source).lstrip("/").partition("/")[2]]
        if self.headers.get("If-None-Match") == "*" and name in objects:
            self.answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")
            return
        objects[name] = content
        copied = f"<CopyObjectResult><ETag>{etag(content)}</ETag></CopyObjectResult>"
        self.answer(200, copied.encode() if source else b"", ETag=etag(content))

    def on_post(self, name: str, query: dict[str, str], content: bytes) -> None:
        if "delete" in query:
            names = [
                key.text or ""
                for key in ElementTree.fromstring(content).iter()
                if is_key(key)
            ]
            for one in names:
                self.bucket.objects.pop(one, None)
            deleted = "".join(
                f"<Deleted><Key>{escape(one)}</Key></Deleted>" for one in names
            )
            self.answer(
                200,
                f'<DeleteResult xmlns="{NAMESPACE}">{deleted}</DeleteResult>'.encode(),
            )
        elif "uploads" in query:
            upload = str(len(self.bucket.uploads))
            self.bucket.uploads[upload] = {}
            self.answer(
                200,
                f'<InitiateMultipartUploadResult xmlns="{NAMESPACE}"><UploadId>{upload}</UploadId>'
                "</InitiateMultipartUploadResult>".encode(),
            )
        else:
            parts = self.bucket.uploads.pop(query["uploadId"])
            self.bucket.objects[name] = b"".join(
                parts[number] for number in sorted(parts)
            )
            found = etag(self.bucket.objects[name])
            self.answer(
                200,
                f'<CompleteMultipartUploadResult xmlns="{NAMESPACE}"><ETag>{escape(found)}</ETag>'
                "</CompleteMultipartUploadResult>".encode(),
            )

    def on_delete(self, name: str, query: dict[str, str], content: bytes) -> None:
        if "uploadId" in query:
            self.bucket.uploads.pop(query["uploadId"], None)
        else:
            self.bucket.objects.pop(name, None)
        self.answer(204)


def etag(content: bytes) -> str:
    return f'"{md5(content, usedforsecurity=False).hexdigest()}"'


def is_key(element: ElementTree.Element) -> bool:
    return element.tag.rpartition("}")[2] == "Key"


@contextmanager
def serving(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """An empty bucket, which the environment leads LanceDB to."""
    bucket = Bucket()
    handler = type("Handler", (_Handler,), {"bucket": bucket})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    for name, value in {
        "AWS_ENDPOINT": endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "OBJECT_STORE_CLIENT_MAX_RETRIES": "3",
    }.items():
        monkeypatch.setenv(name, value)
    try:
        yield bucket
    finally:
        server.shutdown()
        server.server_close()
