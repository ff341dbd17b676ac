"""What a user can import: public names, classes and parameters of constructors, by package.

python scripts/public.py
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil

TOPS = ("structrag", "langchain_structrag", "llama_index_structrag")


def packages() -> list[str]:
    """The three packages, then the rooms of the core that name what is public in them."""
    core = importlib.import_module("structrag")
    rooms = [
        f"structrag.{room.name}"
        for room in pkgutil.iter_modules(core.__path__)
        if room.ispkg
    ]
    return [
        *TOPS,
        *(room for room in rooms if hasattr(importlib.import_module(room), "_HOMES")),
    ]


def parameters(value: type) -> int:
    """How many arguments the constructor takes; `self` and catch-alls are none."""
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if issubclass(value, Exception):
        return 0
    signature = inspect.signature(value)
    return sum(each.kind not in kinds for each in signature.parameters.values())


def main() -> None:
    """Print the table; a name that stands in two packages counts in the first."""
    print(f"{'':28}{'names':>7}{'classes':>9}{'parameters':>12}")
    seen: set[int] = set()
    total = [0, 0, 0]
    for package in packages():
        module = importlib.import_module(package)
        values = [getattr(module, name) for name in module.__all__]
        values = [value for value in values if id(value) not in seen]
        seen.update(map(id, values))
        classes = [value for value in values if inspect.isclass(value)]
        row = [len(values), len(classes), sum(map(parameters, classes))]
        total = [old + new for old, new in zip(total, row, strict=True)]
        print(f"{package:28}{row[0]:7}{row[1]:9}{row[2]:12}")
    print(f"{'all':28}{total[0]:7}{total[1]:9}{total[2]:12}")


if __name__ == "__main__":
    main()
