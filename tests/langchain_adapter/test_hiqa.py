"""HiQATransformer: exact passages, index texts, images, limits."""

from __future__ import annotations

import json
import pickle

from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_text_splitters import TextSplitter

from langchain_structrag import HiQATransformer

TEXT = (
    "# LM358\n\nA dual amplifier.\n\n## Limits\n\nThese must not be passed.\n\nTable 1: Ratings\n\n"
    "| Rating | Value |\n|---|---|\n| Supply voltage | 32 V |\n| Power | 830 mW |\n\nBeyond them "
    "it breaks.\n\n"
    '## Pins\n\nThe package has eight pins.\n\n![Pin layout](img/pins.png "Top view")\n\nFigure 2: '
    "pins from above\n\n"
    "See ![icon](img/icon.png) for more.\n"
)
PARENT = Document(page_content=TEXT, metadata={"source": "lm358.md", "tags": ["x"]})


def by_kind(documents: list[Document]) -> dict[str, Document]:
    return {document.metadata["hiqa_kind"]: document for document in documents}


def test_segments_are_exact_slices_with_path_kind_and_images() -> None:
    transformer = HiQATransformer()
    assert isinstance(transformer, BaseDocumentTransformer) and isinstance(
        transformer, TextSplitter
    )
    segments = list(transformer.transform_documents([PARENT]))
    for segment in segments:
        assert (
            segment.page_content
            == TEXT[segment.metadata["start_index"] : segment.metadata["end_index"]]
        )
        assert json.loads(json.dumps(segment.metadata)) == segment.metadata
        assert segment.metadata["source"] == "lm358.md"
        assert (
            segment.metadata["table_header"] == ""
            and "segment_text" not in segment.metadata
        )
    table, image = by_kind(segments)["table"], by_kind(segments)["image"]
    assert "32 V" in table.page_content
    assert table.metadata["heading_path"] == "LM358 > Limits"
    assert table.metadata["hiqa_caption"] == "Table 1: Ratings"
    assert json.loads(image.metadata["hiqa_images"]) == [
        {"file": "img/pins.png", "alt": "Pin layout", "title": "Top view"}
    ]
    inline = segments[-1]
    assert (
        inline.metadata["hiqa_kind"] == "text"
        and json.loads(inline.metadata["hiqa_images"])[0]["file"] == "img/icon.png"
    )
    assert len({segment.id for segment in segments}) == len(segments)
    assert [s.id for s in transformer.split_documents([PARENT])] == [
        s.id for s in segments
    ]
    segments[0].metadata["tags"].append("y")
    assert PARENT.metadata["tags"] == ["x"]


async def test_other_ways_in_and_out() -> None:
    transformer = HiQATransformer(chunk_size=40)
    segments = transformer.split_documents([PARENT])
    assert list(await transformer.atransform_documents([PARENT])) == segments
    assert transformer.split_text(TEXT) == [s.page_content for s in segments]
    assert pickle.loads(pickle.dumps(transformer)).split_documents([PARENT]) == segments
    in_tokens = HiQATransformer.from_tiktoken_encoder(
        "cl100k_base", chunk_size=30, add_context=True
    )
    contents = [s.page_content for s in in_tokens.split_documents([PARENT])]
    assert contents and max(map(in_tokens._length_function, contents)) <= 30
    assert transformer.transform_documents([]) == []
    assert transformer.create_documents(["", " \n"]) == []
