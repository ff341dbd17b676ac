"""Citations of hits: what `resolve` says of them after the document was edited."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from growth import seconds
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag import ContentAwareSplitter, EvidenceRetriever, Index, read_text, resolve
from structrag.errors import InvalidParameter
from structrag.records import Document, Hit

WORDS = [
    a + b + c
    for a in ("ka", "lo", "mi")
    for b in ("ran", "bel", "tus")
    for c in "aeiou"
]


def sentence(random: random.Random, most: int = 14) -> str:
    return " ".join(random.choices(WORDS, k=random.randint(4, most))) + "."


def manual(seed: int) -> str:
    chance = random.Random(seed)
    parts = []
    for section in range(6):
        parts.append(f"## Section {section}\n")
        parts += [" ".join(sentence(chance) for _ in range(4)) + "\n" for _ in range(3)]
    return f"# Manual {seed}\n\n" + "\n".join(parts)


def hits_of(text: str, name: str = "doc") -> list[Hit]:
    index = Index(views=["raw"], splitter=ContentAwareSplitter(max_tokens=80))
    index.add([read_text(text, id=name, format="markdown")])
    return [Hit(chunk, 1.0, 1) for chunk in index.store.chunks(name)]


def edited(text: str, name: str = "doc") -> Document:
    return Document(text, id=name)


def altered(passage: str, chance: random.Random) -> str:
    """The passage with words put in, taken out, or replaced."""
    words = passage.split(" ")
    few = chance.randint(1, len(words) // 3)
    at = chance.randrange(1, len(words) - few)
    new = chance.choice([[], [sentence(chance)]])
    rest = words[at + (chance.choice([0, few]) if new else few) :]
    return " ".join([*words[:at], *new, *rest])


def test_two_hundred_edits_of_twenty_documents_are_told_right() -> None:
    wrong = []
    for seed in range(20):
        text, chance = manual(seed), random.Random(seed)
        hits = hits_of(text)
        for case in range(10):
            hit = chance.choice(hits[1:])
            passage = hit.chunk.text.strip()
            front, behind = text.split(passage)
            new, expected = passage, "moved"
            kind = ("after", "before", "inside", "gone", "replaced", "elsewhere")[
                case % 6
            ]
            if kind in ("after", "inside"):
                behind += sentence(chance)
                expected = "there"
            if kind == "before":
                at = chance.randrange(len(front))
                front = front[:at] + sentence(chance) + front[at:]
            if kind == "inside":
                new, expected = altered(passage, chance), "changed"
            if kind in ("gone", "replaced"):
                new = sentence(chance) if kind == "replaced" else ""
                expected = "gone"
            if kind == "elsewhere":
                new, behind = "", f"{behind}\n\n{passage}\n"
            resolution = resolve(hit.citation, edited(front + new + behind))
            whole = new if kind == "inside" else passage
            is_right = resolution.state == expected and (
                expected == "gone" or whole.strip() == resolution.text
            )
            wrong += [] if is_right else [(seed, case, kind, resolution)]
    assert wrong == []


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_other_passage_is_said_to_be_the_same(data: st.DataObject) -> None:
    alphabet = st.text(alphabet="ab \n|é#", max_size=60)
    text = data.draw(alphabet.filter(str.strip))
    hits = hits_of(text)
    new = data.draw(alphabet) if data.draw(st.booleans()) else text
    at = data.draw(st.integers(0, len(new)))
    new = new[:at] + data.draw(st.text(max_size=9)) + new[at:]
    for hit in hits:
        resolution = resolve(hit.citation, edited(new))
        passage = hit.chunk.text.strip()
        assert new[resolution.start : resolution.end] == resolution.text
        if resolution.state in ("there", "moved"):
            assert resolution.text == passage
        else:
            assert passage not in new or resolution.state == "changed"
        assert resolve(hit.citation, edited(text)).state == "there"


PUMP = "# Pump\n\nThe pump moves water from the well to the house.\n\n"
NOTES = "## {0}\n\nText about {0} alone.\n\n### Notes\n\nNone that are known today.\n\n"


def last(text: str) -> Hit:
    return hits_of(text)[-1]


@pytest.mark.parametrize(
    ("change", "state"),
    [
        (lambda text: text.replace("\n\n", "\r\n\r\n"), "changed"),  # other line ends
        (
            lambda text: text.replace(" the well to the", "\nthe well\nto the"),
            "changed",
        ),
        (lambda text: f"Preface.\n\n{text}", "moved"),
        (lambda text: text.replace("# Pump", "# The pump"), "changed"),
        (lambda text: text[:30], "changed"),
        (lambda text: text[:5], "gone"),
        (lambda text: "", "gone"),
        (lambda text: "Another text of as many words as there are here.", "gone"),
        (lambda text: text + text, "there"),
    ],
)
def test_a_document_of_one_passage(change: Callable[[str], str], state: str) -> None:
    (hit,) = hits_of(PUMP)
    assert resolve(hit.citation, edited(change(PUMP))).state == state


def test_of_equal_passages_the_one_between_the_same_neighbours_is_meant() -> None:
    text = "".join(NOTES.format(name) for name in ("valves", "seals", "pipes"))
    (second,) = [
        hit for hit in hits_of(text) if hit.chunk.path[:2] == ("seals", "Notes")
    ]
    at = text.index("### Notes", text.index("## seals"))
    assert resolve(second.citation, edited(text)).start == at
    front = len(NOTES.format("valves"))
    cut = resolve(second.citation, edited(text[front:]))
    assert (cut.state, cut.start) == ("moved", at - front)
    new = text[:at] + text[at:].replace("None that are known", "Two are known", 1)
    changed = resolve(second.citation, edited(new))
    assert changed.state == "changed" and "Two are known" in changed.text


@pytest.mark.parametrize(
    "name", ["a b/c~d#e?f%20@é.md", "~", "日本 語", "\ud800", "a\nb"]
)
def test_any_document_id_can_be_cited(name: str) -> None:
    (hit,) = hits_of(PUMP, name)
    assert re.fullmatch(r"[\w~%/.-]+", hit.citation, re.A)
    assert resolve(hit.citation, edited(PUMP, name)).state == "there"


def test_what_is_no_citation_is_refused() -> None:
    (hit,) = hits_of(PUMP)
    citation = hit.citation
    for end in range(len(citation)):
        with pytest.raises(InvalidParameter, match="whole and unchanged"):
            resolve(citation[:end], edited(PUMP))
        letter = "B" if citation[end] == "A" else "A"
        with pytest.raises(InvalidParameter, match="whole and unchanged"):
            resolve(citation[:end] + letter + citation[end + 1 :], edited(PUMP))
    for other in (f"{citation} ", f" {citation}", citation * 2, 7, None):
        with pytest.raises(InvalidParameter, match="whole and unchanged"):
            resolve(other, edited(PUMP))  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match=r"the cited one, 'doc'.*got 'other'"):
        resolve(citation, edited(f"{PUMP} ", "other"))
    assert resolve(citation, edited(PUMP, "renamed")).state == "there"


def test_a_saved_index_and_evidence_cite_alike(tmp_path: Path) -> None:
    document = read_text(manual(3), id="doc", format="markdown")
    index = Index(views=["raw"])
    retriever = EvidenceRetriever()
    for one in (index, retriever):
        one.add([document])
        one.save(tmp_path / type(one).__name__)
    opened = Index.load(tmp_path / "Index")
    query = " ".join(document.text.split()[40:50])
    citations = [one.search(query, route="bm25")[0].citation for one in (index, opened)]
    assert citations[0] == citations[1]
    for hit in retriever.search(query):
        resolution = resolve(hit.citation, document)
        assert (resolution.state, resolution.text) == ("there", hit.chunk.text)


def test_the_time_grows_with_the_length_whatever_repeats() -> None:
    def of_size(size: int) -> tuple[Hit, Document]:
        text = "# Log\n\n" + "The same line again.\n" * size
        (hit, *_) = hits_of(text[: len(text) // 2])
        return hit, edited(text.replace("same", "other", 1))

    def find(cited: tuple[Hit, Document]) -> None:
        hit, document = cited
        resolve(hit.citation, document)

    seconds(find, of_size(100))
    small, large = (seconds(find, of_size(size)) for size in (1_000, 8_000))
    assert large < 24 * max(small, 0.002)
