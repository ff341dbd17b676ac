"""Files that LaTeX inputs."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixture_cases import examples

from structrag import errors, read_file
from structrag.reading import Limits
from structrag.reading.markup.latex import expand, headings


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.tex"
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text, encoding="utf-8")


def test_inputs_are_read_below_the_root(tmp_path: Path) -> None:
    write(
        tmp_path,
        main="\\section{A}\n\\input{sub/b}\n\\input sub/b \n% \\input{sub/b}\n\\verb|\\input{a}|",
        sub__b="\\subsection{B}\n\\include{c}",
        sub__c="Text of \\C.\n",
    )
    text = expand(tmp_path / "main.tex", tmp_path)
    assert [heading.title for heading in headings(text)] == ["A", "B", "B"]
    assert text.count("Text of \\C.") == 2
    assert text.endswith("% \\input{sub/b}\n\\verb|\\input{a}|")


@examples
def test_what_is_refused_stays_as_it_is_written(
    tmp_path: Path, command: str, reason: str
) -> None:
    root = tmp_path / "root"
    write(tmp_path, outside="secret")
    write(root, main=f"A {command} B", around="\\input{main}", binary="\0\0")
    (root / "link.tex").symlink_to(tmp_path / "outside.tex")
    with pytest.warns(UserWarning, match=reason):
        text = expand(root / "main.tex", root)
    assert "secret" not in text
    assert text.startswith("A \\in") and text.endswith(" B")


@pytest.mark.parametrize(
    ("files", "times", "body", "sentence"),
    [
        (40, 2, "", "uses its part f.*.tex more than 100 times"),
        (40, 2, "x" * 1_000, "becomes more than 20,000 characters"),
        (510, 1, "", "has input files more than 500 deep"),
    ],
)
def test_inputs_that_double_or_do_not_end_are_refused(
    tmp_path: Path, files: int, times: int, body: str, sentence: str
) -> None:
    for i in range(files):
        write(tmp_path, **{f"f{i}": f"\\input{{f{i + 1}}}" * times + body})
    write(tmp_path, **{f"f{files}": "end"})
    with pytest.raises(errors.InvalidDocument, match=sentence):
        read_file(
            tmp_path / "f0.tex", limits=Limits(max_characters=20_000, max_uses=100)
        )


def test_an_input_may_be_used_again_but_not_grow_without_end(tmp_path: Path) -> None:
    for place in ("one", "two"):
        write(tmp_path, **{f"{place}__text": f"{place} "})
    write(tmp_path, main="\\input{one/text}\\input{two/text}" * 99)
    assert read_file(tmp_path / "main.tex").text == "one two " * 99
    write(tmp_path, one__text="x" * 99_000)
    with pytest.raises(errors.InvalidDocument, match="50 characters for each of its 1"):
        read_file(tmp_path / "main.tex")


def test_many_inputs_that_are_missing_are_one_warning(tmp_path: Path) -> None:
    inputs = "".join(f"\\input{{gone{i}}}\n" for i in range(2_000))
    write(tmp_path, main=inputs)
    with pytest.warns(UserWarning, match="'gone0' and 1,999 others") as warned:
        assert expand(tmp_path / "main.tex", tmp_path) == inputs
    assert len(warned) == 1


def test_a_main_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidDocument):
        expand(tmp_path / "none.tex", tmp_path)
