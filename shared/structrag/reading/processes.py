"""Child processes, and the reader processes among them: files read apart from the host.

A file can be made to fill the memory, to run for hours or to crash the library that reads it. It
then takes down the process in which it is read, which nothing else needs. A reader process is
started once and reads one file after another.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import site
import subprocess
import sys
import sysconfig
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from structrag import errors
from structrag._locks import Lock
from structrag.errors import (
    InvalidDocument,
    InvalidParameter,
    MissingExtra,
    StructragError,
    warn_user,
)
from structrag.reading.limits import Limits

ADVICE = "Allow more by limits=Limits(max_seconds=..., max_memory=...) if you trust the file."
_ENDING_SECONDS = 5  # from the end of a process's output to its own
_IDLE_SECONDS = 60  # after which a reader process ends by itself
# A process that holds so many bytes ends after its reply: libraries have not let go of them.
_MUCH_MEMORY = 1_000_000_000
_LONGEST_REPLY = 2_000_000_000  # bytes of one line

_CHILD = Path(__file__).with_name("child.py")


def environment() -> dict[str, Any]:
    """What this process can import, for `child.adopt`: folders of installed packages, and modules
    loaded from elsewhere by their files."""
    user_site = site.getusersitepackages() if site.ENABLE_USER_SITE else ""
    return {
        "folder": _current_folder(),
        "sites": [user_site] if user_site in sys.path else [],
        "files": dict(_files_outside(_installed_folders(user_site))),
    }


def _current_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it has been deleted
        return os.sep


def _installed_folders(user_site: str) -> tuple[str, ...]:
    """The folders of the standard library and of installed packages, each with a separator."""
    folders = {
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib")),
        *site.getsitepackages(),
        user_site,
    }
    return tuple(
        os.path.join(os.path.realpath(folder), "") for folder in folders if folder
    )


def _files_outside(
    installed: tuple[str, ...],
) -> Iterator[tuple[str, tuple[str | None, list[str] | None]]]:
    """Modules at the top that were loaded from other folders."""
    for name, module in list(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        if "." in name or name == "__main__" or spec is None:
            continue
        file = spec.origin if spec.has_location else None
        folders = spec.submodule_search_locations
        places = [file] if file else list(folders or ())
        if places and not os.path.realpath(places[0]).startswith(installed):
            yield name, (file, None if folders is None else list(folders))


def can_start() -> bool:
    """Whether `sys.executable` is a Python that can be started, with structrag in a file."""
    name = os.path.basename(sys.executable or "").lower()
    is_python = name.startswith(("python", "pypy")) and not hasattr(sys, "frozen")
    return is_python and _CHILD.is_file()


def start_child(module: str, **options: Any) -> subprocess.Popen[bytes]:
    """Start a process that runs `main()` of a module of structrag, with pipes for its input and
    output. It imports nothing from the current folder. Raises OSError if the system refuses."""
    process: subprocess.Popen[bytes] = subprocess.Popen(
        [sys.executable, "-I", str(_CHILD), module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        **options,
    )
    assert process.stdin is not None  # noqa: S101
    with suppress(OSError):  # it has ended; its reader notices
        process.stdin.write(json.dumps(environment()).encode() + b"\n")
        process.stdin.flush()
    return process


class _Ended(Exception):
    """A reader process has ended without a reply."""


class _ReaderProcess:
    """A reader process, as the host sees it."""

    def __init__(self) -> None:
        # Not in the current folder, which it would keep from being removed.
        self._process = start_child(
            __name__, stderr=subprocess.DEVNULL, cwd=os.path.abspath(os.sep)
        )
        self.is_used = False
        self.is_late = False

    def ask(
        self, request: bytes, data: bytes, seconds: float
    ) -> tuple[dict[str, Any], str]:
        """Send a request and return the reply's facts and text. Raises _Ended without one."""
        assert self._process.stdin and self._process.stdout  # noqa: S101
        timer = threading.Timer(seconds, self._stop_late)
        timer.daemon = True
        timer.start()
        try:
            self._process.stdin.write(request + b"\n" + data)
            self._process.stdin.flush()
            line = self._process.stdout.readline(_LONGEST_REPLY)
            reply: dict[str, Any] = json.loads(line)
            length = reply.pop("bytes")
            text = self._process.stdout.read(length)
            if len(text) < length:
                raise _Ended
        except (OSError, ValueError) as error:
            raise _Ended from error
        finally:
            timer.cancel()
            self.is_used = True
        return reply, text.decode("utf-8", "surrogatepass")

    def is_running(self) -> bool:
        """Whether it waits for work; one that has ended is cleared away."""
        if self._process.poll() is None:
            return True
        self.forget()
        return False

    def _stop_late(self) -> None:
        self.is_late = True
        self._process.kill()

    def ending(self) -> str:
        """How it ended, as people say it."""
        try:
            code = self._process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self.forget()
        if code >= 0:
            return f"exit status {code}"
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self.forget()

    def forget(self) -> None:
        """Close the pipes, and let a process that is not a child of this one be."""
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        if self._process.returncode is None:
            self._process.returncode = 0


