"""A type checker finds wrong names and types in code that uses the packages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

CLIENT = """
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import FakeListChatModel
from llama_index.core import Document as Node
from llama_index.core import MockEmbedding, SimpleDirectoryReader
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.vector_stores import SimpleVectorStore

import langchain_structrag as lc
import llama_index_structrag as li
from structrag import (
    HiQASplitter,
    IDMSSplitter,
    Index,
    MultiViewRetriever,
    PICSplitter,
    models,
    read_file,
)

documents = [Document("x")]
embedding = DeterministicFakeEmbedding(size=4)
good = lc.MultiViewRetriever.from_documents(documents, embedding, k=4, fusion="union", cache="c")
lc.HiQARetriever.from_documents(documents, embedding, alpha=0.5, max_tokens=10)
lc.D3Retriever.from_texts(["x"], embedding, strategy="fused")
lc.EvidenceRetriever.load("path", embedding, context="none")
lc.ContentAwareTextSplitter(chunk_size=9, metadata_lists=True)
nodes = [Node(text="x")]
li.MultiViewRetriever.from_documents(nodes, embed_model=MockEmbedding(4), similarity_top_k=4)
li.EvidenceRetriever.from_documents(nodes, max_tokens=9, show_progress=True)
li.ContentAwareNodeParser(chunk_size=9)
Index(batch_size=3, progress=True)
lc.PICTextSplitter(embedding, threshold_sd=1.0, cache=None, format="text")
lc.PICTextSplitter.paper(scope="section", chunk_size=900)
lc.IDMSTextSplitter(merge="greedy", enrich="reduce", language="german")
lc.HiQATransformer(table_cells=True, add_start_index=False)
lc.HiQAFormatter(window_words=100, max_calls=3)
PICSplitter.paper(max_tokens=100)
HiQASplitter.paper(metadata="none")
read_file("a.pdf", title="A", password="b")
loaded = lc.StructragLoader("docs", isolated=True).load()
lc.MultiViewRetriever.from_documents(loaded, embedding, k=2).as_tool(name="search").invoke("x")
lc.SelfAsk(good, FakeListChatModel(responses=["x"]), max_followups=2).as_tool()
lc.EvidenceCompressor(embedding=embedding, max_tokens=9)
found = good.invoke("x", where={"year": 2024})[0].metadata["heading_path"]
parser = li.ContentAwareNodeParser.from_defaults(chunk_size=9)
IngestionPipeline(transformations=[parser, li.HiQANodeParser(), li.PICNodeParser()])
reader = li.StructragReader(reader="layout")
SimpleDirectoryReader("docs", file_extractor={".pdf": reader})
hits = li.HiQARetriever.from_documents(nodes, embed_model=MockEmbedding(4), k=3, where={"a": 1})
RetrieverQueryEngine.from_args(hits, node_postprocessors=[li.EvidencePostprocessor()])
li.MultiViewRetriever.from_documents(nodes, vector_store=SimpleVectorStore(), splitter=parser)

lc.PICTextSplitter(thresholds=1.0)  # wrong
lc.PICTextSplitter(max_tokens=100)  # wrong
lc.PICTextSplitter.paper(chunk_sise=900)  # wrong
lc.IDMSTextSplitter(merge=3)  # wrong
lc.IDMSTextSplitter.paper(target=3)  # wrong
lc.HiQATransformer(table_cell=True)  # wrong
lc.HiQAFormatter(window_word=100)  # wrong
PICSplitter.paper(max_token=100)  # wrong
IDMSSplitter.paper(theta=0.0)  # wrong
HiQASplitter.paper(metadata=3)  # wrong
read_file("a.pdf", titel="A")  # wrong
lc.MultiViewRetriever.from_documents(documents, embedding, fusionn="rrf")  # wrong
lc.MultiViewRetriever.from_documents(documents, embedding, k="four")  # wrong
lc.MultiViewRetriever(index=good.index, kk=3)  # wrong
lc.HiQARetriever.from_documents(documents, embedding, embedings=3)  # wrong
lc.D3Retriever.from_texts(["x"], embedding, vector_store=None)  # wrong
lc.EvidenceRetriever.load("path", embedding, max_token=3)  # wrong
lc.ContentAwareTextSplitter(flat_metadata=True)  # wrong
li.MultiViewRetriever.from_documents(nodes, similarity_top_kk=4)  # wrong
li.MultiViewRetriever.from_documents(nodes, similarity_top_k="four")  # wrong
li.HiQARetriever.load("path", storage_context=None)  # wrong
li.D3Retriever.from_documents(nodes, node_parsers=None)  # wrong
li.ContentAwareNodeParser(chunk_sise=9)  # wrong
Index(batchsize=3)  # wrong
Index.load("path", dense_stor=None)  # wrong
MultiViewRetriever(Index(), kk=3)  # wrong
lc.MultiViewRetreiver  # wrong
li.ContentAwareNodePaser  # wrong
models.MonoT6  # wrong
lc.StructragLoader("docs", isolate=True)  # wrong
lc.MultiViewRetriever.from_documents(loaded, embedding, top_k=2)  # wrong
lc.SelfAsk(good, FakeListChatModel(responses=["x"]), max_followup=2)  # wrong
lc.EvidenceCompressor(embedding=embedding, max_token=9)  # wrong
li.StructragReader(readers="layout")  # wrong
li.EvidencePostprocessor(max_token=9)  # wrong
li.HiQARetriever.from_documents(nodes, kk=3)  # wrong
"""
COMMANDS = [["mypy", "--strict"], ["pyright", "--pythonpath", sys.executable]]
WRONG = {
    i for i, line in enumerate(CLIENT.splitlines(), start=1) if line.endswith("# wrong")
}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_wrong_names_and_types_are_found(command: list[str], tmp_path: Path) -> None:
    pytest.importorskip(
        command[0], reason=f"{command[0]} is not installed: pip install it"
    )
    client = tmp_path / "client.py"
    client.write_text(CLIENT, encoding="utf-8")
    (tmp_path / "pyrightconfig.json").write_text(
        f'{{"extraPaths": ["{ROOT}", "{ROOT / "shared"}"]}}', encoding="utf-8"
    )
    run = subprocess.run(
        [sys.executable, "-m", *command, str(client)],
        cwd=ROOT if command[0] == "mypy" else tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line.partition("client.py:")[2] for line in run.stdout.splitlines()]
    found = {int(line.split(":")[0]) for line in lines if "error" in line}
    assert found == WRONG, run.stdout + run.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "package", ["structrag", "langchain_structrag", "llama_index_structrag"]
)
def test_the_types_of_public_names_are_said(package: str) -> None:
    pytest.importorskip("pyright", reason="pyright is not installed: pip install it")
    command = [
        "pyright",
        "--pythonpath",
        sys.executable,
        "--ignoreexternal",
        "--outputjson",
    ]
    run = subprocess.run(
        [sys.executable, "-m", *command, "--verifytypes", package],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "shared", ROOT))),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    said = json.loads(run.stdout)["typeCompleteness"]
    unsaid = [symbol["name"] for symbol in said["symbols"] if not symbol["isTypeKnown"]]
    assert said["completenessScore"] > 0.99, unsaid
