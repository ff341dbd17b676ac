"""Files read in a process of their own, which has limits of memory and time.

A file can be made to fill the memory or to crash the library that reads it. Such a file takes the
process down in which it is read; here that is a process that nothing else needs.
"""

from __future__ import annotations

import json
import os
import signal
import site
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from structrag import errors
from structrag.errors import (
    InvalidDocument,
    InvalidParameter,
    StructragError,
    check_at_least,
)

_CHILD = Path(__file__).with_name("child.py")


def environment() -> dict[str, Any]:
    """What this process can import, for `child.adopt`: folders of installed packages, and modules
    loaded from elsewhere by their files."""
    try:
        folder = os.getcwd()
    except OSError:  # it has been deleted
        folder = os.sep
    user_site = site.getusersitepackages() if site.ENABLE_USER_SITE else ""
    return {
        "folder": folder,
        "sites": [user_site] if user_site in sys.path else [],
        "files": dict(_files_outside(_installed_folders(user_site))),
    }


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


@dataclass(frozen=True, slots=True)
class Isolation:
    """Limits of the process that reads a file.

    Example:
        >>> Isolation(max_seconds=60).max_memory
        4000000000

    The limit of memory needs Linux; macOS and Windows have the limit of time alone.

    Attributes:
        max_seconds: From its start to its end, by the clock.
        max_memory: Bytes of address space; None: no limit.

    Raises:
        InvalidParameter: a limit is not a number, or below 1.
    """

    max_seconds: float = 300
    max_memory: int | None = 4_000_000_000

    def __post_init__(self) -> None:
        check_at_least("max_seconds", self.max_seconds, 1)
        if self.max_memory is not None:
            check_at_least("max_memory", self.max_memory, 1)


def asked(
    module: str,
    request: Mapping[str, Any],
    data: bytes,
    limits: Isolation,
    name: str,
    advice: str,
) -> dict[str, Any]:
    """What `answer(request)` of a module replies in a process of its own.

    `data` stands behind the request in its standard input. Raises what it raises, and
    InvalidDocument where there is no reply: a sentence with the file's `name` and `advice`.
    """
    if not sys.executable:
        raise InvalidParameter(
            "isolated needs a Python interpreter, and sys.executable names none here. Read with "
            "isolated=False."
        )
    whole = {
        **request,
        "module": module,
        "max_memory": limits.max_memory,
        "max_seconds": limits.max_seconds,
    }
    try:
        process = start_child(__name__, stderr=subprocess.DEVNULL)
        output, _ = process.communicate(
            json.dumps(whole).encode() + b"\n" + data, timeout=limits.max_seconds
        )
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise InvalidDocument(
            f"{name} was not read within {limits.max_seconds:g} seconds. {advice}"
        ) from None
    try:
        reply: dict[str, Any] = json.loads(output)
    except ValueError:
        memory = "" if limits.max_memory is None else f" of {limits.max_memory:,} bytes"
        raise InvalidDocument(
            f"{name} cannot be read: the process that read it ended with {_ending(process)}. The "
            f"file is damaged, or needs more memory than the limit{memory}. {advice}"
        ) from None
    if "error" in reply:
        raise getattr(errors, reply["error"])(reply["message"])
    return reply


def _ending(process: subprocess.Popen[bytes]) -> str:
    """How a process ended, as people say it."""
    if process.returncode >= 0:
        return f"exit status {process.returncode}"
    try:
        return signal.Signals(-process.returncode).name
    except ValueError:
        return f"signal {-process.returncode}"


def main() -> None:
    """Answer one request of standard input; run by `child`."""
    request = json.loads(sys.stdin.buffer.readline())
    import_module(request["module"]).answer(request)


def reply_with(request: Mapping[str, Any], reply: Callable[[], dict[str, Any]]) -> None:
    """The child's part: set the limits, and write the reply or what is wrong."""
    output = os.dup(1)
    os.dup2(2, 1)  # what a reader prints must not be taken for the reply
    _limit(request["max_memory"], request["max_seconds"])
    try:
        answer = reply()
    except StructragError as error:
        answer = {"error": type(error).__name__, "message": str(error)}
    with os.fdopen(output, "wb") as file:
        file.write(json.dumps(answer).encode())


def _limit(max_memory: int | None, max_seconds: float) -> None:
    """Limit this process, as far as the system can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    # The parent waits for a time; this is for a child whose parent is gone.
    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_CPU: int(max_seconds) + 1}
    if max_memory is not None:
        limits[resource.RLIMIT_AS] = max_memory
    for kind, most in limits.items():
        try:
            hard = resource.getrlimit(kind)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (most, hard))
        except (OSError, ValueError):  # macOS refuses some
            continue
