"""Load models of transformers from this machine, and tell two of one name apart by their weights.
Nothing is downloaded."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from structrag.errors import InvalidParameter, require


def load_pair(model: Any, tokenizer: Any, kind: str, what: str) -> tuple[Any, Any]:
    """A model in evaluation mode and its tokenizer, loaded by their names.

    Objects stay as they are.

    Args:
        model, tokenizer: Objects, or names or folders, or a GGUF file or the folder of one. The
            name of the model, given as such, is the name of its tokenizer too.
        kind: The class of transformers that loads the model, such as "AutoModelForCausalLM".
        what: What the model must be, for the message.

    Raises:
        InvalidParameter: there is no such model on this machine, the folder holds several GGUF
            files, or a model object was passed without a tokenizer.
        MissingExtra: a name or folder was given and transformers is not installed, or gguf and
            accelerate for a GGUF file.
    """
    if isinstance(model, str):
        package: Any = require("transformers", extra="models")
        tokenizer = tokenizer or model
        name, options = _gguf(model)
        loaded = load_local(
            "model", getattr(package, kind).from_pretrained, name, what, **options
        )
        model = loaded.eval()
    if isinstance(tokenizer, str):
        package = require("transformers", extra="models")
        name, options = _gguf(tokenizer)
        load = package.AutoTokenizer.from_pretrained
        tokenizer = load_local("tokenizer", load, name, what, **options)
    if tokenizer is None:
        raise InvalidParameter(
            "tokenizer must be passed with a model object; got None."
        )
    return model, tokenizer


def load_labelled(
    model: Any, tokenizer: Any, kind: str, what: str
) -> tuple[Any, Any, str]:
    """`load_pair`, and what the model goes by: its name or path, else its class."""
    name = model if isinstance(model, str) else ""
    model, tokenizer = load_pair(model, tokenizer, kind, what)
    label = name or getattr(getattr(model, "config", None), "_name_or_path", "")
    return model, tokenizer, str(label or type(model).__name__)


def pad_of(tokenizer: Any) -> int:
    """The id of the padding token; 0 without one."""
    return getattr(tokenizer, "pad_token_id", None) or 0


def batch_of(
    rows: Sequence[Sequence[int]],
    pad: int,
    device: Any,
    *,
    read: int = 0,
    left: bool = False,
) -> dict[str, Any]:
    """Token ids and attention mask of rows, padded at the right or left. `read` tokens in front of
    each row are in a cache."""
    torch: Any = require("torch", extra="models")
    width = max(map(len, rows))
    ids, mask = [], []
    for row in rows:
        blank = width - len(row)
        before, after = (blank, 0) if left else (0, blank)
        ids.append([pad] * before + [*row] + [pad] * after)
        mask.append([0] * before + [1] * (read + len(row)) + [0] * after)
    return {
        "input_ids": torch.tensor(ids, device=device),
        "attention_mask": torch.tensor(mask, device=device),
    }


def _gguf(name: str) -> tuple[str, dict[str, str]]:
    """The folder of a GGUF file, and the option that names it.

    Of other models the name itself. Such a file stands for itself, or is the only one in a folder
    without a configuration.

    Raises:
        InvalidParameter: the folder holds several.
        MissingExtra: a package that reads such files is not installed.
    """
    path = Path(name)
    if path.suffix.lower() == ".gguf" and path.is_file():
        files = [path]
    elif path.is_dir() and not (path / "config.json").is_file():
        files = sorted(path.glob("*.gguf"))
    else:
        files = []
    if not files:
        return name, {}
    if len(files) > 1:
        names = ", ".join(repr(file.name) for file in files)
        raise InvalidParameter(
            f"model must be one GGUF file; the folder {name!r} holds {names}. Pass the path of one."
        )
    require("gguf", extra="gguf")
    require("accelerate", extra="gguf")
    (file,) = files
    return str(file.parent), {"gguf_file": file.name}


def load_local(
    parameter: str, load: Callable[..., Any], name: str, what: str, **options: Any
) -> Any:
    """Load a name or folder from this machine.

    Raises:
        InvalidParameter: it is not there, or something else.
    """
    try:
        return load(name, local_files_only=True, **options)
    except (OSError, ValueError, KeyError) as error:
        if Path(name).exists():
            raise InvalidParameter(
                f"{parameter} must be a folder or the name of {what}; {name!r} exists but cannot "
                f"be loaded: {error}"
            ) from error
        raise InvalidParameter(
            f"{parameter} must be a folder or the name of {what} on this machine; {name!r} cannot "
            "be loaded, and nothing is downloaded here. Download it first, or pass a loaded one."
        ) from error


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
    return files_label(_files(model))


def files_label(files: Sequence[Path]) -> str:
    """A digest of files by sizes and blocks; "" without any."""
    return f"#{_joined(sorted(map(_file_digest, files)))}" if files else ""


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
