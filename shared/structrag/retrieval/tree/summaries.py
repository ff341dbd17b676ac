"""The nodes of a tree as chunks, each with a summary.

It is made from those of its children.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from structrag.asking.requests import Steps
from structrag.asking.runner import Runner
from structrag.chunks.maker import ChunkMaker
from structrag.chunks.pic.summaries import Summary, summary_steps
from structrag.errors import check_at_least, check_template
from structrag.reading.settings import Reading
from structrag.records import Chunk, Document
from structrag.retrieval.tree.nodes import Node, build_tree, walk_tree
from structrag.text.cutting import Piece
from structrag.text.extractive import summarise

SUMMARY_PROMPT = """\
Below are the parts of one section of a document, in order; long ones are summaries. \
Summarise the whole section in one paragraph of at most 80 words, in its own language, so that \
a reader of the summary can tell which questions the section answers: name what it treats, its \
terms, names and results. State only what is stated.

Title: {title}

Parts:
{text}

Summary:"""


@dataclass(frozen=True, slots=True)
class TreeSettings:
    """How the tree above the chunks is made.

    Example:
        >>> TreeSettings(fan_out=5).summary_tokens
        100

    Attributes:
        fan_out: Most children of a node, at least 2; more are put into runs.
        summary_tokens: Most tokens of a summary, at least 8, by the splitter's counter.
        prompt: What a language model is asked, with {text}, the parts, and if wanted {title}.
    """

    fan_out: int = 10
    summary_tokens: int = 100
    prompt: str = SUMMARY_PROMPT

    def __post_init__(self) -> None:
        check_at_least("fan_out", self.fan_out, 2)
        check_at_least("summary_tokens", self.summary_tokens, 8)
        check_template("summary_prompt", self.prompt, ["text"], optional=["title"])


@dataclass(frozen=True, slots=True)
class NodeSplitter:
    """Gives the nodes above the chunks that a splitter has made.

    A node is a chunk over its whole section. Its `extras` have the "summary", the ids of its
    "children", whether its text is "whole" (nothing stands between the children) and "reduced":
    what is indexed in the place of the text, the summary and the titles below.

    Attributes:
        chunks: Document id -> its chunks.
        settings: How the tree is made.
        reading: How the text is read, as the chunks' splitter does.
        window_tokens: What the summariser reads at once.
    """

    chunks: Mapping[str, Sequence[Chunk]]
    settings: TreeSettings
    reading: Reading
    window_tokens: int = 4000

    def split(self, document: Document) -> list[Chunk]:
        """The nodes with extractive summaries."""
        return Runner().run(self.split_steps(document))

    def split_steps(self, document: Document) -> Steps[list[Chunk]]:
        """The nodes of a document, parents before children."""
        outline = self.reading.outline(document)
        top = build_tree(outline, self.chunks[document.id], self.settings.fan_out)
        if top is None:
            return []
        nodes = list(walk_tree(top))
        summaries: dict[str, Summary] = {}
        # A node is summed up when all below it are.
        for height in range(1, top.height + 1):
            of_height = [node for node in nodes if node.height == height]
            new = yield from self._summary_steps(document, of_height, summaries)
            summaries.update(zip((node.id for node in of_height), new, strict=True))
        maker = ChunkMaker(document, self.reading.counter, None, with_context=True)
        return [self._chunk(maker, node, summaries[node.id]) for node in nodes]

    def _summary_steps(
        self, document: Document, nodes: Sequence[Node], below: Mapping[str, Summary]
    ) -> Steps[list[Summary]]:
        """A summary for each node; short parts are their own."""
        parts = [[_text(child, below) for child in node.children] for node in nodes]
        counter, most = self.reading.counter, self.settings.summary_tokens
        long = [
            i for i, of_node in enumerate(parts) if counter("\n".join(of_node)) > most
        ]
        answers = yield from summary_steps(
            [" > ".join(nodes[i].section.path) or document.title for i in long],
            [_titled(nodes[i], parts[i]) for i in long],
            self.settings.prompt,
            window=self.window_tokens,
            language=self.reading.language,
        )
        summaries = [Summary("\n".join(of_node)) for of_node in parts]
        for i, answer in zip(long, answers, strict=True):
            text = answer.text or summaries[i].text
            summaries[i] = replace(answer, text=self._shortened(text))
        return summaries

    def _shortened(self, text: str) -> str:
        """The text's most telling sentences, within the tokens of a summary."""
        most = self.settings.summary_tokens
        words = most * 10 // 13  # `count_tokens` estimates 1.3 tokens a word
        if self.reading.counter(text) <= most:
            return text
        return summarise(text, max_words=words, language=self.reading.language)

    def _chunk(self, maker: ChunkMaker, node: Node, summary: Summary) -> Chunk:
        # A run of children that does not begin with the section's heading has it in its context.
        context = maker.context(node.section.path, own=node.start > node.section.start)
        titles = [node.section.title, summary.text, ", ".join(_titles(node))]
        notes: dict[str, Any] = {
            "summary": summary.text,
            "reduced": "\n".join(filter(None, titles)),
            "children": [child.id for child in node.children],
            "whole": node.is_whole(maker.document.text),
        }
        if summary.failure:
            notes |= {"degraded": True, "failure": summary.failure}
        chunk = maker.chunk(
            node.section, Piece(node.start, node.end), context, extras=notes
        )
        tokens = self.reading.counter(chunk.index_text)
        return replace(
            chunk, kind="section", extras={**chunk.extras, "index_tokens": tokens}
        )


def _text(child: Node | Chunk, below: Mapping[str, Summary]) -> str:
    """A chunk's text or a node's summary.

    The parent's summary is made from it.
    """
    return child.body.strip() if isinstance(child, Chunk) else below[child.id].text


def _titled(node: Node, texts: Sequence[str]) -> list[str]:
    """The texts of a node's children under their titles.

    A title that is the node's own is left out.
    """
    titled = []
    for child, text in zip(node.children, texts, strict=True):
        path = child.path if isinstance(child, Chunk) else child.section.path
        title = path[-1] if len(path) > len(node.section.path) else ""
        titled.append(f"{title}\n{text}\n\n".lstrip("\n"))
    return titled


def _titles(node: Node) -> list[str]:
    """The titles right below a node, each once."""
    paths = [
        child.path if isinstance(child, Chunk) else child.section.path
        for child in node.children
    ]
    depth = len(node.section.path)
    return list(dict.fromkeys(path[depth] for path in paths if len(path) > depth))
