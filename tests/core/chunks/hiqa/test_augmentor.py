"""What a chunk is indexed by beside its own words."""

from __future__ import annotations

from typing import Any

import pytest
from fixture_cases import examples

from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.reading.files import read_text
from structrag.records import Chunk

TABLE = "| Name | Price | Weight |\n|---|---|---|\n" + "".join(
    f"| item {i} | {i}.50 | {i} g |\n" for i in range(7)
)


def split(text: str, **settings: Any) -> list[Chunk]:
    return HiQASplitter(**settings).split(read_text(text, format="markdown"))


def test_titles_of_sections_without_a_body_beside_a_table_are_indexed() -> None:
    (chunk,) = split("# A\n\n## Lost\n\n## B\n\n" + TABLE + "\n## Left\n")
    assert chunk.kind == "table"
    assert chunk.index_text.split("\n")[:3] == ["A > B", "Lost", "Left"]
    (bare,) = split("# A\n\n## Lost\n\n## B\n\n" + TABLE, metadata="none")
    assert "Lost" not in bare.index_text


@pytest.mark.parametrize(
    ("mode", "contexts"),
    [("path", ["Manual > Top"] * 2), ("section", ["Part"] * 2), ("none", [""] * 2)],
)
def test_metadata_is_a_switch_of_titles_in_the_index_text(
    mode: str, contexts: list[str]
) -> None:
    text = f"# Top\n\n## Part\n\nSome words.\n\n# Other\n\n{TABLE}"
    document = read_text(text, format="markdown", title="Manual")
    words, table = HiQASplitter(metadata=mode).split(document)
    assert words.context == ("Manual" if mode == "path" else contexts[0])
    assert (
        table.context
        == {"path": "Manual > Other", "section": "Other", "none": ""}[mode]
    )
    titles = {"Manual", "Top", "Part", "Other"}
    shown = {title for title in titles if title in words.index_text + table.index_text}
    assert shown == {"path": titles, "section": {"Part", "Other"}, "none": set()}[mode]
    assert words.text == "# Top\n\n## Part\n\nSome words.\n\n"


def test_headings_alone_are_indexed_whatever_the_metadata() -> None:
    (chunk,) = split("# A\n\n## B\n", metadata="none")
    assert chunk.index_text == "# A\n\n## B\n"


def test_parts_of_a_split_section_are_numbered_in_extras_only() -> None:
    chunks = split(
        "# A\n\n"
        + "Some words stand here. " * 40
        + "\n\n"
        + TABLE
        + "\nThe end of it.\n",
        max_tokens=60,
    )
    texts = [chunk for chunk in chunks if chunk.kind == "text"]
    assert [chunk.extras["part"] for chunk in texts] == list(range(1, len(texts) + 1))
    assert {chunk.extras["parts"] for chunk in texts} == {len(texts)}
    assert not any("part" in chunk.context for chunk in chunks)
    assert "parts" not in split("# A\n\nShort.\n")[0].extras


AROUND = "# Setup\n\nZero. One here. Two here.\n\n{}\n\nThree here. Four here. Five.\n"


def image(text: str, **settings: Any) -> Chunk:
    (found,) = [chunk for chunk in split(text, **settings) if chunk.kind == "image"]
    return found


def test_a_vision_model_describes_each_image_once() -> None:
    asked = []

    def describe(reference: str) -> str:
        asked.append(reference)
        return f"A drawing\nof {reference}. "

    text = (
        AROUND.format("![a](x.png)")
        + "\n![b](x.png)\n\n![c](y.png)\n\nPress ![inline](z.png).\n"
    )
    found = [
        chunk for chunk in split(text, describe_image=describe) if chunk.kind == "image"
    ]
    assert asked == ["x.png", "y.png"]
    assert [chunk.extras["description"] for chunk in found] == [
        "A drawing of x.png."
    ] * 2 + ["A drawing of y.png."]
    assert "\na\nA drawing of x.png.\n" in found[0].index_text


