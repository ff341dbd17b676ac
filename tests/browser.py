"""A page in a real Chromium, driven over its DevTools protocol. No network: pages are files, and
every other address fails."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-port=0",
)


def chromium() -> str | None:
    """The path of a Chromium: STRUCTRAG_CHROMIUM, else the first known name that is installed."""
    return os.environ.get("STRUCTRAG_CHROMIUM") or next(
        filter(None, map(shutil.which, NAMES)), None
    )


class Page:
    """One page of a running browser."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._numbers = count(1)
        self.events: list[
            dict[str, Any]
        ] = []  # everything the browser reported: errors, console, requests
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol and its result."""
        number = next(self._numbers)
        self._socket.send(
            json.dumps({"id": number, "method": method, "params": parameters})
        )
        while True:
            message = json.loads(self._socket.recv(timeout=60))
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return dict(message["result"])
            self.events.append(message)

    def open(self, path: Path, fragment: str = "") -> None:
        """Load a file and wait until it says that it is ready."""
        self.call("Page.navigate", url="about:blank")
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri() + fragment)
        self.until("document.documentElement?.dataset.ready")

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def until(self, script: str, seconds: float = 15) -> Any:
        """The first true value of an expression; True for an element."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := self.run(
                f"((value) => (value instanceof Node ? true : value))({script})"
            ):
                return value
            time.sleep(0.02)
        raise TimeoutError(f"never true: {script}; {self.errors()}")

    def press(self, key: str, **options: Any) -> None:
        """One key, as a user presses it."""
        text = (
            {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        )
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text, **options)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, **options)

    def type(self, text: str) -> None:
        """Text put into the field that has the focus."""
        self.call("Input.insertText", text=text)

    def place(self, selector: str) -> tuple[float, float]:
        """The middle of an element in the window."""
        x, y = self.run(
            "(() => { const b = "
            f"document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + Math.min(b.height / 2, 20)]; })()"
        )
        return float(x), float(y)

    def hover(self, selector: str) -> None:
        """The pointer over an element."""
        x, y = self.place(selector)
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector: str) -> None:
        """A click in the middle of an element."""
        x, y = self.place(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=x,
                y=y,
                button="left",
                clickCount=1,
            )

    def window(self, width: int, height: int, *, dark: bool = False) -> None:
        """The window's size in CSS pixels, and the theme that the user prefers."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def errors(self) -> list[str]:
        """Exceptions, errors in the console, and reports of the security policy since the page was
        opened."""
        self.run("0")
        bad = []
        for event in self.events:
            parameters = event.get("params", {})
            entry = parameters.get("entry", {})
            if (
                event.get("method") == "Runtime.exceptionThrown"
                or entry.get("level") == "error"
                or parameters.get("type") == "error"
            ):
                bad.append(json.dumps(parameters)[:500])
        return bad

    def addresses(self) -> list[str]:
        """Everything the page asked the network or the disk for."""
        self.run("0")
        sent = [
            event["params"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]
        return [parameters["request"]["url"] for parameters in sent]


@contextmanager
def browser(program: str) -> Iterator[Page]:
    """A Chromium with one page, stopped afterwards."""
    from websockets.sync.client import connect

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command = [program, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            port = _port(process, Path(folder) / "DevToolsActivePort")
            with build_opener(ProxyHandler({})).open(
                f"http://127.0.0.1:{port}/json/list"
            ) as answer:
                (target, *_) = [
                    each for each in json.load(answer) if each["type"] == "page"
                ]
            with connect(
                target["webSocketDebuggerUrl"], max_size=None, proxy=None
            ) as socket:
                yield Page(socket)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)


def _port(process: subprocess.Popen[bytes], file: Path) -> int:
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        if file.is_file() and (lines := file.read_text().splitlines()):
            return int(lines[0])
        time.sleep(0.05)
    raise RuntimeError(f"Chromium did not start (exit status {process.poll()})")
