"""What a node tells of a segment of HiQA, and what of it is embedded."""

from __future__ import annotations

import json
from typing import Any

from llama_index.core.schema import TextNode

from llama_index_structrag.keys import INDEX_TEXT_KEY
from structrag.hosts.metadata import HIQA_KEYS, SEGMENT_TEXT_KEY, chunk_notes
from structrag.records import Chunk


def segment_notes(chunk: Chunk) -> dict[str, Any]:
    """A segment's kind, the images it refers to (a JSON list of `file`, `alt` and `title`) and what
    is known of a table or an image."""
    notes = chunk_notes(chunk, HIQA_KEYS)
    if "hiqa_images" in notes:
        notes["hiqa_images"] = json.dumps(notes["hiqa_images"], ensure_ascii=False)
    return notes


def show_index_text(node: TextNode, chunk: Chunk) -> None:
    """Let embedding models see the index text of a table or an image, and language models its text,
    as metadata.

    LlamaIndex has one template for both, so the text leaves the template; `node.text` stays. Plain
    nodes go through every store.
    """
    body, template = chunk.extras.get("reduced"), node.text_template
    if not body or "{metadata_str}" not in template:
        return
    node.metadata.update({INDEX_TEXT_KEY: body, SEGMENT_TEXT_KEY: f"\n{node.text}"})
    node.excluded_llm_metadata_keys.append(INDEX_TEXT_KEY)
    node.excluded_embed_metadata_keys.append(SEGMENT_TEXT_KEY)
    node.text_template = template.replace("{content}", "").strip()
