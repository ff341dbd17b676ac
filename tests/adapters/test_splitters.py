"""The splitters of both frameworks: exact slices within the limit, metadata, models, presets."""

from __future__ import annotations

import json
import pickle
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from doubles import HashEmbedder
from frameworks import FRAMEWORKS, SPLITTERS, count_words
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import sections_with_a_definition
from ticking import ticking

from structrag import FunctionModel, HiQASplitter, IDMSSplitter, PICSplitter, read_text
from structrag.chunks.enriching.enricher import IDMSEnricher
from structrag.errors import UnknownArgument

ROWS = "".join(f"| part {i} | {i} |\n" for i in range(60))
GUIDE = (
    "A preface.\n\n# Guide\n\nPumps move water. Seals leak.\n\n## Cleaning\n\nRinse the filter. "
    f"Dry it.\n\n![Plan](plan.png)\n\n## Parts\n\n| Name | Price |\n|---|---|\n{ROWS}"
)
ANIMALS = "# Animals\n\n" + " ".join(
    f"Sentence number {i} talks about {'cats' if i % 3 else 'dogs and wolves'} here."
    for i in range(40)
)
PETS = (
    "# Cats\n\nCats sleep. Cats eat fish. Cats purr. Dogs bark. Dogs run. Dogs dig holes.\n\n"
    "# Rain\n\nRain falls. Rain is wet.\n"
)
KINDS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in SPLITTERS),
    ("IDMS", {"enrich": "both"}),
]
each_kind = pytest.mark.parametrize(("name", "options"), KINDS)


def documents(framework: Any) -> list[Any]:
    texts = {
        "plain.txt": "Just a paragraph.",
        "page.html": "<h1>Page</h1><p>One &amp; two.</p><p>Three.</p>",
        "guide.md": GUIDE,
    }
    return [
        framework.document(text, name, **{framework.file_key: name})
        for name, text in texts.items()
    ]


def texts(chunks: list[Any]) -> list[str]:
    return [chunk.text for chunk in chunks]


@each_kind
def test_all_chunks_have_the_same_keys_and_plain_values(
    framework: Any, name: str, options: dict[str, Any]
) -> None:
    splitter = framework.splitter(name, 40, **options)
    chunks = framework.split(splitter, *documents(framework))
    assert len({chunk.metadata[framework.file_key] for chunk in chunks}) == 3
    shapes = {
        tuple(
            sorted((key, type(value).__name__) for key, value in chunk.metadata.items())
        )
        for chunk in chunks
    }
    assert len(shapes) == 1
    assert {kind for _, kind in shapes.pop()} <= {"str", "int", "float", "bool"}
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    again = framework.split(splitter, *documents(framework))
    assert [chunk.id for chunk in again] == [chunk.id for chunk in chunks]


TEXTS = st.lists(
    st.sampled_from([
        "# A\n", "## B c\n", "| a | b |\n|---|---|\n| 1 | 2 |\n", "- x\n", "```\n", "    code\n",
        "![alt words](a.png)\n", "<|endoftext|>", "\n", "\n\n", "\r\n", "\t", " ", "\u2028",
        "word ", "Two words. ", "é", "👩‍🚀", "天气。", "x " * 30,
    ]),
    max_size=25,
).map("".join)  # fmt: skip


@pytest.mark.parametrize("name", SPLITTERS)
@pytest.mark.parametrize("framework", FRAMEWORKS, ids=repr)
@settings(max_examples=25, deadline=None)
@given(text=TEXTS, size=st.integers(3, 40))
def test_chunks_are_slices_within_the_limit_that_tile_the_text(
    framework: Any, name: str, text: str, size: int
) -> None:
    document = framework.document(text, "d")
    options = {"margin": "words"} if name == "IDMS" else {}
    options |= {"embedding": "lsa"} if name == "PIC" else {}
    splitter = framework.splitter(name, size, format="markdown", **options)
    chunks = framework.split(splitter, document)
    end = 0
    for chunk in chunks:
        assert text[chunk.start : chunk.end] == chunk.text and chunk.text.strip()
        assert not text[end : chunk.start].strip()
        end = chunk.end
        # HiQA's limit in LangChain is one of the index text.
        is_shown = (framework.name, name) == ("langchain", "HiQA")
        assert is_shown or framework.size(chunk) <= size or chunk.metadata["oversize"]
        json.dumps(dict(chunk.metadata), allow_nan=False)
    assert not text[end:].strip()
    keeps = {framework.strip_name: False}
    tiling = framework.splitter(name, size, format="markdown", **options, **keeps)
    tiled = "".join(texts(framework.split(tiling, document)))
    assert tiled == (text if text.strip() else "")


