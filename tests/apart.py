"""Functions that a reader process is made to call."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Mapping
from typing import Any

Reply = tuple[dict[str, Any], str]


def pid(arguments: Mapping[str, Any], data: bytes) -> Reply:
    time.sleep(arguments.get("seconds", 0))
    return {"pid": os.getpid(), "folder": os.getcwd(), "size": len(data)}, "\udcff é"


def crash(arguments: Mapping[str, Any], data: bytes) -> Reply:
    os.abort()


def leave(arguments: Mapping[str, Any], data: bytes) -> Reply:
    os._exit(3)


def take_memory(arguments: Mapping[str, Any], data: bytes) -> Reply:
    return {"size": len(bytearray(arguments["bytes"]))}, ""


KEPT: list[bytearray] = []


def keep_memory(arguments: Mapping[str, Any], data: bytes) -> Reply:
    KEPT.append(bytearray(b"x" * arguments["bytes"]))
    return {}, ""


def recurse(arguments: Mapping[str, Any], data: bytes) -> Reply:
    return recurse(arguments, data)


def speak(arguments: Mapping[str, Any], data: bytes) -> Reply:
    sys.stdout.write("printed by a library")
    os.write(1, b"and by one in C")
    warnings.warn("An unusual file.", stacklevel=1)
    return {}, ""
