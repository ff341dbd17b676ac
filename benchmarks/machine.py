"""What a figure was measured on: machine, versions, corpus. Printed beside every table."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def machine_line() -> str:
    """Processor, cores this process may use, memory, system, Python."""
    cores = (
        len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count()
    )
    return (
        f"{_processor()}, {cores} cores, {_memory()}, {platform.system()}, Python "
        f"{platform.python_version()}"
    )


def versions_line(packages: Iterable[str]) -> str:
    """Installed versions; packages that are not installed are named as absent."""
    return ", ".join(f"{name} {_version(name)}" for name in packages)


def corpus_line(name: str, texts: Iterable[str]) -> str:
    """Name, number of texts, bytes of UTF-8, and a hash of their content in order."""
    digest = sha256()
    count = size = 0
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
        count += 1
        size += len(data)
    return (
        f"{name}: {count} texts, {size / 1e6:.2f} MB, sha256 {digest.hexdigest()[:16]}"
    )


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"


def _processor() -> str:
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            return " ".join(line.partition(":")[2].split())
    return platform.processor() or platform.machine()


def _memory() -> str:
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemTotal"):
            return f"{int(line.split()[1]) / 2**20:.0f} GiB"
    return "memory unknown"


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
