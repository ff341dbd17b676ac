"""How close the estimate of tokens is to cl100k_base, by kind of text: a table, printed and kept.
python benchmarks/token_estimate.py
With --pieces it writes the vocabulary of the estimate instead, from that of tiktoken."""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.freshness import save
from benchmarks.quality_tables import markdown_table
from benchmarks.question_sets import DataMissing, data_root
from structrag import __version__
from structrag.text import tokens
from structrag.text.tokens import count_tokens, tiktoken_counter

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "token_estimate.md"
PIECES = Path(tokens.__file__).with_name("token_pieces.txt.gz")
KEPT = 40_000  # the most frequent of ASCII; there are 95,000
SETS = ("boards", "chroma", "covid_qa", "cuad", "hotpotqa", "nq", "qasper", "qmsum")
WINDOW = 600  # characters of a sample
READING = (
    "The estimate divided by the count of cl100k_base: of all samples together, and the lowest and "
    f"highest of one sample of {WINDOW} characters. The texts of the second table are in "
    "`benchmarks/token_texts.json` or made by chance, one sample each, repeated to that length."
)


def written() -> dict[str, str]:
    """Short texts by language or kind; those of encoded data and numbers are made."""
    texts: dict[str, str] = json.loads(
        (HERE / "token_texts.json").read_text(encoding="utf-8")
    )
    chance = random.Random(1)
    texts["base64"] = base64.b64encode(chance.randbytes(450)).decode()
    texts["hexadecimal"] = chance.randbytes(300).hex()
    texts["digits"] = " ".join(str(chance.randrange(10**9)) for _ in range(60))
    texts["any of ASCII"] = "".join(chr(chance.randrange(33, 127)) for _ in range(600))
    texts["letters A, C, G, T"] = "".join(chance.choice("ACGT") for _ in range(600))
    return {
        name: text if len(text) >= WINDOW else (text + " ") * (WINDOW // len(text) + 1)
        for name, text in texts.items()
    }


def samples(name: str, most: int = 500) -> list[str]:
    """Samples of a set, evenly over its documents."""
    file = data_root() / name / "documents.jsonl.gz"
    if not file.exists():
        raise DataMissing(f"{file} is not there")
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    windows = [
        text[start : start + WINDOW]
        for text in texts
        for start in range(0, len(text) - WINDOW + 1, WINDOW)
    ]
    return windows[:: max(1, len(windows) // most)][:most]


def ratios(texts: Sequence[str]) -> tuple[float, float, float]:
    """Of all texts together, the lowest and the highest."""
    count = tiktoken_counter()
    pairs = [(count_tokens(text), count(text)) for text in texts]
    each = [ours / true for ours, true in pairs if true]
    return sum(a for a, _ in pairs) / sum(b for _, b in pairs), min(each), max(each)


def pieces() -> Iterator[str]:
    """The pieces of the vocabulary, as characters of Latin-1: without the space in front, and with
    it those of one character or less."""
    import tiktoken

    tiktoken_counter()  # finds the file
    ranks = tiktoken.get_encoding("cl100k_base")._mergeable_ranks
    for rank, token in enumerate(ranks):
        text = token.decode("latin-1")
        first = token[1:2]
        if token[:1] == b" " and len(token) > 1 and not first.isspace():
            size = 1 + sum(first >= bytes([mark]) for mark in (0xC0, 0xE0, 0xF0))
            if len(token) <= 1 + size:
                yield text
            if first == b"\xf0":  # emoji have no space in front in a row
                continue
            text = text[1:]
        if token.isascii():
            text = text.strip() if rank < KEPT else ""
        if 0 < len(text) <= tokens.LONGEST_PIECE and not set(text) & set(" \t\r\n"):
            yield text


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--pieces", action="store_true", help="write the vocabulary of the estimate"
    )
    if parser.parse_args(arguments).pieces:
        lines = "\n".join(sorted(set(pieces()))).encode("latin-1")
        PIECES.write_bytes(gzip.compress(lines, 9, mtime=0))
        return 0
    try:
        sets = {name: samples(name) for name in (*SETS, "xquad_de", "xquad_zh")}
    except DataMissing as error:
        print(error, file=sys.stderr)
        return 2
    rows = [
        [name, str(len(texts)), *(f"{ratio:.2f}" for ratio in ratios(texts))]
        for name, texts in sets.items()
    ]
    kinds = [
        [name, f"{ratios([text])[0]:.2f}"] for name, text in sorted(written().items())
    ]
    page = "\n\n".join(
        [
            "# The estimate of tokens",
            f"structrag {__version__}; `python benchmarks/token_estimate.py`. {READING}",
            markdown_table(["set", "n", "all", "lowest", "highest"], rows, labels=1),
            markdown_table(["text", "ratio"], kinds, labels=1),
            "",
        ]
    )
    save(RESULTS, page, __file__)
    print(page)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