@each_kind
def test_splitting_again_keeps_places_titles_and_source(
    framework: Any, name: str, options: dict[str, Any]
) -> None:
    if options:
        pytest.skip("the text of enriched chunks is another one")
    *_, guide = documents(framework)
    sections = framework.split(framework.splitter("ContentAware", 4000), guide)
    split = partial(framework.split, framework.splitter("ContentAware", 40))
    parents = split(*(one.host for one in sections))
    pieces = framework.split(
        framework.splitter(name, 18), *(one.host for one in parents)
    )
    assert len(pieces) > len(parents) > len(sections) > 3
    path_of = {section.start: section.metadata["heading_path"] for section in sections}
    for piece in pieces:
        assert GUIDE[piece.start : piece.end] == piece.text
        place = piece.metadata["source_start"], piece.metadata["source_end"]
        assert place == (piece.start, piece.end)
        assert piece.metadata[framework.file_key] == "guide.md"
        section = max(start for start in path_of if start <= piece.start)
        assert piece.metadata["heading_path"] == path_of[section]


def test_html_leads_back_to_the_markup(framework: Any) -> None:
    html = "<h1>T</h1><p>Press <b>Save</b> &amp; go.</p><h2>U</h2><p>end</p>"
    first, second = framework.split(
        framework.splitter("ContentAware"), framework.document(html)
    )
    assert first.text == "T\n\nPress Save & go."
    assert second.metadata["heading_path"] == "T > U"
    place = second.metadata["source_start"], second.metadata["source_end"]
    assert html[slice(*place)] == "U</h2><p>end"


