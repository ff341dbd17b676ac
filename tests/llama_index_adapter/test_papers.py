"""The papers' settings as LlamaIndex users reach them."""

from __future__ import annotations

import pytest
from doubles import HashTokens
from llama_index.core import Document
from llama_index.core.schema import MetadataMode
from llama_index_fakes import HashEmbedding
from samples import dense_document

from llama_index_structrag import (
    ContentAwareNodeParser,
    HiQANodeParser,
    IDMSNodeParser,
    MultiViewRetriever,
    PICNodeParser,
)
from structrag import IDMSEnricher

LONG = "It moves water. " * 400
TITLE = " ".join(f"word{i}" for i in range(81))
NESTED = f"# Manual\n\nIntro.\n\n## {TITLE}\n\nBody.\n\n### Deep\n\nA text.\n"


def words(text: str) -> list[str]:
    return text.split()


def test_mcs_parser_gives_whole_sections_and_flc_300() -> None:
    parser = ContentAwareNodeParser.paper(strip=False, tokenizer=words)
    text = f"# A\n\nx\n\n# B\n\n{LONG}"
    nodes = parser.get_nodes_from_documents([Document(text=text)])
    assert [node.text for node in nodes] == ["# A\n\nx\n\n", f"# B\n\n{LONG}"]
    assert all(not node.metadata["heading_context"] for node in nodes)
    flat = parser.get_nodes_from_documents([Document(text=LONG)])
    assert len(flat) > 1 and max(len(words(node.text)) for node in flat) <= 300


@pytest.mark.parametrize("preset", ["paper", "code"])
def test_hiqas_path_is_whole(preset: str) -> None:
    parser = getattr(HiQANodeParser, preset)()
    node = parser.get_nodes_from_documents([Document(text=NESTED)])[-1]
    assert node.metadata["heading_context"] == f"Manual > {TITLE}"


def test_tables_are_embedded_as_in_langchain_without_names_of_keys() -> None:
    table = "# Sizes\n\n| part | mm |\n|---|---|\n| A | 1 |\n"
    (node,) = HiQANodeParser().get_nodes_from_documents([Document(text=table)])
    embedded = node.get_content(metadata_mode=MetadataMode.EMBED)
    assert embedded == "Sizes\npart | mm\nA"
    read = node.get_content(metadata_mode=MetadataMode.LLM)
    assert "| A | 1 |" in read and "segment" not in read


def test_the_reader_of_a_reduced_node_gets_the_shorter_text() -> None:
    enrich = IDMSEnricher(low=99.0, high=99.5, supplement=False, min_tokens=0)
    parser = IDMSNodeParser(
        embed_model=HashEmbedding(),
        margin="words",
        enrich=enrich,
        add_context=False,
        chunk_size=120,
    )
    source = Document(text=dense_document()[0].text)
    nodes = parser.get_nodes_from_documents([source])
    reduced = [n for n in nodes if n.metadata["idms_action"] == "reduced"]
    assert reduced
    for node in reduced:
        for mode in (MetadataMode.EMBED, MetadataMode.LLM):
            shown = node.get_content(metadata_mode=mode)
            assert shown == node.metadata["idms_reduced"]
        place = slice(node.start_char_idx, node.end_char_idx)
        assert source.text[place] == node.text


def test_results_tell_what_pic_saw() -> None:
    retriever = MultiViewRetriever.from_documents(
        [Document(text="# Cats\n\nCats purr. Cats sleep. The pump leaks.")],
        embed_model=HashEmbedding(),
        node_parser=PICNodeParser.paper(),
        preset="paper",
        similarity_top_k=1,
    )
    for scored in retriever.retrieve("Cats purr"):
        assert scored.node.metadata["pic_relevant"] in (True, False)
        assert "pic_relevant" not in scored.node.get_content(MetadataMode.LLM)


def test_tfidf_and_token_encoders_are_routes() -> None:
    retriever = MultiViewRetriever.from_documents(
        [Document(text="The pump leaks."), Document(text="Cats sleep all day.")],
        embed_model=HashEmbedding(),
        routes=["tfidf", HashTokens()],
        similarity_top_k=1,
    )
    (scored,) = retriever.retrieve("Which pump leaks?")
    assert scored.node.text == "The pump leaks."
    assert {"tfidf:raw", "tokens:raw"} <= set(scored.node.metadata["routes"])
