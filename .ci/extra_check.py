"""What an extra brings, used once, with nothing else there: `python .ci/extra_check.py EXTRA`."""

import sys
import tempfile
import zipfile
from pathlib import Path

import structrag

TEXT = (
    "# Pump\n\nThe pump moves water. It has a filter.\n\n"
    "## Cleaning\n\nRinse the filter. Dry it.\n"
)
QUESTION = "How do I rinse the filter?"
PDF = b"""%PDF-1.4
1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj
2 0 obj <</Type /Pages /Kids [3 0 R] /Count 1>> endobj
3 0 obj <</Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R
/Resources <</Font <</F 5 0 R>>>>>> endobj
4 0 obj <</Length 45>> stream
BT /F 12 Tf 20 200 Td (Rinse the filter.) Tj ET
endstream endobj
5 0 obj <</Type /Font /Subtype /Type1 /BaseFont /Helvetica>> endobj
trailer <</Root 1 0 R>>
%%EOF
"""


def langchain(folder: Path) -> str:
    from langchain_core.documents import Document
    from langchain_core.embeddings import DeterministicFakeEmbedding

    from langchain_structrag import ContentAwareTextSplitter, MultiViewRetriever

    ContentAwareTextSplitter(chunk_size=200, chunk_overlap=0).split_text(TEXT)
    embedding = DeterministicFakeEmbedding(size=8)
    retriever = MultiViewRetriever.from_documents([Document(TEXT)], embedding, k=1)
    return str(retriever.invoke(QUESTION)[0].page_content)


def llama_index(folder: Path) -> str:
    from llama_index.core import Document, MockEmbedding

    from llama_index_structrag import ContentAwareNodeParser, MultiViewRetriever

    ContentAwareNodeParser(chunk_size=50).get_nodes_from_documents(
        [Document(text=TEXT)]
    )
    retriever = MultiViewRetriever.from_documents(
        [Document(text=TEXT)],
        embed_model=MockEmbedding(embed_dim=8),
        similarity_top_k=1,
    )
    return str(retriever.retrieve(QUESTION)[0].node.get_content())


def models(folder: Path) -> str:
    """No weights are here, so this loads the packages and asks for a model that is not there."""
    import sentence_transformers
    import torch
    import transformers

    try:
        structrag.SentenceTransformerEmbedder(str(folder)).embed([TEXT])
    except structrag.StructragError as error:
        packages = (torch, transformers, sentence_transformers)
        return f"{' '.join(package.__version__ for package in packages)}, {error}"
    sys.exit("an empty folder passed for a model")


def gguf(folder: Path) -> str:
    from structrag.models import TransformersMargin

    (folder / "empty.gguf").write_bytes(b"GGUF" + bytes(60))
    try:
        TransformersMargin(str(folder / "empty.gguf"))
    except structrag.errors.InvalidParameter as error:
        return str(error)
    sys.exit("an empty file passed for a model")


def lancedb(folder: Path) -> str:
    return engine(f"lancedb:{folder / 'corpus'}")


def milvus(folder: Path) -> str:
    return engine(f"milvus:{folder / 'corpus.db'}")


def engine(address: str) -> str:
    letters = structrag.FunctionEmbedder(
        lambda texts: [
            [float(text.count(letter)) for letter in "aeinost"] for text in texts
        ],
        name="letters",
    )
    index = structrag.Index(embedder=letters, store=address)
    index.add([structrag.read_text(TEXT, id="pump")])
    return structrag.MultiViewRetriever(index, k=1).search(QUESTION)[0].chunk.text


def ray(folder: Path) -> str:
    (folder / "pump.md").write_text(TEXT, encoding="utf-8")
    return str(
        structrag.ingest(folder / "pump.md", folder / "index", workers=1, runner="ray")
    )


