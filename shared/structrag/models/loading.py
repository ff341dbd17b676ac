"""Loading models of transformers from this machine; nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    given = model if isinstance(model, str) else ""
    model, tokenizer = load_pair(model, tokenizer, kind, what)
    label = given or getattr(getattr(model, "config", None), "_name_or_path", "")
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
    """What a name or folder stands for on this machine.

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
