"""Markups that one pattern describes: Typst, Textile (with the wiki text of Jira and Confluence),
roff. Their blocks are those of plain text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from structrag.reading.outline import title_of_headings
from structrag.records import Block, Heading


@dataclass(frozen=True, slots=True)
class LineMarkup:
    """A markup whose headings are lines.

    Example:
        >>> typst = MARKUPS["typst"]
        >>> [each.title for each in typst.headings("= Pump\\n\\n== Seals <seals>\\n")]
        ['Pump', 'Seals']
    """

    # A group for the titles of each level; without a group what holds no headings: code, comments.
    pattern: str
    unseen: str  # what is not shown of a title

    def headings(self, text: str) -> list[Heading]:
        """The headings, in order."""
        return [
            Heading(
                match.lastindex,
                " ".join(re.sub(self.unseen, "", match[match.lastindex]).split()),
                *match.span(),
            )
            for match in re.finditer(self.pattern, text, re.MULTILINE)
            if match.lastindex
        ]

    def blocks(self, text: str, start: int, end: int) -> list[Block]:
        """The blocks that tile `text[start:end]`, a section's own body."""
        from structrag.reading.plain import plain_blocks

        return plain_blocks(text, start, end)

    def title(self, text: str) -> str:
        """The only heading of the first level where it comes first; else ""."""
        return title_of_headings(self.headings(text))


MARKUPS = {
    "typst": LineMarkup(
        r"^`{3,}[^`\n]*$[\s\S]*?(?:^`{3}|\Z)|/\*[\s\S]*?(?:\*/|\Z)"
        r"|^[ ]*(?:=[ ]+(\S.*)|==[ ]+(\S.*)|={3}[ ]+(\S.*)|={4}[ ]+(\S.*)|={5,}[ ]+(\S.*))\n?",
        r"<[\w:.-]{1,99}>\s*$|[*_`]|\s//.*",
    ),
    "textile": LineMarkup(
        r"\{(?:code|noformat)\b[^{}\n]*\}[\s\S]*?(?:\{(?:code|noformat)\}|\Z)"
        r"|^h(?:1[^.\s]*\.[ ]+(\S.*)|2[^.\s]*\.[ ]+(\S.*)|3[^.\s]*\.[ ]+(\S.*)|4[^.\s]*\.[ ]+(\S.*)"
        r"|5[^.\s]*\.[ ]+(\S.*)|6[^.\s]*\.[ ]+(\S.*))\n?",
        r"\{anchor:[^{}]*\}|[*{}]",
    ),
    "roff": LineMarkup(
        r"^\.(?:nf|EX)\b[\s\S]*?(?:^\.(?:fi|EE)\b|\Z)|^\.(?:de|ig)\b[\s\S]*?(?:^\.\.|\Z)"
        r"|^\.Bd\b.*-(?:literal|unfilled)[\s\S]*?(?:^\.Ed\b|\Z)"
        r"|^\.(?:S[Hh]\s+(\S.*)|S[Ss]\s+(\S.*))\n?",
        r"\\f(?:\[\w*\]|\(..|.)|\\&|\\(?=-)|\"|\s\\\".*",
    ),
}
