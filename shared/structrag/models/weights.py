"""Tells two models of one name apart by their weights' numbers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

SAMPLED = 64  # numbers of a tensor that are read, spread over all of it
BLOCK, BLOCKS = 4096, 16  # bytes of a file that are read, at so many places


def weights_label(model: Any) -> str:
    """The number type and a digest of a model's weights.

    For example `bfloat16#5f0c2a9e1b7d4433`. Two models that were trained differently, rounded to
    other numbers or quantised have different ones; the same weights have the same, in every process
    and on every device. The digest is of every tensor's shape, type and 64 numbers spread over it,
    so it takes milliseconds, whatever the size; a change of a few other numbers is not seen. The
    names of tensors are left out, since they change between versions of transformers, and so is
    BERT's pooler, which many checkpoints lack.

    A model that holds no tensors of torch (ONNX, OpenVINO) is identified by sizes and blocks of its
    files. "": nothing tells.
    """
    tensors = list(_tensors(model))
    if tensors:
        types = sorted({_type(tensor) for tensor in tensors})
        parts = sorted(_tensor_digest(tensor) for tensor in tensors)
        return f"{'+'.join(types)}#{_joined(parts)}"
    files = sorted(_file_digest(path) for path in _files(model))
    return f"#{_joined(files)}" if files else ""


def weights_settings(model: Any) -> tuple[str, ...]:
    """`weights_label` as part of a name; empty where nothing tells."""
    return tuple(filter(None, [weights_label(model)]))


def encoder_label(encoder: Any) -> str:
    """`weights_label` of a SentenceTransformer with its backend, such as `torch float32#5f...`.

    The digest is of the modules behind the model too: how vectors are pooled, whether they are
    normalised, and to how many dimensions they are cut. "": nothing tells.
    """
    is_list = hasattr(encoder, "__iter__") and hasattr(encoder, "__getitem__")
    modules = list(encoder) if is_list else []
    inner = getattr(modules[0], "auto_model", None) if modules else None
    weights = weights_label(encoder) or weights_label(inner)
    if not weights:
        return ""
    settings = [type(module).__name__ + pooling_mode(module) for module in modules[1:]]
    settings.append(str(getattr(encoder, "truncate_dim", None)))
    settings.append(
        json.dumps(getattr(inner, "ov_config", None), sort_keys=True, default=str)
    )
    types, _, digest = weights.partition("#")
    return (
        f"{getattr(encoder, 'backend', 'torch')} {types}#{_joined([digest, *settings])}"
    )


def pooling_mode(module: Any) -> str:
    """How a module pools, as newer or older versions tell it."""
    older = getattr(module, "get_pooling_mode_str", None)
    return str(
        getattr(module, "pooling_mode", None) or (older() if callable(older) else "")
    )


def _tensors(model: Any) -> Iterator[Any]:
    """The tensors of a model, those packed in quantised layers too."""
    state = getattr(model, "state_dict", None)
    if not callable(state):
        return
    waiting = [state()]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            # A checkpoint may lack the pooler, which is then drawn anew by every load; vectors of
            # tokens and sentences do not pass through it.
            parts = ((str(name).split("."), part) for name, part in value.items())
            waiting.extend(part for names, part in parts if "pooler" not in names)
        elif isinstance(value, list | tuple):
            waiting.extend(value)
        elif hasattr(value, "dtype") and hasattr(value, "reshape"):
            yield value


def _type(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _tensor_digest(tensor: Any) -> str:
    flat = tensor.detach().reshape(-1)
    if getattr(flat, "is_quantized", False):
        flat = flat.int_repr()
    if getattr(flat, "is_meta", False):  # its numbers are elsewhere
        return _joined([str(tuple(tensor.shape)), _type(tensor)])
    step = max(1, len(flat) // SAMPLED)
    numbers = flat[::step][:SAMPLED].double().cpu().numpy()
    return _joined([str(tuple(tensor.shape)), _type(tensor), numbers.tobytes().hex()])


def _files(model: Any) -> list[Path]:
    """The files a model was loaded from, where it tells."""
    for attribute in ("model_path", "model_save_dir", "path"):
        place = getattr(model, attribute, None)
        if isinstance(place, str | os.PathLike) and Path(place).exists():
            path = Path(place)
            return (
                [path] if path.is_file() else [p for p in path.iterdir() if p.is_file()]
            )
    return []


def _file_digest(path: Path) -> str:
    """A digest of a file's size and of blocks spread over it."""
    size = path.stat().st_size
    digest = sha256(str(size).encode())
    with path.open("rb") as file:
        for number in range(BLOCKS):
            file.seek(max(0, size - BLOCK) * number // (BLOCKS - 1))
            digest.update(file.read(BLOCK))
    return digest.hexdigest()


def _joined(parts: list[str]) -> str:
    return sha256("\n".join(parts).encode()).hexdigest()[:16]
