"""A walk down the tree, level by level.

A language model chooses among what is below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from structrag.asking.replies.ids import parse_ids, usable_ids
from structrag.asking.requests import Ask, Failed, LanguageModel, Steps, why_unusable
from structrag.errors import check_template
from structrag.records import Chunk
from structrag.retrieval.tree.shape import Tree

WALK_PROMPT = """\
Parts of a document, each behind its number, with a summary or how it begins.

{options}

Question: {question}

Which one of these parts most likely holds the answer? \
Answer with its number and nothing else. If none of them may, answer "none"."""
MOST_DOCUMENTS = 20  # that the first question shows
BEGINNING = 400  # characters of a chunk that are shown
PLACES = ("options", "question")


def check_walk_prompt(prompt: str) -> None:
    """Raise InvalidParameter unless the prompt has the places of `WALK_PROMPT`."""
    check_template("walk_prompt", prompt, PLACES)


@dataclass(frozen=True, slots=True)
class Walk:
    """Where a walk has ended.

    Attributes:
        doc_id, start, end: The part of the document that was chosen; None: no part was.
        titles: Of what was chosen on the way, the outermost first.
        failure: Why the walk ended early; "": it did not.
    """

    doc_id: str | None = None
    start: int = 0
    end: int = 0
    titles: tuple[str, ...] = ()
    failure: str = ""

    def holds(self, chunk: Chunk) -> bool:
        """Whether a chunk lies in the part that was chosen."""
        return chunk.doc_id == self.doc_id and self.start <= chunk.start < self.end


@dataclass(frozen=True, slots=True)
class _Option:
    """A document, node or chunk that can be chosen."""

    chunk: Chunk  # over the part
    title: str
    text: str  # what is shown of it
    node: int | None  # its row; None: a chunk


def walk_steps(
    question: str,
    tree: Tree,
    doc_ids: Sequence[str],
    llm: LanguageModel,
    prompt: str = WALK_PROMPT,
) -> Steps[Walk]:
    """Where a language model looks for the answer to a question.

    It is shown the first documents, at most 20, then what is below the one it chose, until all
    below are chunks or it chooses a chunk. A single option is taken unasked. The walk ends early
    where it says "none", and where it fails or its answer cannot be used. Of several numbers the
    least counts.
    """
    walk = Walk()
    options = [_top(tree, doc_id) for doc_id in doc_ids[:MOST_DOCUMENTS]]
    while options:
        place: int | None = 0
        if len(options) > 1:
            place, failure = yield from _choice_steps(question, options, llm, prompt)
            if place is None:
                return Walk(walk.doc_id, walk.start, walk.end, walk.titles, failure)
        chosen = options[place or 0]
        titles = (*walk.titles, chosen.title)
        walk = Walk(chosen.chunk.doc_id, chosen.chunk.start, chosen.chunk.end, titles)
        options = _below(tree, chosen)
    return walk


def _choice_steps(
    question: str, options: Sequence[_Option], llm: LanguageModel, prompt: str
) -> Steps[tuple[int | None, str]]:
    """The place of the option that is chosen, or None.

    The second says what failed; "" for nothing.
    """
    numbers = range(1, len(options) + 1)
    shown = [
        f"[{i}] {option.title}\n{option.text}"
        for i, option in enumerate(options, start=1)
    ]
    asked = prompt.format(options="\n\n".join(shown), question=question)
    (answer,) = yield [
        Ask(asked, "tree.walk", llm=llm, options=(*map(str, numbers), "none"))
    ]
    if isinstance(answer, Failed) or not usable_ids(numbers, answer):
        return None, why_unusable(answer)
    chosen, _ = parse_ids(answer, numbers)
    return (chosen[0] - 1 if chosen else None), ""


def _top(tree: Tree, doc_id: str) -> _Option:
    """A document as an option.

    It is the node above all its chunks, or its only chunk.
    """
    row = tree.top(doc_id)
    title = tree.nodes.document(doc_id).title or doc_id
    if row is None:
        return _chunk_option(tree, tree.chunks.rows_of(doc_id)[0], title)
    return _node_option(tree, row, title)


def _below(tree: Tree, option: _Option) -> list[_Option]:
    """What can be chosen below an option.

    Nothing where there are chunks alone.
    """
    if option.node is None:
        return []
    nodes, chunks = tree.below(option.chunk.doc_id, option.node)
    if not nodes:
        return []
    options = [_node_option(tree, row) for row in nodes]
    options += [_chunk_option(tree, row) for row in chunks]
    return sorted(options, key=lambda one: (one.chunk.start, one.chunk.end))


def _node_option(tree: Tree, row: int, title: str = "") -> _Option:
    node = tree.nodes.chunk(row)
    return _Option(node, title or _title(node), str(node.extras["summary"]), row)


def _chunk_option(tree: Tree, row: int, title: str = "") -> _Option:
    chunk = tree.chunks.chunk(row)
    return _Option(chunk, title or _title(chunk), chunk.body.strip()[:BEGINNING], None)


def _title(chunk: Chunk) -> str:
    return chunk.path[-1] if chunk.path else "Part"
