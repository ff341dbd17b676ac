"""For a Python that has docling: documents as JSON on standard input, their hybrid chunks as JSON
on standard output.

Input: [{"format": "markdown" or "html", "text": ...}, ...]; output: for each a list of [text,
headings joined by line ends]. Nothing is downloaded: the folder of all-MiniLM-L6-v2, whose
tokenizer is docling's default, is the only argument.
"""

from __future__ import annotations

import json
import sys
from io import BytesIO

SUFFIX = {"markdown": "md", "html": "html"}


def main() -> None:
    """Read, chunk, write."""
    from docling.chunking import HybridChunker
    from docling.datamodel.base_models import DocumentStream, InputFormat
    from docling.document_converter import DocumentConverter
    from docling_core.transforms.chunker.tokenizer.huggingface import (
        HuggingFaceTokenizer,
    )
    from transformers import AutoTokenizer

    converter = DocumentConverter(allowed_formats=[InputFormat.MD, InputFormat.HTML])
    tokenizer = HuggingFaceTokenizer(
        tokenizer=AutoTokenizer.from_pretrained(sys.argv[1]), max_tokens=256
    )
    chunker = HybridChunker(tokenizer=tokenizer)
    found = []
    for number, source in enumerate(json.load(sys.stdin)):
        stream = BytesIO(source["text"].encode("utf-8"))
        name = f"{number}.{SUFFIX[source['format']]}"
        document = converter.convert(DocumentStream(name=name, stream=stream)).document
        found.append(
            [
                [chunk.text, "\n".join(chunk.meta.headings or ())]
                for chunk in chunker.chunk(document)
            ]
        )
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