@pytest.mark.parametrize("answer", [RuntimeError("out of memory"), None, "", " \n", 7])
def test_a_vision_model_that_fails_costs_its_description_only(answer: Any) -> None:
    def describe(reference: str) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    text = AROUND.format("![a](x.png) ![b](y.png)")
    found = image(text, describe_image=describe)
    assert found.extras["description_failures"] == 2
    assert found.extras["degraded"] is True
    reason = {
        RuntimeError: "RuntimeError: out of memory",
        type(None): "InvalidAnswer: A description must be a string; got NoneType.",
        int: "InvalidAnswer: A description must be a string; got int.",
    }.get(type(answer))  # one that says nothing has answered
    assert found.extras.get("failure") == reason
    assert "description" not in found.extras
    assert found.index_text == image(text).index_text


@pytest.mark.parametrize("max_tokens", [512, None])
def test_a_table_in_one_piece_has_no_part_number(max_tokens: int | None) -> None:
    (whole,) = split("# A\n\n" + TABLE, max_tokens=max_tokens)
    assert (
        whole.kind == "table" and not {"part", "parts", "header"} & whole.extras.keys()
    )


def words(text: str) -> int:
    return len(text.split())


def test_runs_of_rows_whose_counts_do_not_add_up_are_halved() -> None:
    def uneven(text: str) -> int:
        """Lines together count more than each of them."""
        return words(text) + 2 * max(0, len(text.split("\n")) - 2)

    chunks = split("# A\n\n" + TABLE, max_tokens=20, counter=uneven)
    tables = [chunk for chunk in chunks if chunk.kind == "table"]
    assert (
        len(tables) > 1 and "".join(chunk.text for chunk in tables) in "# A\n\n" + TABLE
    )
    assert all(uneven(chunk.index_text) <= 20 for chunk in tables)


@examples
def test_the_title_of_a_section_takes_a_quarter_of_the_limit_at_most(
    max_tokens: int | None, context: str
) -> None:
    text = "# a b c d e f\n\nTwo words.\n"
    chunks = split(text, metadata="section", max_tokens=max_tokens, counter=words)
    assert chunks[0].context == context


@examples
def test_a_table_with_a_row_longer_than_the_limit_is_text(most: int, kind: str) -> None:
    # 12 words, bars included; only "item" is indexed.
    long_row = "| item | 1 1 | 1 1 | 1 1 |\n"
    rows = f"| N | a | b | c |\n|---|---|---|---|\n| x | 1 | 1 | 1 |\n{long_row}"
    chunks = split(f"# A\n\n{rows}", max_tokens=most, counter=words)
    assert {chunk.kind for chunk in chunks} == {kind}
    assert "".join(chunk.text for chunk in chunks) == f"# A\n\n{rows}"


def test_a_part_of_a_table_lists_the_images_in_its_own_rows() -> None:
    lines = "".join(f"| i{i} | ![a](x{i}.png) |\n" for i in range(4))
    chunks = split(
        f"# A\n\n| N | P |\n|---|---|\n{lines}", max_tokens=22, counter=words
    )
    files = [[image["file"] for image in chunk.extras["images"]] for chunk in chunks]
    assert files == [["x0.png", "x1.png"], ["x2.png", "x3.png"]]


@examples
def test_an_image_of_which_nothing_is_said_is_indexed_by_its_files_name(
    reference: str, name: str | None
) -> None:
    (found,) = split(f"# Setup\n\n![]({reference})\n")
    assert found.kind == ("image" if name else "text")
    assert name is None or found.index_text == f"Setup\n{name}"


def rows(labels: list[str]) -> str:
    """A table with a header of 5 words and a line of 1; a row has 4 more than its label."""
    return "| N | P |\n|---|---|\n" + "".join(f"| {label} | 1 |\n" for label in labels)


def table_parts(text: str, limit: int) -> list[Chunk]:
    chunks = split(text, max_tokens=limit, counter=words)
    assert "".join(chunk.text for chunk in chunks) == text
    return [chunk for chunk in chunks if chunk.kind == "table"]


@examples
def test_a_part_of_a_table_has_as_many_rows_as_fit(
    limit: int, counts: list[int]
) -> None:
    parts = table_parts("# A\n\n" + rows(["i0", "i1", "i2", "i3"]), limit)
    assert [part.text.count("i") for part in parts] == counts
    labels = [line for part in parts for line in part.index_text.split("\n")[2:]]
    assert labels == ["i0", "i1", "i2", "i3"]


