"""What a node tells of a segment of HiQA, and what of it is embedded."""

from __future__ import annotations

import json
from typing import Any

from llama_index.core.schema import TextNode

from structrag.records import Chunk

INDEX_TEXT_KEY, TEXT_KEY = (
    "segment_index_text",
    "segment_text",
)  # what embedding models see, and what language models see
_NOTES = ("caption", "description", "part", "parts", "header", "degraded", "cut")  # extras of a segment
SEGMENT_KEYS = ("hiqa_kind", "hiqa_images", *(f"hiqa_{name}" for name in _NOTES))


def segment_notes(chunk: Chunk) -> dict[str, Any]:
    """A segment's kind, the images it refers to (a JSON list of `file`, `alt` and `title`) and what is known of a table or an image."""
    notes: dict[str, Any] = {"hiqa_kind": chunk.kind}
    if chunk.extras.get("images"):
        notes["hiqa_images"] = json.dumps(chunk.extras["images"], ensure_ascii=False)
    return {**notes, **{f"hiqa_{name}": chunk.extras[name] for name in _NOTES if chunk.extras.get(name)}}


def show_index_text(node: TextNode, chunk: Chunk) -> None:
    """Let embedding models see the index text of a table or an image, and language models its text, as metadata.

    LlamaIndex has one template for both, so the text leaves the template; `node.text` stays. Plain nodes go through every store.
    """
    body, template = chunk.extras.get("reduced"), node.text_template
    if not body or "{metadata_str}" not in template:
        return
    node.metadata.update({INDEX_TEXT_KEY: body, TEXT_KEY: f"\n{node.text}"})
    node.excluded_llm_metadata_keys.append(INDEX_TEXT_KEY)
    node.excluded_embed_metadata_keys.append(TEXT_KEY)
    node.text_template = template.replace("{content}", "").strip()
