"""A line that says what surrounds a chunk: contextual retrieval. A model writes it, or it is
extracted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from structrag.asking.replies.lists import parse_answer
from structrag.records import Chunk
from structrag.text.extractive import summarise

CONTEXT_PROMPT = """\
Below are the section that holds a passage, and the passage. \
Write one sentence of at most 40 words, in their language, that says what the passage is about \
within its section and document, so that it can be found and understood by itself: name what \
pronouns and "the model", "the device" and the like stand for. State only what is stated. \
Answer with the sentence and nothing else.

Title: {title}

Section:
{surroundings}

Passage:
{text}
"""
MOST_WORDS = 40  # of a line
MOST_CHARACTERS = 12_000  # of the surroundings, on both sides of the passage together


def surroundings(chunks: Sequence[Chunk], bodies: Sequence[str]) -> list[str]:
    """The text around each chunk.

    That of all chunks of its section, else of the section above. Of a long one it is what stands
    nearest to the chunk.

    Example:
        >>> chunks = [Chunk(f"d:{i}-{i + 1}", "d", "d#1", i, i + 1, c) for i, c in enumerate("ab")]
        >>> surroundings(chunks, ["a", "b"])
        ['a\\n\\nb', 'a\\n\\nb']
    """
    alone = _alone(chunks)
    places = [_places(chunks, i, alone[i]) for i in range(len(chunks))]
    return [_nearest(bodies, of_chunk, i) for i, of_chunk in enumerate(places)]


def extracted_lines(texts: Sequence[str], language: str) -> list[str]:
    """The most telling sentences of each text, at most 40 words. Equal texts have equal lines."""

    @cache
    def line(text: str) -> str:
        summary = summarise(
            text, max_sentences=2, max_words=MOST_WORDS, language=language
        )
        return " ".join(summary.split())

    return [line(text) for text in texts]


def read_line(answer: str) -> str:
    """The line in a language model's answer.

    "" for a refusal, and for more than the words of two lines.

    Example:
        >>> read_line("The pump's filter,\\nand how it is rinsed.")
        "The pump's filter, and how it is rinsed."
    """
    line = " ".join(parse_answer("summary", answer)[0].split())
    return line if len(line.split()) <= 2 * MOST_WORDS else ""


def _alone(chunks: Sequence[Chunk]) -> list[bool]:
    """Whether no neighbour of a chunk has its path or one below."""
    alone = []
    for i, chunk in enumerate(chunks):
        near = [*chunks[max(0, i - 1) : i], *chunks[i + 1 : i + 2]]
        alone.append(not any(_is_below(other, chunk.path) for other in near))
    return alone


def _is_below(chunk: Chunk, path: Sequence[str]) -> bool:
    return chunk.path[: len(path)] == tuple(path)


def _places(chunks: Sequence[Chunk], place: int, alone: bool) -> range:
    """The chunks around one in its section, or the one above."""
    path = chunks[place].path[:-1] if alone else chunks[place].path
    first = last = place
    while first > 0 and _is_below(chunks[first - 1], path):
        first -= 1
    while last + 1 < len(chunks) and _is_below(chunks[last + 1], path):
        last += 1
    return range(first, last + 1)


def _nearest(bodies: Sequence[str], places: range, place: int) -> str:
    """The bodies at these places. The nearest ones where they are too long."""
    first = last = place
    size = len(bodies[place])
    while True:
        around = [i for i in (first - 1, last + 1) if i in places]
        if not around or size >= MOST_CHARACTERS:
            break
        first, last = min(first, *around), max(last, *around)
        size += sum(len(bodies[i]) for i in around)
    return "\n\n".join(body.strip() for body in bodies[first : last + 1])
