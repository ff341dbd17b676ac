"""What a reader was handed is judged: facts, heading path, gaps, beginnings."""

from __future__ import annotations

from itertools import chain

from benchmarks import answers
from benchmarks.answers import GAPS, INSIDE, LEFT, OTHER, PARTIAL, RIGHT, WHOLE, Case
from structrag import read_text
from structrag.reading import parse
from structrag.records import Chunk

TEXT = "# Pump\n\n- one seal\n- two rotors\n- three bolts\n\n# Valve\n\nIt closes."


def judged(*spans: tuple[int, int], path: str = "Pump") -> dict[str, int]:
    outline = parse(read_text(TEXT, id="pump.md"))
    blocks = chain.from_iterable(map(outline.blocks, outline.sections))
    read = answers.Read(outline.document, list(blocks))
    case = Case("pump.md", "Pump", "?", ["one SEAL", "two\nrotors", "three bolts"])
    passages = [
        Chunk(f"{start}", "pump.md", "", start, end, TEXT[start:end], path=(path,))
        for start, end in spans
    ]
    return answers.judged(case, passages, {"pump.md": read})


def at(words: str) -> tuple[int, int]:
    return TEXT.index(words), TEXT.index(words) + len(words)


def test_a_whole_answer_is_cited_under_its_heading() -> None:
    whole = at("- one seal\n- two rotors\n- three bolts")
    assert judged(whole) == {WHOLE: 1, RIGHT: 1, "passages": 1}
    assert judged(whole, path="Valve")[OTHER] == 1


def test_a_hole_in_a_list_and_a_beginning_inside_an_item_are_counted() -> None:
    counts = judged(at("- one seal"), at("- three bolts"))
    assert (counts[PARTIAL], counts[LEFT], counts[GAPS], counts[INSIDE]) == (1, 1, 1, 0)
    assert judged(at("rotors\n- three bolts"))[INSIDE] == 1


def test_facts_on_our_own_pages_stand_in_their_sections() -> None:
    cases = [case for case in answers.cases() if case.file.startswith("docs/")]
    for case in cases:
        outline = parse(answers.read(case.file).document)
        (section,) = (one for one in outline.sections if one.title == case.section)
        body = answers.plain(
            outline.document.text[section.body_start : section.body_end]
        )
        assert all(answers.plain(fact) in body for fact in case.facts), case.section
    assert len(cases) > 1