def test_settings_reach_the_core(framework: Any) -> None:
    def split(text: str, name: str = "ContentAware", **options: Any) -> list[str]:
        made = framework.splitter(name, **options)
        return texts(framework.split(made, framework.document(text)))

    siblings = "# G\n\n## A\n\nFirst text.\n\n## B\n\nSecond text.\n"
    assert [len(split(siblings, min_chunk_size=n)) for n in (0, 30)] == [2, 1]
    assert split(siblings, exclude_titles=["a"]) == ["# G", "## B\n\nSecond text."]
    flat = "One two three. Four five six. Seven eight nine. " * 4
    assert len(split(flat, flat_chunk_size=12)) > 2 > len(split(flat))
    sections = "# A\n\nOne.\n\n# B\n\nTwo.\n"
    assert split(sections, "Fixed") == [sections.strip()]
    assert len(split(sections, "Fixed", within_sections=True)) == 2

    def halves(text: str) -> list[tuple[int, int]]:
        return [(0, len(text) // 2), (len(text) // 2, len(text))]

    options = {"size": 4, "format": "text", "sentence_splitter": halves}
    assert len(split("One two. Three four. Five six seven.", "Fixed", **options)) == 2


UNKNOWN = [
    ("ContentAware", "chunk_sise", "Did you mean 'chunk_size'"),
    ("PIC", "max_tokens", "Pass chunk_size="),
    ("IDMS", "heading_path", "Pass add_context="),
    ("HiQA", "table_cell", "Did you mean 'table_cells'"),
    ("Fixed", "separators", "Omit it: .* sections"),
]


@pytest.mark.parametrize(("name", "wrong", "answer"), UNKNOWN)
def test_an_unknown_setting_is_answered(
    framework: Any, name: str, wrong: str, answer: str
) -> None:
    with pytest.raises(UnknownArgument, match=f"has no argument '{wrong}'. {answer}"):
        framework.splitter_class(name)(**{wrong: 3})


@pytest.mark.parametrize("name", SPLITTERS)
async def test_async_and_pickled_splitters_give_the_same(
    framework: Any, name: str
) -> None:
    splitter = framework.splitter(name, 20)
    expected = framework.split(splitter, *documents(framework))
    assert await framework.asplit(splitter, *documents(framework)) == expected
    again = pickle.loads(pickle.dumps(splitter))
    assert framework.split(again, *documents(framework)) == expected


async def test_the_loop_is_free_while_documents_are_split(framework: Any) -> None:
    many = [
        framework.document("# H\n\n" + "Some words here. " * 2000) for _ in range(4)
    ]
    async with ticking() as ticks:
        await framework.asplit(framework.splitter("ContentAware", 60), *many)
    assert ticks() >= 3


def test_a_chunk_of_several_sections_names_them_all(framework: Any) -> None:
    splitter = framework.splitter("ContentAware", 60, min_chunk_size=9)
    document = framework.document("# Pump\n\nIt turns.\n\n## Seal\n\nIt leaks.")
    (chunk,) = framework.split(splitter, document)
    paths = [["Pump"], ["Pump", "Seal"]]
    assert chunk.metadata["heading_path"] == "Pump"
    assert json.loads(chunk.metadata["section_paths"]) == paths
    # And if that chunk is split again.
    again = framework.piece("## Seal\n\nx\n\n### Ring\n\ny", heading_path="Pump > Seal")
    (chunk,) = framework.split(splitter, again)
    assert json.loads(chunk.metadata["section_paths"]) == [
        ["Pump", "Seal"],
        ["Pump", "Seal", "Ring"],
    ]


# -- with models


CORES: list[tuple[str, Any, dict[str, Any], str]] = [
    ("PIC", PICSplitter, {"context": False}, "pic_relevant"),
    ("IDMS", IDMSSplitter, {"heading_path": False}, "idms_margin"),
]


@pytest.mark.parametrize(("name", "core", "plain", "key"), CORES)
async def test_chunks_are_those_of_the_core_with_the_frameworks_models(
    framework: Any, name: str, core: Any, plain: dict[str, Any], key: str
) -> None:
    llm = framework.model(lambda prompt: "Cats eat fish.") if name == "PIC" else None
    splitter = framework.splitter(
        name, 12, embedding=framework.embedding(), llm=llm, min_chunk_size=4
    )
    document = framework.document(PETS)
    chunks = framework.split(splitter, document)
    fish = FunctionModel(lambda prompt: "Cats eat fish.", name="fish")
    sizes = {"max_tokens": 12, "min_tokens": 4, "counter": count_words}
    expected = core(**sizes, **plain).split(
        read_text(PETS),
        embedder=framework.embedder(framework.embedding()),
        llm=fish if llm else None,
    )
    assert texts(chunks) == [chunk.text.strip() for chunk in expected]
    extra = key.partition("_")[2]
    assert [chunk.metadata[key] for chunk in chunks] == [
        chunk.extras[extra] or 0.0 for chunk in expected
    ]
    assert await framework.asplit(splitter, document) == chunks


def test_a_document_brings_its_instructions_in_its_metadata(framework: Any) -> None:
    embedder = HashEmbedder()
    splitter = framework.splitter_class("PIC").paper(
        embedder, instructions_key="questions", as_query=True
    )
    questions = [["What do cats do?"], ["Where are dogs?", "Where are wolves?"]]
    framework.split(
        splitter, *(framework.document(ANIMALS, questions=q) for q in questions)
    )
    assert sorted(set(embedder.queries)) == sorted([*questions[0], *questions[1]])


def test_lsa_is_asked_for_or_warned_of(
    framework: Any, recwarn: pytest.WarningsRecorder
) -> None:
    document = framework.document(ANIMALS)
    with pytest.warns(UserWarning, match="No embedding model was given"):
        framework.split(framework.splitter("PIC"), document)
    recwarn.clear()
    assert framework.split(framework.splitter("PIC", embedding="lsa"), document)
    assert not recwarn.list


@pytest.mark.parametrize(
    "alias", ["embedding", "embeddings", "embed_model", "embedder"]
)
def test_the_embedding_has_several_names(framework: Any, alias: str) -> None:
    pic, idms = map(framework.splitter_class, ("PIC", "IDMS"))
    for make in (pic, pic.paper, idms):
        splitter = make(**{alias: HashEmbedder()})
        assert framework.split(splitter, framework.document(PETS))
    with pytest.raises(ValueError, match="mean the same"):
        pic(**{"embedder": 1, "embed_model": 2, alias: 3})


# -- ids

STEADY: dict[str, dict[str, Any]] = {
    "Fixed": {"within_sections": True},
    "IDMS": {"margin": "words"},
    "PIC": {"embedding": HashEmbedder()},
}


def manual(bodies: list[int]) -> list[str]:
    """Sections of so many sentences, some of them equal to others."""
    sentences = [f"Part {i} is cleaned in week {i * 7}. " for i in range(6)]
    return [
        f"## Part {size}\n\n{''.join(sentences[:size])}\n\n" for size in [0, *bodies]
    ]


@pytest.mark.parametrize("name", SPLITTERS)
@pytest.mark.parametrize("framework", FRAMEWORKS, ids=repr)
@settings(max_examples=5, deadline=None)
@given(
    bodies=st.lists(st.integers(1, 6), min_size=4, max_size=9), place=st.integers(1, 4)
)
def test_an_edit_gives_new_ids_to_three_chunks_at_most(
    framework: Any, name: str, bodies: list[int], place: int
) -> None:
    splitter = framework.splitter(name, 60, format="markdown", **STEADY.get(name, {}))

    def ids(sections: list[str], source: str = "a.md") -> set[str]:
        named = {"id": source} if framework.name == "llama_index" else {}
        document = framework.document(
            "".join(sections), **named, **{framework.file_key: source}
        )
        chunks = framework.split(splitter, document)
        assert len({chunk.id for chunk in chunks}) == len(chunks)
        return {chunk.id for chunk in chunks}

    sections = manual(bodies)
    before, edited = ids(sections), sections[place].replace("Part 0 is", "New. It is")
    head, tail = sections[:place], sections[place + 1 :]
    added = "## Part new\n\nIt is new.\n\n"
    assert not before & ids(sections, "renamed.md")
    if name == "PIC":  # its threshold is of the whole document
        return
    assert len(ids([*head, edited, *tail]) - before) <= 3
    assert len(ids([*head, added, *sections[place:]]) - before) <= 3
    assert len(ids([*head, *tail]) - before) <= 2
    assert len(before - ids([*head, *tail])) <= 3


# -- as published


LONG = "It moves water. " * 400
TITLE = " ".join(f"word{i}" for i in range(81))


def test_mcs_splitter_gives_whole_sections_and_flc_300(framework: Any) -> None:
    splitter = framework.splitter_class("ContentAware").paper(
        **{framework.strip_name: False}
    )
    chunks = framework.split(splitter, framework.document(f"# A\n\nx\n\n# B\n\n{LONG}"))
    assert texts(chunks) == ["# A\n\nx\n\n", f"# B\n\n{LONG}"]
    flat = framework.split(splitter, framework.document(LONG))
    assert len(flat) > 1 and max(len(text.split()) for text in texts(flat)) <= 300


def test_hiqas_path_is_whole(framework: Any) -> None:
    text = f"# Manual\n\nIntro.\n\n## {TITLE}\n\nBody.\n\n### Deep\n\nA text.\n"
    splitter = framework.splitter_class("HiQA").paper(add_context=True)
    *_, last = framework.split(splitter, framework.document(text))
    core = HiQASplitter.paper().split(read_text(text, format="markdown"))
    assert framework.embedded(last).split() == core[-1].index_text.split()
    assert f"Manual > {TITLE}\n" in core[-1].index_text


def test_pics_chunks_alternate_as_published(framework: Any) -> None:
    splitter = framework.splitter_class("PIC").paper(HashEmbedder())
    chunks = framework.split(splitter, framework.document(ANIMALS))
    flags = [chunk.metadata["pic_relevant"] for chunk in chunks]
    assert len(flags) > 2 and all(a != b for a, b in pairwise(flags))


def test_idmss_chunks_are_enriched_as_published(framework: Any) -> None:
    def answer(prompt: str) -> str:
        return "8" if "Rating:" in prompt else "nothing"

    make = framework.splitter_class("IDMS").paper
    options = {"margin": lambda pairs: [0.5] * len(pairs), "format": "markdown"}
    document = framework.document(sections_with_a_definition())
    for enrich in ("paper", IDMSEnricher.paper(min_tokens=1)):
        splitter = make(HashEmbedder(), answer, enrich=enrich, **options)
        chunks = framework.split(splitter, document)
        assert all(chunk.metadata["idms_density"] >= 0 for chunk in chunks)
    margins = make(HashEmbedder(), answer, enrich="none", **options)
    chunks = framework.split(margins, document)
    assert {chunk.metadata["idms_density"] for chunk in chunks} == {0.0}