class _Readers:
    """The reader processes of this process: as many as threads read at the same time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._idle: list[_ReaderProcess] = []
        self._busy: set[_ReaderProcess] = set()

    def take(self) -> _ReaderProcess:
        reader = None
        with self._lock:
            while self._idle and reader is None:
                last = self._idle.pop()
                if last.is_running():
                    reader = last
        reader = reader or _ReaderProcess()
        with self._lock:
            self._busy.add(reader)
        return reader

    def give_back(self, reader: _ReaderProcess) -> None:
        with self._lock:
            self._busy.discard(reader)
            self._idle.append(reader)

    def drop(self, reader: _ReaderProcess) -> None:
        with self._lock:
            self._busy.discard(reader)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for reader in idle:
            reader.close()

    def forget(self) -> None:
        """Leave the processes to the parent, in a fork."""
        for reader in (*self._idle, *self._busy):
            reader.forget()
        self._idle, self._busy = [], set()


_READERS = _Readers()
atexit.register(_READERS.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_READERS.forget)
_IS_READER = False  # whether this process is one


def is_reader() -> bool:
    """Whether this process is a reader process, which reads everything itself."""
    return _IS_READER


def read_apart(
    function: str,
    arguments: Mapping[str, Any],
    data: bytes,
    limits: Limits,
    name: str,
    advice: str = ADVICE,
) -> tuple[dict[str, Any], str]:
    """Call a function in a reader process, and return its facts and its text.

    Args:
        function: "module:function" of structrag, called with the arguments and the data.
        arguments: JSON values.
        data: The bytes of a file; b"" where the arguments name it.
        limits: The process may take `max_seconds` and `max_memory`.
        name: What errors call the file.
        advice: The last sentence of an error about the limits.

    Raises:
        InvalidDocument: the process reached a limit or crashed.
        InvalidParameter: there is no interpreter to start.
        StructragError: what the function raises.
    """
    if not can_start():
        raise InvalidParameter(
            "isolated needs a Python interpreter that can be started; sys.executable is "
            f"{sys.executable!r}. Read with isolated=False."
        )
    request = {
        "function": function,
        "arguments": arguments,
        "bytes": len(data),
        "folder": _current_folder(),
        "max_memory": limits.max_memory,
        "max_seconds": limits.max_seconds,
    }
    line = json.dumps(request).encode()
    while True:
        reply = _asked(line, data, limits, name, advice)
        if reply is not None:
            break
    facts, text = reply
    for message in facts.pop("warnings"):
        warn_user(message)
    if "error" in facts:
        raise getattr(errors, facts["error"])(facts["message"])
    if "failure" in facts:
        raise InvalidDocument(
            f"{name} cannot be read: its reader raised {facts['failure']}. The file may be "
            "damaged; save it again."
        )
    return facts, text


def _asked(
    line: bytes, data: bytes, limits: Limits, name: str, advice: str
) -> tuple[dict[str, Any], str] | None:
    """A reply; None if a process ended that had read other files before, which may be why."""
    try:
        reader = _READERS.take()
    except OSError as error:
        raise InvalidDocument(
            f"{name} cannot be read: the system starts no process for it ({error.strerror}). Read "
            "with isolated=False if you trust the file."
        ) from error
    was_used = reader.is_used
    try:
        facts, text = reader.ask(line, data, limits.max_seconds)
    except _Ended:
        _READERS.drop(reader)
        ending = reader.ending()
    except BaseException:  # Ctrl-C, say: its reply is nobody's
        _READERS.drop(reader)
        reader.close()
        raise
    else:
        if not facts.pop("is_full"):
            _READERS.give_back(reader)
            return facts, text
        _READERS.drop(reader)
        reader.close()
        is_short = was_used and ("error" in facts or "failure" in facts)
        return None if is_short else (facts, text)
    if reader.is_late:
        raise InvalidDocument(
            f"{name} was not read within {limits.max_seconds:g} seconds. {advice}"
        )
    if was_used:
        return None
    memory = "" if limits.max_memory is None else f" of {limits.max_memory:,} bytes"
    raise InvalidDocument(
        f"{name} cannot be read: the process that read it ended with {ending}. The file is "
        f"damaged, or needs more memory than the limit{memory}. {advice}"
    )


def main() -> None:
    """Read files for the host until it is gone, or has no work for a while; run by `child`."""
    global _IS_READER
    _IS_READER = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the host's
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not be taken for a reply
    requests = sys.stdin.buffer
    line = requests.readline()
    while line:
        request = json.loads(line)
        data = requests.read(request["bytes"])
        reply, text = _answered(request, data)
        del data
        reply["bytes"] = len(text)
        replies.write(json.dumps(reply).encode() + b"\n" + text)
        replies.flush()
        if reply["is_full"]:
            return
        line = _next_line(requests)


def _next_line(requests: BinaryIO) -> bytes:
    """The next request, of which nothing is buffered yet; b"" if there is none."""
    with suppress(OSError):  # Windows cannot wait for a pipe
        if not select.select([requests], [], [], _IDLE_SECONDS)[0]:
            return b""
    return requests.readline()


def _answered(request: Mapping[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """The reply to a request, and its text."""
    module, _, name = request["function"].partition(":")
    text = ""
    is_full = False
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            function: Callable[..., tuple[dict[str, Any], str]]
            function = getattr(import_module(module), name)
            os.chdir(request["folder"])
            _limit(request["max_memory"], request["max_seconds"])
            reply, text = function(request["arguments"], data)
        except StructragError as error:
            is_full = isinstance(error.__cause__, MemoryError)
            reply = {"error": type(error).__name__, "message": str(error)}
        except ImportError as error:  # the environment cannot be handed on
            reply = {"error": MissingExtra.__name__, "message": str(error)}
        except Exception as error:  # noqa: BLE001 - no reader may end the process
            is_full = isinstance(error, MemoryError)
            reply = {"failure": f"{type(error).__name__}: {error}"}
        finally:
            os.chdir(os.path.abspath(os.sep))
    reply["warnings"] = [str(each.message) for each in caught]
    reply["is_full"] = is_full or _memory() > _MUCH_MEMORY
    return reply, text.encode("utf-8", "surrogatepass")


def _memory() -> int:
    """The bytes that this process holds; 0 where the system does not say."""
    # Not the peak that `resource` gives: that of a child begins with its parent's.
    with suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return 0


def _limit(max_memory: int | None, max_seconds: float) -> None:
    """Limit what this process may take for one file, as far as the system can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    usage = resource.getrusage(resource.RUSAGE_SELF)
    # The host waits for a time; this is for a process whose host is gone.
    seconds = int(usage.ru_utime + usage.ru_stime + max_seconds) + 1
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_AS: max_memory,
    }
    for kind, most in limits.items():
        with suppress(OSError, ValueError):  # macOS refuses some
            hard = resource.getrlimit(kind)[1]
            if most is None:
                most = hard
            elif hard != resource.RLIM_INFINITY:
                most = min(most, hard)
            resource.setrlimit(kind, (most, hard))
