"""What tells two LangChain models apart: for cache keys and saved indexes."""

from __future__ import annotations

from typing import Any

# What tells two models or settings apart, and never a secret.
MODEL_FIELDS = ("model", "model_name", "model_id", "repo_id", "deployment_name", "azure_deployment", "endpoint_name")
SETTING_FIELDS = (
    "temperature", "top_p", "top_k", "max_tokens", "seed", "reasoning_effort",
    "dimensions", "output_dimensionality", "task_type", "size", "query_instruction", "embed_instruction",
)  # fmt: skip


def model_name(model: Any) -> str:
    """Class, model name and settings, such as `ChatOpenAI(model='gpt-4o', temperature=0)`; equal in every process."""
    settings: dict[str, Any] = {}
    while hasattr(model, "bound") and hasattr(model, "kwargs"):  # model.bind(...) and with_config
        settings = {**_settings(model.kwargs.get), **settings}
        model = model.bound
    settings = {**_settings(lambda name: getattr(model, name, None)), **settings}
    return f"{type(model).__name__}({', '.join(f'{name}={value!r}' for name, value in settings.items())})"


def _settings(read: Any) -> dict[str, Any]:
    found = {name: read(name) for name in (*MODEL_FIELDS, *SETTING_FIELDS)}
    return {name: value for name, value in found.items() if isinstance(value, str | int | float)}