@examples
@pytest.mark.parametrize("place", ["caption", "before", "behind"])
def test_what_stands_around_a_table_leaves_half_the_room_for_rows(
    place: str, length: int, is_indexed: bool
) -> None:
    """Of 20 words the path takes 1 and the header 3."""
    first = "Table 1" if place == "caption" else "Word word"
    line = f"{first} {' '.join(f'w{i}' for i in range(length - 2))}."
    table = rows(["i0", "i1", "i2", "i3"])
    text = (
        f"# A\n\n{line}\n\n{table}"
        if place != "behind"
        else f"# A\n\n{table}\n{line}\n"
    )
    parts = table_parts(text, 20)
    assert len(parts) > 1
    assert {line in part.index_text for part in parts} == {is_indexed}


def test_a_caption_stays_where_the_sentences_beside_it_leave_too_little() -> None:
    table = rows(["i0", "i1", "i2", "i3"])
    text = f"# A\n\nTable 1: all.\n\n{table}\nFour words stand here.\n"
    for part in table_parts(text, 20):
        assert part.index_text.startswith("A\nTable 1: all.\nN | P\ni")
        assert "Four words" not in part.index_text


@examples
def test_as_many_lines_as_fit_are_indexed_of_an_image(
    limit: int, index_text: str
) -> None:
    text = '# A\n\n![one two](x.png "three")\n\nOne here. Two here.\n'
    found = split(text, max_tokens=limit, counter=words)[0]
    assert found.kind == "image" and found.index_text == index_text
    assert not {"oversize", "degraded", "description_failures"} & found.extras.keys()


def test_what_is_indexed_of_an_image_in_order_and_once() -> None:
    found = split(
        '# A\n\nOne.\n\n![a b](x.png "t") ![](y.png) ![t](z.png)\n\nFig. 1: all\n\nTwo.\n',
        describe_image=lambda file: f"Seen: {file}" if file < "z" else "",
    )
    assert [chunk.kind for chunk in found] == ["text", "image", "text"]
    assert found[1].index_text == (
        "A\na b\nt\nFig. 1: all\nSeen: x.png\nSeen: y.png\nOne."
    )
    assert found[1].extras["description"] == "Seen: x.png\nSeen: y.png"
    assert found[1].extras["description_failures"] == 1
    assert (found[1].extras["file"], found[1].extras["caption"]) == (
        "x.png",
        "Fig. 1: all",
    )
    assert "part" not in found[1].extras


def test_the_first_failure_of_an_image_is_named() -> None:
    def describe(file: str) -> str:
        if file == "x.png":
            return "All well."
        raise ValueError(file)

    found = image("![](x.png) ![](y.png) ![](z.png)\n", describe_image=describe)
    assert found.extras["failure"] == "ValueError: y.png"
    assert found.extras["description_failures"] == 2
    assert found.extras["description"] == "All well."


@examples
def test_heading_lines_are_not_indexed_without_their_path(
    metadata: str, limit: int | None, indexed: list[str]
) -> None:
    text = "Before.\n\n# A\n\n## B\n\nOne two three.\n\n### C\n\nFour.\n\n# D\n"
    found = split(text, metadata=metadata, max_tokens=limit, counter=words)
    assert "".join(chunk.text for chunk in found) == text
    assert [chunk.index_text for chunk in found] == indexed
    for chunk in found:
        assert ("reduced" in chunk.extras) is ("#" in chunk.text)


def test_titles_of_a_path_are_not_named_beside_a_table_again() -> None:
    text = f"# A\n\nWords.\n\n## B\n\n{rows(['i'])}\n## Left\n\n# C\n\nEnd.\n"
    (table,) = table_parts(text, 99)
    assert table.index_text == "A > B\nLeft\nN | P\ni"


@examples
def test_the_title_of_a_section_takes_64_tokens_at_most(
    length: int, is_whole: bool
) -> None:
    title = " ".join(f"t{i}" for i in range(length))
    for limit in (None, 999):
        found = split(
            f"# {title}\n\nWords.\n",
            metadata="section",
            max_tokens=limit,
            counter=words,
        )
        assert (found[0].context == title) is is_whole
