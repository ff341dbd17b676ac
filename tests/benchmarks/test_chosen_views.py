"""The table of chosen and extracted views, on one small document."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import chosen_views
from benchmarks.datasets import Dataset, Question
from structrag import read_text
from structrag.asking.cache import Cache
from tests.doubles import HashEmbedder

BODY = " ".join(
    f"Sentence {i} tells of thing{i} and of part{i} of it." for i in range(40)
)


class LastFirst:
    """Likelier the later a text stands."""

    name = "last"

    def complete(self, prompt: str) -> str:
        raise AssertionError

    def count_tokens(self, text: str) -> int:
        return 1

    def score(self, prompt: str, texts: Sequence[str], *, chat: bool) -> list[float]:
        return [float(prompt.find(text.strip())) if prompt else 0.0 for text in texts]


def test_each_view_has_a_row_with_a_difference() -> None:
    text = f"# Things\n\n{BODY}\n"
    start = text.index("Sentence 39")
    question = Question("q", "thing39", (), (("d", start, start + 11),), True)
    document = read_text(text, id="d", format="markdown")
    dataset = Dataset("set", (document,), (question,))
    chunks = {chosen_views.LIMITED: 300, chosen_views.WHOLE: None}
    table = chosen_views.table(
        [dataset], HashEmbedder(), LastFirst(), Cache(":memory:"), chunks
    )
    assert table.count("chunks of whole sections") == len(chosen_views.SEARCHED)
    assert "| all three, chunks of at most 300 tokens | " in table and "+0.0 [" in table
