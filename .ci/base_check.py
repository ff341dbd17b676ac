"""The base install, without any extra: nothing optional is there, and splitting, indexing, saving
and searching work."""

import sys
import tempfile
from importlib.util import find_spec

import structrag

for module in (
    "scipy",
    "sklearn",
    "nltk",
    "torch",
    "langchain_core",
    "llama_index",
    "sentence_transformers",
    "typer",
    "bm25s",
):
    if find_spec(module) is not None:
        sys.exit(f"{module} is installed, so this is not the base install")

document = structrag.read_text(
    "# Pump\n\n## Cleaning\n\nRinse the filter.\n\n## Storage\n\nKeep it dry.\n",
    id="manual",
)
chunks = structrag.ContentAwareSplitter().split(document)
if "".join(chunk.text for chunk in chunks) != document.text:
    sys.exit("the chunks do not tile the document")
index = structrag.Index()
index.add([document])
with tempfile.TemporaryDirectory() as folder:
    index.save(f"{folder}/index")
    loaded_index = structrag.Index.load(f"{folder}/index")
    hit = structrag.MultiViewRetriever(loaded_index).search(
        "where do I keep the pump", k=1
    )[0]
if hit.chunk.path != ("Pump", "Storage"):
    sys.exit(f"the wrong section was found: {hit.chunk.path}")
sys.stdout.write(f"base install works: {hit.chunk.path}\n")
