"""The papers' settings as LangChain users reach them."""

from __future__ import annotations

import pytest
from doubles import HashEmbedder, HashTokens
from langchain_core.documents import Document

from langchain_structrag import (
    ContentAwareTextSplitter,
    HiQATransformer,
    IDMSTextSplitter,
    MultiViewRetriever,
    PICTextSplitter,
)
from structrag import HiQASplitter, read_text
from structrag.text.tokens import count_tokens

LONG = "It moves water. " * 400
TITLE = " ".join(f"word{i}" for i in range(81))
NESTED = f"# Manual\n\nIntro.\n\n## {TITLE}\n\nBody.\n\n### Deep\n\nA text.\n"


def test_mcs_splitter_gives_whole_sections_and_flc_300() -> None:
    splitter = ContentAwareTextSplitter.paper(strip_whitespace=False)
    text = f"# A\n\nx\n\n# B\n\n{LONG}"
    assert splitter.split_text(text) == ["# A\n\nx\n\n", f"# B\n\n{LONG}"]
    flat = splitter.split_text(LONG)
    assert len(flat) > 1 and max(map(count_tokens, flat)) <= 300
    less = ContentAwareTextSplitter.paper(flat_chunk_size=100).split_text(LONG)
    assert max(map(count_tokens, less)) <= 100
    with pytest.raises(ValueError, match="flat_chunk_size must be"):
        ContentAwareTextSplitter(flat_chunk_size=0)


@pytest.mark.parametrize("preset", ["paper", "code"])
def test_hiqas_path_is_whole(preset: str) -> None:
    transformer = getattr(HiQATransformer, preset)(add_context=True)
    core = getattr(HiQASplitter, preset)().split(read_text(NESTED, format="markdown"))
    assert transformer.split_text(NESTED)[-1] == core[-1].index_text.strip()
    assert f"Manual > {TITLE}\n" in core[-1].index_text


def test_results_tell_what_pic_saw_and_begin_with_their_heading() -> None:
    retriever = MultiViewRetriever.from_texts(
        ["# Cats\n\nCats purr. Cats sleep. The pump leaks."],
        HashEmbedder(),
        splitter=PICTextSplitter.paper(),
        preset="paper",
        views=["raw"],
        k=1,
    )
    (found,) = retriever.invoke("Cats purr")
    assert found.metadata["pic_relevant"] in (True, False)
    assert found.metadata["pic_threshold"] != 0
    (row,) = [
        i
        for i in range(len(retriever.index.reader()))
        if retriever.index.reader().chunk(i).start == 0
    ]
    assert str(retriever.index.reader().view_text(row, "raw")).startswith("# Cats\n")


def test_results_tell_what_idms_saw() -> None:
    retriever = MultiViewRetriever.from_texts(
        ["Cats purr. Cats sleep. The pump leaks."],
        HashEmbedder(),
        splitter=IDMSTextSplitter(margin="words", chunk_size=40),
        k=1,
    )
    (found,) = retriever.invoke("Cats purr")
    assert found.metadata["idms_margin_source"] == "words"


def test_tfidf_and_token_encoders_are_routes() -> None:
    documents = [Document("The pump leaks."), Document("Cats sleep all day.")]
    retriever = MultiViewRetriever.from_documents(
        documents, HashEmbedder(), routes=["tfidf", HashTokens()], k=1
    )
    (found,) = retriever.invoke("Which pump leaks?")
    assert found.page_content == "The pump leaks."
    assert {"tfidf:raw", "tokens:raw"} <= set(found.metadata["routes"])
