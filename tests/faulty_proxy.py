"""A proxy between a client and a server that delays, cuts and refuses, as networks do."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class FaultyProxy:
    """Passes bytes on to a port of this machine.

    `answers_after` delays each answer; after `left` bytes sent to the server every connection is
    cut, and then again and again, `cuts` times; `is_down` refuses all.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.answers_after = 0.0
        self.left: int | None = None
        self.cuts = 0
        self.n_cut = 0
        self.is_down = False
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.is_down:
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self.port))
                self._open |= {client, server}
                for pair in ((client, server, True), (server, client, False)):
                    threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _pass(
        self, source: socket.socket, target: socket.socket, is_sent: bool
    ) -> None:
        with suppress(OSError):
            while piece := source.recv(16_384):
                if is_sent and self._is_cut(len(piece)):
                    self.cut()
                    return
                if not is_sent and self.answers_after:
                    time.sleep(self.answers_after)
                target.sendall(piece)
        for end in (source, target):
            _close(end)

    def _is_cut(self, n_bytes: int) -> bool:
        with self._lock:
            if self.left is None or not self.cuts:
                return False
            self.left -= n_bytes
            if self.left > 0:
                return False
            self.cuts, self.n_cut, self.left = self.cuts - 1, self.n_cut + 1, 20_000
            return True

    def cut(self) -> None:
        """Close all connections."""
        for end in list(self._open):
            _close(end)
        self._open.clear()

    def stop(self) -> None:
        self.is_down = True
        _close(self._listener)
        self.cut()


def _close(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)  # which wakes the thread that reads it
    end.close()


@contextmanager
def milvus_server(folder: str) -> Iterator[int]:
    """A server of Milvus Lite on a port of this machine."""
    from milvus_lite.adapter.grpc.server import start_server_in_thread

    server, database, port = start_server_in_thread(folder)
    try:
        yield port
    finally:
        server.stop(grace=0)
        database.close()
