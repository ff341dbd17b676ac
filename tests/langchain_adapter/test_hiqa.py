"""HiQATransformer: exact passages, index texts, images, limits."""

from __future__ import annotations

import pickle

from langchain_core.documents import Document

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
