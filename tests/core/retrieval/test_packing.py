"""Hits packed into a token limit: whole, in order, only the first cut, and that at a sentence
end."""

from __future__ import annotations

from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag import Chunk, Hit
from structrag.retrieval.packing import pack, pack_best, reader_text


def words(text: str) -> int:
    return len(text.split())


def hit(
    text: str, rank: int = 1, *, context: str = "", kind: str = "text", start: int = 0
) -> Hit:
    chunk = Chunk(
        f"d:{start}-{start + len(text)}",
        "d",
        "d#0",
        start,
        start + len(text),
        text,
        context,
        words(text),
        kind=kind,
    )
    return Hit(chunk, 1 / rank, rank)


def texts(hits: list[Hit]) -> list[str]:
    return [each.chunk.text for each in hits]


def test_only_the_first_is_cut_and_at_a_sentence_end() -> None:
    text = "One two three. Four five six. Seven eight."
    (first,) = pack([hit(text, start=40), hit("x y z w", 2)], 7, words)
    assert (
        first.chunk.text
        == "One two three. Four five six. "
        == text[: first.chunk.end - 40]
    )
    assert (first.chunk.start, first.chunk.end) == (40, 70)
    assert first.chunk.n_tokens == 6 and first.chunk.extras["cut"] is True
    assert texts(pack([hit("a b", 1), hit(text, 2)], 7, words)) == ["a b"]


SEVEN = "".join(f"{'word ' * number}end. " for number in range(7))  # 28 words


@examples
def test_as_many_sentences_as_fit_are_kept(limit: int, sizes: list[int]) -> None:
    packed = pack([hit(SEVEN)], limit, words)
    assert [each.chunk.n_tokens for each in packed] == sizes
    assert [words(each.chunk.text) for each in packed] == sizes
    assert bool(packed[0].chunk.extras.get("cut")) == (limit < 28)


@examples
def test_sentences_are_those_of_the_language(language: str, shown: list[str]) -> None:
    date = hit("Er kam am 3. Mai an. Ende.")
    assert texts(pack([date], 5, words, language=language)) == shown


def test_the_best_ranks_are_packed_and_stand_in_the_order_they_came_in() -> None:
    hits = [hit("a b c", 3), hit("d e", 1), hit("f g", 2), hit("h", 4)]
    assert texts(pack_best(hits, 5, words)) == ["d e", "f g", "h"]
    assert texts(pack_best(hits, 7, words)) == ["a b c", "d e", "f g"]
    assert pack_best(iter(hits), 8, words) == hits
    assert texts(pack_best([hit("x", 2), hit("One two. Three.", 1)], 2, words)) == [
        "One two. "
    ]


def test_a_first_sentence_too_long_is_left_out() -> None:
    assert texts(pack([hit("One two three four. Five."), hit("x y", 2)], 3, words)) == [
        "x y"
    ]
    assert pack([hit("One two three four.")], 0, words) == []
    assert pack([], 100) == []


def test_a_table_is_cut_between_its_rows() -> None:
    table = "| a | b |\n|---|---|\n| Dr. X | 2 |\n| 3 | 4 |\n"
    (first,) = pack([hit(table, kind="table")], 14, words)
    assert first.chunk.text == "| a | b |\n|---|---|\n| Dr. X | 2 |\n"


def test_chinese_is_cut_at_its_own_marks() -> None:
    (first,) = pack([hit("电池可用三十小时。屏幕很亮。保修两年。")], 22)
    assert first.chunk.text == "电池可用三十小时。屏幕很亮。"


sentences = st.lists(
    st.integers(1, 5).map(lambda n: "Word " * (n - 1) + "end. "), min_size=1, max_size=5
).map("".join)


@given(st.lists(sentences, max_size=6), st.integers(0, 40))
def test_for_any_hits(bodies: list[str], limit: int) -> None:
    hits = [hit(text, rank) for rank, text in enumerate(bodies, start=1)]
    packed = pack(hits, limit, words)
    assert sum(words(reader_text(each.chunk)) for each in packed) <= limit
    ranks = [each.rank for each in packed]
    assert ranks == sorted(set(ranks))
    whole = {each.rank: each for each in hits}
    for each in packed:
        assert each == whole[each.rank] or (
            each.rank == 1 and whole[1].chunk.text.startswith(each.chunk.text)
        )
    used = 0
    for each in hits:
        size = words(each.chunk.text)
        taken = next((one for one in packed if one.rank == each.rank), None)
        assert taken is not None or used + size > limit
        used += words(taken.chunk.text) if taken else 0
