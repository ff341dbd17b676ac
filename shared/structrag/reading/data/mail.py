"""E-mail messages and saved pages (MHTML)."""

from __future__ import annotations

import email
import re
from dataclasses import replace
from email.message import EmailMessage
from email.policy import default

from structrag.errors import InvalidDocument
from structrag.reading.decoding import decoded, encoding_named
from structrag.reading.drafts import Draft
from structrag.reading.escaping import assembled, escaped_lines, heading_line
from structrag.reading.html.markdown import markdown_parts
from structrag.reading.html.reader import read_html
from structrag.reading.office.package import refuse
from structrag.records import Layout

# The standard library compares each line with the boundaries of all parts that are open.
_MULTIPART = re.compile(
    rb"^content-type:[ \t]*multipart/", re.IGNORECASE | re.MULTILINE
)
_MOST_MULTIPARTS = 200
_PLAIN = "text/plain"
_SHOWN = ("From", "To", "Cc", "Date")
_HEADERS = {"from", "to", "subject", "date", "mime-version", "content-type", "received"}


def to_markdown(data: bytes, name: str = "") -> Draft:
    """A message as Markdown: its subject as the heading, then who wrote it, its body, and the names
    of what is attached. A saved page is the page alone.

    Of alternatives the HTML one is read, or the plain one if that has over twice as many words.
    Nothing that a body refers to is fetched.

    Raises:
        InvalidDocument: It has no headers of a message, or its parts are nested too deeply.
    """
    message = _parsed(data, name)
    subject = _header(message, "Subject")
    unsure: list[str] = []
    if _is_page(message, name):
        page = _first_page(message)
        if page is None:
            refuse(name, "it holds no page. Save the page again.")
        text, title, layout = read_html(_content(page, name))
        parts = markdown_parts(text, layout, unsure)
        return Draft(assembled(parts), tuple(unsure), title=title or subject)
    facts = [f"- {key}: {text}" for key in _SHOWN if (text := _header(message, key))]
    parts = [heading_line(1, subject)] if subject else []
    parts.append("\n".join(facts))
    attached: list[str] = []
    for part, plain in _bodies(message, attached):
        parts += _body(part, plain, name, unsure)
    parts.append("\n".join(f"- Attached: {file}" for file in attached))
    if any("Boundary" in type(defect).__name__ for defect in message.defects):
        unsure.append("The message is cut off; its last part may be missing.")
    return Draft(assembled(parts), tuple(unsure), title=subject)


def _body(
    part: EmailMessage, plain: EmailMessage | None, name: str, unsure: list[str]
) -> list[str]:
    """The Markdown of a body, or of its plain alternative where the page says less."""
    content = _content(part, name)
    if part.get_content_type() != "text/html":
        return _paragraphs(content)
    text, _, layout = read_html(content, drop_navigation=False)
    other = _content(plain, name) if plain is not None else ""
    if 2 * len(text.split()) < len(other.split()):
        return _paragraphs(other)
    return markdown_parts(text, _below(layout), unsure)


def _parsed(data: bytes, name: str) -> EmailMessage:
    if len(_MULTIPART.findall(data)) > _MOST_MULTIPARTS:
        refuse(name, "it has too many nested parts. Save the message again.")
    try:
        message = email.message_from_bytes(data, policy=default)
    except RecursionError:
        refuse(name, "its parts are nested too deeply. Save the message again.")
    if not _HEADERS & {key.lower() for key in message}:
        refuse(name, "it does not begin with the headers of a message. Save it again.")
    return message


def _header(message: EmailMessage, key: str) -> str:
    try:
        value = message.get(key, "")
    except (ValueError, LookupError, IndexError, AttributeError, TypeError):
        return ""  # the standard library raises on some broken headers
    return " ".join(str(value).split())


def _is_page(message: EmailMessage, name: str) -> bool:
    return (
        name.lower().endswith((".mht", ".mhtml"))
        or "Snapshot-Content-Location" in message
        or _header(message, "From").startswith("<Saved by")
    )


def _children(part: EmailMessage) -> list[EmailMessage]:
    inside = part.get_payload() if part.is_multipart() else None
    if not isinstance(inside, list):
        return []
    return [child for child in inside if isinstance(child, EmailMessage)]


def _first_page(message: EmailMessage) -> EmailMessage | None:
    stack = [message]
    while stack:
        part = stack.pop()
        if part.get_content_type() in ("text/html", "application/xhtml+xml"):
            return part
        stack += reversed(_children(part))
    return None


def _bodies(
    message: EmailMessage, attached: list[str]
) -> list[tuple[EmailMessage, EmailMessage | None]]:
    """The parts that are shown, in order, each with its plain alternative. Names of the others are
    appended to `attached`."""
    shown = []
    stack: list[tuple[EmailMessage, EmailMessage | None]] = [(message, None)]
    while stack:
        part, other = stack.pop()
        kind = part.get_content_type()
        children = _children(part)
        if kind == "multipart/alternative":
            plain = (child for child in children if child.get_content_type() == _PLAIN)
            pages = (child for child in children if _first_page(child) is not None)
            other = next(plain, None)
            best = next(pages, other or next(iter(children), None))
            if best is not None:
                stack.append((best, other))
        elif part.get_content_maintype() == "multipart" and children:
            stack += [(child, other) for child in reversed(children)]
        elif kind.startswith("multipart/") or (
            kind in (_PLAIN, "text/html") and not part.is_attachment()
        ):
            shown.append((part, other))
        else:
            attached += filter(None, [_attached(part, kind)])
    return shown


def _attached(part: EmailMessage, kind: str) -> str:
    try:
        file = part.get_filename()
    except (ValueError, LookupError, IndexError, AttributeError, TypeError):
        file = None
    if not file and kind == "message/rfc822":
        file = next((_header(child, "Subject") for child in _children(part)), "")
    is_inside = "Content-Location" in part or "Content-ID" in part  # of a page
    return " ".join((file or ("" if is_inside else kind)).split())


def _content(part: EmailMessage, name: str) -> str:
    raw = part.get_payload(decode=True)
    data = raw if isinstance(raw, bytes) else b""
    # What is more than ASCII says little of itself.
    label = part.get_content_charset("").replace("us-ascii", "")
    charset = encoding_named(label)
    try:
        text = data.decode(charset, "replace") if charset else decoded(data, name).text
    except InvalidDocument:
        text = data.decode("latin-1")
    return text.replace("\0", "")


def _below(layout: Layout) -> Layout:
    """The layout with its headings below that of the subject."""
    headings = layout.headings
    if all(heading.level > 1 for heading in headings):
        return layout
    below = tuple(replace(heading, level=heading.level + 1) for heading in headings)
    return replace(layout, headings=below)


def _paragraphs(text: str) -> list[str]:
    paragraphs: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.strip():
            paragraphs[-1].append(line.rstrip())
        elif paragraphs[-1]:
            paragraphs.append([])
    return ["\n".join(escaped_lines(lines)) for lines in paragraphs]
