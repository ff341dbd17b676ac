"""Sentences of documents that point to a section. They do so by a Markdown link to its anchor, or
as "see section 3.2"."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from structrag.reading.outline import Outline
from structrag.records import Block, Section
from structrag.text.sentences import sentence_spans

PROSE = ("paragraph", "list", "quote")
DEFINITION = re.compile(
    r"^ {0,3}\[([^\[\]\n]+)\]:[ \t]*<?([^\s>]+)>?[^\n]*\n?", re.MULTILINE
)
NUMBERED = re.compile(
    r"\s*(?:(?:section|chapter|part)\s+(?P<counted>\d+(?:\.\d+)*)"
    r"|appendix\s+(?P<lettered>[A-Z](?:\.\d+)*)"
    r"|(?P<plain>\d+(?:\.\d+)*)(?=[.):\s])|(?P<letter>[A-Z](?:\.\d+)+|[A-Z](?=[.):])))[.):]*\s*",
    re.IGNORECASE,
)

_LINK = re.compile(
    r"!?\[((?:[^\[\]]|\[[^\[\]]*\])+)\](?:\(([^()\s]+)(?:\s[^()]*)?\)|\[([^\[\]]*)\])?"
)
_ANCHOR = re.compile(r"\{(?:[^{}#]*\s)?#([\w.:-]+)(?:\s[^{}]*)?\}")
_MENTION = re.compile(
    r"(?:\b(?:sections?|chapters?|appendix|part)\s+|§§?\s*)(\d+(?:\.\d+)*|[A-Z](?:\.\d+)*)\b",
    re.IGNORECASE,
)
_MARK = re.compile(r"\s*(?:(?:[-*+>]|\d+[.)])\s+)*")  # of a list item or a quote
_FEWEST_WORDS, _MOST_WORDS = 6, 60


@dataclass(frozen=True, slots=True)
class Reference:
    """A sentence and the one section that it points to.

    Example:
        >>> from structrag.reading.sections import parse
        >>> from structrag.records import Document
        >>> text = "# A\\n\\nHow long the battery lasts, [see there](#b).\\n\\n# B\\n\\nLong.\\n"
        >>> references([parse(Document(text, format="markdown"))])[0].target.title
        'B'
    """

    doc_id: str
    start: int  # of the sentence, in characters
    end: int
    words: str  # the sentence without markup
    target: Section


def references(outlines: Sequence[Outline]) -> list[Reference]:
    """The sentences that point to exactly one other section.

    They have 6 to 60 words and are in paragraphs, lists and quotes.

    A link may lead to another of the documents, by a path from its own folder. Links of HTML are
    not in its text and so not seen. Numbers ("section 3.2", "§4", "Appendix B") are those that
    headings of the same document begin with.
    """
    places = _Places(outlines)
    return list(
        chain.from_iterable(_of_document(outline, places) for outline in outlines)
    )


class _Places:
    """The targets of anchors and section numbers."""

    def __init__(self, outlines: Sequence[Outline]) -> None:
        self.documents: dict[str, str] = {}  # path -> id
        self.anchors: dict[str, dict[str, Section]] = {}
        self.numbers: dict[str, dict[str, Section]] = {}
        for outline in outlines:
            doc_id = outline.document.id
            self.documents[posixpath.normpath(doc_id)] = doc_id
            self.anchors[doc_id] = _anchors(outline)
            self.numbers[doc_id] = _numbers(outline)

    def linked(self, doc_id: str, address: str) -> Section | None:
        """The section that an address written in a document leads to."""
        path, _, anchor = address.partition("#")
        if not anchor or "://" in path:
            return None
        home: str | None = doc_id
        if path:
            joined = posixpath.normpath(posixpath.join(posixpath.dirname(doc_id), path))
            # For links to the HTML page.
            as_markdown = posixpath.splitext(joined)[0] + ".md"
            home = self.documents.get(joined) or self.documents.get(as_markdown)
        return None if home is None else self.anchors[home].get(anchor.casefold())

    def numbered(self, doc_id: str, number: str) -> Section | None:
        """The section of this document whose heading begins with the number."""
        return self.numbers[doc_id].get(number.upper())


def _anchors(outline: Outline) -> dict[str, Section]:
    """Anchor -> section. Anchors are those that GitHub makes of titles, and those that a heading
    names (`{#name}`)."""
    anchors: dict[str, Section] = {}
    seen: Counter[str] = Counter()
    for section in outline.sections[1:]:
        slug = (
            re.sub(r"[^\w\- ]", "", section.title.casefold()).strip().replace(" ", "-")
        )
        anchors.setdefault(f"{slug}-{seen[slug]}" if seen[slug] else slug, section)
        seen[slug] += 1
        named = _ANCHOR.search(outline.document.text, section.start, section.body_start)
        if named:
            anchors[named.group(1).casefold()] = section
    return anchors


def _numbers(outline: Outline) -> dict[str, Section]:
    """Number -> section, where only one heading has it."""
    numbered: dict[str, list[Section]] = {}
    for section in outline.sections[1:]:
        match = NUMBERED.match(section.title)
        if match:
            number = next(group for group in match.groups() if group)
            numbered.setdefault(number.upper(), []).append(section)
    return {
        number: sections[0]
        for number, sections in numbered.items()
        if len(sections) == 1
    }


def _of_document(outline: Outline, places: _Places) -> Iterator[Reference]:
    document = outline.document
    markdown = document.format == "markdown"
    definitions: dict[str, str] = {}
    if markdown:
        for name, address in DEFINITION.findall(document.text):
            definitions[_label(name)] = address
    for section in outline.sections:
        for block in outline.blocks(section):
            if block.kind not in PROSE:
                continue
            for start, end in block_sentences(document.text, block):
                sentence = document.text[start:end]
                targets = _targets(document.id, sentence, definitions, places, markdown)
                words = (
                    _words(sentence, definitions)
                    if markdown
                    else " ".join(sentence.split())
                )
                if (
                    len(targets) != 1
                    or not _FEWEST_WORDS <= len(words.split()) <= _MOST_WORDS
                ):
                    continue
                (target,) = targets.values()
                if target.id != section.id:
                    yield Reference(document.id, start, end, words, target)


def block_sentences(text: str, block: Block) -> list[tuple[int, int]]:
    """The sentences of a paragraph, list or quote. An item of a list ends one."""
    spans: list[tuple[int, int]] = []
    for start, end in pairwise([block.start, *block.cuts, block.end]):
        spans += sentence_spans(text, start, end)
    return spans


def _words(sentence: str, definitions: Mapping[str, str]) -> str:
    """A sentence of Markdown as it reads. Links lose their addresses and brackets, a list item or a
    quote its mark."""

    def shown(link: re.Match[str]) -> str:
        text, address, label = link.groups()
        return (
            str(text)
            if address or _label(label or text) in definitions
            else link.group()
        )

    plain = _LINK.sub(shown, sentence)
    mark = _MARK.match(plain)
    return " ".join(plain[mark.end() if mark else 0 :].split())


def _targets(
    doc_id: str,
    sentence: str,
    definitions: Mapping[str, str],
    places: _Places,
    markdown: bool,
) -> dict[str, Section]:
    """The sections that a sentence points to, by their ids."""
    sections = [
        places.numbered(doc_id, number) for number in _MENTION.findall(sentence)
    ]
    for text, address, label in _LINK.findall(sentence) if markdown else ():
        address = address or definitions.get(_label(label or text), "")
        if address:
            sections.append(places.linked(doc_id, address))
    return {section.id: section for section in sections if section is not None}


def _label(name: str) -> str:
    return " ".join(name.casefold().split())
