"""A digest of the chunks of the project's own pages, the same on every machine.

    python .ci/chunk_digest.py

Installed packages, Python's release and the system must not change it: the tests compare the digest
of this environment with that of one without LlamaIndex and NLTK.
"""

import sys
from hashlib import sha256
from pathlib import Path

from structrag import ContentAwareSplitter, FixedSplitter, HiQASplitter, read_file

PAGES = sorted((Path(__file__).resolve().parents[1] / "docs").glob("*.md"))


def digest() -> str:
    """16 hexadecimal digits of the ids and texts of all chunks."""
    whole = sha256()
    for page in PAGES:
        document = read_file(page, id=page.name)
        for splitter in (
            FixedSplitter(150),
            FixedSplitter(40, language="german"),
            ContentAwareSplitter(max_tokens=120),
            HiQASplitter(120),
        ):
            for chunk in splitter.split(document):
                whole.update(f"{chunk.id}\0{chunk.text}\0".encode())
    return whole.hexdigest()[:16]


if __name__ == "__main__":
    sys.stdout.write(f"{digest()}\n")
