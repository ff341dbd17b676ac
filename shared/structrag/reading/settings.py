"""How a document's text is read: settings that all splitters share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypedDict, TypeVar

from structrag.errors import InvalidParameter, check_arguments
from structrag.reading.outline import Outline
from structrag.reading.sections import parse
from structrag.records import Document
from structrag.text.cutting import Cutter
from structrag.text.sentences import SentenceSplitter
from structrag.text.tokens import TokenCounter, check_counter, count_tokens

T = TypeVar("T")


class ReadingSettings(TypedDict, total=False):
    """The settings of `ReadOptions` but for the counter, as keywords."""

    exclude_titles: Sequence[str]
    plain_headings: bool
    language: str
    sentence_splitter: SentenceSplitter | None


def changed(
    cls: type[T], published: Mapping[str, Any], changes: Mapping[str, Any]
) -> T:
    """A record with published settings, and the changes to them. Raises UnknownArgument for a
    change that is not a setting of the dataclass."""
    names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
    check_arguments(cls.__name__, changes, names)
    return cls(**{**published, **changes})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How a document's text is read: its sections, tokens and sentences.

    Example:
        >>> from structrag import ContentAwareSplitter, read_text
        >>> reading = ReadOptions(exclude_titles=["References"])
        >>> splitter = ContentAwareSplitter(max_tokens=200, **reading.options())
        >>> document = read_text("# A\\n\\na\\n\\n# References\\n\\nb")
        >>> [chunk.text for chunk in splitter.split(document)]
        ['# A\\n\\na\\n\\n']

    Every splitter accepts these settings by the same names, and is a `ReadOptions` itself.

    Attributes:
        exclude_titles: Titles (any case) of sections to leave out with everything below them.
        plain_headings: Whether to look for headings in plain text.
        counter: Token counter, `str -> int`.
        language: The language of the text, by its English name, such as "german".
        sentence_splitter: Replaces the built-in sentence rules: `str -> [(start, end), ...]`, or
            "punkt" for NLTK's (extra `paper`), which the papers use.

    Raises:
        InvalidParameter: `exclude_titles` is a single string or does not hold strings; an argument
            is not a function; the counter does not return a number.
    """

    exclude_titles: Sequence[str] = ()
    plain_headings: bool = True
    counter: TokenCounter = count_tokens
    language: str = "english"
    sentence_splitter: SentenceSplitter | None = None

    def __post_init__(self) -> None:
        titles = self.exclude_titles
        if isinstance(titles, str) or not all(
            isinstance(title, str) for title in titles
        ):
            raise InvalidParameter(
                f"exclude_titles must be a sequence of titles; got {titles!r}. Put one title into "
                "a list."
            )
        object.__setattr__(self, "exclude_titles", tuple(titles))
        check_counter(self.counter)
        splitter = self.sentence_splitter
        if not (splitter is None or splitter == "punkt" or callable(splitter)):
            raise InvalidParameter(
                "sentence_splitter must be a function from a string to spans, 'punkt' or None; got "
                f"{self.sentence_splitter!r}."
            )

    def options(self) -> dict[str, Any]:
        """The settings as keyword arguments for a splitter."""
        return {field.name: getattr(self, field.name) for field in fields(ReadOptions)}

    def outline(self, document: Document) -> Outline:
        """The section tree of a document, as `parse` makes it."""
        return parse(document, plain_headings=self.plain_headings)

    def cutter(self) -> Cutter:
        """The cutter of long texts, by these tokens and sentences."""
        return Cutter(self.counter, self.language, self.sentence_splitter)
