"""HiQANodeParser and HiQAFormatter: what models see of texts, tables and images; Markdown in a
pipeline."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document, SimpleDirectoryReader, VectorStoreIndex
from llama_index.core.ingestion import IngestionCache, IngestionPipeline
from llama_index.core.schema import MetadataMode, TextNode
from llama_index_fakes import HashEmbedding, ScriptedLLM

from llama_index_structrag import (
    ContentAwareNodeParser,
    HiQAFormatter,
    HiQANodeParser,
)

MANUAL = """# Pump A

Intro text of the pump.

## Data

Electrical values at 25 C.

| Name | Value |
|---|---|
| Voltage | 12 V |
| Current | 300 mA |

Values are typical.

![Wiring of the pump](img/wiring.png "Plan")

Figure 1: wiring.

See the picture above.
"""
TABLE = "| Name | Value |\n|---|---|\n| Voltage | 12 V |\n| Current | 300 mA |"
PLAIN = "1 INTRODUCTION\n\nSome words here.\n\n2 METHODS\n\nMore words.\n"


def parse(
    text: str, parser: HiQANodeParser | None = None, **metadata: Any
) -> list[Any]:
    return (parser or HiQANodeParser()).get_nodes_from_documents(
        [Document(text=text, id_="d", metadata=metadata)]
    )


def seen(node: TextNode, mode: MetadataMode) -> str:
    return node.get_content(metadata_mode=mode)


def of_kind(nodes: list[Any], kind: str) -> list[Any]:
    return [node for node in nodes if node.metadata["hiqa_kind"] == kind]


def shout(address: str) -> str:
    return f"A drawing in {address}"


def test_a_table_is_embedded_by_its_labels_and_read_in_full() -> None:
    (table,) = of_kind(parse(MANUAL, year=2020), "table")
    assert table.text == TABLE
    assert MANUAL[table.start_char_idx : table.end_char_idx] == TABLE
    assert seen(table, MetadataMode.EMBED) == (
        "2020\nPump A > Data\nElectrical values at 25 "
        "C.\nName | Value\nVoltage\nCurrent\n"
        "Values are typical."
    )
    assert seen(table, MetadataMode.LLM) == f"2020\nPump A > Data\n{TABLE}"
    assert seen(table, MetadataMode.NONE) == TABLE


def test_an_image_is_embedded_by_its_words_and_can_be_shown() -> None:
    (image,) = of_kind(parse(MANUAL), "image")
    assert json.loads(image.metadata["hiqa_images"]) == [
        {"file": "img/wiring.png", "alt": "Wiring of the pump", "title": "Plan"}
    ]
    assert image.metadata["hiqa_caption"] == "Figure 1: wiring."
    assert "Figure 1: wiring." in seen(
        image, MetadataMode.EMBED
    ) and "img/wiring.png" not in seen(image, MetadataMode.EMBED)
    assert seen(image, MetadataMode.LLM).endswith(
        '![Wiring of the pump](img/wiring.png "Plan")'
    )


def test_language_models_see_each_title_once() -> None:
    first, data, *_ = of_kind(parse(MANUAL), "text")
    assert (
        seen(first, MetadataMode.LLM)
        == first.text
        == "# Pump A\n\nIntro text of the pump."
    )
    assert (
        seen(data, MetadataMode.LLM)
        == "heading_context: Pump A\n\n## Data\n\nElectrical values at 25 C."
    )
    assert all(
        seen(node, MetadataMode.LLM).count("Pump A") == 1 for node in parse(MANUAL)
    )


def test_settings_make_a_round_trip_and_functions_are_passed_again() -> None:
    parser = HiQANodeParser(chunk_size=64, table_cells=True, exclude_titles=["Data"])
    for other in (
        HiQANodeParser.from_dict(parser.to_dict()),
        pickle.loads(pickle.dumps(parser)),
    ):
        assert other.to_dict() == parser.to_dict() and parse(MANUAL, other) == parse(
            MANUAL, parser
        )
    told = HiQANodeParser(describe_image=shout).to_dict()
    assert told != HiQANodeParser().to_dict()
    with pytest.raises(ValueError, match="describe_image must be passed again"):
        HiQANodeParser.from_dict(told)
    assert HiQANodeParser.from_dict(told, describe_image=shout).to_dict() == told
    with pytest.raises(
        ValueError, match="describe_image must be a module-level function"
    ):
        pickle.dumps(HiQANodeParser(describe_image=lambda address: "x"))
    with pytest.raises(ValueError, match="describe_image must be a function from"):
        HiQANodeParser(describe_image=3)


def test_nodes_keep_both_texts_through_a_pipelines_cache_and_a_store() -> None:
    pipeline = IngestionPipeline(
        transformations=[HiQANodeParser()], cache=IngestionCache(), disable_cache=False
    )
    document = Document(text=MANUAL, id_="d")
    first, again = (
        pipeline.run(documents=[document]),
        pipeline.run(documents=[document]),
    )
    for mode in (MetadataMode.EMBED, MetadataMode.LLM, MetadataMode.NONE):
        assert [seen(node, mode) for node in first] == [
            seen(node, mode) for node in again
        ]
    index = VectorStoreIndex(first, embed_model=HashEmbedding())
    best = (
        index.as_retriever(similarity_top_k=1)
        .retrieve("Electrical values name value voltage current typical")[0]
        .node
    )
    assert best.text == TABLE and TABLE in seen(best, MetadataMode.LLM)


def test_another_parser_behind_it_takes_nothing_over_that_is_not_its_own() -> None:
    nodes = HiQANodeParser()([Document(text=MANUAL, id_="d")])
    again = ContentAwareNodeParser()(nodes)
    assert [node.text for node in again] == [node.text for node in nodes]
    assert not any(
        key.startswith(("segment_", "hiqa_")) for node in again for key in node.metadata
    )
    assert all(seen(node, MetadataMode.EMBED).endswith(node.text) for node in again)


# -- the formatter


def formatted(
    text: str, formatter: HiQAFormatter | None = None, **metadata: Any
) -> Any:
    (made,) = (formatter or HiQAFormatter())(
        [Document(text=text, id_="d", metadata=metadata)]
    )
    return made


async def test_the_formatter_is_native_async_in_a_pipeline() -> None:
    llm = ScriptedLLM(
        prompts=[],
        answer="# 1 Introduction\n\nSome words here.\n\n# 2 Methods\n\nMore words.",
    )
    pipeline = IngestionPipeline(
        transformations=[HiQAFormatter(llm=llm), HiQANodeParser()]
    )
    documents = [
        Document(text=text, id_=text[-6:])
        for text in (PLAIN, PLAIN.replace("\n\n", "\n\n\n"))
    ]
    found = await pipeline.arun(documents=documents)
    assert llm.async_calls == 2
    assert [node.metadata["heading_path"] for node in found] == [
        "1 Introduction",
        "2 Methods",
    ] * 2
    assert found == IngestionPipeline(
        transformations=[HiQAFormatter(llm=llm), HiQANodeParser()]
    ).run(documents=documents)


def test_models_and_prompts_are_told_apart_by_the_pipelines_cache() -> None:
    formatters = [
        HiQAFormatter(),
        HiQAFormatter(llm=ScriptedLLM()),
        HiQAFormatter(llm=ScriptedLLM(temperature=1.0)),
        HiQAFormatter(llm=ScriptedLLM(), prompt="Format it."),
        HiQAFormatter(llm=ScriptedLLM(), preset="paper"),
    ]
    told = [str(formatter.to_dict()) for formatter in formatters]
    assert len(set(told)) == len(told) and not any("sk-secret" in text for text in told)
    assert HiQAFormatter.from_dict(formatters[0].to_dict()) == formatters[0]
    with pytest.raises(ValueError, match="llm must be passed again"):
        HiQAFormatter.from_dict(formatters[1].to_dict())
    assert (
        pickle.loads(pickle.dumps(formatters[3])).to_dict() == formatters[3].to_dict()
    )


# -- files


def test_files_are_read_by_their_suffix(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\ufeff".encode() + PLAIN.encode())
    (tmp_path / "b.html").write_text(
        "<html><body><h1>T</h1><p>One.</p></body></html>", encoding="utf-8"
    )
    reader = HiQAFormatter()
    (made,) = reader.load_data(tmp_path / "a.txt", extra_info={"year": 2020})
    assert (
        made.text == formatted(PLAIN).text
        and made.id_ == str(tmp_path / "a.txt")
        and made.metadata["year"] == 2020
    )
    extractors = {".txt": reader, ".html": reader}
    found = SimpleDirectoryReader(
        str(tmp_path), file_extractor=extractors, raise_on_error=True
    ).load_data()
    assert [document.text.split("\n")[0] for document in found] == [
        "# 1 INTRODUCTION",
        "# T",
    ]
    assert all(document.metadata["text_format"] == "markdown" for document in found)
    with pytest.raises(ValueError, match="Cannot read"):
        reader.load_data(tmp_path / "none.txt")