def static(folder: Path) -> str:
    import numpy as np
    from model2vec import StaticModel
    from tokenizers import Tokenizer, models, pre_tokenizers

    from structrag.models import StaticEmbedder

    vocabulary = {word: i for i, word in enumerate(["[UNK]", "pump", "filter"])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    rows = np.array([[0, 0], [1, 0], [0, 1]], dtype=np.float32)
    model = StaticEmbedder(StaticModel(rows, tokenizer))
    return str(
        structrag.PICSplitter(boundary_embedder=model).split(structrag.read_text(TEXT))[
            0
        ]
    )


def onnx(folder: Path) -> str:
    """No weights are here, so this loads the packages and asks for a model that is not there."""
    try:
        structrag.models.OnnxEncoder(str(folder))
    except structrag.errors.InvalidParameter as error:
        return str(error)
    sys.exit("an empty folder passed for a model")


def cli(folder: Path) -> str:
    from structrag.cli import main

    (folder / "pump.md").write_text(TEXT, encoding="utf-8")
    try:
        main(["search", str(folder / "pump.md"), "--query", QUESTION])
    except SystemExit as stop:
        if stop.code:
            raise
    return "searched"


def mcp(folder: Path) -> str:
    from structrag.cli.index_folder import IndexFolder
    from structrag.cli.mcp_server import Library, server_of

    (folder / "pump.md").write_text(TEXT)
    library = Library(IndexFolder(None), [folder])
    return f"{server_of(library).name}: {library.find(QUESTION, 1, None)[0]['text']}"


def pdf(folder: Path) -> str:
    (folder / "pump.pdf").write_bytes(PDF)
    text = structrag.read_file(folder / "pump.pdf").text
    if "Rinse the filter." not in text:
        sys.exit(f"the page was read as {text!r}")
    return text


def paper(folder: Path) -> str:
    index = structrag.Index(preset="paper", views=["raw"])
    index.add([structrag.read_text(TEXT)])
    (hit, *_) = index.search("filter", route="bm25")
    structrag.MultiViewRetriever(index, routes=["tfidf"]).search("filter")
    return f"{sys.modules['rank_bm25'].__name__} scores {hit.score}"


def docling(folder: Path) -> str:
    """No weights are here, so this makes the converter and converts nothing."""
    from docling.document_converter import DocumentConverter

    return type(DocumentConverter()).__name__


def code(folder: Path) -> str:
    (folder / "pump.py").write_text(
        "class Pump:\n    def start(self):\n        return 1\n"
    )
    document = structrag.read_file(folder / "pump.py")
    titles = [section.title for section in structrag.parse(document).sections]
    if titles != ["", "Pump", "start"]:
        sys.exit(f"the sections are {titles}")
    return ", ".join(titles[1:])


def sheets(folder: Path) -> str:
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text")
    )
    content = (
        f"<office:document-content {spaces}><office:body><office:spreadsheet>"
        '<table:table table:name="Pumps"><table:table-row><table:table-cell '
        'office:value-type="string"><text:p>Seal</text:p></table:table-cell>'
        "</table:table-row></table:table></office:spreadsheet></office:body>"
        "</office:document-content>"
    )
    with zipfile.ZipFile(folder / "pump.ods", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr("content.xml", content)
    text = structrag.read_file(folder / "pump.ods").text
    if text != "# Pumps\n\nSeal\n":
        sys.exit(f"the sheet was read as {text!r}")
    return text


CHECKS = {
    "langchain": langchain,
    "llama-index": llama_index,
    "models": models,
    "gguf": gguf,
    "onnx": onnx,
    "static": static,
    "lancedb": lancedb,
    "milvus": milvus,
    "ray": ray,
    "cli": cli,
    "mcp": mcp,
    "pdf": pdf,
    "paper": paper,
    "code": code,
    "sheets": sheets,
    "docling": docling,
}

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write(
            f"{sys.argv[1]} works: {CHECKS[sys.argv[1]](Path(folder))[:200]}\n"
        )
