"""Sentences of documents that point to a section: by a Markdown link to its anchor, or as "see
section 3.2"."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from structrag.reading.outline import Outline
from structrag.records import Block, Section
from structrag.text.sentences import sentence_spans

PROSE = ("paragraph", "list", "quote")
DEFINITION = re.compile(r"^ {0,3}\[([^\[\]\n]+)\]:[ \t]*<?([^\s>]+)>?[^\n]*\n?", re.MULTILINE)
NUMBERED = re.compile(
    r"\s*(?:(?:section|chapter|part)\s+(?P<counted>\d+(?:\.\d+)*)|appendix\s+(?P<lettered>[A-Z](?:\.\d+)*)"
    r"|(?P<plain>\d+(?:\.\d+)*)(?=[.):\s])|(?P<letter>[A-Z](?:\.\d+)+|[A-Z](?=[.):])))[.):]*\s*",
    re.IGNORECASE,
)

_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])+)\](?:\(([^()\s]+)[^()]*\)|\[([^\[\]]*)\])?")
_ANCHOR = re.compile(r"\{[^{}]*#([\w.:-]+)[^{}]*\}")
_MENTION = re.compile(
    r"(?:\b(?:sections?|chapters?|appendix|part)\s+|§§?\s*)(\d+(?:\.\d+)*|[A-Z](?:\.\d+)*)\b",
    re.IGNORECASE,
)
_MARK = re.compile(r"\s*(?:(?:[-*+>]|\d+[.)])\s+)*")  # of a list item or a quote
_FEWEST_WORDS, _MOST_WORDS = 6, 60


@dataclass(frozen=True, slots=True)
class Reference:
    """A sentence and the one section that it points to."""

    doc_id: str
    start: int  # of the sentence, in characters
    end: int
    words: str  # the sentence without markup
    target: Section


def references(outlines: Sequence[Outline]) -> list[Reference]:
    """The sentences of 6 to 60 words in paragraphs, lists and quotes that point to exactly one
    section, another than their own.

    A link may lead to another of the documents, by a path from its own folder. Links of HTML are
    not in its text and so not seen. Numbers ("section 3.2", "§4", "Appendix B") are those that
    headings of the same document begin with.
    """
    places = _Places(outlines)
    return [reference for outline in outlines for reference in _of_document(outline, places)]


class _Places:
    """Where anchors and section numbers lead."""

    def __init__(self, outlines: Sequence[Outline]) -> None:
        self.documents = {
            posixpath.normpath(outline.document.id): outline.document.id for outline in outlines
        }
        self.anchors = {outline.document.id: _anchors(outline) for outline in outlines}
        self.numbers = {outline.document.id: _numbers(outline) for outline in outlines}

    def linked(self, doc_id: str, address: str) -> Section | None:
        """The section that an address written in a document leads to."""
        path, _, anchor = address.partition("#")
        if not anchor or "://" in path:
            return None
        home = doc_id
        if path:
            joined = posixpath.normpath(posixpath.join(posixpath.dirname(doc_id), path))
            found = self.documents.get(joined) or self.documents.get(
                posixpath.splitext(joined)[0] + ".md"
            )
            if found is None:
                return None
            home = found
        return self.anchors[home].get(anchor.casefold())

    def numbered(self, doc_id: str, number: str) -> Section | None:
        """The section of this document whose heading begins with the number."""
        return self.numbers[doc_id].get(number.upper())


def _anchors(outline: Outline) -> dict[str, Section]:
    """Anchor -> section: as GitHub makes anchors of titles, and as a heading names its own
    (`{#name}`)."""
    found: dict[str, Section] = {}
    seen: Counter[str] = Counter()
    for section in outline.sections[1:]:
        slug = re.sub(r"[^\w\- ]", "", section.title.casefold()).strip().replace(" ", "-")
        found.setdefault(f"{slug}-{seen[slug]}" if seen[slug] else slug, section)
        seen[slug] += 1
        own = _ANCHOR.search(outline.document.text, section.start, section.body_start)
        if own:
            found[own.group(1).casefold()] = section
    return found


def _numbers(outline: Outline) -> dict[str, Section]:
    """Number -> section, where only one heading has it."""
    found: dict[str, list[Section]] = {}
    for section in outline.sections[1:]:
        match = NUMBERED.match(section.title)
        if match:
            number = next(group for group in match.groups() if group)
            found.setdefault(number.upper(), []).append(section)
    return {number: sections[0] for number, sections in found.items() if len(sections) == 1}


def _of_document(outline: Outline, places: _Places) -> Iterator[Reference]:
    document = outline.document
    markdown = document.format == "markdown"
    definitions = (
        {_label(name): address for name, address in DEFINITION.findall(document.text)}
        if markdown
        else {}
    )
    for section in outline.sections:
        for block in outline.blocks(section):
            if block.kind not in PROSE:
                continue
            for start, end in block_sentences(document.text, block):
                sentence = document.text[start:end]
                targets = _targets(document.id, sentence, definitions, places, markdown)
                words = _words(sentence, definitions) if markdown else " ".join(sentence.split())
                if len(targets) != 1 or not _FEWEST_WORDS <= len(words.split()) <= _MOST_WORDS:
                    continue
                (target,) = targets.values()
                if target.id != section.id:
                    yield Reference(document.id, start, end, words, target)


def block_sentences(text: str, block: Block) -> list[tuple[int, int]]:
    """The sentences of a paragraph, list or quote; an item of a list ends one."""
    edges = [block.start, *block.cuts, block.end]
    return [span for start, end in pairwise(edges) for span in sentence_spans(text, start, end)]


def _words(sentence: str, definitions: Mapping[str, str]) -> str:
    """A sentence of Markdown without its links' addresses and brackets, and without the mark of a
    list item or a quote."""

    def shown(link: re.Match[str]) -> str:
        text, address, label = link.groups()
        return str(text) if address or _label(label or text) in definitions else link.group()

    return " ".join(_MARK.sub("", _LINK.sub(shown, sentence), count=1).split())


def _targets(
    doc_id: str, sentence: str, definitions: Mapping[str, str], places: _Places, markdown: bool
) -> dict[str, Section]:
    """The sections that a sentence points to, by their ids."""
    found = [places.numbered(doc_id, number) for number in _MENTION.findall(sentence)]
    for text, address, label in _LINK.findall(sentence) if markdown else ():
        address = address or definitions.get(_label(label or text), "")
        found.append(places.linked(doc_id, address) if address else None)
    return {section.id: section for section in found if section is not None}


def _label(name: str) -> str:
    return " ".join(name.casefold().split())
