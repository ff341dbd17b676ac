"""What of a segment of HiQA models see."""

from __future__ import annotations

from llama_index.core.schema import TextNode

from llama_index_structrag.keys import INDEX_TEXT_KEY
from structrag.hosts.metadata import SEGMENT_TEXT_KEY
from structrag.records import Chunk


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
